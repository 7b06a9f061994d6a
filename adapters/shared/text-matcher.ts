/** Where something stands in a text: from `start` up to, not including, `end`. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

const UNITS = 65_536;

/**
 * Finds any of many texts in another in one pass over it, however many they are (Aho and Corasick, CACM 18(6), 1975). Upper and
 * lower case count as one, and so do the characters that base64, base64url and forms put in each other's place: `+`, `-`
 * and the blank; `/` and `_`.
 */
export class TextMatcher {
  /** Edges of the trie: a node and a unit, as one number, to the node behind. */
  readonly #edges = new Map<number, number>();
  /** By node: the node of the longest other beginning that its text ends with. */
  readonly #fallback: number[] = [0];
  readonly #depth: number[] = [0];
  /** By node: length of the longest of the texts that ends here. */
  readonly #ending: number[] = [0];

  constructor(texts: Iterable<string>) {
    const parents: number[] = [0];
    const units: number[] = [0];
    for (const text of texts) {
      let node = 0;
      for (let at = 0; at < text.length; at += 1) {
        const unit = folded(text.charCodeAt(at));
        let next = this.#edges.get(node * UNITS + unit);
        if (next === undefined) {
          next = this.#depth.length;
          this.#edges.set(node * UNITS + unit, next);
          this.#depth.push(at + 1);
          this.#ending.push(0);
          this.#fallback.push(0);
          parents.push(node);
          units.push(unit);
        }
        node = next;
      }
      this.#ending[node] = text.length;
    }
    this.#link(parents, units);
  }

  /** Every place at which one of the texts stands, in the order of their ends; of several that end together, the longest. */
  find(text: string): Span[] {
    const spans: Span[] = [];
    let node = 0;
    for (let at = 0; at < text.length; at += 1) {
      node = this.#step(node, folded(text.charCodeAt(at)));
      const length = this.#ending[node] ?? 0;
      if (length > 0) spans.push({ start: at + 1 - length, end: at + 1 });
    }
    return spans;
  }

  /** How many units at the end of a text are the beginning of one of the texts, or the whole of it. */
  begunAtEnd(text: string): number {
    let node = 0;
    for (let at = 0; at < text.length; at += 1) node = this.#step(node, folded(text.charCodeAt(at)));
    return this.#depth[node] ?? 0;
  }

  #step(from: number, unit: number): number {
    let node = from;
    for (;;) {
      const next = this.#edges.get(node * UNITS + unit);
      if (next !== undefined) return next;
      if (node === 0) return 0;
      node = this.#fallback[node] ?? 0;
    }
  }

  /** A node's fallback is found through its parent's, so the shorter ones come first. */
  #link(parents: readonly number[], units: readonly number[]): void {
    const byDepth = [...this.#depth.keys()].slice(1).sort((one, other) => (this.#depth[one] ?? 0) - (this.#depth[other] ?? 0));
    for (const node of byDepth) {
      const parent = parents[node] ?? 0;
      const fallback = parent === 0 ? 0 : this.#step(this.#fallback[parent] ?? 0, units[node] ?? 0);
      this.#fallback[node] = fallback;
      if (this.#ending[node] === 0) this.#ending[node] = this.#ending[fallback] ?? 0;
    }
  }
}

/** One unit for all that count as one. */
function folded(unit: number): number {
  if (unit >= 0x41 && unit <= 0x5a) return unit + 0x20;
  if (unit === 0x20 || unit === 0x2b) return 0x2d;
  return unit === 0x2f ? 0x5f : unit;
}
