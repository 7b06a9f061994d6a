import { expect, test } from 'vitest';
import type { ChildPort } from '../actors/wire-ports.js';
import { GroupStop } from '../adapters/links/group-stop.js';
import { VirtualClock } from './support/virtual-clock.js';

type Survivor = 'ends after 100 ms' | 'ends after 500 ms' | 'ignores SIGTERM';

/**
 * A group whose leader dies when `diesOf` comes, or never, and who of it survives that; writes down what was done to it and
 * when.
 */
function group(diesOf: 'input' | 'SIGTERM' | 'SIGKILL' | 'nothing', survivor?: Survivor) {
  const clock = new VirtualClock();
  const did: [string, number][] = [];
  let isAlive = true;
  const note = (what: string): boolean => {
    did.push([what, clock.now()]);
    if (what === 'SIGKILL' && survivor !== undefined) isAlive = false;
    if (what !== diesOf) return true;
    isAlive = survivor !== undefined;
    queueMicrotask(() => stop.leaderGone());
    return true;
  };
  const endsAtMs = survivor === 'ends after 100 ms' ? 100 : survivor === 'ends after 500 ms' ? 500 : Number.POSITIVE_INFINITY;
  const child: ChildPort = {
    pid: 7,
    bufferedBytes: 0,
    write: () => undefined,
    pauseOutput: () => undefined,
    resumeOutput: () => undefined,
    endInput: () => void note('input'),
    signalGroup: note,
    isGroupAlive: () => isAlive && clock.now() < endsAtMs,
    destroy: () => void did.push(['destroy', clock.now()]),
  };
  const stop = new GroupStop(child, clock);
  return { clock, did, stop };
}

/** The same, being stopped. */
function stopping(...which: Parameters<typeof group>) {
  const { stop, ...rest } = group(...which);
  return { ...rest, report: stop.stop() };
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

test('B002: what a leader leaves behind is given the stages too, and is then killed', async () => {
  const { clock, did, report } = stopping('input', 'ignores SIGTERM');
  await clock.run(10_000);
  expect(did).toEqual([
    ['input', 0],
    ['SIGTERM', 200],
    ['SIGKILL', 1_000],
    ['destroy', 1_000],
  ]);
  expect((await report).outcome).toBe('killed');
  expect(clock.pending).toBe(0);
});

test.each([
  ['input', 'ends after 100 ms', 100, 'by itself'],
  ['SIGTERM', 'ends after 500 ms', 500, 'on SIGTERM'],
] as const)('B002: a server whose shell went first on %s and that %s is not killed', async (diesOf, survivor, atMs, detail) => {
  const { clock, did, report } = stopping(diesOf, survivor);
  await clock.run(10_000);
  expect(did.map(([what]) => what)).not.toContain('SIGKILL');
  expect(did.at(-1)).toEqual(['destroy', atMs]);
  expect(await report).toEqual({ outcome: 'clean', detail: expect.stringContaining(detail) as string });
});

test('B002: what a leader leaves behind that goes unasked is killed at once', async () => {
  const { clock, did, stop } = group('nothing', 'ignores SIGTERM');
  stop.leaderGone();
  expect(did).toEqual([['SIGKILL', 0]]);
  const report = stop.stop();
  await clock.run(10_000);
  expect((await report).outcome).toBe('killed');
});

test('B009: a group that cannot be killed is given up within a bound, and said to be unknown', async () => {
  const { clock, did, report } = stopping('nothing');
  await clock.run(10_000);
  expect(did.at(-1)).toEqual(['destroy', 3_000]);
  expect((await report).outcome).toBe('unknown');
  expect(clock.pending).toBe(0);
});
