import type { Progress } from '../../actors/ports.js';

/** A server may report as often as it likes; a client hears of it at most so often. */
const GAP_MS = 20;
/** And the less often the longer it has taken, so that even one that never reads has only some hundred reports to come. */
const GAPS_OF_AGE = 64;
const MESSAGE_UNITS_MAX = 1_024;

export interface ProgressGate {
  readonly report: (progress: Progress) => void;
  /** The call has ended: nothing passes any more. */
  readonly close: () => void;
}

/** Lets reports pass that rise, as the protocol wants them, and none that comes too soon after the last. */
export function createProgressGate(now: () => number, pass: (progress: Progress) => void): ProgressGate {
  const startedAtMs = now();
  let isOpen = true;
  let isDone = false;
  let last = Number.NEGATIVE_INFINITY;
  let passedAtMs = Number.NEGATIVE_INFINITY;
  return {
    report: ({ progress, total, message }) => {
      const isDue =
        now() - passedAtMs >= Math.max(GAP_MS, (now() - startedAtMs) / GAPS_OF_AGE) || (progress === total && !isDone);
      if (!isOpen || !isDue || !(progress > last)) return;
      last = progress;
      passedAtMs = now();
      isDone = progress === total;
      pass({
        progress,
        ...(total === undefined ? {} : { total }),
        ...(message === undefined ? {} : { message: message.slice(0, MESSAGE_UNITS_MAX) }),
      });
    },
    close: () => {
      isOpen = false;
    },
  };
}
