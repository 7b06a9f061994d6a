import { describe, expect, test } from 'vitest';
import {
  backoffMs,
  defaultRestartPolicy,
  forgetRestart,
  isIntensityExceeded,
  nextDraw,
  recordRestart,
  restartPolicy,
} from '../machines/restart-policy.js';

const policy = defaultRestartPolicy;

describe('the policy', () => {
  test('is the documented one when nothing is overridden', () => {
    expect(restartPolicy({})).toEqual({
      intensity: 5,
      windowMs: 120_000,
      backoffBaseMs: 500,
      backoffCapMs: 30_000,
      backoffFloorMs: 50,
      stableAfterMs: 60_000,
      halfOpenAfterMs: 60_000,
    });
  });

  test('takes an override and leaves the rest alone', () => {
    expect(restartPolicy({ intensity: 1, windowMs: 10 })).toEqual({ ...policy, intensity: 1, windowMs: 10 });
  });

  test.each([
    ['an unknown name', { retries: 3 }, 'Unknown restart option "retries"; known are intensity, windowMs'],
    ['a name every object has', { toString: 3 }, 'Unknown restart option "toString"'],
    ['zero', { intensity: 0 }, '"intensity" to be a whole number from 1 to 2147483647, got 0 (number)'],
    ['a negative number', { windowMs: -1 }, 'got -1 (number)'],
    ['a fraction', { backoffBaseMs: 0.5 }, 'got 0.5 (number)'],
    ['no number at all', { windowMs: Number.NaN }, 'got NaN (number)'],
    ['an endless time', { stableAfterMs: Number.POSITIVE_INFINITY }, 'got Infinity (number)'],
    ['a time too long for a timer', { halfOpenAfterMs: 2 ** 31 }, 'got 2147483648 (number)'],
    ['a floor above the cap', { backoffFloorMs: 200, backoffCapMs: 100 }, 'got 200 and 100'],
  ])('refuses %s and says what it got', (_what, overrides: Readonly<Record<string, number>>, words) => {
    const make = (): unknown => restartPolicy(overrides);
    expect(make).toThrow(TypeError);
    expect(make).toThrow(words);
  });

  test('refuses a string that looks like a number', () => {
    const read = JSON.parse('{"windowMs":"100"}') as Record<string, number>;
    expect(() => restartPolicy(read)).toThrow('got 100 (string)');
  });
});

describe('the draw', () => {
  test('repeats for the same seed and moves on with the seed it returns', () => {
    const first = nextDraw(42);
    expect(nextDraw(42)).toEqual(first);
    expect(nextDraw(first.seed).draw).not.toBe(first.draw);
  });

  test('spreads over the whole of [0, 1)', () => {
    const tenths = new Set<number>();
    let seed = 7;
    for (let round = 0; round < 500; round += 1) {
      const next = nextDraw(seed);
      seed = next.seed;
      expect(next.draw).toBeGreaterThanOrEqual(0);
      expect(next.draw).toBeLessThan(1);
      tenths.add(Math.floor(next.draw * 10));
    }
    expect(tenths.size).toBe(10);
  });
});

describe('the wait before a restart', () => {
  const longest = 1 - 2 ** -32;

  test('doubles its upper bound with every attempt up to the cap', () => {
    const bounds = [1, 2, 3, 4, 5, 6, 7, 8].map((attempt) => backoffMs(attempt, longest, policy) + 1);
    expect(bounds).toEqual([500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
  });

  test('is never shorter than the floor, even when the base is', () => {
    expect(backoffMs(1, 0, policy)).toBe(50);
    expect(backoffMs(1, longest, restartPolicy({ backoffBaseMs: 1 }))).toBe(50);
  });

  test.each([
    [0, 0.5],
    [5_000, 0.999],
    [1, -3],
    [9, 7],
    [3, Number.NaN],
    [Number.POSITIVE_INFINITY, 1],
  ])('lies between floor and cap for attempt %d and draw %d', (attempt, draw) => {
    const wait = backoffMs(attempt, draw, policy);
    expect(wait).toBeGreaterThanOrEqual(50);
    expect(wait).toBeLessThanOrEqual(30_000);
  });
});

describe('the restart window', () => {
  const after = (count: number): readonly number[] =>
    Array.from({ length: count }, (_, index) => index + 1).reduce<readonly number[]>(recordRestart, []);

  test('admits five deaths and not a sixth', () => {
    expect(isIntensityExceeded(after(5), policy)).toBe(false);
    expect(isIntensityExceeded(after(6), policy)).toBe(true);
  });

  test('admits another once the oldest has left it', () => {
    expect(isIntensityExceeded(recordRestart(forgetRestart(after(5), 1), 6), policy)).toBe(false);
  });

  test('is not shortened twice by the same death', () => {
    const window = after(3);
    const once = forgetRestart(window, 2);
    expect(once).toEqual([1, 3]);
    expect(forgetRestart(once, 2)).toEqual([1, 3]);
    expect(window).toEqual([1, 2, 3]);
  });
});
