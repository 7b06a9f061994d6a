import { isLoopbackHost } from '../../shared/loopback.js';
import { EXIT } from '../exit-codes.js';
import type { ServerStatus } from '../library.js';
import { renderTable } from '../render-table.js';
import { jsonLine } from '../report.js';
import type { Session } from '../session.js';

const NOTICE =
  'What a tool is called with goes to these places. Check for each who operates it, how long it keeps what it is sent, and what its credentials allow.';

/**
 * Switches remote servers on or off, for good: the user's file says it from now on. Shows each place that calls would go to;
 * starts nothing. Exit 3 when the file cannot be read or written.
 */
export async function remoteCommand(session: Session, isOn: boolean): Promise<number> {
  const { supervisor, workspace, flags } = session;
  await session.inTime(supervisor.setRemote(isOn, { persist: true }));
  const servers = workspace.status().servers.filter(isRemote);
  if (flags.json) {
    const places = servers.map(({ id, layer, origin }) => ({ id, layer, origin }));
    await session.print(jsonLine({ ok: true, remoteEnabled: isOn, servers: places, notice: NOTICE }));
  } else await session.print(`${outcome(servers, isOn).join('\n')}\n`);
  return EXIT.done;
}

/** Where it is not known, it is taken for one. */
function isRemote({ transport, origin }: ServerStatus): boolean {
  if (transport === 'stdio') return false;
  return origin === null || !URL.canParse(origin) || !isLoopbackHost(new URL(origin).hostname);
}

function outcome(servers: readonly ServerStatus[], isOn: boolean): string[] {
  const rows = servers.map(({ id, layer, origin, blockedBy }) => [
    { text: id },
    { text: layer },
    { text: origin ?? 'unknown' },
    { text: isOn ? (blockedBy ?? '') : '' },
  ]);
  const columns = [{ name: 'SERVER' }, { name: 'LAYER' }, { name: 'PLACE' }, { name: isOn ? 'SHUT BY' : '' }];
  const table = rows.length === 0 ? ['No remote server is configured here.'] : renderTable(columns, rows, { colour: false });
  if (!isOn) return ['Remote servers are off: they are closed at once, their calls with them, and stay closed.', ...table];
  return ['Remote servers are on. Nothing was started by this.', ...table, ...(rows.length === 0 ? [] : [NOTICE])];
}
