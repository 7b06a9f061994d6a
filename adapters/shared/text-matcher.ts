/** Where something stands in a text: from `start` up to, not including, `end`. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** The shortest text that can be looked for, in UTF-16 units: by its first and by its last so many units one is found. */
export const ANCHOR_UNITS = 6;
/** As much of an escape as may be left where a text was cut: all of `\\u20ac` but its first or its last character. */
const BROKEN_UNITS_MAX = 5;
const BASE = 0x01000193;
const LEAVING = Array.from({ length: ANCHOR_UNITS - 1 }).reduce<number>((power) => Math.imul(power, BASE), 1);
const FILTER_BITS = 16;
const [LF, CR] = [0x0a, 0x0d];
/** Beginnings of escapes, and what a decoder makes of a character that was cut. */
const BREAKING: ReadonlySet<number> = new Set([0x25, 0x5c, 0xfffd]);

/**
 * Finds any of many texts in another, however many they are, in one pass with a rolling hash (Karp and Rabin, IBM J. Res. Dev.
 * 31(2), 1987): also the beginning of one at the end of the text or of a line, and the end of one at the beginning of the text, from
 * `ANCHOR_UNITS` on.
 * Upper and lower case count as one, and so do the characters that base64, base64url and forms put in each other's place: `+`,
 * `-` and the blank; `/` and `_`.
 */
export class TextMatcher {
  readonly #first = new Anchors();
  readonly #last = new Anchors();
  #unitsMax = 0;

  constructor(texts: Iterable<string>) {
    for (const text of texts) {
      const units = foldedUnits(unitsOf(text));
      if (units.length < ANCHOR_UNITS) continue;
      this.#first.add(units, 0);
      this.#last.add(units, units.length - ANCHOR_UNITS);
      this.#unitsMax = Math.max(this.#unitsMax, units.length);
    }
  }

  /** Every place at which one of the texts stands, and those where the text was cut. They may overlap and are in no order. */
  find(text: Uint16Array): Span[] {
    const units = foldedUnits(text);
    const spans: Span[] = [];
    this.#first.eachIn(units, (wanted, start) => {
      const end = start + sameFrom(units, start, wanted);
      const isWhole = end - start === wanted.length;
      const spanEnd = isWhole ? end : cutEnd(units, end);
      if (end - start >= ANCHOR_UNITS && spanEnd !== -1) spans.push({ start, end: spanEnd });
    });
    this.#last.eachIn(units.subarray(0, this.#unitsMax + BROKEN_UNITS_MAX), (wanted, at) => {
      const end = at + ANCHOR_UNITS;
      const same = sameUpTo(units, end, wanted);
      const isPart = same >= ANCHOR_UNITS && same < wanted.length;
      if (isPart && isBrokenEscape(units.subarray(0, end - same))) spans.push({ start: 0, end });
    });
    return spans;
  }
}

/** Texts by the hash of a few of their units. */
class Anchors {
  readonly #texts = new Map<number, Uint16Array[]>();
  /** Says no to most hashes without a look into the map. */
  readonly #filter = new Uint8Array(1 << FILTER_BITS);

  add(units: Uint16Array, at: number): void {
    let hash = 0;
    for (let next = at; next < at + ANCHOR_UNITS; next += 1) hash = (Math.imul(hash, BASE) + (units[next] ?? 0)) | 0;
    const others = this.#texts.get(hash);
    if (others === undefined) this.#texts.set(hash, [units]);
    else others.push(units);
    this.#filter[short(hash)] = 1;
  }

  /** Calls back for every text whose anchor may begin at a place. */
  eachIn(units: Uint16Array, found: (text: Uint16Array, at: number) => void): void {
    let hash = 0;
    for (let next = 0; next < units.length; next += 1) {
      const at = next - ANCHOR_UNITS + 1;
      if (at > 0) hash = (hash - Math.imul(units[at - 1] ?? 0, LEAVING)) | 0;
      hash = (Math.imul(hash, BASE) + (units[next] ?? 0)) | 0;
      if (at < 0 || this.#filter[short(hash)] === 0) continue;
      for (const text of this.#texts.get(hash) ?? []) found(text, at);
    }
  }
}

const short = (hash: number): number => (hash ^ (hash >>> FILTER_BITS)) & ((1 << FILTER_BITS) - 1);

/** How many units from a place on are those that a text begins with. */
function sameFrom(units: Uint16Array, start: number, wanted: Uint16Array): number {
  let same = 0;
  while (same < wanted.length && start + same < units.length && units[start + same] === wanted[same]) same += 1;
  return same;
}

/** How many units before a place are those that a text ends with. */
function sameUpTo(units: Uint16Array, end: number, wanted: Uint16Array): number {
  let same = 0;
  while (same < wanted.length && same < end && units[end - 1 - same] === wanted[wanted.length - 1 - same]) same += 1;
  return same;
}

/** Whether a text that was cut may begin with this, and go on as it was written. */
const isBrokenEscape = (units: Uint16Array): boolean =>
  units.length <= BROKEN_UNITS_MAX && units.every((unit) => /[0-9a-z"'\\%_]/.test(String.fromCharCode(unit)));

/**
 * Where a text ends that was cut at a place: there, or behind an escape or a character that was cut in its middle. A line that others wrote may
 * have been cut too. -1: it goes on.
 */
function cutEnd(units: Uint16Array, at: number): number {
  const isEnd = at === units.length || units[at] === LF || units[at] === CR;
  if (isEnd) return at;
  // What an outer escape was cut to may have gone along with the value for a unit or two.
  const isBroken = [at, at - 1, at - 2].some((place) => BREAKING.has(units[place] ?? 0));
  return isBroken && units.length - at <= BROKEN_UNITS_MAX ? units.length : -1;
}

/** The UTF-16 units of a text. */
export function unitsOf(text: string): Uint16Array {
  const units = new Uint16Array(text.length);
  for (let at = 0; at < text.length; at += 1) units[at] = text.charCodeAt(at);
  return units;
}

function foldedUnits(text: Uint16Array): Uint16Array {
  const units = new Uint16Array(text.length);
  for (let at = 0; at < text.length; at += 1) units[at] = folded(text[at] ?? 0);
  return units;
}

/** One unit for all that count as one. */
function folded(unit: number): number {
  if (unit >= 0x41 && unit <= 0x5a) return unit + 0x20;
  if (unit === 0x20 || unit === 0x2b) return 0x2d;
  return unit === 0x2f ? 0x5f : unit;
}
