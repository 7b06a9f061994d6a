import type { Json } from '../../../actors/ports.js';
import { EXIT } from '../exit-codes.js';
import { listToolsFor } from '../find-server.js';
import { unlessAborted } from '../io.js';
import { renderResult } from '../render-result.js';
import { jsonLine, requireWholeConfig } from '../report.js';
import type { Session } from '../session.js';
import { UsageError } from '../usage-error.js';

/** Reads ARGS before anything is started. Throws `UsageError` for what is not one JSON object. */
export function parseArguments(text: string | undefined): Json {
  if (text === undefined) return {};
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new UsageError(`ARGS is not JSON: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new UsageError('ARGS is not a JSON object.');
  return value as Json;
}

/**
 * Calls one tool. Who types the call approves it, so an ask of the policy is answered and a deny still blocks. A tool that
 * answers with `isError` has answered (`ok: true`) and failed (exit 1).
 */
export async function callCommand(session: Session, name: string, args: Json): Promise<number> {
  const { workspace, deadline, progress, flags, io } = session;
  requireWholeConfig(workspace.status());
  await listToolsFor(name, session);
  const timeoutMs = deadline.remainingMs();
  const calling = workspace.call(name, args, {
    byPerson: true,
    signal: io.interrupted,
    onProgress: ({ message, progress: done, total }) =>
      progress.note(`${message ?? 'working'} (${done}${total === undefined ? '' : ` of ${total}`})`),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
  });
  // Its own deadline, not the command's: the call says better what it waited for.
  const result = await unlessAborted(io.interrupted, calling);
  await session.print(flags.json ? jsonLine({ ok: true, result, spilled: [] }) : renderResult(result));
  if (result['isError'] !== true) return EXIT.done;
  if (!flags.json) await session.complain('The tool answered with an error.\n');
  return EXIT.failed;
}
