import type { Choice } from './acts.js';
import { runSchedule, type ScheduleOptions, type ScheduleResult } from './schedule.js';

/** Runs that a shrinking may take; what it has by then is small enough to be read. */
const RUNS_MAX = 400;

/**
 * A smaller schedule that breaks the same invariant: takes out ever smaller pieces, as long as what is left still breaks it. A
 * schedule that breaks nothing is returned as it is.
 */
export async function shrink(
  failing: ScheduleResult,
  options: Omit<ScheduleOptions, 'seed' | 'choices'> = {},
): Promise<ScheduleResult> {
  const { seed, violation } = failing;
  if (violation === null) return failing;
  let best = failing;
  let runs = 0;
  const breaks = async (choices: readonly Choice[]): Promise<boolean> => {
    runs += 1;
    const result = await runSchedule({ ...options, seed, choices });
    const isSame = result.violation?.invariant === violation.invariant;
    if (isSame) best = result;
    return isSame;
  };
  // What came after the step that broke it does not matter, unless it was the ending that did.
  if (!(await breaks(best.choices))) return failing;
  for (let size = Math.ceil(best.choices.length / 2); size >= 1 && runs < RUNS_MAX; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let from = 0; from < best.choices.length && runs < RUNS_MAX; ) {
      const isGone = await breaks(best.choices.toSpliced(from, size));
      if (!isGone) from += size;
    }
  }
  return best;
}
