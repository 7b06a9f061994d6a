import { type Candidate, gateVerdicts, needsApproval } from '../machines/candidates.js';
import { phaseOf, type ServerSnapshot, stageOf } from '../machines/server-view.js';
import { candidateKey, type Failure, failure, GATE_NAMES, type ServerId, type Stage } from '../machines/vocabulary.js';
import type { GateVerdict, OnDemand } from './explanation.js';
import { answerHint } from './served-candidates.js';
import { noChannel } from './waiters.js';
import type { WorkspaceRuntime } from './workspace-runtime.js';

/** Nothing of an entry that was not taken has come to any gate. */
export const UNTRIED: readonly GateVerdict[] = GATE_NAMES.map((gate) => ({ gate, state: 'untried', failure: null }));

/** Every gate of a candidate, in order. A shut one says what opens it. */
export function gatesOf(
  runtime: WorkspaceRuntime,
  candidate: Candidate,
  snapshot: ServerSnapshot | undefined,
): readonly GateVerdict[] {
  const context = snapshot?.context;
  const weighed = gateVerdicts(candidate, runtime.context);
  // What would run is looked at before a start only: a refusal may come as late as that.
  const found = context?.blockedBy === 'refused' ? context.problem : null;
  const refusals = weighed.refusals ?? found;
  const shut: Readonly<Record<keyof typeof weighed, Failure | null>> = {
    ...weighed,
    refusals: refusals === null ? null : withHint(refusals, mendHint(runtime, candidate)),
  };
  const isReached = Object.values(shut).every((problem) => problem === null);
  return GATE_NAMES.map((gate) => {
    if (gate === 'approval') return { gate, ...approvalOf(runtime, candidate, snapshot, isReached) };
    return { gate, state: shut[gate] === null ? 'open' : 'shut', failure: shut[gate] };
  });
}

function approvalOf(
  runtime: WorkspaceRuntime,
  { layer, id }: Candidate,
  snapshot: ServerSnapshot | undefined,
  isReached: boolean,
): Omit<GateVerdict, 'gate'> {
  const key = candidateKey(layer, id);
  if (!needsApproval(layer) || runtime.context.approved[key] === true) return { state: 'open', failure: null };
  if (!isReached || snapshot === undefined) return { state: 'untried', failure: null };
  const { blockedBy, problem, fingerprint } = snapshot.context;
  if (phaseOf(snapshot) === 'approving') {
    const { code, message } = runtime.questions.hasChannel ? isBeingAsked(id) : noChannel(id);
    return { state: 'shut', failure: failure(code, message, answerHint(id, fingerprint)) };
  }
  if (blockedBy !== 'denied' || problem === null) return { state: 'untried', failure: null };
  return { state: 'shut', failure: withHint(problem, `To be asked again, run \`mcp-supervisor test ${id}\` on a terminal.`) };
}

const isBeingAsked = (id: ServerId): Failure => failure('NOT_READY', `"${id}" waits for the answer whether it may run`);

const withHint = (problem: Failure, hint: string): Failure => ({ ...problem, hint: problem.hint ?? hint });

function mendHint(runtime: WorkspaceRuntime, { layer, id }: Candidate): string {
  const definition = runtime.config.definitionOf(candidateKey(layer, id));
  if (definition === undefined) return 'Change its entry.';
  return layer.startsWith('plugin:')
    ? `Change its entry in ${layer}.`
    : `Change its entry: ${definition.file}:${definition.line}.`;
}

const STAGE_WORDS: Partial<Readonly<Record<Stage, string>>> = {
  approval: 'it waits until what would run has been looked at',
  slot: 'it waits for a live slot',
  transport: 'it waits until its server is started',
  initialize: 'it waits until the handshake is over',
  list: 'it waits until the lists are read',
  closing: 'it waits until the last life of its server is closed',
};

const does = (what: OnDemand['does'], why: string): OnDemand => ({ does: what, why, failure: null });
export const refuse = (problem: Failure): OnDemand => ({ does: 'refuse', why: problem.message, failure: problem });

/** What a call would meet at its server now; the rules for a tool come before that. */
export function onDemandOf(
  runtime: WorkspaceRuntime,
  gates: readonly GateVerdict[],
  snapshot: ServerSnapshot | undefined,
): OnDemand {
  const shut = gates.find(({ state }) => state === 'shut');
  const isAsking = shut?.gate === 'approval' && shut.failure?.code === 'NOT_READY';
  if (isAsking) return does('wait', 'it waits until a person has answered whether its server may run');
  if (shut !== undefined && shut.failure !== null) return refuse(shut.failure);
  if (snapshot === undefined) return refuse(failure('NOT_READY', 'it was ended by a fault of the supervisor'));
  const { context } = snapshot;
  switch (phaseOf(snapshot)) {
    case 'ready':
      return does('send', 'it is sent to the running server');
    case 'approving':
    case 'connecting':
      return does('wait', STAGE_WORDS[stageOf(snapshot) ?? 'transport'] ?? 'it waits until its server is ready');
    case 'backoff':
      return context.mayHurry
        ? does('start', 'its server is started at once: one call may skip the wait between two tries')
        : does('wait', 'it waits until the next try: no call may skip that wait a second time');
    case 'failed':
      if (snapshot.matches({ down: { failed: 'ajar' } })) return does('start', 'its server is started for one more try');
      return refuse(context.problem ?? failure('NOT_READY', `"${context.profile.id}" has failed`));
    case 'idle':
      return gates.at(-1)?.state === 'untried'
        ? does('ask', 'a person is asked whether its server may run')
        : does('start', 'its server is started');
  }
}
