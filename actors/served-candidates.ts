import type { Candidate } from '../machines/candidates.js';
import { type CandidateKey, candidateKey, type ServerId } from '../machines/vocabulary.js';
import type { WorkspaceContext } from '../machines/workspace-machine.js';

type Stack = Pick<WorkspaceContext, 'candidates' | 'verdicts'>;

/** What serves an id now. */
export interface Served {
  readonly id: ServerId;
  readonly key: CandidateKey;
  readonly configHash: string;
}

/** The candidate that serves an id; else the highest one, which is the one to say what keeps the id from being served. */
export function candidateFor({ candidates, verdicts }: Stack, id: ServerId): Candidate | undefined {
  const stack = candidates.filter((candidate) => candidate.id === id);
  return stack.find(({ layer }) => verdicts.get(candidateKey(layer, id))?.isEffective === true) ?? stack.at(-1);
}

/** Every id that is served, and by what. */
export function servedBy({ candidates, verdicts }: Stack): readonly Served[] {
  return candidates
    .map(({ id, layer, configHash }) => ({ id, configHash, key: candidateKey(layer, id) }))
    .filter(({ key }) => verdicts.get(key)?.isEffective === true);
}
