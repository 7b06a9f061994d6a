import { visibleText } from '../../shared/visible-text.js';
import { EXIT, exitCodeOf } from '../exit-codes.js';
import { howToOpen } from '../how-to-open.js';
import type { ServerStatus } from '../library.js';
import { failureJson, failureText, gatewayFailure, gatewayText, jsonLine, requireWholeConfig } from '../report.js';
import type { Session } from '../session.js';

/** Connects every server with open gates, then ranks their tools. Says which servers it could not look into; exit 4 when it was all. */
export async function searchCommand(session: Session, query: string): Promise<number> {
  const { workspace, flags } = session;
  requireWholeConfig(workspace.status());
  const { servers } = await session.connectAll();
  const result = await session.inTime(workspace.gateway.run({ action: 'search', query }, { signal: session.deadline.signal }));
  const problem = gatewayFailure(result);
  if (problem !== null) {
    await (flags.json
      ? session.print(jsonLine({ ok: false, error: failureJson(problem) }))
      : session.complain(failureText(problem)));
    return exitCodeOf(problem);
  }
  const missed = servers.filter(({ phase }) => phase !== 'ready');
  if (flags.json) {
    const notSearched = missed.map((server) => ({ id: server.id, why: whyMissed(server) }));
    await session.print(jsonLine({ ...(result.structuredContent ?? { text: gatewayText(result) }), notSearched }));
  } else {
    const notes = missed.map((server) =>
      `not searched: ${server.id} (${whyMissed(server)}). ${howToOpen(server) ?? ''}`.trimEnd(),
    );
    await session.print([gatewayText(result), ...notes].map((line) => `${visibleText(line)}\n`).join(''));
  }
  return servers.length > 0 && missed.length === servers.length ? EXIT.notAvailable : EXIT.done;
}

/** The gate that is shut, the code of what went wrong, or the phase it hangs in. */
const whyMissed = ({ blockedBy, error, phase }: ServerStatus): string => blockedBy ?? error?.code ?? phase;
