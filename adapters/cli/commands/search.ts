import { visibleText } from '../../shared/visible-text.js';
import { EXIT, exitCodeOf } from '../exit-codes.js';
import { howToOpen } from '../how-to-open.js';
import { failureJson, failureText, gatewayFailure, gatewayText, jsonLine, requireWholeConfig } from '../report.js';
import type { Session } from '../session.js';

/** Connects every server with open gates, then ranks their tools. Says which servers it could not look into. */
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
  for (const server of missed) {
    const why = server.blockedBy ?? server.error?.code ?? server.phase;
    await session.complain(
      visibleText(`not searched: ${server.id} (${why}). ${howToOpen(server) ?? ''}`)
        .trimEnd()
        .concat('\n'),
    );
  }
  await session.print(
    flags.json ? jsonLine(result.structuredContent ?? { text: gatewayText(result) }) : `${visibleText(gatewayText(result))}\n`,
  );
  return EXIT.done;
}
