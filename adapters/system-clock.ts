import type { ClockPort } from '../actors/ports.js';

/** What a Node timer can hold; a longer one would fire at once. */
const DELAY_MS_MAX = 2 ** 31 - 1;

/** The machine's own time. Timers hold the process open: whoever starts one ends it. */
export const systemClock: ClockPort = {
  now: () => performance.now(),
  epoch: () => Date.now(),
  setTimeout: (fire, delayMs) => setTimeout(fire, Math.min(delayMs, DELAY_MS_MAX)),
  clearTimeout: (handle) => {
    clearTimeout(handle as NodeJS.Timeout | undefined);
  },
};
