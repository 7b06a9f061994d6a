import type { Failure } from '../../machines/vocabulary.js';
import { visibleLine } from '../shared/visible-text.js';
import type { Explanation } from './library.js';
import { renderFault } from './render-status.js';

const COLUMNS = 80;
const LABEL_COLUMNS = 11;

/** An explanation for people: one fact a paragraph, in at most 80 columns where words can be parted, escaped and never cut. */
export function renderExplanation(explanation: Explanation): string[] {
  const { subject, server, layer, phase, stage, error } = explanation;
  const what = subject === server ? '' : `: server ${server}`;
  const where = stage === null || stage === 'config' ? '' : ` (${stage})`;
  const state = stage === 'config' ? 'its entry was not taken' : `${phase}${where}`;
  return [
    ...paragraph(0, `${subject}${what} of layer ${layer}, ${state}`),
    ...rows('entry', [placeOf(explanation)]),
    ...rows(
      'shadowed',
      explanation.shadowed.map((one) => `${one.layer}, ${placeOf(one)}: ${one.why} (${one.code})`),
    ),
    ...rows('gates', explanation.gates.flatMap(gateLines)),
    ...toolRows(explanation),
    ...(error === null || isTold(explanation, error)
      ? []
      : rows('error', [`${error.code} (${error.stage}): ${error.message}`, ...hintOf(error)])),
    ...stateRows(explanation),
    ...rows('a call now', [onCall(explanation)]),
    ...rows(
      'config',
      explanation.faults.map((fault) => `${fault.severity}: ${renderFault(fault)}`),
    ),
  ];
}

/** A gate that is shut says the same. */
const isTold = ({ gates }: Explanation, { code, message }: Failure): boolean =>
  gates.some(({ failure }) => failure?.code === code && failure.message === message);

function onCall(explanation: Explanation): string {
  const { failure, why } = explanation.onDemand;
  if (failure === null) return why;
  return isTold(explanation, failure) ? `fails with ${failure.code}` : `fails with ${failure.code}: ${why}`;
}

const hintOf = ({ hint }: Failure): readonly string[] => (hint === undefined ? [] : [hint]);

/** Where an entry or a rule stands; what has no line was given in code, or its file could not be taken. */
function placeOf({ file, line }: { readonly file: string | null; readonly line: number | null }): string {
  if (file === null) return 'on its way out';
  return line === null ? file : `${file}:${line}`;
}

function gateLines({ gate, state, failure }: Explanation['gates'][number]): readonly string[] {
  const head = `${state.padEnd(7)}  ${gate}`;
  return failure === null ? [head] : [`${head}: ${failure.code}. ${failure.message}`, ...hintOf(failure)];
}

function toolRows({ tool, policy }: Explanation): string[] {
  const named = tool === null ? [] : [`${tool.name ?? tool.tool}, ${tool.state}${tool.cached ? ' by an earlier run of it' : ''}`];
  const reasons = tool?.reasons.flatMap((one) => [`${one.code}: ${one.message}`, ...hintOf(one)]) ?? [];
  if (policy === null) return rows('tool', [...named, ...reasons]);
  const where = policy.file === null ? '' : ` (${placeOf(policy)})`;
  const host = policy.isHostAsked ? ['The host judges each call itself, and may be stricter.'] : [];
  return [...rows('tool', [...named, ...reasons]), ...rows('policy', [`${policy.verdict}: ${policy.rule}${where}`, ...host])];
}

function stateRows({ retry, restarts, slot, lastClose }: Explanation): string[] {
  const next = retry === null ? [] : [`in ${(retry.inMs / 1_000).toFixed(1)} s, at ${new Date(retry.atMs).toISOString()}`];
  const deaths = restarts.count === 0 ? [] : [`${restarts.count} of at most ${restarts.max} in ${restarts.windowMs / 1_000} s`];
  const waits = slot === null ? [] : [`waits as number ${slot.position} for one of ${slot.capacity} live connections`];
  const closed = lastClose === null ? [] : [`generation ${lastClose.generation}, ${lastClose.outcome}: ${lastClose.reason}`];
  return [...rows('next try', next), ...rows('restarts', deaths), ...rows('slot', waits), ...rows('last close', closed)];
}

/** The label before the first paragraph only. */
function rows(label: string, texts: readonly string[]): string[] {
  return texts.flatMap((text, at) => {
    const [first = '', ...others] = paragraph(LABEL_COLUMNS + 2, text);
    return [`  ${(at === 0 ? label : '').padEnd(LABEL_COLUMNS)}${first.slice(LABEL_COLUMNS + 2)}`, ...others];
  });
}

/** Other people's text, escaped, indented and broken between words; a word that is longer than a line stays whole. */
function paragraph(indent: number, text: string): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of visibleLine(text).trimEnd().split(' ')) {
    const longer = line === '' ? word : `${line} ${word}`;
    if (line !== '' && Array.from(longer).length > COLUMNS - indent) {
      lines.push(line);
      line = word;
    } else line = longer;
  }
  return [...lines, line].map((one) => ' '.repeat(indent) + one);
}
