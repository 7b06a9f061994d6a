import type { ClockPort } from '../../actors/ports.js';

/** Quiet time before a change is told: an editor's save is several events. */
const QUIET_MS = 150;
/** A file that is written without pause is told about after this long all the same. */
const WAIT_MS_MAX = 2_000;

export interface Debounce {
  readonly touch: () => void;
  /** Nothing fires after this. */
  stop(): void;
}

/** Calls `fire` once after a burst of touches: when they pause, or when the burst has lasted too long. */
export function createDebounce(fire: () => void, clock: ClockPort): Debounce {
  let timer: unknown = null;
  let since = 0;
  let isStopped = false;
  return {
    touch() {
      if (isStopped) return;
      const now = clock.now();
      if (timer === null) since = now;
      else clock.clearTimeout(timer);
      const waitMs = Math.max(0, Math.min(QUIET_MS, since + WAIT_MS_MAX - now));
      timer = clock.setTimeout(() => {
        timer = null;
        fire();
      }, waitMs);
    },
    stop() {
      isStopped = true;
      if (timer !== null) clock.clearTimeout(timer);
      timer = null;
    },
  };
}
