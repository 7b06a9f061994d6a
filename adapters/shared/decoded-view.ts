import { unitsOf } from './text-matcher.js';

/** A text as whoever decodes it would read it, and where each of its units stands in the text itself. */
export interface View {
  readonly units: Uint16Array;
  /** By unit: where what it was decoded from begins and ends; absent for a text that is read as it stands. */
  readonly starts: Uint32Array | null;
  readonly ends: Uint32Array | null;
}

/**
 * Every way to read a text that somebody may have written a value in: as it stands, out of JSON once and twice, out of a URL
 * once and twice, out of a URL in JSON, and with its line breaks left out. A reading that is the same as another is not made.
 */
export function readingsOf(text: string): View[] {
  const plain: View = { units: unitsOf(text), starts: null, ends: null };
  const json = decoded(plain, jsonEscape);
  const url = decoded(plain, percentTriplet);
  const further = [
    json,
    json && decoded(json, jsonEscape),
    url,
    url && decoded(url, percentTriplet),
    json && decoded(json, percentTriplet),
    decoded(plain, lineBreak),
    json && decoded(json, lineBreak),
  ];
  return [plain, ...further.filter((view) => view !== null)];
}

/** What an escape means; `length` 0: there is none here. */
interface Escape {
  length: number;
  /** `null`: nothing at all. */
  unit: number | null;
}

/** Reads the escape at a place, into an object that is used again and again. */
type ReadEscape = (units: Uint16Array, at: number, escape: Escape) => void;

const LETTERS: ReadonlyMap<number, number> = new Map(
  (
    [
      ['b', '\b'],
      ['f', '\f'],
      ['n', '\n'],
      ['r', '\r'],
      ['t', '\t'],
      ['"', '"'],
      ["'", "'"],
      ['/', '/'],
      ['\\', '\\'],
    ] as const
  ).map(([letter, meaning]) => [letter.charCodeAt(0), meaning.charCodeAt(0)]),
);
const [BACKSLASH, PERCENT, LOWER_U, LOWER_X, LF, CR] = [0x5c, 0x25, 0x75, 0x78, 0x0a, 0x0d];

/** RFC 8259 §7, and the two-digit form of JavaScript and C. */
const jsonEscape: ReadEscape = (units, at, escape) => {
  if (units[at] !== BACKSLASH) return;
  const letter = units[at + 1] ?? 0;
  const digits = letter === LOWER_U ? 4 : letter === LOWER_X ? 2 : 0;
  const unit = digits === 0 ? (LETTERS.get(letter) ?? -1) : hexAt(units, at + 2, digits);
  if (unit === -1) return;
  escape.length = 2 + digits;
  escape.unit = unit;
};

/** RFC 3986 §2.1, for what is ASCII; more than that is looked for as it is written. */
const percentTriplet: ReadEscape = (units, at, escape) => {
  if (units[at] !== PERCENT) return;
  const unit = hexAt(units, at + 1, 2);
  if (unit === -1 || unit > 0x7f) return;
  escape.length = 3;
  escape.unit = unit;
};

const lineBreak: ReadEscape = (units, at, escape) => {
  if (units[at] !== LF && units[at] !== CR) return;
  escape.length = 1;
  escape.unit = null;
};

/** The number that so many hexadecimal digits make; -1 where they are none. */
function hexAt(units: Uint16Array, at: number, digits: number): number {
  let value = 0;
  for (let next = at; next < at + digits; next += 1) {
    const digit = HEX.get(units[next] ?? 0);
    if (digit === undefined) return -1;
    value = value * 16 + digit;
  }
  return value;
}

const HEX: ReadonlyMap<number, number> = new Map(
  Array.from('0123456789abcdefABCDEF').map((digit) => [digit.charCodeAt(0), Number.parseInt(digit, 16)]),
);

/** `null` when there is nothing to decode. */
function decoded({ units, starts, ends }: View, read: ReadEscape): View | null {
  const escape: Escape = { length: 0, unit: null };
  const out = {
    units: new Uint16Array(units.length),
    starts: new Uint32Array(units.length),
    ends: new Uint32Array(units.length),
  };
  let length = 0;
  for (let at = 0; at < units.length; ) {
    escape.length = 0;
    read(units, at, escape);
    const next = at + Math.max(1, escape.length);
    const unit = escape.length === 0 ? (units[at] ?? 0) : escape.unit;
    if (unit !== null) {
      out.units[length] = unit;
      out.starts[length] = starts?.[at] ?? at;
      out.ends[length] = ends?.[next - 1] ?? next;
      length += 1;
    }
    at = next;
  }
  if (length === units.length) return null;
  return { units: out.units.subarray(0, length), starts: out.starts, ends: out.ends };
}
