import fc from 'fast-check';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { CallTable } from '../actors/call-table.js';
import { SupervisorError } from '../actors/errors.js';
import { failure } from '../machines/vocabulary.js';
import { startTable } from '../test/support/call-table-harness.js';

/** Few calls and few sessions, so that most commands hit something; times on both sides of every deadline. */
const at = fc.nat({ max: 7 });
const session = fc.constantFrom('one', 'two');
const totalMs = fc.option(fc.constantFrom(0, 20, 200), { nil: undefined });
const command = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('call' as const), session, totalMs }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constantFrom('answer', 'fail', 'progress', 'abort'), at }) },
  // A server that works on it, and says so often enough for the call to go on.
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('work' as const), at, times: fc.integer({ min: 1, max: 12 }) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('end' as const), session }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('wait' as const), ms: fc.constantFrom(0, 1, 49, 50, 99, 100, 400) }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'lose' as const }) },
);
type Command = typeof command extends fc.Arbitrary<infer T> ? T : never;

const TIMEOUT_MS = 100;
const HARD_MS = 400;

async function play(commands: readonly Command[]): Promise<void> {
  const kit = startTable({ inFlightMax: 2, waitingMax: 2, hardDeadlineMs: HARD_MS });
  const { table, link, clock, call, ends, names } = kit;
  const aborts: AbortController[] = [];
  const named = (position: number): string => link.sent[position]?.id ?? '';
  /** When each request was first seen at the server, by what it was called. */
  const sentMs = new Map<string, number>();
  let isLost = false;
  for (const one of commands) {
    isLost ||= one.kind === 'lose';
    if (one.kind === 'call') {
      const abort = new AbortController();
      aborts.push(abort);
      const { session, totalMs } = one;
      call(`c${aborts.length}`, { timeoutMs: TIMEOUT_MS, signal: abort.signal, session, totalMs });
    } else if (one.kind === 'answer') link.answer(named(one.at));
    else if (one.kind === 'fail') link.fail(named(one.at));
    else if (one.kind === 'progress') link.progress(named(one.at));
    else if (one.kind === 'work') {
      for (let time = 0; time < one.times; time += 1) {
        link.progress(named(one.at));
        await clock.run(TIMEOUT_MS - 1);
      }
    } else if (one.kind === 'abort') aborts[one.at]?.abort();
    else if (one.kind === 'end') table.endSession(one.session);
    else if (one.kind === 'wait') await clock.run(one.ms);
    else table.failAll(failure('LINK_LOST', 'gone'));
    await kit.settle();
    const open = aborts.length - ends.length;
    expect(table.inFlight, 'calls in flight').toBeGreaterThanOrEqual(0);
    expect(table.inFlight, 'calls in flight').toBeLessThanOrEqual(Math.min(2, open));
    if (isLost) expect([open, clock.pending], 'calls and timers after the link was lost').toEqual([0, 0]);
    for (const name of names()) if (!sentMs.has(String(name))) sentMs.set(String(name), clock.now());
    for (const [name, ms] of sentMs)
      if (clock.now() - ms >= HARD_MS)
        expect(
          ends.some((end) => end.startsWith(`${name} `)),
          `the end of ${name}`,
        ).toBe(true);
    // Nobody waits while there is room.
    if (open > table.inFlight) expect(table.inFlight, 'room that nobody uses').toBe(2);
  }
  // The longest that anything may take: two hard deadlines, for those who had to wait for others.
  await clock.run(3 * HARD_MS);
  expect(ends.map((end) => end.split(' ')[0]).sort(), 'settled calls').toEqual(
    aborts.map((_, position) => `c${position + 1}`).sort(),
  );
  expect(new Set(names()).size, 'calls sent once').toBe(link.sent.length);
  expect(table.inFlight, 'calls in flight at the end').toBe(0);
  table.failAll(failure('LINK_LOST', 'gone'));
  expect(clock.pending, 'timers').toBe(0);
}

const property = fc.asyncProperty(fc.array(command, { maxLength: 40, size: 'max' }), play);

test('whatever happens to them and in whatever order, each call settles once, is sent at most once, and leaves nothing', async () => {
  await fc.assert(property);
});

describe('would notice', () => {
  afterEach(() => {
    vi.restoreAllMocks();
  });

  /** A table whose own methods are called by the test in their place. */
  const real = Object.getOwnPropertyDescriptors(CallTable.prototype);
  const bugs: Record<string, () => void> = {
    'a call that is counted out twice': () =>
      vi.spyOn(CallTable.prototype, 'remove').mockImplementation(function (this: CallTable, call) {
        real.remove.value?.call(this, call);
        if (call.isSent) real.remove.value?.call(this, call);
      }),
    'a call that is sent again after it was lost': () =>
      vi.spyOn(CallTable.prototype, 'request').mockImplementation(async function (this: CallTable, ...args) {
        const once = (): ReturnType<CallTable['request']> | undefined => real.request.value?.apply(this, args);
        return (await once()?.catch(once)) ?? {};
      }),
    'a withdrawal that leaves the call where it is': () =>
      vi.spyOn(CallTable.prototype, 'cancel').mockImplementation(function (this: CallTable, call, problem) {
        if (problem.code === 'CALL_TIMEOUT') real.cancel.value?.call(this, call, problem);
        else call.reject(new SupervisorError(problem));
      }),
    'an ending that forgets those who wait': () =>
      vi.spyOn(CallTable.prototype, 'failAll').mockImplementation(function (this: CallTable, problem) {
        if (this.inFlight < 2) real.failAll.value?.call(this, problem);
      }),
  };

  test.each(Object.entries(bugs))('%s', async (_bug, plant) => {
    plant();
    expect((await fc.check(property, { numRuns: 1_000, endOnFailure: true })).failed).toBe(true);
  });
});
