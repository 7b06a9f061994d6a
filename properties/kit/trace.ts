import { fnv1a, hex } from './random.js';

/** What happened, line by line, as one hash: two runs with the same hash were the same run. */
export class Trace {
  #one = 0x811c9dc5;
  #other = 0x1000193;
  readonly #kept: string[] | null;

  /** `keep`: the lines themselves are kept too, for a person to read. */
  constructor(keep = false) {
    this.#kept = keep ? [] : null;
  }

  write(line: string): void {
    this.#one = fnv1a(line, this.#one);
    // The length tells where one line ends and the next begins.
    this.#other = fnv1a(line, Math.imul(this.#other, 31) + line.length);
    this.#kept?.push(line);
  }

  get hash(): string {
    return hex(this.#one) + hex(this.#other);
  }

  get lines(): readonly string[] {
    return this.#kept ?? [];
  }
}
