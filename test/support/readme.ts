import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { AnyStateNode } from 'xstate';
import { CODES } from '../../machines/codes.js';
import { serverMachine } from '../../machines/server-machine.js';

const repository = join(import.meta.dirname, '../..');

/** The parts of README.md that are generated. Each stands between `<!-- NAME:start -->` and `<!-- NAME:end -->`. */
const parts: Readonly<Record<string, () => string | Promise<string>>> = {
  states: () => ['```text', ...stateTree(serverMachine.root), '```'].join('\n'),
  codes: codeTable,
  embedding: async () => `\`\`\`ts\n${await readFile(join(repository, 'examples/embedding.ts'), 'utf8')}\`\`\``,
};

/** The README with its generated parts as the code has them now. Throws when a part's markers are missing. */
export async function withGeneratedParts(readme: string): Promise<string> {
  let text = readme;
  for (const [name, render] of Object.entries(parts)) {
    const [start, end] = [`<!-- ${name}:start -->`, `<!-- ${name}:end -->`];
    const [from, to] = [text.indexOf(start), text.indexOf(end)];
    if (from < 0 || to < from) throw new Error(`README.md lacks the markers ${start} and ${end}`);
    text = `${text.slice(0, from + start.length)}\n\n${await render()}\n\n${text.slice(to)}`;
  }
  return text;
}

/** The first block of TypeScript in the README. Throws when there is none. */
export function firstExample(readme: string): string {
  const block = /^```ts\n([\s\S]*?)^```$/m.exec(readme)?.[1];
  if (block === undefined) throw new Error('README.md has no ```ts block');
  return block;
}

function codeTable(): string {
  const rows = Object.entries(CODES).map(
    ([code, { stage, retryable, meaning }]) => `| \`${code}\` | ${stage} | ${retryable ? 'yes' : 'no'} | ${meaning} |`,
  );
  return ['| code | stage | retryable | meaning |', '|---|---|---|---|', ...rows].join('\n');
}

/** One line a state, followed by where it can go and on what; `∥` marks regions that run side by side. */
export function stateTree(node: AnyStateNode, lead = '', branch = ''): string[] {
  const children = Object.values(node.states);
  const isLast = branch === '└─ ' || branch === '';
  const below = branch === '' ? '' : `${lead}${isLast ? '   ' : '│  '}`;
  const name = `${lead}${branch}${node.key}${node.type === 'parallel' ? ' ∥' : ''}`;
  const column = `${below}${children.length > 0 ? '│' : ' '}`;
  const exits = leavings(node);
  const head = exits.length === 0 ? [name] : [`${name.padEnd(30)} ${exits[0] ?? ''}`];
  return [
    ...head,
    ...exits.slice(1).map((exit) => `${column.padEnd(30)} ${exit}`),
    ...children.flatMap((child, at) => stateTree(child, below, at === children.length - 1 ? '└─ ' : '├─ ')),
  ];
}

/** `→ target  on event, event`, one for every state that can be reached from here in one step. */
function leavings(node: AnyStateNode): string[] {
  const reasons = new Map<string, Set<string>>();
  const transitions = [...[...node.transitions.values()].flat(), ...(node.always ?? [])];
  for (const { eventType, target } of transitions) {
    for (const { path } of target ?? []) {
      const goal = path.join('.');
      const known = reasons.get(goal) ?? new Set<string>();
      reasons.set(goal, known.add(eventName(String(eventType), node)));
    }
  }
  return [...reasons].map(([goal, events]) => `→ ${goal}  ${[...events].join(', ')}`);
}

/** XState's own event names without the ids it builds into them. */
function eventName(type: string, node: AnyStateNode): string {
  if (type === '') return 'at once';
  const after = /^xstate\.after\.([^.]+)\./.exec(type)?.[1];
  if (after !== undefined) return `after ${after}`;
  const invoked = node.invoke.find(({ id }) => type.endsWith(`.actor.${id}`));
  const actor = invoked === undefined ? '' : `${typeof invoked.src === 'string' ? invoked.src : invoked.id} `;
  if (type.startsWith('xstate.done.')) return `${actor}done`;
  if (type.startsWith('xstate.error.')) return `${actor}failed`;
  return type;
}
