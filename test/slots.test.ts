import { describe, expect, test } from 'vitest';
import {
  MIN_LEASE_AGE_MS,
  markBusy,
  markQuiet,
  recheck,
  releaseSlot,
  requestSlot,
  type SlotDecision,
  type SlotPool,
  slotPool,
} from '../machines/slots.js';

/** A pool whose slots are all held, by `a`, `b`, …, since time 0; `quiet` names those not in use, in the order of their last use. */
function full(holders: string, quiet = '', keepAlive = ''): SlotPool {
  let pool = slotPool(holders.length);
  for (const holder of holders) pool = requestSlot(pool, { holder, ticket: 1, keepAlive: keepAlive.includes(holder) }, 0).pool;
  Array.from(quiet).forEach((holder, at) => {
    pool = markQuiet(pool, holder, 1, at).pool;
  });
  return pool;
}

const ask = (pool: SlotPool, holder: string, nowMs: number, ticket = 1): SlotDecision =>
  requestSlot(pool, { holder, ticket, keepAlive: false }, nowMs);

const names = (refs: readonly { readonly holder: string }[]): string => refs.map(({ holder }) => holder).join('');

describe('granting', () => {
  test.each([0, -1, 1.5, Number.NaN])('refuses a pool of %d slots', (capacity) => {
    expect(() => slotPool(capacity)).toThrow(TypeError);
  });

  test('gives out what is free at once', () => {
    expect(ask(slotPool(1), 'a', 0)).toMatchObject({ grants: [{ holder: 'a', ticket: 1 }], reclaims: [], recheckAtMs: null });
  });

  test('serves whoever has waited longest first', () => {
    let pool = full('ab');
    for (const holder of 'xyz') pool = ask(pool, holder, 0).pool;
    const first = releaseSlot(pool, 'b', 1, 10);
    expect(names(first.grants)).toBe('x');
    expect(names(releaseSlot(first.pool, 'a', 1, 20).grants)).toBe('y');
  });

  test('does not queue the same ticket twice', () => {
    const waiting = ask(full('a'), 'x', 0).pool;
    expect(ask(waiting, 'x', 0).pool).toEqual(waiting);
    expect(ask(waiting, 'a', 0).pool).toEqual(waiting);
  });

  test('takes a newer ticket of the same holder as another request', () => {
    expect(ask(ask(full('a'), 'x', 0).pool, 'x', 0, 2).pool.waiting).toHaveLength(2);
  });

  test('withdraws a request that still waits', () => {
    const pool = ask(ask(full('a'), 'x', 0).pool, 'y', 0).pool;
    const left = releaseSlot(pool, 'x', 1, 0).pool;
    expect(names(releaseSlot(left, 'a', 1, 0).grants)).toBe('y');
  });

  test('ignores the release of a ticket it does not know', () => {
    const pool = ask(full('a', 'a'), 'x', 0).pool;
    expect(releaseSlot(pool, 'a', 2, 0).pool).toEqual(pool);
    expect(releaseSlot(pool, 'nobody', 1, 0).pool).toEqual(pool);
  });
});

describe('making room', () => {
  test('asks the least recently used quiet server to close', () => {
    expect(names(ask(full('abc', 'ca'), 'x', 10_000).reclaims)).toBe('c');
  });

  test('asks as many as there are waiters, and nobody twice', () => {
    const first = ask(full('abc', 'abc'), 'x', 10_000);
    const second = ask(first.pool, 'y', 10_000);
    expect(names(first.reclaims) + names(second.reclaims)).toBe('ab');
    expect(recheck(second.pool, 20_000).reclaims).toEqual([]);
  });

  test('asks nobody when a slot is free or nobody waits', () => {
    expect(recheck(full('ab', 'ab'), 10_000).reclaims).toEqual([]);
  });

  test('spares servers that are in use or kept alive', () => {
    const decision = ask(full('ab', 'a', 'a'), 'x', 10_000);
    expect(decision).toMatchObject({ reclaims: [], recheckAtMs: null });
  });

  test('makes room soon after a server falls quiet, and not before the calls that waited for it were sent', () => {
    const pool = ask(full('a'), 'x', 10_000).pool;
    const quiet = markQuiet(pool, 'a', 1, 11_000);
    expect(quiet).toMatchObject({ reclaims: [], recheckAtMs: 11_050 });
    expect(names(recheck(quiet.pool, 11_050).reclaims)).toBe('a');
  });

  test('spares a server younger than five seconds and says when to look again', () => {
    const young = ask(full('a', 'a'), 'x', MIN_LEASE_AGE_MS - 1);
    expect(young).toMatchObject({ reclaims: [], recheckAtMs: MIN_LEASE_AGE_MS });
    expect(names(recheck(young.pool, MIN_LEASE_AGE_MS).reclaims)).toBe('a');
  });

  test('has nothing to look for again once enough servers are closing', () => {
    const mixed = requestSlot({ ...full('ab', 'a'), capacity: 3 }, { holder: 'c', ticket: 1, keepAlive: false }, 9_000).pool;
    const quiet = markQuiet(mixed, 'c', 1, 9_001).pool;
    const first = ask(quiet, 'x', 10_000);
    expect([names(first.reclaims), first.recheckAtMs]).toEqual(['a', null]);
    expect(ask(first.pool, 'y', 10_000)).toMatchObject({ reclaims: [], recheckAtMs: 14_000 });
  });

  test('lets a server that is used again stay and asks another', () => {
    const pool = ask(full('ab', 'ab'), 'x', 10_000).pool;
    const busy = markBusy(pool, 'a', 1, 10_001);
    expect(names(busy.reclaims)).toBe('b');
    expect(busy.pool.leases.map(({ isReclaimed }) => isReclaimed)).toEqual([false, true]);
  });

  test('does not count saying quiet twice as a later use', () => {
    const pool = markQuiet(full('ab', 'ab'), 'a', 1, 9_000).pool;
    expect(names(ask(pool, 'x', 10_000).reclaims)).toBe('a');
  });

  test('does not let news under an old ticket touch the lease', () => {
    const pool = full('a', 'a');
    expect(markBusy(pool, 'a', 0, 5).pool).toEqual(pool);
    expect(markQuiet(full('a'), 'a', 0, 5).pool).toEqual(full('a'));
  });

  test('does not close more when a waiter gives up meanwhile', () => {
    const pool = ask(full('ab', 'ab'), 'x', 10_000).pool;
    const gone = releaseSlot(pool, 'x', 1, 10_001).pool;
    expect(ask(gone, 'y', 10_002).reclaims).toEqual([]);
  });

  test('closes the excess too when the pool has become smaller', () => {
    const pool = ask({ ...full('abc', 'abc'), capacity: 2 }, 'x', 10_000);
    expect(names(pool.reclaims)).toBe('ab');
    const one = releaseSlot(pool.pool, 'a', 1, 10_001);
    expect(one).toMatchObject({ grants: [], reclaims: [] });
    expect(names(releaseSlot(one.pool, 'b', 1, 10_002).grants)).toBe('x');
  });

  test('keeps what a smaller pool holds for as long as nobody waits', () => {
    expect(recheck({ ...full('abc', 'abc'), capacity: 1 }, 10_000)).toMatchObject({ grants: [], reclaims: [] });
  });
});
