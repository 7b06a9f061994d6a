import type { ClockPort } from '../../actors/ports.js';

const DELAY_MS_MIN = 2;
const DELAY_MS_MAX = 100;

export interface Retry {
  /** Waits before the next try; false when there is to be none. `tries`: those that failed already. */
  wait(tries: number, untilMs: number): Promise<boolean>;
  /** Ends every wait now, and lets nobody wait again. */
  stop(): void;
}

/** Waiting for a lock without holding up anybody: pauses that grow, of random length so that two waiters drift apart. */
export function createRetry(clock: ClockPort): Retry {
  const waits = new Map<unknown, () => void>();
  let isStopped = false;
  return {
    wait(tries, untilMs) {
      const leftMs = untilMs - clock.now();
      if (isStopped || leftMs <= 0) return Promise.resolve(false);
      const pauseMs = Math.min(DELAY_MS_MAX, DELAY_MS_MIN * 2 ** Math.min(tries, 10)) * (0.5 + Math.random() / 2);
      return new Promise((resolve) => {
        const wake = (): void => {
          clock.clearTimeout(timer);
          waits.delete(timer);
          resolve(true);
        };
        const timer = clock.setTimeout(wake, Math.min(pauseMs, leftMs));
        waits.set(timer, wake);
      });
    },
    stop() {
      isStopped = true;
      for (const wake of [...waits.values()]) wake();
    },
  };
}
