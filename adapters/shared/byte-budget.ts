/** Bytes that several holders share: what one has taken the others cannot have. */
export class ByteBudget {
  readonly #bytesMax: number;
  #taken = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  get taken(): number {
    return this.#taken;
  }

  /** All of it, or false and nothing. */
  take(bytes: number): boolean {
    if (this.#taken + bytes > this.#bytesMax) return false;
    this.#taken += bytes;
    return true;
  }

  giveBack(bytes: number): void {
    this.#taken -= bytes;
  }
}
