import { SupervisorError } from '../../../actors/errors.js';
import { EXIT } from '../exit-codes.js';
import type { Explanation, WorkspaceStatus } from '../library.js';
import { renderExplanation } from '../render-explanation.js';
import { isConfigRejected, jsonLine, requireWholeConfig } from '../report.js';
import type { Session } from '../session.js';

/** Says why a server is not ready, or a tool not callable, from what is known without starting anything. */
export async function explainCommand(session: Session, name: string): Promise<number> {
  const { flags } = session;
  const status = await session.vetted();
  const explanations = explain(session, name, status);
  const [first] = explanations;
  await session.print(
    flags.json
      ? jsonLine(explanations.length === 1 ? first : explanations)
      : explanations.map((one) => `${renderExplanation(one).join('\n')}\n`).join('\n'),
  );
  return isConfigRejected(status) ? EXIT.configRejected : EXIT.done;
}

function explain({ workspace }: Session, name: string, status: WorkspaceStatus): readonly Explanation[] {
  try {
    return workspace.explain(name);
  } catch (error) {
    // A file that could not be read may be the one that has it: then its fault is the better answer.
    if (SupervisorError.is(error) && error.code === 'UNKNOWN_SERVER') requireWholeConfig(status);
    throw error;
  }
}
