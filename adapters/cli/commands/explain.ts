import { supervisorError } from '../../../actors/errors.js';
import type { Failure } from '../../../machines/vocabulary.js';
import { visibleLine } from '../../shared/visible-text.js';
import { EXIT } from '../exit-codes.js';
import { serversNamedIn } from '../full-name.js';
import { howToOpen } from '../how-to-open.js';
import type { Explanation } from '../library.js';
import { isConfigRejected, jsonLine } from '../report.js';
import type { Session } from '../session.js';

/** Says why a server is not ready, or a tool not callable. Starts nothing, so it speaks of a tool by its policy alone. */
export async function explainCommand(session: Session, name: string): Promise<number> {
  const { workspace, flags } = session;
  const status = await session.vetted();
  const ids = status.servers.map(({ id }) => id);
  const servers = ids.includes(name) ? [name] : serversNamedIn(name, ids);
  if (servers.length === 0)
    throw supervisorError('UNKNOWN_SERVER', `No server is called ${visibleLine(name)}, and no known server has such a tool.`);
  // Nothing is listed here, so the tool's own name is read from the full one.
  const toolOf = (id: string): string | undefined => (ids.includes(name) ? undefined : name.slice(`mcp__${id}__`.length));
  const explanations = servers.map((id) => workspace.server(id).explain(toolOf(id)));
  const ways = new Map(status.servers.map((server) => [server.id, howToOpen(server)]));
  const [first] = explanations;
  await session.print(
    flags.json
      ? jsonLine(explanations.length === 1 ? first : explanations)
      : explanations.map((one) => explanationText(one, ways.get(one.server) ?? null)).join('\n'),
  );
  return isConfigRejected(status) ? EXIT.configRejected : EXIT.done;
}

function explanationText(explanation: Explanation, way: string | null): string {
  const { subject, server, layer, shadowed, gates, phase, error, policy } = explanation;
  const lines = [
    `${subject}: server ${server} of layer ${layer} is ${phase}`,
    ...shadowed.map((other) => `  layer ${other.layer} has it too: ${other.why}`),
    ...gates.map(
      ({ gate, open, failure }) => `  ${open ? 'open' : 'shut'}  ${gate}${failure === null ? '' : `: ${inWords(failure)}`}`,
    ),
    ...(error === null ? [] : [`  ${error.code} (${error.stage}): ${inWords(error)}`]),
    ...(way === null || way === error?.hint ? [] : [`  ${way}`]),
    ...(policy === null ? [] : [`  policy: ${policy.verdict}, by ${policy.rule}`]),
  ];
  return `${lines.map((line) => visibleLine(line).trimEnd()).join('\n')}\n`;
}

/** What is wrong, and what to do about it. */
const inWords = ({ message, hint }: Failure): string => (hint === undefined ? message : `${message.replace(/\.$/, '')}. ${hint}`);
