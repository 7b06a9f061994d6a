import type * as FastCheck from 'fast-check';
import { actNames, type Choice, NUMBERS_BELOW } from './acts.js';

/** The part of fast-check that is needed; a host hands over its own copy. */
type Fc = Pick<typeof FastCheck, 'array' | 'constantFrom' | 'integer' | 'record'>;

/** Seeds of schedules. */
export const seeds = (fc: Fc): FastCheck.Arbitrary<number> => fc.integer({ min: 0, max: 2 ** 31 - 1 });

/** Single choices, all acts alike. */
export const choices = (fc: Fc): FastCheck.Arbitrary<Choice> =>
  fc.record({
    act: fc.constantFrom(...actNames),
    x: fc.integer({ min: 0, max: NUMBERS_BELOW - 1 }),
    y: fc.integer({ min: 0, max: NUMBERS_BELOW - 1 }),
  });

/** Whole schedules for `runSchedule`, which fast-check shrinks in its own way. */
export const schedules = (fc: Fc, maxLength = 200): FastCheck.Arbitrary<{ seed: number; choices: Choice[] }> =>
  fc.record({ seed: seeds(fc), choices: fc.array(choices(fc), { maxLength, size: 'max' }) });
