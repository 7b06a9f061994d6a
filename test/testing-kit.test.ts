import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { CallTable } from '../actors/call-table.js';
import { askTwice, modelTest } from '../examples/model-test.js';
import {
  InFlight,
  inOneLine,
  Random,
  runSchedule,
  scenarioOf,
  scenarioText,
  schedules,
  setupOf,
  shrink,
  Trace,
  turn,
} from '../properties/kit/index.js';

const saved = join(import.meta.dirname, 'simulated-schedules');

describe('schedules that once broke something', async () => {
  const files = (await readdir(saved)).filter((file) => file.endsWith('.json'));

  test.each(files)('%s holds', async (file) => {
    const { seed, choices } = scenarioOf(JSON.parse(await readFile(join(saved, file), 'utf8')));
    const result = await runSchedule({ seed, choices });
    expect(result.violation, inOneLine(result)).toBeNull();
  });
});

describe('a host app that model-tests its own use of the supervisor', () => {
  test('learns that its own rule and every invariant hold', async () => {
    const outcomes = await Promise.all([1, 2, 3].map((seed) => modelTest(seed)));
    expect(outcomes.flat().length).toBeGreaterThan(0);
    for (const outcome of outcomes.flat()) expect(outcome).toMatch(/^(answered|[A-Z_]+(, [A-Z_]+)?)$/);
  });

  test('sees its own bug: one that tries for ever', async () => {
    const stubborn: typeof askTwice = async (workspace, tool) => {
      await askTwice(workspace, tool);
      return askTwice(workspace, tool);
    };
    const runs = [1, 2, 3, 4, 5].map((seed) =>
      modelTest(seed, stubborn).then(
        () => 'held',
        () => 'broken',
      ),
    );
    expect(await Promise.all(runs)).toContain('broken');
  });
});

describe('a schedule that breaks an invariant', () => {
  afterEach(() => {
    vi.restoreAllMocks();
  });

  test('is told in one line, shrinks to a small one that breaks the same, and is written and read as a file', async () => {
    vi.spyOn(CallTable.prototype, 'endSession').mockImplementation(() => undefined);
    vi.spyOn(CallTable.prototype, 'failAll').mockImplementation(() => undefined);
    let failing = await runSchedule({ seed: 1 });
    for (let seed = 2; failing.violation === null; seed += 1) failing = await runSchedule({ seed });
    const small = await shrink(failing);
    expect(small.violation?.invariant).toBe(failing.violation.invariant);
    expect(small.choices.length).toBeLessThan(failing.choices.length);
    expect(inOneLine(small)).toMatch(/^seed=\d+ step=\d+ invariant=[a-z-]+ /);
    const read = scenarioOf(JSON.parse(scenarioText('planted', small)));
    expect(read).toEqual({ description: 'planted', seed: small.seed, choices: small.choices });
    expect((await runSchedule(read)).violation).toEqual(small.violation);
  });
});

describe('the parts of the kit', () => {
  test('a scenario that nobody can perform is refused, with its place', () => {
    expect(() => scenarioOf({ description: 'd', seed: 1, choices: [['fly', 1, 2]] })).toThrow(
      'd: choice 0: nobody knows how to "fly"',
    );
    expect(() => scenarioOf({ description: 'd', seed: 0.5, choices: [] })).toThrow('"seed" is no whole number');
    expect(() => scenarioOf({ description: 'd', seed: 1, choices: [['tick', 1]] })).toThrow('has no two whole numbers');
  });

  test('chance comes from the seed alone and stays within its bounds', () => {
    fc.assert(
      fc.property(fc.integer(), fc.integer({ min: 1, max: 1_000 }), (seed, below) => {
        const [one, other] = [new Random(seed), new Random(seed)];
        const drawn = one.below(below);
        expect(drawn).toBe(other.below(below));
        expect(drawn).toBeGreaterThanOrEqual(0);
        expect(drawn).toBeLessThan(below);
      }),
    );
    expect(() => new Random(1).pick([])).toThrow(RangeError);
  });

  test('the same seed is the same set-up', () => {
    expect(setupOf(5)).toEqual(setupOf(5));
    expect(setupOf(5)).not.toEqual(setupOf(6));
  });

  test('two traces have the same hash only for the same lines in the same order', () => {
    const hashOf = (lines: readonly string[]): string => {
      const trace = new Trace();
      for (const line of lines) trace.write(line);
      return trace.hash;
    };
    expect(hashOf(['a', 'b'])).toBe(hashOf(['a', 'b']));
    expect(new Set([['a', 'b'], ['b', 'a'], ['ab'], ['a', 'b', '']].map(hashOf)).size).toBe(4);
  });

  test('what is on its way comes once, in whatever order it is asked for, and fails as its port fails', async () => {
    const inFlight = new InFlight();
    const one = inFlight.promise('one', () => 1);
    const other = inFlight.promise('other', () => {
      throw new Error('lost on the way');
    });
    expect([inFlight.deliver(1, 0), inFlight.deliver(0, 0), inFlight.deliver(0, 0)]).toEqual(['other', 'one', null]);
    await expect(one).resolves.toBe(1);
    await expect(other).rejects.toThrow('lost on the way');
  });

  test('a turn is over when no microtask is left, however many follow each other', async () => {
    let count = 0;
    const go = (): void => {
      count += 1;
      if (count < 500) queueMicrotask(go);
    };
    queueMicrotask(go);
    await turn();
    expect(count).toBe(500);
  });

  test('any choices in any order are a schedule, and hold', async () => {
    await fc.assert(
      fc.asyncProperty(schedules(fc, 60), async ({ seed, choices }) => {
        const result = await runSchedule({ seed, choices });
        expect(result.violation, inOneLine(result)).toBeNull();
      }),
      fc.readConfigureGlobal().numRuns === undefined ? { numRuns: 15 } : {},
    );
  });
});
