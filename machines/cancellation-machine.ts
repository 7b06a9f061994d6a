import { type ActorRef, assign, fromPromise, type Snapshot, sendTo, setup } from 'xstate';
import type { CancellationOutcome, LinkRef } from './vocabulary.js';

/** How long the notification may take to be written. */
export const CANCEL_NOTIFY_TIMEOUT_MS = 1_000;
/** How long the late answer of a cancelled call is watched for. */
export const CANCEL_WATCH_MS = 30_000;

/** Names the request at its link; all that `notify` needs. */
export interface CancelledRequest {
  readonly source: LinkRef;
  readonly requestId: string;
  /** Told to the server; fit for a peer to read. */
  readonly reason: string;
}

export interface CancellationInput extends CancelledRequest {
  /** Is told how it ended. */
  readonly server: ActorRef<Snapshot<unknown>, CancellationReport>;
  readonly notifyTimeoutMs: number;
  readonly watchMs: number;
}

export type CancellationEvent = { readonly type: 'answer.arrived'; readonly answer: 'result' | 'error' };

export interface CancellationResult {
  readonly requestId: string;
  readonly outcome: CancellationOutcome;
}

export interface CancellationReport extends CancellationResult {
  readonly type: 'cancellation.settled';
}

export interface CancellationContext extends CancellationInput {
  readonly outcome: CancellationOutcome;
}

/**
 * What is left of one call after its caller was settled: the server is told, and its late answer watched for. It always
 * ends by itself. `confirmed` means that the server said it stopped, never that a side effect was undone.
 */
export const cancellationMachine = setup({
  types: {
    context: {} as CancellationContext,
    events: {} as CancellationEvent,
    input: {} as CancellationInput,
    output: {} as CancellationResult,
  },
  actors: {
    notify: fromPromise<unknown, CancelledRequest>(() => Promise.reject(new Error('bug: the actor "notify" is not provided'))),
  },
  delays: {
    notifyTimeout: ({ context }) => context.notifyTimeoutMs,
    watch: ({ context }) => context.watchMs,
  },
  actions: {
    judge: assign({ outcome: (_, answer: 'result' | 'error') => (answer === 'error' ? 'confirmed' : 'lateAnswer') }),
    report: sendTo(
      ({ context }) => context.server,
      ({ context: { requestId, outcome } }) => ({ type: 'cancellation.settled' as const, requestId, outcome }),
    ),
  },
}).createMachine({
  id: 'cancellation',
  context: ({ input }) => ({ ...input, outcome: 'unconfirmed' }),
  output: ({ context: { requestId, outcome } }) => ({ requestId, outcome }),
  initial: 'notifying',
  on: {
    'answer.arrived': { target: '.ended', actions: { type: 'judge', params: ({ event }) => event.answer } },
  },
  states: {
    // Best effort: a server that cannot be told may answer all the same.
    notifying: {
      invoke: {
        src: 'notify',
        input: ({ context: { source, requestId, reason } }) => ({ source, requestId, reason }),
        onDone: 'watching',
        onError: 'watching',
      },
      after: { notifyTimeout: 'watching' },
    },
    watching: { after: { watch: 'ended' } },
    ended: { type: 'final', entry: 'report' },
  },
});
