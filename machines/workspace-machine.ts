import { type ActorRefFrom, assertEvent, assign, type ErrorActorEvent, emit, enqueueActions, setup } from 'xstate';
import {
  type Candidate,
  type CandidateFacts,
  type CandidateVerdict,
  decideCandidates,
  diffCandidates,
  keyOf,
} from './candidates.js';
import { nextDraw } from './restart-policy.js';
import type { ServerReport, ShutGate } from './server-events.js';
import { serverMachine } from './server-machine.js';
import type { ServerOptions } from './server-options.js';
import { type CandidateKey, type Failure, failure } from './vocabulary.js';

export type ServerRef = ActorRefFrom<typeof serverMachine>;

export interface WorkspaceInput {
  readonly root: string;
  readonly trusted: boolean;
  readonly remoteEnabled: boolean;
  readonly switches: ReadonlyMap<string, boolean>;
  readonly seed: number;
  readonly options: ServerOptions;
}

export type WorkspaceCommand =
  /** The whole truth, compared with what runs. `degraded`: some layer could not be taken. */
  | {
      readonly type: 'config.taken';
      readonly state: 'valid' | 'degraded';
      readonly candidates: readonly Candidate[];
      readonly options: ServerOptions;
    }
  /** A reading that changes nothing: whatever runs goes on. */
  | { readonly type: 'config.rejected' }
  | { readonly type: 'trust.changed'; readonly trusted: boolean }
  | { readonly type: 'remote.changed'; readonly enabled: boolean }
  | { readonly type: 'switch.changed'; readonly key: string; readonly on: boolean }
  | { readonly type: 'workspace.close'; readonly failure: Failure };

export type WorkspaceEvent = WorkspaceCommand | ServerReport;

/** What the embedding code hears: every report of a server, and the coming and going of their actors. */
export type WorkspaceNews =
  | ServerReport
  | { readonly type: 'server.added'; readonly key: CandidateKey }
  /** The actor itself failed, a bug: what it held has to be ended from outside. */
  | { readonly type: 'server.broke'; readonly key: CandidateKey }
  | { readonly type: 'workspace.closed' };

export interface WorkspaceContext {
  readonly root: string;
  readonly remoteEnabled: boolean;
  readonly switches: ReadonlyMap<string, boolean>;
  readonly trusted: boolean;
  readonly revision: number;
  readonly candidates: readonly Candidate[];
  readonly verdicts: ReadonlyMap<CandidateKey, CandidateVerdict>;
  readonly approved: Readonly<Record<CandidateKey, boolean>>;
  readonly servers: Readonly<Record<CandidateKey, ServerRef>>;
  /** Actors that were told to leave; a candidate that comes back under such a key waits for the old one to be gone. */
  readonly leaving: readonly CandidateKey[];
  readonly seed: number;
  readonly options: ServerOptions;
}

function factsOf({ root, trusted, remoteEnabled, switches, approved }: WorkspaceContext): CandidateFacts {
  return { root, trusted, remoteEnabled, switches, approved: (key) => approved[key] === true };
}

const shutOf = (verdict: CandidateVerdict | undefined): ShutGate => verdict?.shut ?? null;

const isSameGate = (a: ShutGate, b: ShutGate): boolean => a?.gate === b?.gate && a?.failure.message === b?.failure.message;

/** Weighed again with the same outcome, as nearly always. */
function isSameVerdicts(now: WorkspaceContext['verdicts'], before: WorkspaceContext['verdicts']): boolean {
  if (now.size !== before.size) return false;
  for (const [key, { shut, isEffective }] of now) {
    const known = before.get(key);
    if (known === undefined || known.isEffective !== isEffective || !isSameGate(known.shut, shut)) return false;
  }
  return true;
}

const brokenKey = ({ event }: { readonly event: ErrorActorEvent }): CandidateKey => event.actorId as CandidateKey;

const workspace = setup({
  types: {
    context: {} as WorkspaceContext,
    events: {} as WorkspaceEvent,
    input: {} as WorkspaceInput,
    emitted: {} as WorkspaceNews,
    children: {} as Record<string, 'server'>,
  },
  actors: { server: serverMachine },
  guards: {
    // A user's own server is known to need no question: its word changes nothing for anybody.
    changesApproval: ({ context, event }) =>
      event.type === 'approval.known' &&
      context.verdicts.get(event.key)?.needsApproval === true &&
      (context.approved[event.key] === true) !== event.approved,
    changesRemote: ({ context, event }) => event.type === 'remote.changed' && event.enabled !== context.remoteEnabled,
    isEmpty: ({ context }) => Object.keys(context.servers).length === 0,
  },
  actions: {
    takeConfig: enqueueActions(({ context, event, enqueue }) => {
      assertEvent(event, 'config.taken');
      const { candidates, options } = event;
      const { removed, changed, adjusted } = diffCandidates(context.candidates, candidates);
      // A candidate whose actor broke has none to tell; one that is leaving is started anew, from what is taken now.
      const refOf = (candidate: Candidate): ServerRef | undefined => context.servers[keyOf(candidate)];
      const staying = (candidate: Candidate): ServerRef | undefined =>
        context.leaving.includes(keyOf(candidate)) ? undefined : refOf(candidate);
      for (const candidate of removed) {
        const gone = failure('SERVER_REMOVED', `"${candidate.id}" is no longer in the configuration`);
        const ref = refOf(candidate);
        if (ref !== undefined) enqueue.sendTo(ref, { type: 'server.retire', failure: gone });
      }
      for (const profile of changed) {
        const ref = staying(profile);
        if (ref !== undefined) enqueue.sendTo(ref, { type: 'profile.changed', profile });
      }
      for (const profile of adjusted) {
        const ref = staying(profile);
        if (ref !== undefined) enqueue.sendTo(ref, { type: 'profile.adjusted', profile });
      }
      if (JSON.stringify(options) !== JSON.stringify(context.options)) {
        // Who was told to leave may have left by now, and hears nothing any more.
        const gone = new Set<string>([...context.leaving, ...removed.map(keyOf)]);
        const heard = Object.entries(context.servers).filter(([key]) => !gone.has(key));
        for (const [, ref] of heard) enqueue.sendTo(ref, { type: 'options.changed', options });
      }
      const leaving = removed.filter((one) => staying(one) !== undefined).map(keyOf);
      enqueue.assign({ candidates, options, revision: context.revision + 1, leaving: [...context.leaving, ...leaving] });
    }),
    setTrust: assign({ trusted: ({ event }) => (assertEvent(event, 'trust.changed'), event.trusted) }),
    setRemote: assign({ remoteEnabled: ({ event }) => (assertEvent(event, 'remote.changed'), event.enabled) }),
    setSwitch: assign({
      switches: ({ context, event }) => {
        assertEvent(event, 'switch.changed');
        return new Map(context.switches).set(event.key, event.on);
      },
    }),
    setApproval: assign({
      approved: ({ context, event }) => {
        assertEvent(event, 'approval.known');
        return { ...context.approved, [event.key]: event.approved };
      },
    }),
    // Tells each server its first shut gate, if that is another one than before: what did not change is not disturbed.
    weighGates: enqueueActions(({ context, enqueue }) => {
      const verdicts = decideCandidates(context.candidates, factsOf(context));
      if (isSameVerdicts(verdicts, context.verdicts)) return;
      enqueue.assign({ verdicts });
      for (const [key, verdict] of verdicts) {
        const ref = context.servers[key];
        if (ref === undefined || context.leaving.includes(key)) continue;
        const shut = shutOf(verdict);
        if (!isSameGate(shut, shutOf(context.verdicts.get(key)))) enqueue.sendTo(ref, { type: 'gates.changed', shut });
      }
    }),
    // Spawning in one assign is the cheap way, and gives every server its own seed.
    spawnMissing: enqueueActions(({ context, enqueue, self }) => {
      const missing = context.candidates.filter((candidate) => context.servers[keyOf(candidate)] === undefined);
      if (missing.length === 0) return;
      enqueue.assign(({ context: now, spawn }) => {
        const servers = { ...now.servers };
        let { seed } = now;
        for (const profile of missing) {
          seed = nextDraw(seed).seed;
          const key = keyOf(profile);
          const shut = shutOf(now.verdicts.get(key));
          servers[key] = spawn('server', { id: key, input: { profile, shut, seed, options: now.options, supervisor: self } });
        }
        return { servers, seed };
      });
      for (const profile of missing) {
        const key = keyOf(profile);
        enqueue.emit({ type: 'server.added', key });
        // The load itself is the first news of the gates: it starts what starts unasked and opens the questions.
        enqueue.sendTo(
          ({ context: now }) => now.servers[key] as ServerRef,
          ({ context: now }) => ({
            type: 'gates.changed' as const,
            shut: shutOf(now.verdicts.get(key)),
          }),
        );
      }
    }),
    dropServer: enqueueActions(({ context, enqueue }, key: CandidateKey) => {
      // A finished child stays in the snapshot until it is stopped.
      enqueue.stopChild(key);
      const { [key]: _gone, ...servers } = context.servers;
      const { [key]: _known, ...approved } = context.approved;
      enqueue.assign({ servers, approved, leaving: context.leaving.filter((one) => one !== key) });
    }),
    retireAll: enqueueActions(({ context, event, enqueue }) => {
      assertEvent(event, 'workspace.close');
      for (const ref of Object.values(context.servers)) enqueue.sendTo(ref, { type: 'server.retire', failure: event.failure });
      enqueue.assign({ candidates: [], leaving: Object.keys(context.servers) as CandidateKey[] });
    }),
    tell: emit(({ event }) => event as ServerReport),
    tellBroken: emit((_, key: CandidateKey) => ({ type: 'server.broke' as const, key })),
    tellClosed: emit({ type: 'workspace.closed' }),
  },
});

/**
 * The set of servers of one root. One-for-one: what happens to a server never touches its siblings. It holds no secret and
 * no payload; a rejected configuration changes nothing in it.
 */
export const workspaceMachine = workspace.createMachine({
  id: 'mcp-workspace',
  context: ({ input }) => ({
    ...input,
    revision: 0,
    candidates: [],
    verdicts: new Map(),
    approved: {},
    servers: {},
    leaving: [],
  }),
  type: 'parallel',
  on: {
    'approval.known': { guard: 'changesApproval', actions: ['setApproval', 'weighGates', 'tell'] },
    'remote.changed': { guard: 'changesRemote', actions: ['setRemote', 'weighGates'] },
    'switch.changed': { actions: ['setSwitch', 'weighGates'] },
    'slot.wanted': { actions: 'tell' },
    'slot.released': { actions: 'tell' },
    'slot.quiet': { actions: 'tell' },
    'slot.busy': { actions: 'tell' },
    'approval.wanted': { actions: 'tell' },
    'approval.closed': { actions: 'tell' },
    'list.walked': { actions: 'tell' },
    'server.interrupted': { actions: 'tell' },
    // Only a bug ends an actor like this. It is not spawned again before the next reload: the bug would only come again.
    'xstate.error.actor.*': {
      actions: [{ type: 'tellBroken', params: brokenKey }, { type: 'dropServer', params: brokenKey }, 'weighGates'],
    },
  },
  states: {
    config: {
      initial: 'loading',
      on: {
        'config.taken': [{ guard: ({ event }) => event.state === 'valid', target: '.valid' }, { target: '.degraded' }],
        'config.rejected': '.rejected',
      },
      states: { loading: {}, valid: {}, degraded: {}, rejected: {} },
    },
    trust: {
      initial: 'deciding',
      states: {
        deciding: { always: [{ guard: ({ context }) => context.trusted, target: 'trusted' }, { target: 'untrusted' }] },
        untrusted: {},
        trusted: {},
      },
      on: { 'trust.changed': { target: '.deciding', actions: ['setTrust', 'weighGates'] } },
    },
    lifetime: {
      initial: 'open',
      states: {
        open: {
          on: {
            'config.taken': { actions: ['takeConfig', 'weighGates', 'spawnMissing'] },
            'server.gone': {
              actions: [{ type: 'dropServer', params: ({ event }) => event.key }, 'tell', 'weighGates', 'spawnMissing'],
            },
            'workspace.close': { target: 'closing', actions: 'retireAll' },
          },
        },
        closing: {
          always: { guard: 'isEmpty', target: 'closed' },
          on: { 'server.gone': { actions: [{ type: 'dropServer', params: ({ event }) => event.key }, 'tell'] } },
        },
        closed: { entry: 'tellClosed' },
      },
    },
  },
  options: { maxIterations: 1_000 },
});
