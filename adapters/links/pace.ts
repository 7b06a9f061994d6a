import type { ClockPort } from '../../actors/ports.js';

/**
 * What one server may have us read at a stretch: 1 MiB, of which a message that nobody asked for takes 4 KiB, so that there
 * are at most 256 of those. Who has used it up within `periodMs`, or twice after a silence, is not read from before the
 * period is over. An answer that is waited for takes no more than its bytes: there are never more of them than we asked for.
 */
export const INFLOW_PACE = { bytesMax: 1_048_576, unaskedLineBytes: 4_096, periodMs: 10 } as const;

/** Who sends more than so many messages, or so many bytes, that are none within `periodMs` is beyond use. */
export const NOISE_LIMITS = { linesMax: 100_000, bytesMax: 67_108_864, periodMs: 60_000 } as const;

/** How fast one server is read from. */
export class Pace {
  readonly #clock: Pick<ClockPort, 'now'>;
  #spent = 0;
  #sinceMs: number;

  constructor(clock: Pick<ClockPort, 'now'>) {
    this.#clock = clock;
    this.#sinceMs = clock.now();
  }

  /** Says for how many milliseconds nothing more should be read. The clock is only asked when that may be more than none. */
  spend(bytes: number): number {
    this.#spent += bytes;
    if (this.#spent < INFLOW_PACE.bytesMax) return 0;
    const nowMs = this.#clock.now();
    const waitMs = this.#sinceMs + INFLOW_PACE.periodMs - nowMs;
    this.#spent = 0;
    this.#sinceMs = nowMs;
    return Math.max(0, waitMs);
  }

  /** A new period begins. */
  restart(): void {
    this.#spent = 0;
    this.#sinceMs = this.#clock.now();
  }
}

/** Counts what a server sends that is no message. */
export class NoiseMeter {
  readonly #clock: Pick<ClockPort, 'now'>;
  #lines = 0;
  #bytes = 0;
  #sinceMs: number;

  constructor(clock: Pick<ClockPort, 'now'>) {
    this.#clock = clock;
    this.#sinceMs = clock.now();
  }

  /** Says how much it was once that is too much. */
  count(bytes: number): string | null {
    this.#lines += 1;
    this.#bytes += bytes;
    if (this.#lines <= NOISE_LIMITS.linesMax && this.#bytes <= NOISE_LIMITS.bytesMax) return null;
    const nowMs = this.#clock.now();
    const isFlood = nowMs - this.#sinceMs < NOISE_LIMITS.periodMs;
    const much = `${this.#lines} lines, ${this.#bytes} bytes`;
    this.#lines = 0;
    this.#bytes = 0;
    this.#sinceMs = nowMs;
    return isFlood ? much : null;
  }
}
