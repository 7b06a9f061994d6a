import { type Candidate, isSwitchedOn } from '../machines/candidates.js';
import { type CandidateKey, candidateKey, type Failure, failure, type LayerName, type ServerId } from '../machines/vocabulary.js';
import type { WorkspaceContext } from '../machines/workspace-machine.js';

type Stack = Pick<WorkspaceContext, 'candidates' | 'verdicts'>;

import type { ServerStatus } from './api.js';

/** What an id stands for now: what serves it, or what would once a person has approved it. */
export interface Shown {
  readonly id: ServerId;
  readonly layer: LayerName;
  readonly key: CandidateKey;
  readonly configHash: string;
  /** False: it waits for its approval. What is known of it may be found, and nothing of it runs. */
  readonly isServing: boolean;
}

/** The candidate that serves an id; else the highest one whose gates are open; else the highest, which says what shuts it out. */
export function candidateFor({ candidates, verdicts }: Stack, id: ServerId): Candidate | undefined {
  const stack = candidates.filter((candidate) => candidate.id === id);
  const verdictOn = ({ layer }: Candidate) => verdicts.get(candidateKey(layer, id));
  return (
    stack.find((one) => verdictOn(one)?.isEffective === true) ??
    stack.findLast((one) => verdictOn(one)?.shut === null) ??
    stack.at(-1)
  );
}

/** The candidate that a person means who switches an id on: the highest that is off, else the one it stands for. */
export function candidateToEnable(
  stack: Stack & Pick<WorkspaceContext, 'switches' | 'root'>,
  id: ServerId,
): Candidate | undefined {
  return stack.candidates.findLast((one) => one.id === id && !isSwitchedOn(one, stack)) ?? candidateFor(stack, id);
}

/** Every id that something stands for: none whose gates are all shut. */
export function shownBy(stack: Stack): readonly Shown[] {
  const ids = new Set(stack.candidates.map(({ id }) => id));
  return [...ids].flatMap((id) => {
    const { layer, configHash } = candidateFor(stack, id) as Candidate;
    const key = candidateKey(layer, id);
    const verdict = stack.verdicts.get(key);
    return verdict?.shut === null ? [{ id, layer, key, configHash, isServing: verdict.isEffective }] : [];
  });
}

/** The other layers that define what this candidate does, and why they do not serve it. */
export function shadowedBy({ candidates, verdicts }: Stack, { id, layer }: Candidate): ServerStatus['shadowed'] {
  return candidates
    .filter((other) => other.id === id && other.layer !== layer)
    .map((other) => ({ layer: other.layer, why: whyNotServed({ verdicts }, other).message }));
}

/** What keeps a candidate from serving its id; one whose gates are all open waits for its approval. */
export function whyNotServed({ verdicts }: Pick<Stack, 'verdicts'>, { layer, id }: Candidate): Failure {
  return (
    verdicts.get(candidateKey(layer, id))?.shut?.failure ??
    failure('APPROVAL_NO_CHANNEL', 'it waits for its approval', answerHint(id, null))
  );
}

/** How a person answers the question of a server, with the command. */
export function answerHint(id: ServerId, fingerprint: string | null): string {
  const flag = fingerprint === null ? '' : `, or give \`--approve ${fingerprint}\``;
  return `Read its card; then answer on a terminal, as \`mcp-supervisor test ${id}\` asks${flag}.`;
}
