import { isWorkspaceLayer } from '../../../machines/vocabulary.js';
import { quoted } from '../../shared/visible-text.js';
import { renderQuestion } from '../approval-card.js';
import { EXIT } from '../exit-codes.js';
import type { ServerStatus, WorkspaceStatus } from '../library.js';
import { renderFault, renderServerLine } from '../render-status.js';
import { isConfigRejected, jsonLine } from '../report.js';
import type { Session } from '../session.js';

/**
 * Trusts the workspace, or no more, for good. Typing it is the person's act, so nothing is asked; what stands open now is
 * shown, and nothing is started. Exit 3 when a file is refused that trust has made count.
 */
export async function trustCommand(session: Session, trusted: boolean): Promise<number> {
  const { workspace, flags } = session;
  const wasTrusted = workspace.status().workspace.trusted;
  await session.inTime(workspace.setTrusted(trusted));
  // From now on the workspace's files count, or no more.
  await session.inTime(workspace.reload());
  const status = await session.vetted();
  const questions = workspace.questions();
  if (flags.json) await session.print(jsonLine({ ok: true, ...status, questions }));
  else {
    const cards = trusted ? questions.flatMap((question) => ['', ...renderQuestion(question)]) : [];
    await session.print(`${[...outcome(status, wasTrusted), ...cards].join('\n')}\n`);
  }
  if (!trusted || !isConfigRejected(status)) return EXIT.done;
  if (!flags.json)
    await session.complain(status.workspace.config.errors.map((fault) => `error: ${renderFault(fault)}\n`).join(''));
  return EXIT.configRejected;
}

function outcome({ workspace: { root, trusted }, servers }: WorkspaceStatus, wasTrusted: boolean): string[] {
  const brought = servers.filter(bringsIt);
  const lines = brought.map((server) => `  ${renderServerLine(server)}`);
  const again = wasTrusted === trusted ? ', as before' : '';
  if (!trusted) return [`${quoted(root)} is not trusted on this computer${again}. Nothing in it has an effect.`, ...lines];
  return [
    `${quoted(root)} is trusted on this computer${again}. Trusting starts nothing by itself.`,
    ...(brought.length === 0 ? ['It brings no server.'] : ['Its servers:', ...lines]),
  ];
}

/** A server of the workspace, or one of the user's that a workspace's would replace. */
const bringsIt = ({ layer, shadowed }: ServerStatus): boolean =>
  isWorkspaceLayer(layer) || shadowed.some((other) => isWorkspaceLayer(other.layer));
