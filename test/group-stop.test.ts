import { expect, test } from 'vitest';
import type { ChildPort } from '../actors/ports.js';
import { GroupStop } from '../adapters/links/group-stop.js';
import { VirtualClock } from './support/virtual-clock.js';

/** A group that dies when `diesOf` comes, or never, and writes down what was done to it and when. */
function stopping(diesOf: 'input' | 'SIGTERM' | 'SIGKILL' | 'nothing', survivors = false) {
  const clock = new VirtualClock();
  const did: [string, number][] = [];
  let isAlive = true;
  const note = (what: string): boolean => {
    did.push([what, clock.now()]);
    if (what !== diesOf) return true;
    // A leader that ends on end of input may leave others behind; a signal reaches them all.
    isAlive = what === 'input' && survivors;
    queueMicrotask(() => stop.leaderGone());
    return true;
  };
  const child: ChildPort = {
    pid: 7,
    bufferedBytes: 0,
    write: () => undefined,
    endInput: () => void note('input'),
    signalGroup(signal) {
      if (signal === 'SIGKILL' && diesOf === 'input') isAlive = false;
      return note(signal);
    },
    isGroupAlive: () => isAlive,
    destroy: () => void did.push(['destroy', clock.now()]),
  };
  const stop = new GroupStop(child, clock);
  return { clock, did, report: stop.stop() };
}

test.each([
  ['input', [['input', 0]], 0, 'clean'],
  [
    'SIGTERM',
    [
      ['input', 0],
      ['SIGTERM', 200],
    ],
    200,
    'clean',
  ],
  [
    'SIGKILL',
    [
      ['input', 0],
      ['SIGTERM', 200],
      ['SIGKILL', 1_000],
    ],
    1_000,
    'killed',
  ],
] as const)('B008: a group that dies of %s is ended in stages, no later than needed', async (diesOf, stages, atMs, outcome) => {
  const { clock, did, report } = stopping(diesOf);
  await clock.run(10_000);
  expect(did).toEqual([...stages, ['destroy', atMs]]);
  expect((await report).outcome).toBe(outcome);
  expect(clock.pending).toBe(0);
});

test('B002: what a leader leaves behind is killed the moment it is gone', async () => {
  const { clock, did, report } = stopping('input', true);
  await clock.run(10_000);
  expect(did).toEqual([
    ['input', 0],
    ['SIGKILL', 0],
    ['destroy', 0],
  ]);
  expect((await report).outcome).toBe('killed');
});

test('B009: a group that cannot be killed is given up within a bound, and said to be unknown', async () => {
  const { clock, did, report } = stopping('nothing');
  await clock.run(10_000);
  expect(did.at(-1)).toEqual(['destroy', 5_000]);
  expect((await report).outcome).toBe('unknown');
  expect(clock.pending).toBe(0);
});
