import { EXIT } from '../exit-codes.js';
import { renderStatus } from '../render-status.js';
import { isConfigRejected, jsonLine } from '../report.js';
import type { Session } from '../session.js';

/** Prints what is; connects only with `--connect`. A rejected file is exit 3, a server that is not ready is no failure. */
export async function statusCommand(session: Session): Promise<number> {
  const { workspace, flags, colour } = session;
  const status = flags.connect ? await session.connectAll() : await session.vetted();
  const questions = workspace.questions();
  await session.print(
    flags.json ? jsonLine({ ...status, questions }) : `${renderStatus(status, questions, { colour }).join('\n')}\n`,
  );
  return isConfigRejected(status) ? EXIT.configRejected : EXIT.done;
}
