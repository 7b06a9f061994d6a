import type { Ticket } from './vocabulary.js';

/** A quiet server younger than this is not closed to make room: it would not have earned its start. */
export const MIN_LEASE_AGE_MS = 5_000;
/** How long it has to be unused. The calls that wait for a server are sent a moment after it is ready. */
const MIN_QUIET_MS = 50;

/** One live connection's right to exist, named by holder and ticket together. */
export interface Lease {
  readonly holder: string;
  readonly ticket: Ticket;
  readonly keepAlive: boolean;
  readonly grantedAtMs: number;
  /** Since when nobody has used the connection; `null` while it is in use, and while it is being opened. */
  readonly quietSinceMs: number | null;
  /** The holder was asked to close. */
  readonly isReclaimed: boolean;
}

export interface Waiter {
  readonly holder: string;
  readonly ticket: Ticket;
  readonly keepAlive: boolean;
}

/** The slots of one process. Plain data: every function below returns a new pool and what has to be told to whom. */
export interface SlotPool {
  readonly capacity: number;
  readonly leases: readonly Lease[];
  /** First come, first served. */
  readonly waiting: readonly Waiter[];
}

export interface SlotRef {
  readonly holder: string;
  readonly ticket: Ticket;
}

export interface SlotDecision {
  readonly pool: SlotPool;
  /** Tell these holders that they may connect. */
  readonly grants: readonly SlotRef[];
  /** Ask these holders to close; the slot is free when they release it. A holder that is in use by then ignores it. */
  readonly reclaims: readonly SlotRef[];
  /** When `recheck` may find a lease old enough to be reclaimed; `null` when no time alone will change anything. */
  readonly recheckAtMs: number | null;
}

/** An empty pool. Throws a `TypeError` unless `capacity` is a whole number from 1. */
export function slotPool(capacity: number): SlotPool {
  if (!Number.isInteger(capacity) || capacity < 1) {
    throw new TypeError(`Expected the number of slots to be a whole number from 1, got ${String(capacity)} (${typeof capacity})`);
  }
  return { capacity, leases: [], waiting: [] };
}

/** Queues for a slot. Asking again under a ticket that already waits or holds changes nothing. */
export function requestSlot(pool: SlotPool, waiter: Waiter, nowMs: number): SlotDecision {
  const isKnown = pool.waiting.some(isSame(waiter)) || pool.leases.some(isSame(waiter));
  const { holder, ticket, keepAlive } = waiter;
  return settle(isKnown ? pool : { ...pool, waiting: [...pool.waiting, { holder, ticket, keepAlive }] }, nowMs);
}

/** Gives a slot back, or withdraws a request that still waits. An unknown ticket changes nothing. */
export function releaseSlot(pool: SlotPool, holder: string, ticket: Ticket, nowMs: number): SlotDecision {
  const ref = { holder, ticket };
  return settle({ ...pool, leases: without(pool.leases, ref), waiting: without(pool.waiting, ref) }, nowMs);
}

/** The holder's connection is ready and unused from now on. Saying it twice does not make it younger. */
export function markQuiet(pool: SlotPool, holder: string, ticket: Ticket, nowMs: number): SlotDecision {
  return settle(
    change(pool, { holder, ticket }, (lease) => ({ ...lease, quietSinceMs: lease.quietSinceMs ?? nowMs })),
    nowMs,
  );
}

/** The holder's connection is used again: it is no longer asked to close, another one is if there is any. */
export function markBusy(pool: SlotPool, holder: string, ticket: Ticket, nowMs: number): SlotDecision {
  return settle(
    change(pool, { holder, ticket }, (lease) => ({ ...lease, quietSinceMs: null, isReclaimed: false })),
    nowMs,
  );
}

/** Looks again at a time that an earlier decision named. */
export function recheck(pool: SlotPool, nowMs: number): SlotDecision {
  return settle(pool, nowMs);
}

/** Hands out what is free, and with somebody still waiting makes room. */
function settle(pool: SlotPool, nowMs: number): SlotDecision {
  // Nearly always: whoever comes and goes while nobody waits costs no look at the others.
  if (pool.waiting.length === 0) return { pool, grants: [], reclaims: [], recheckAtMs: null };
  const free = Math.max(0, pool.capacity - pool.leases.length);
  const granted = pool.waiting.slice(0, free);
  const waiting = pool.waiting.slice(free);
  const opened = granted.map((waiter): Lease => ({ ...waiter, grantedAtMs: nowMs, quietSinceMs: null, isReclaimed: false }));
  const leases: readonly Lease[] = [...pool.leases, ...opened];

  // A pool that was made smaller has more to close before a waiter gets its turn.
  const wanted = waiting.length === 0 ? 0 : waiting.length + leases.length - pool.capacity;
  const missing = wanted - leases.filter((lease) => lease.isReclaimed).length;
  const candidates = missing > 0 ? leases.filter(isReclaimable).toSorted(byLastUse) : [];
  const chosen = candidates.filter((lease) => readyAtMs(lease) <= nowMs).slice(0, Math.max(0, missing));
  const isChosen = (lease: Lease): boolean => chosen.some((one) => one === lease);
  const young = candidates.filter((lease) => readyAtMs(lease) > nowMs);
  const isRoomMissing = chosen.length < missing && young.length > 0;

  return {
    pool: { ...pool, waiting, leases: leases.map((lease) => (isChosen(lease) ? { ...lease, isReclaimed: true } : lease)) },
    grants: granted.map(toRef),
    reclaims: chosen.map(toRef),
    recheckAtMs: isRoomMissing ? Math.min(...young.map(readyAtMs)) : null,
  };
}

function change(pool: SlotPool, ref: SlotRef, edit: (lease: Lease) => Lease): SlotPool {
  // The latest stand last, and it is they that change most.
  const at = pool.leases.findLastIndex(isSame(ref));
  const lease = pool.leases[at];
  return lease === undefined ? pool : { ...pool, leases: pool.leases.with(at, edit(lease)) };
}

function without<R extends SlotRef>(refs: readonly R[], ref: SlotRef): readonly R[] {
  const at = refs.findIndex(isSame(ref));
  return at === -1 ? refs : refs.toSpliced(at, 1);
}

const isSame =
  (ref: SlotRef) =>
  (one: SlotRef): boolean =>
    one.holder === ref.holder && one.ticket === ref.ticket;

const toRef = ({ holder, ticket }: SlotRef): SlotRef => ({ holder, ticket });

type QuietLease = Lease & { readonly quietSinceMs: number };

const isReclaimable = (lease: Lease): lease is QuietLease =>
  lease.quietSinceMs !== null && !lease.keepAlive && !lease.isReclaimed;

/** Whoever waited for a server to become quiet, or to become ready at all, comes first: it is theirs for a moment. */
const readyAtMs = ({ grantedAtMs, quietSinceMs }: QuietLease): number =>
  Math.max(grantedAtMs + MIN_LEASE_AGE_MS, quietSinceMs + MIN_QUIET_MS);

/** Least recently used first; among equals the older lease, which stands earlier. */
const byLastUse = (a: QuietLease, b: QuietLease): number => a.quietSinceMs - b.quietSinceMs;
