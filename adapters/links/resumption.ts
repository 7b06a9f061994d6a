/** Coming back to a stream of events that broke (2025-11-25, transports, "Resumability"). */
export const RESUME = {
  /** Attempts in a row that bring no stream, before it is given up. */
  attemptsMax: 5,
  /** Where the server does not say how long to wait. Doubled with every attempt that brings nothing. */
  delayMs: 1_000,
  /** Whatever the server says: a stream that ends at once would be asked for in a circle. */
  delayMsMin: 250,
  delayMsMax: 60_000,
} as const;

/** Header values are ASCII; an id that is none cannot be sent back. */
const FIT_ID = /^[\x20-\x7e]{1,1024}$/;

/** How far one stream of events was read, and when to come back to it. */
export class StreamPosition {
  #lastEventId: string | null = null;
  #retryMs: number = RESUME.delayMs;
  #fruitless = 0;

  /** Of the last event that had one; `null`: the stream cannot be taken up where it broke. */
  get lastEventId(): string | null {
    return this.#lastEventId;
  }

  get isHopeless(): boolean {
    return this.#fruitless >= RESUME.attemptsMax;
  }

  /** How long to wait before the next attempt, which counts as fruitless until something is read. */
  nextDelayMs(): number {
    const delayMs = Math.min(this.#retryMs * 2 ** this.#fruitless, Math.max(RESUME.delayMsMax, this.#retryMs));
    this.#fruitless += 1;
    return delayMs;
  }

  retry(delayMs: number): void {
    this.#retryMs = Math.min(Math.max(delayMs, RESUME.delayMsMin), RESUME.delayMsMax);
  }

  /** An event was read. */
  advance(id: string | undefined): void {
    this.#fruitless = 0;
    if (id !== undefined) this.#lastEventId = FIT_ID.test(id) ? id : null;
  }
}
