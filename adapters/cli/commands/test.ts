import type { Failure } from '../../../machines/vocabulary.js';
import { visibleLine } from '../../shared/visible-text.js';
import { renderQuestion } from '../approval-card.js';
import { EXIT, exitCodeOf } from '../exit-codes.js';
import { howToOpen } from '../how-to-open.js';
import type { TestReport } from '../library.js';
import { failureJson, failureText, jsonLine, requireWholeConfig } from '../report.js';
import type { Session } from '../session.js';

/** Connects one server through all its gates and says which stage it reached. */
export async function testCommand(session: Session, id: string): Promise<number> {
  const { workspace, flags, deadline } = session;
  requireWholeConfig(workspace.status());
  const report = await session.inTime(workspace.server(id).test({ signal: deadline.signal }));
  deadline.signal.throwIfAborted();
  const problem = report.ok ? null : (report.error ?? notReady(report));
  if (flags.json) {
    await session.print(jsonLine({ ...report, error: problem === null ? null : failureJson(problem) }));
  } else {
    await session.print(reportText(report));
    if (problem !== null) await session.complain(problemText(session, report, problem));
  }
  return problem === null ? EXIT.done : exitCodeOf(problem);
}

function notReady({ server, status }: TestReport): Failure {
  return { code: 'NOT_READY', stage: 'call', retryable: true, message: `${server} is ${status.phase}.` };
}

/** Stage by stage, and where it ended; for people. */
export function reportText({ server, ok, stages, status }: TestReport): string {
  const steps = stages.map(
    ({ stage, ok: passed, tookMs }) => `  ${passed ? 'ok    ' : 'failed'}  ${stage} (${Math.round(tookMs)} ms)\n`,
  );
  const info = status.serverInfo === null ? '' : `, ${status.serverInfo.name} ${status.serverInfo.version}`;
  const end = ok ? `ready, ${status.tools.count} tools${info}` : 'not available';
  return `${steps.join('')}${visibleLine(`${server}: ${end}`)}\n`;
}

/** With the card that waits for an answer, where that is what stands in the way. */
function problemText({ workspace }: Session, { server, status }: TestReport, problem: Failure): string {
  const cards = workspace.questions().filter((question) => question.kind === 'server' && question.server === server);
  const way = problem.hint === undefined ? howToOpen(status) : null;
  return [
    ...cards.flatMap((card) => [...renderQuestion(card), '']),
    failureText(problem) + (way === null ? '' : `${visibleLine(way)}\n`),
  ].join('\n');
}
