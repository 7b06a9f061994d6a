import { assertEvent, assign, enqueueActions, sendTo } from 'xstate';
import { CANCEL_NOTIFY_TIMEOUT_MS, CANCEL_WATCH_MS } from './cancellation-machine.js';
import type { ListWalk } from './pagination-machine.js';
import { forgetRestart, nextDraw, recordRestart } from './restart-policy.js';
import { isPromotion, serverBase } from './server-base.js';
import { failedLists, type Heading, isHungry, isKeptAlive, needsPerson, type ServerContext } from './server-context.js';
import type { Vetting } from './server-events.js';
import { type Failure, failure, LIST_KINDS, type ListKind, type ListState } from './vocabulary.js';

/** What the server machine is made of; the chart is in `server-machine.ts`. */
export const server = serverBase.extend({
  actions: {
    // ── what is wanted ──
    noteDemand: assign(({ context, event }) => {
      assertEvent(event, 'server.demand');
      if (event.by === 'call') return { waiting: true };
      // Only a person may have a denied question asked again, never a model's call.
      return { wanted: true, denied: event.by === 'person' ? null : context.denied };
    }),
    // An open gate is, for a server that starts unasked, the load it missed. Where a person opened it, a question that was
    // answered with no may be put again; that another candidate steps aside is no person's act.
    reopen: assign(({ context }) => ({
      wanted: context.wanted || context.profile.lifecycle !== 'lazy',
      fingerprint: null,
      denied: context.shut?.gate === 'shadowed' ? context.denied : null,
    })),
    want: assign({ wanted: true }),
    unwant: assign({ wanted: false }),
    wantUnasked: assign({ wanted: ({ context }) => context.wanted || context.profile.lifecycle !== 'lazy' }),
    wantIfKept: assign({ wanted: ({ context }) => context.wanted || isKeptAlive(context) }),
    endWaiting: assign({ waiting: false }),
    spendHurry: assign({ mayHurry: false }),

    // ── gates ──
    // A gate that shuts is also what open calls are settled with.
    setGates: assign(({ context, event }) => {
      assertEvent(event, 'gates.changed');
      return { shut: event.shut, ending: event.shut?.failure ?? context.ending };
    }),
    // What an open gate said while it was shut no longer holds; what went wrong in the server's last life still does.
    weighGates: assign(({ context: { shut, blockedBy, problem, wanted } }) => ({
      blockedBy: shut?.gate ?? null,
      problem: shut?.failure ?? (blockedBy === null ? problem : null),
      wanted: wanted && shut === null,
    })),
    refuse: assign((_, problem: Failure) => ({ blockedBy: 'refused' as const, problem, wanted: false })),
    noteVetting: assign((_, vetting: Vetting) =>
      vetting.verdict === 'refused'
        ? { blockedBy: 'refused' as const, problem: vetting.failure, wanted: false }
        : { fingerprint: vetting.fingerprint },
    ),
    noteApproved: assign(({ context }) => ({ approved: context.fingerprint, denied: null, blockedBy: null })),
    noteDenied: assign(({ context }, problem: Failure) => ({
      denied: context.fingerprint,
      approved: null,
      blockedBy: 'denied' as const,
      problem,
      wanted: false,
    })),
    tellApproval: sendTo(
      ({ context }) => context.supervisor,
      ({ context }, approved: boolean) => ({ type: 'approval.known', key: context.key, approved }) as const,
    ),
    // A question is open only about a fingerprint.
    ask: sendTo(
      ({ context }) => context.supervisor,
      ({ context }) => ({ type: 'approval.wanted', key: context.key, fingerprint: context.fingerprint as string }) as const,
    ),
    closeQuestion: sendTo(
      ({ context }) => context.supervisor,
      ({ context }) => ({ type: 'approval.closed', key: context.key, fingerprint: context.fingerprint as string }) as const,
    ),

    // ── slots ──
    takeTicket: assign({ ticket: ({ context }) => context.ticket + 1 }),
    askForSlot: sendTo(
      ({ context }) => context.supervisor,
      ({ context }) =>
        ({ type: 'slot.wanted', key: context.key, ticket: context.ticket, keepAlive: isKeptAlive(context) }) as const,
    ),
    // Also withdraws a request: a waiter that left by another way must not be granted a slot it will never give back.
    releaseSlot: sendTo(
      ({ context }) => context.supervisor,
      ({ context }) => ({ type: 'slot.released', key: context.key, ticket: context.ticket }) as const,
    ),
    withdraw: enqueueActions(({ context, event, enqueue }) => {
      if (event.type === 'slot.granted' && event.ticket === context.ticket) return;
      enqueue.sendTo(context.supervisor, { type: 'slot.released', key: context.key, ticket: context.ticket });
    }),
    markQuiet: sendTo(
      ({ context }) => context.supervisor,
      ({ context }) => ({ type: 'slot.quiet', key: context.key, ticket: context.ticket }) as const,
    ),
    markBusy: sendTo(
      ({ context }) => context.supervisor,
      ({ context }) => ({ type: 'slot.busy', key: context.key, ticket: context.ticket }) as const,
    ),

    // ── one generation ──
    nextGeneration: assign({
      generation: ({ context }) => context.generation + 1,
      heading: 'rest',
      blockedBy: null,
    }),
    notePid: assign({ pid: ({ event }) => (assertEvent(event, 'transport.opened'), event.pid) }),
    noteHandshake: assign(({ event }) => {
      assertEvent(event, 'transport.initialized');
      const lists = { ...UNSUPPORTED };
      for (const kind of event.handshake.lists) lists[kind] = { state: 'unknown', count: 0, reason: null };
      return { handshake: event.handshake, lists, walks: event.handshake.lists, stale: [], listAttempt: 0, silences: 0 };
    }),
    noteStderr: assign({ wroteStderr: true }),
    noteBusy: assign({ busy: true }),
    noteQuiet: assign({ busy: false }),
    // Met, by whomever it was wanted: a wish that outlived it would start the server again after it idled out.
    noteReady: assign({ wanted: false, waiting: false, problem: null }),
    proveStable: assign({ attempt: 0, mayHurry: true }),
    forgetGeneration: assign({ pid: null, handshake: null, wroteStderr: false, busy: false, walks: [], stale: [] }),

    // ── endings ──
    head: assign((_, heading: Heading) => ({ heading })),
    end: assign((_, ending: Failure) => ({ ending })),
    // Whoever had a call open learns that the link is lost, whatever it was lost by.
    blame: assign((_, problem: Failure) => ({
      problem,
      ending: problem.stage === 'call' ? problem : failure('LINK_LOST', problem.message),
    })),
    // A call that was in flight is somebody who wants the server, although the call itself is not sent again.
    countAttempt: assign(({ context }, unreachable: boolean) => ({
      ...nextDraw(context.seed),
      attempt: context.attempt + 1,
      heading: context.heading === 'gone' ? ('gone' as const) : ('crash' as const),
      // A remote that cannot be reached is tried again only for those who wait.
      wanted: !unreachable && (context.wanted || context.busy),
    })),
    countDeath: enqueueActions(({ context, enqueue }) => {
      const seq = context.deaths + 1;
      enqueue.assign({ deaths: seq, restarts: recordRestart(context.restarts, seq) });
      enqueue.raise({ type: 'restart.forgotten', seq }, { delay: 'restartWindow' });
    }),
    forgetRestart: assign(({ context, event }) => {
      assertEvent(event, 'restart.forgotten');
      return { restarts: forgetRestart(context.restarts, event.seq) };
    }),
    // A delayed forgetting that is still on its way finds its number gone and changes nothing.
    pardon: assign({ attempt: 0, restarts: [], mayHurry: true, denied: null, wanted: true, heading: 'rest' }),
    absolve: assign(({ context }) => ({
      attempt: 0,
      restarts: [],
      mayHurry: true,
      denied: null,
      approved: null,
      fingerprint: null,
      problem: null,
      // Another definition starts afresh, also where the old one was about to be tried again.
      heading: context.heading === 'gone' ? 'gone' : 'rest',
    })),
    giveUp: assign(({ context }) => ({
      wanted: false,
      problem: needsPerson(context) ? context.problem : diedTooOften(context),
    })),
    closeTransport: sendTo('transport', ({ context }) => ({
      type: 'transport.close' as const,
      failure: context.ending,
    })),
    noteClosed: assign(({ event }) => {
      assertEvent(event, 'transport.closed');
      return { lastClose: { generation: event.generation, outcome: event.outcome, reason: event.detail } };
    }),
    endForRetirement: assign({ ending: ({ event }) => (assertEvent(event, 'server.retire'), event.failure) }),
    endForRestart: assign({ ending: ({ context }) => failure('LINK_LOST', `"${context.profile.id}" was restarted`) }),
    endForChange: assign({
      ending: ({ context }) => failure('LINK_LOST', `"${context.profile.id}" is restarted: its configuration changed`),
    }),
    interrupt: sendTo(
      ({ context }) => context.supervisor,
      ({ context }) => ({ type: 'server.interrupted', key: context.key, failure: context.ending }) as const,
    ),
    interruptWaiting: enqueueActions(({ context, enqueue }) => {
      if (!isHungry(context)) return;
      enqueue.sendTo(context.supervisor, { type: 'server.interrupted', key: context.key, failure: context.ending });
    }),
    setOptions: assign({ options: ({ event }) => (assertEvent(event, 'options.changed'), event.options) }),
    setProfile: assign(({ event }) => {
      assertEvent(event, ['profile.changed', 'profile.adjusted']);
      return { profile: event.profile };
    }),
    adjustProfile: assign(({ context, event }) => {
      assertEvent(event, 'profile.adjusted');
      return { profile: event.profile, wanted: context.wanted || isPromotion(context, event.profile) };
    }),
    sayGone: sendTo(
      ({ context }) => context.supervisor,
      ({ context }) => ({ type: 'server.gone', key: context.key }) as const,
    ),

    // ── lists ──
    noteWalk: enqueueActions(({ context, enqueue }, walk: ListWalk) => {
      const state: ListState = { state: walk.state, count: walk.items.length, reason: walk.reason };
      enqueue.assign(withLists(context, [walk.kind], state));
      enqueue.sendTo(context.supervisor, { type: 'list.walked', key: context.key, generation: context.generation, walk });
    }),
    failWalk: assign(({ context }, why: string) => withLists(context, context.walks.slice(0, 1), listFailed(context, why))),
    failWalks: assign(({ context }, why: string) => withLists(context, context.walks, listFailed(context, why))),
    noteChange: assign({
      stale: ({ context, event }) => {
        assertEvent(event, 'list.changed');
        return LIST_KINDS.filter((kind) => context.stale.includes(kind) || kind === event.kind);
      },
    }),
    markStale: assign({
      stale: ({ context }) => LIST_KINDS.filter((kind) => context.lists[kind].state !== 'unsupported'),
    }),
    planStale: assign({ walks: ({ context }) => context.stale, stale: [] }),
    planRetry: assign({ walks: ({ context }) => failedLists(context), listAttempt: ({ context }) => context.listAttempt + 1 }),
    noteSilence: assign({ silences: ({ context }) => context.silences + 1 }),
    noteAnnouncing: assign({ silences: 0 }),

    // ── cancellations ──
    spawnCancellation: enqueueActions(({ context, event, self, enqueue }) => {
      assertEvent(event, 'call.cancelled');
      const { generation, requestId, reason } = event;
      // A second child of the same name would orphan the first.
      if (self.getSnapshot().children[`cancel-${requestId}`] !== undefined) return;
      enqueue.assign({ cancelling: context.cancelling + 1 });
      enqueue.spawnChild('cancellation', {
        id: `cancel-${requestId}`,
        input: {
          source: { key: context.key, generation },
          requestId,
          reason,
          server: self,
          notifyTimeoutMs: CANCEL_NOTIFY_TIMEOUT_MS,
          watchMs: CANCEL_WATCH_MS,
        },
      });
    }),
    countUnwatched: assign(({ context }) => ({
      cancellations: { ...context.cancellations, unconfirmed: context.cancellations.unconfirmed + 1 },
    })),
    tellCancellation: enqueueActions(({ event, self, enqueue }) => {
      assertEvent(event, 'answer.late');
      const child = self.getSnapshot().children[`cancel-${event.requestId}`];
      if (child !== undefined) enqueue.sendTo(child, { type: 'answer.arrived', answer: event.answer });
    }),
    countCancellation: enqueueActions(({ context, event, self, enqueue }) => {
      assertEvent(event, 'cancellation.settled');
      // Told while the link was given up: counted there already.
      if (self.getSnapshot().children[`cancel-${event.requestId}`] === undefined) return;
      // A finished child stays in the snapshot until it is stopped.
      enqueue.stopChild(`cancel-${event.requestId}`);
      const { cancellations: counts } = context;
      enqueue.assign({
        cancelling: context.cancelling - 1,
        cancellations: { ...counts, [event.outcome]: counts[event.outcome] + 1 },
      });
    }),
    // The link is going: nobody can be told and no answer can come any more.
    abandonCancellations: enqueueActions(({ context, self, enqueue }) => {
      for (const id of Object.keys(self.getSnapshot().children)) if (id.startsWith('cancel-')) enqueue.stopChild(id);
      const { cancellations: counts } = context;
      enqueue.assign({ cancelling: 0, cancellations: { ...counts, unconfirmed: counts.unconfirmed + context.cancelling } });
    }),
  },
});

const NONE = { state: 'unsupported', count: 0, reason: null } as const;
const UNSUPPORTED: Record<ListKind, ListState> = { tools: NONE, resources: NONE, resourceTemplates: NONE, prompts: NONE };

/** These lists in this state, their walks done; what is retried less and less often starts afresh once all is well. */
function withLists(context: ServerContext, kinds: readonly ListKind[], state: ListState) {
  const lists = { ...context.lists };
  for (const kind of kinds) lists[kind] = state;
  const isMended = failedLists({ ...context, lists }).length === 0;
  return { lists, walks: context.walks.slice(kinds.length), listAttempt: isMended ? 0 : context.listAttempt };
}

const listFailed = ({ profile }: ServerContext, why: string): ListState => ({
  state: 'failed',
  count: 0,
  reason: failure('LIST_FAILED', `"${profile.id}" could not be listed: ${why}`),
});

const diedTooOften = ({ profile, restarts, options, problem }: ServerContext): Failure =>
  failure(
    'RESTART_INTENSITY',
    `"${profile.id}" died ${restarts.length} times within ${options.restart.windowMs} ms; the last time: ${String(problem?.message)}`,
    'look at its log, then restart it',
  );

/** What every death of a server comes to, whatever brought it about. */
export const deathBy = <P>(problem: P) =>
  [{ type: 'blame', params: problem }, { type: 'countAttempt', params: false }, 'countDeath'] as const;
