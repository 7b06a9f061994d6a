import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Lease, SlotDecision, SlotPool, SlotRef, Waiter } from '../machines/slots.js';
import * as real from '../machines/slots.js';

type Slots = Pick<typeof real, 'requestSlot' | 'releaseSlot' | 'markQuiet' | 'markBusy' | 'recheck'>;

type Command = { readonly kind: 'request' | 'release' | 'quiet' | 'busy' | 'recheck'; readonly waitMs: number } & Waiter;

/** Few holders and tickets, so that stale and doubled ones are common; waits on both sides of the least age. */
const command: fc.Arbitrary<Command> = fc.record({
  kind: fc.constantFrom('request', 'request', 'request', 'release', 'quiet', 'quiet', 'quiet', 'busy', 'recheck'),
  holder: fc.constantFrom('a', 'b', 'c', 'd'),
  ticket: fc.constantFrom(1, 1, 1, 2),
  keepAlive: fc.integer({ min: 0, max: 5 }).map((one) => one === 0),
  waitMs: fc.constantFrom(0, 0, 1, 900, 4_999, 5_000),
});
const script = fc.array(command, { maxLength: 60, size: 'max' });
const capacity = fc.integer({ min: 1, max: 3 });

interface Step {
  readonly command: Command;
  readonly nowMs: number;
  readonly before: SlotPool;
  readonly decision: SlotDecision;
  readonly slots: Slots;
}

const property = (slots: Slots, check: (step: Step) => void) =>
  fc.property(capacity, script, (size, commands) => {
    let before = real.slotPool(size);
    let nowMs = 0;
    for (const one of commands) {
      nowMs += one.waitMs;
      const decision = apply(slots, before, one, nowMs);
      check({ command: one, nowMs, before, decision, slots });
      before = decision.pool;
    }
  });

function apply(slots: Slots, pool: SlotPool, { kind, holder, ticket, keepAlive }: Command, nowMs: number): SlotDecision {
  if (kind === 'request') return slots.requestSlot(pool, { holder, ticket, keepAlive }, nowMs);
  if (kind === 'release') return slots.releaseSlot(pool, holder, ticket, nowMs);
  if (kind === 'quiet') return slots.markQuiet(pool, holder, ticket, nowMs);
  if (kind === 'busy') return slots.markBusy(pool, holder, ticket, nowMs);
  return slots.recheck(pool, nowMs);
}

const name = ({ holder, ticket }: SlotRef): string => `${holder}${ticket}`;

const rules: Record<string, (step: Step) => void> = {
  'there are never more leases than slots': ({ decision: { pool } }) => {
    expect(pool.leases.length).toBeLessThanOrEqual(pool.capacity);
  },

  'nobody waits while a slot is free': ({ decision: { pool } }) => {
    if (pool.waiting.length > 0) expect(pool.leases.length).toBe(pool.capacity);
  },

  'grants are given in the order of asking': ({ before, command: one, decision }) => {
    const isNew = one.kind === 'request' && ![...before.waiting, ...before.leases].some((other) => name(other) === name(one));
    const queue = [...before.waiting, ...(isNew ? [one] : [])].filter(
      (other) => one.kind !== 'release' || name(other) !== name(one),
    );
    expect([...decision.grants, ...decision.pool.waiting].map(name)).toEqual(queue.map(name));
  },

  'a ticket nobody holds changes nothing': ({ before, command: one, decision, nowMs }) => {
    const isKnown = [...before.waiting, ...before.leases].some((other) => name(other) === name(one));
    if (one.kind === 'request' || isKnown) return;
    // The time has moved on, so only what time alone does may happen.
    expect(decision).toEqual(real.recheck(before, nowMs));
  },

  'only an old, quiet server that need not stay is asked to close, the longest unused first': ({
    decision,
    before,
    nowMs,
    command: one,
  }) => {
    const current = (lease: Lease): Lease =>
      name(lease) === name(one) && one.kind === 'quiet' ? { ...lease, quietSinceMs: lease.quietSinceMs ?? nowMs } : lease;
    const isEligible = (lease: Lease): boolean =>
      lease.quietSinceMs !== null &&
      nowMs - lease.quietSinceMs >= 50 &&
      !lease.keepAlive &&
      !lease.isReclaimed &&
      nowMs - lease.grantedAtMs >= 5_000;
    const isTouched = (lease: Lease): boolean => name(lease) === name(one) && (one.kind === 'busy' || one.kind === 'release');
    const eligible = before.leases
      .filter((lease) => !isTouched(lease))
      .map(current)
      .filter(isEligible)
      .sort((a, b) => (a.quietSinceMs ?? 0) - (b.quietSinceMs ?? 0));
    const closing = decision.pool.leases.filter((lease) => lease.isReclaimed).length - decision.reclaims.length;
    const wanted = Math.max(0, decision.pool.waiting.length - closing);
    expect(decision.reclaims.map(name)).toEqual(eligible.slice(0, wanted).map(name));
  },

  'the time to look again is in the future and brings a server to close': ({ decision, nowMs, slots }) => {
    if (decision.recheckAtMs === null) return;
    expect(decision.recheckAtMs).toBeGreaterThan(nowMs);
    expect(slots.recheck(decision.pool, decision.recheckAtMs).reclaims).not.toEqual([]);
  },
};

describe('slots', () => {
  test.each(Object.entries(rules))('%s', (_sentence, check) => {
    fc.assert(property(real, check));
  });
});

describe('would notice', () => {
  const widened = (pool: SlotPool): SlotPool => ({ ...pool, capacity: pool.capacity + 1 });
  const aged = (pool: SlotPool): SlotPool => ({
    ...pool,
    leases: pool.leases.map((lease) => ({ ...lease, grantedAtMs: lease.grantedAtMs - 5_000 })),
  });
  const leaseOf = (pool: SlotPool, holder: string) => pool.leases.find((lease) => lease.holder === holder);
  const broken: Record<string, readonly [bug: string, slots: Slots]> = {
    'there are never more leases than slots': [
      'a slot too many',
      {
        ...real,
        requestSlot: (pool, waiter, nowMs) => {
          const decision = real.requestSlot(widened(pool), waiter, nowMs);
          return { ...decision, pool: { ...decision.pool, capacity: pool.capacity } };
        },
      },
    ],
    'nobody waits while a slot is free': [
      'a released slot that is kept back',
      {
        ...real,
        releaseSlot: (pool, holder, ticket) => ({
          pool: { ...pool, leases: pool.leases.filter((lease) => name(lease) !== name({ holder, ticket })) },
          grants: [],
          reclaims: [],
          recheckAtMs: null,
        }),
      },
    ],
    'grants are given in the order of asking': [
      'the latest served first',
      { ...real, releaseSlot: (pool, ...rest) => real.releaseSlot({ ...pool, waiting: pool.waiting.toReversed() }, ...rest) },
    ],
    'a ticket nobody holds changes nothing': [
      'a release that looks at the holder only',
      {
        ...real,
        releaseSlot: (pool, holder, ticket, nowMs) =>
          real.releaseSlot(pool, holder, leaseOf(pool, holder)?.ticket ?? ticket, nowMs),
      },
    ],
    'only an old, quiet server that need not stay is asked to close, the longest unused first': [
      'an age that is not looked at',
      { ...real, recheck: (pool, nowMs) => real.recheck(aged(pool), nowMs) },
    ],
    'the time to look again is in the future and brings a server to close': [
      'a time to look again that has passed',
      {
        ...real,
        markQuiet: (pool, holder, ticket, nowMs) => {
          const decision = real.markQuiet(pool, holder, ticket, nowMs);
          return { ...decision, recheckAtMs: decision.recheckAtMs === null ? null : decision.recheckAtMs - 5_000 };
        },
      },
    ],
  };

  test('has a planted bug for every rule', () => {
    expect(Object.keys(broken)).toEqual(Object.keys(rules));
  });

  test.each(Object.entries(broken))('%s', (sentence, [, slots]) => {
    const check = rules[sentence];
    // Stops at the first counterexample, so many tries cost little and miss next to never.
    expect(check && fc.check(property(slots, check), { numRuns: 2_000, endOnFailure: true }).failed).toBe(true);
  });
});
