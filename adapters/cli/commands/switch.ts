import { isWorkspaceLayer } from '../../../machines/vocabulary.js';
import { quoted, visibleLine } from '../../shared/visible-text.js';
import { renderQuestion } from '../approval-card.js';
import { EXIT, exitCodeOf } from '../exit-codes.js';
import { howToOpen } from '../how-to-open.js';
import type { ServerStatus, TestReport } from '../library.js';
import { failureText, jsonLine } from '../report.js';
import type { Session } from '../session.js';
import { reportText } from './test.js';

/**
 * Switches a server on or off, for good. On a terminal the question that enabling opens is asked at once; a yes counts for
 * this run, in which the server is started and its tools are listed. Exit 4 when that start fails.
 */
export async function switchCommand(session: Session, id: string, isOn: boolean): Promise<number> {
  const { workspace, flags } = session;
  const server = workspace.server(id);
  const before = server.status();
  await session.inTime(isOn ? server.enable() : server.disable());
  await session.answered();
  const report = isOn ? await startApproved(session, id) : null;
  const problem = report?.error ?? null;
  const after = server.status();
  const questions = workspace.questions().filter((question) => question.server === id);
  if (flags.json) await session.print(jsonLine({ ok: true, server: after, questions }));
  else {
    const cards = questions.flatMap((question) => ['', ...renderQuestion(question)]);
    await session.print(`${[...outcome(before, after, isOn), ...cards].join('\n')}\n`);
    if (report !== null) await session.print(reportText(report));
    if (problem !== null) await session.complain(failureText(problem));
  }
  return problem === null ? EXIT.done : exitCodeOf(problem);
}

/** Null unless a person has said yes to what it would run. */
async function startApproved(session: Session, id: string): Promise<TestReport | null> {
  const server = session.workspace.server(id);
  const { layer, phase, blockedBy } = server.status();
  const isApproved = session.prompt !== null && isWorkspaceLayer(layer) && phase === 'idle' && blockedBy === null;
  return isApproved ? session.inTime(server.test({ signal: session.deadline.signal })) : null;
}

function outcome(before: ServerStatus, after: ServerStatus, isOn: boolean): string[] {
  const { id, layer } = before;
  const where = isWorkspaceLayer(layer) ? 'in this workspace on this computer' : 'on this computer';
  const again = before.enabled === isOn ? ', as before' : '';
  const other = after.layer === layer ? [] : [`The one of layer ${quoted(after.layer)} serves this id now.`];
  const way = isOn && after.phase !== 'ready' ? howToOpen(after) : null;
  return [
    `${quoted(id)} of layer ${quoted(layer)} is switched ${isOn ? 'on' : 'off'} ${where}${again}.`,
    ...other,
    ...(way === null ? [] : [visibleLine(way)]),
  ];
}
