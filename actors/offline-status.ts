import { type Candidate, type CandidateFacts, type CandidateVerdict, isSwitchedOn } from '../machines/candidates.js';
import { type CandidateKey, candidateKey, type ServerId } from '../machines/vocabulary.js';
import type { ServerStatus, WorkspaceStatus } from './api.js';
import type { Catalogue } from './catalogue.js';
import type { JudgedConfig } from './configuration.js';
import { NOT_RUNNING } from './not-running.js';
import { candidateFor, shadowedBy } from './served-candidates.js';

type Verdicts = ReadonlyMap<CandidateKey, CandidateVerdict>;
type Facts = Pick<CandidateFacts, 'root' | 'trusted' | 'remoteEnabled' | 'switches'>;

/** The status of a workspace none of whose servers was ever started. */
export function offlineStatus(judged: JudgedConfig, verdicts: Verdicts, facts: Facts, catalogue: Catalogue): WorkspaceStatus {
  const { candidates, verdict, errors, warnings } = judged;
  const { root, trusted, remoteEnabled } = facts;
  const ids = [...new Set(candidates.map(({ id }) => id))].sort();
  return {
    // A first load: it takes what is valid, and `degraded` says that not all of it was.
    workspace: { root, trusted, remoteEnabled, config: { state: verdict, revision: 1, errors, warnings }, warnings: [] },
    servers: ids.map((id) => serverStatus(id, judged, verdicts, facts, catalogue)),
  };
}

function serverStatus(id: ServerId, judged: JudgedConfig, verdicts: Verdicts, facts: Facts, catalogue: Catalogue): ServerStatus {
  const { candidates, definitions } = judged;
  const candidate = candidateFor({ candidates, verdicts }, id) as Candidate;
  const { layer, transport, lifecycle, origin = null } = candidate;
  const key = candidateKey(layer, id);
  const shut = verdicts.get(key)?.shut ?? null;
  const overLimit = catalogue.overLimit(id);
  return {
    id,
    layer,
    file: definitions.get(key)?.file ?? null,
    shadowed: shadowedBy({ candidates, verdicts }, candidate),
    transport,
    origin,
    lifecycle: definitions.get(key)?.lifecycle ?? lifecycle,
    enabled: isSwitchedOn(candidate, facts),
    phase: 'idle',
    blockedBy: shut?.gate ?? null,
    ...NOT_RUNNING,
    ...catalogue.counts(id),
    error: shut?.failure ?? null,
    warnings: overLimit > 0 ? [`${overLimit} tools are past the limit and cannot be called`] : [],
  };
}
