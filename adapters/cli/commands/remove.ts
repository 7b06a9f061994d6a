import { supervisorError } from '../../../actors/errors.js';
import { quoted } from '../../shared/visible-text.js';
import { EXIT } from '../exit-codes.js';
import { canAsk, unlessAborted } from '../io.js';
import type { ServerStatus } from '../library.js';
import { jsonLine } from '../report.js';
import type { Session } from '../session.js';
import { confirm } from '../terminal-prompt.js';
import { UsageError } from '../usage-error.js';

/**
 * Takes a server out of the file its entry stands in, once a person has said so: `--yes`, or an answer on the terminal after
 * the file was named. A no is `BLOCKED_BY_USER`; where nobody can be asked it is a usage error.
 */
export async function removeCommand(session: Session, id: string): Promise<number> {
  const { workspace, flags } = session;
  const server = workspace.server(id);
  const { layer, file } = server.status();
  const what = `${quoted(id)} of layer ${quoted(layer)} from ${quoted(file ?? 'its file')}`;
  if (!flags.yes) await askFirst(session, what);
  const removed = await session.inTime(server.remove());
  if (flags.json) await session.print(jsonLine({ ok: true, server: id, layer, file: removed.file }));
  else {
    const left = workspace.status().servers.find((other) => other.id === id);
    await session.print(`Removed ${quoted(id)} of layer ${quoted(layer)} from ${quoted(removed.file)}.\n${servedBy(left)}`);
  }
  return EXIT.done;
}

async function askFirst(session: Session, what: string): Promise<void> {
  const { io, deadline, progress } = session;
  if (!canAsk(io)) throw new UsageError(`"remove" would take ${what}. Where nobody can be asked, give --yes.`);
  deadline.pause();
  progress.pause();
  const isSure = await unlessAborted(io.interrupted, confirm(io, `Remove ${what}?`, io.interrupted));
  progress.resume();
  deadline.resume();
  if (!isSure) throw supervisorError('BLOCKED_BY_USER', 'Nothing was changed.');
}

const servedBy = (left: ServerStatus | undefined): string =>
  left === undefined ? '' : `The one of layer ${quoted(left.layer)} serves this id now.\n`;
