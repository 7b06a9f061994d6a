import { supervisorError } from '../../actors/errors.js';
import { serversNamedIn } from './full-name.js';
import type { Session } from './session.js';

/**
 * Has the tools listed that a full name may belong to. A full name holds the whole id of its server, so one known server
 * connects alone, and what keeps it from connecting is thrown. Ids that differ only by a `_` at the end can both fit: then
 * all with open gates connect. A name that fits none connects none, for no tool has it.
 */
export async function listToolsFor(name: string, session: Session): Promise<void> {
  const { workspace } = session;
  const ids = workspace.status().servers.map(({ id }) => id);
  const [only, ...others] = serversNamedIn(name, ids);
  if (only === undefined) return;
  if (others.length > 0) {
    await session.connectAll();
    return;
  }
  if (workspace.server(only).status().phase === 'ready') return;
  const report = await session.inTime(workspace.server(only).test({ signal: session.deadline.signal }));
  session.deadline.signal.throwIfAborted();
  if (report.error !== null) throw supervisorError(report.error.code, report.error.message, hintOf(report.error));
  if (!report.ok) throw supervisorError('NOT_READY', `${only} did not become ready.`);
}

const hintOf = ({ hint }: { readonly hint?: string }): { hint?: string } => (hint === undefined ? {} : { hint });
