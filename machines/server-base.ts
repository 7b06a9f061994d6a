import { fromCallback, fromPromise, setup } from 'xstate';
import { cancellationMachine } from './cancellation-machine.js';
import { paginationMachine } from './pagination-machine.js';
import { backoffMs } from './restart-policy.js';
import {
  backoffDelayMs,
  failedLists,
  type Heading,
  hasQuestion,
  isHungry,
  isKeptAlive,
  needsPerson,
  type ServerContext,
  type ServerInput,
  verdictOf,
} from './server-context.js';
import type { ServerEvent, TransportCommand, TransportFact, TransportInput, VetInput, Vetting } from './server-events.js';
import type { Generation, LinkRef, Phase, ServerProfile, Ticket } from './vocabulary.js';

/** Cancelled calls watched at once; more of them are counted as unconfirmed right away. */
export const MAX_CANCELLATIONS = 256;
/** A timer set for longer than this fires at once instead. */
const LONGEST_MS = 2 ** 31 - 1;
/** How long to wait before announcements are asked for again; doubles while they keep ending. */
const RELISTEN_MS = 5_000;
const RELISTEN_CAP_MS = 300_000;

type TransportLost = Extract<TransportFact, { type: 'transport.lost' }>;

const unprovided = (name: string) => (): never => {
  throw new Error(`provide the "${name}" actor of the server machine`);
};

/** Types, actors, guards and delays of the server machine. */
export const serverBase = setup({
  types: {
    context: {} as ServerContext,
    events: {} as ServerEvent,
    input: {} as ServerInput,
    tags: {} as Phase | 'open',
  },
  actors: {
    vet: fromPromise<Vetting, VetInput>(unprovided('vet')),
    transport: fromCallback<TransportCommand, TransportInput>(unprovided('transport')),
    pagination: paginationMachine,
    cancellation: cancellationMachine,
    listen: fromPromise<void, LinkRef>(unprovided('listen')),
    probe: fromPromise<void, LinkRef>(unprovided('probe')),
  },
  delays: {
    initTimeout: ({ context }) => Math.min(context.profile.initTimeoutMs, LONGEST_MS),
    idleTimeout: ({ context }) => Math.min(context.profile.idleTimeoutMs, LONGEST_MS),
    approvalTimeout: ({ context }) => context.options.approvalTimeoutMs ?? 0,
    stable: ({ context }) => context.options.restart.stableAfterMs,
    halfOpen: ({ context }) => context.options.restart.halfOpenAfterMs,
    restartWindow: ({ context }) => context.options.restart.windowMs,
    backoff: ({ context }) => backoffDelayMs(context),
    listDebounce: ({ context }) => context.options.listDebounceMs,
    listRetry: ({ context }) => backoffMs(context.listAttempt, 1, context.options.restart),
    probeEvery: ({ context }) => context.options.probeEveryMs,
    probeTimeout: ({ context }) => context.options.probeTimeoutMs,
    relisten: ({ context }) => Math.min(RELISTEN_CAP_MS, RELISTEN_MS * 2 ** context.silences),
  },
  guards: {
    // ── gates and approval ──
    isShut: ({ context }) => context.shut !== null,
    isShutting: ({ event }) => event.type === 'gates.changed' && event.shut !== null,
    isWorthALook: ({ context }) => isHungry(context) || (hasQuestion(context) && context.fingerprint === null),
    isShown: ({ context }, fingerprint: string) => fingerprint === context.fingerprint,
    isApproved: ({ context }, vetting: Vetting) =>
      vetting.verdict === 'approved' || (vetting.verdict === 'ask' && vetting.fingerprint === context.approved),
    isDenied: ({ context }, vetting: Vetting) => vetting.verdict === 'ask' && vetting.fingerprint === context.denied,
    isRefused: (_, vetting: Vetting) => vetting.verdict === 'refused',
    canAsk: ({ context }) => context.options.approvalTimeoutMs !== null,

    // ── what is wanted ──
    isHungry: ({ context }) => isHungry(context),
    isPerson: (_, by: string) => by === 'person',
    mayHurry: ({ context }, by: string) => context.mayHurry && (by === 'person' || by === 'call'),
    mayIdle: ({ context }) => !isKeptAlive(context),
    isKeptAlive: ({ context }) => isKeptAlive(context),
    isBusy: ({ context }) => context.busy,
    // Calls that wait have a time of their own, and what is kept alive has all the time there is.
    isUnhurried: ({ context }) => !context.waiting && !isKeptAlive(context),
    isUnwanted: ({ context }) => !context.wanted && !isKeptAlive(context),
    isPromoted: ({ context }, profile: ServerProfile) => isPromotion(context, profile),

    // ── generations ──
    isCurrent: ({ context }, generation: Generation) => generation === context.generation,
    isTicket: ({ context }, ticket: Ticket) => ticket === context.ticket,
    mayReclaim: ({ context }, ticket: Ticket) => ticket === context.ticket && !isKeptAlive(context),
    isStaleApproval: ({ context }, lost: TransportLost) =>
      lost.generation === context.generation && lost.failure.code === 'APPROVAL_STALE',
    isDeath: ({ context }, lost: TransportLost) => lost.generation === context.generation && lost.death,
    isHeaded: ({ context }, { generation, heading }: { readonly generation: Generation; readonly heading: Heading }) =>
      generation === context.generation && heading === context.heading,
    isHeadingOut: ({ context }) => context.heading === 'gone',
    crashesTo: ({ context }, verdict: ReturnType<typeof verdictOf>) => verdictOf(context) === verdict,
    isRetryable: ({ context }) => !needsPerson(context),

    // ── lists and calls ──
    hasWalk: ({ context }) => context.walks.length > 0,
    isNews: ({ context, event }) =>
      event.type === 'list.changed' &&
      event.generation === context.generation &&
      context.lists[event.kind].state !== 'unsupported',
    hasStaleList: ({ context }) => context.stale.length > 0,
    hasFailedList: ({ context }) => failedLists(context).length > 0,
    mustListen: ({ context }) => context.handshake?.era === 'modern' && context.handshake.announces,
    canWatch: ({ context }, generation: Generation) =>
      generation === context.generation && context.cancelling < MAX_CANCELLATIONS,
  },
});

/** Adjusted to start unasked: for such a server this is the load that it missed. */
export const isPromotion = ({ profile }: ServerContext, next: ServerProfile): boolean =>
  next.lifecycle !== 'lazy' && next.lifecycle !== profile.lifecycle;
