import { type Candidate, type CandidateFacts, type CandidateVerdict, defaultSwitch, switchKey } from '../machines/candidates.js';
import { type CandidateKey, candidateKey, type ServerId } from '../machines/vocabulary.js';
import type { ServerStatus, WorkspaceStatus } from './api.js';
import type { Catalogue } from './catalogue.js';
import type { JudgedConfig } from './configuration.js';
import { candidateFor } from './served-candidates.js';

type Verdicts = ReadonlyMap<CandidateKey, CandidateVerdict>;
type Facts = Pick<CandidateFacts, 'root' | 'trusted' | 'remoteEnabled' | 'switches'>;

/** The status of a workspace none of whose servers was ever started. */
export function offlineStatus(judged: JudgedConfig, verdicts: Verdicts, facts: Facts, catalogue: Catalogue): WorkspaceStatus {
  const { candidates, verdict, errors, warnings } = judged;
  const { root, trusted, remoteEnabled } = facts;
  const ids = [...new Set(candidates.map(({ id }) => id))].sort();
  return {
    // A first load: it takes what is valid, and `degraded` says that not all of it was.
    workspace: { root, trusted, remoteEnabled, config: { state: verdict, revision: 1, errors, warnings } },
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
    shadowed: othersOf(candidate, candidates, verdicts),
    transport,
    origin,
    lifecycle: definitions.get(key)?.lifecycle ?? lifecycle,
    enabled: facts.switches.get(switchKey(candidate, facts.root)) ?? defaultSwitch(layer),
    phase: 'idle',
    blockedBy: shut?.gate ?? null,
    fingerprint: null,
    generation: 0,
    pid: null,
    era: null,
    protocolVersion: null,
    serverInfo: null,
    ...catalogue.counts(id),
    stage: null,
    error: shut?.failure ?? null,
    retryAtMs: null,
    restarts: 0,
    callsInFlight: 0,
    cancellations: { confirmed: 0, lateAnswer: 0, unconfirmed: 0 },
    lastClose: null,
    warnings: overLimit > 0 ? [`${overLimit} tools are past the limit and cannot be called`] : [],
  };
}

function othersOf({ id, layer }: Candidate, candidates: readonly Candidate[], verdicts: Verdicts): ServerStatus['shadowed'] {
  return candidates
    .filter((other) => other.id === id && other.layer !== layer)
    .map((other) => {
      const shut = verdicts.get(candidateKey(other.layer, id))?.shut;
      return { layer: other.layer, why: shut?.failure.message ?? 'it waits for its approval' };
    });
}
