import type { ClockPort } from '../../actors/ports.js';

interface Timer {
  readonly dueMs: number;
  readonly fire: () => void;
}

/**
 * A clock that only moves when told to. Each timer fires at its own due time, in order, chained ones inside the same
 * advance. Fits as `ClockPort` and as the `clock` of an XState actor.
 */
export class VirtualClock implements ClockPort {
  #nowMs = 0;
  #epochMs: number;
  /** By due time; among equals in the order they were set. */
  readonly #timers: Timer[] = [];

  constructor(epochMs = Date.UTC(2026, 0, 1)) {
    this.#epochMs = epochMs;
  }

  now(): number {
    return this.#nowMs;
  }

  epoch(): number {
    return this.#epochMs + this.#nowMs;
  }

  setTimeout(fire: () => void, delayMs: number): unknown {
    const timer: Timer = { dueMs: this.#nowMs + (delayMs > 0 ? delayMs : 0), fire };
    this.#timers.splice(this.#after(timer.dueMs), 0, timer);
    return timer;
  }

  clearTimeout(handle: unknown): void {
    const index = this.#timers.findIndex((timer) => timer === handle);
    if (index >= 0) this.#timers.splice(index, 1);
  }

  /** Timers that are set. */
  get pending(): number {
    return this.#timers.length;
  }

  /** When the next timer is due, in the time of `now()`; `null` without any. */
  get nextMs(): number | null {
    return this.#timers[0]?.dueMs ?? null;
  }

  /** Moves the time on and fires what falls due on the way. Promises settled by a timer run only after it returns. */
  advance(ms: number): void {
    const endMs = this.#nowMs + ms;
    while (this.fireNext(endMs));
    this.#nowMs = endMs;
  }

  /** Like `advance`, but lets promises run between two timers, as a real clock does. */
  async run(ms: number): Promise<void> {
    const endMs = this.#nowMs + ms;
    await drained();
    while (this.fireNext(endMs)) await drained();
    this.#nowMs = endMs;
  }

  /** Fires the first timer that is due until then, at its own time; false when there is none, and the time stands still. */
  fireNext(untilMs: number): boolean {
    const [next] = this.#timers;
    if (next === undefined || next.dueMs > untilMs) return false;
    this.#timers.shift();
    this.#nowMs = next.dueMs;
    next.fire();
    return true;
  }

  /** The wall clock is set to another time; what is measured in `now()` does not notice. */
  jump(ms: number): void {
    this.#epochMs += ms;
  }

  #after(dueMs: number): number {
    let low = 0;
    let high = this.#timers.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#timers[middle]?.dueMs ?? 0) <= dueMs) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** Every microtask that is queued now, and those they queue, have run when this settles. */
const drained = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
