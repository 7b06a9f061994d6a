import { nextDraw } from '../../machines/restart-policy.js';

/** Chance from a seed: the same seed draws the same numbers on every machine. The generator is the product's own. */
export class Random {
  #seed: number;

  constructor(seed: number) {
    this.#seed = seed | 0;
  }

  /** A number of [0, 1). */
  next(): number {
    const { seed, draw } = nextDraw(this.#seed);
    this.#seed = seed;
    return draw;
  }

  /** A whole number of [0, below). */
  below(below: number): number {
    return Math.floor(this.next() * below);
  }

  /** True in this share of all draws. */
  chance(share: number): boolean {
    return this.next() < share;
  }

  /** One element. Throws for an empty list. */
  pick<T>(list: readonly T[]): T {
    if (list.length === 0) throw new RangeError('There is nothing to pick from');
    return list[this.below(list.length)] as T;
  }
}

/** 32-bit FNV-1a over the UTF-16 units of a text. */
export function fnv1a(text: string, from = 0x811c9dc5): number {
  let hash = from;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hash >>> 0;
}

export const hex = (number: number): string => (number >>> 0).toString(16).padStart(8, '0');
