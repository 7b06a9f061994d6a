import { readingsOf } from './decoded-view.js';
import { ANCHOR_UNITS, type Span, TextMatcher } from './text-matcher.js';

/** Shorter values are not looked for: they stand in many a text by chance, and a text with holes would tell where. */
export const SECRET_UNITS_MIN = ANCHOR_UNITS;
/** Of a longer value the rest is not looked for, in UTF-16 units. */
const SECRET_UNITS_MAX = 16_384;
/** A value longer than the first is looked for in pieces of the second, so that a part of it is found too. */
const [WHOLE_UNITS_MAX, PIECE_UNITS] = [1_024, 256];
/** A line of a value of many lines that is shorter, or only says what kind of value it is, is no secret by itself. */
const LINE_UNITS_MIN = 8;
const PEM_BOUNDARY = /^-----(?:BEGIN|END) /;

/**
 * Finds values in a text in whatever form they stand there: as they are, in any case, in hex, in base64 and base64url at all
 * three alignments, out of JSON or a URL; and the beginning or the end of one where the text was cut. Linear in the text.
 */
export class SecretMatcher {
  readonly #forms: TextMatcher;

  constructor(values: Iterable<string>) {
    this.#forms = new TextMatcher(new Set([...values].flatMap(partsOf).flatMap(formsOf)));
  }

  /** Where the values stand in the text; they may overlap and are in no order. */
  find(text: string): Span[] {
    return readingsOf(text).flatMap(({ units, starts, ends }) =>
      this.#forms.find(units).map(({ start, end }) => ({ start: starts?.[start] ?? start, end: ends?.[end - 1] ?? end })),
    );
  }
}

/** What a value is looked for by: the whole, or pieces of a long one; of several lines each, and all of them without the breaks. */
function partsOf(value: string): string[] {
  const known = value.slice(0, SECRET_UNITS_MAX);
  const lines = known.split(/[\r\n]+/);
  if (lines.length === 1) return pieces(known);
  const telling = lines.map((line) => line.trim()).filter((line) => line.length >= LINE_UNITS_MIN && !PEM_BOUNDARY.test(line));
  return [...pieces(known), ...pieces(lines.join('')), ...telling.flatMap(pieces)];
}

function pieces(text: string): string[] {
  if (text.length <= WHOLE_UNITS_MAX) return [text];
  const count = Math.floor(text.length / PIECE_UNITS);
  const full = Array.from({ length: count }, (_, at) => text.slice(at * PIECE_UNITS, (at + 1) * PIECE_UNITS));
  return [...full, text.slice(-PIECE_UNITS)];
}

/** The forms that are looked for as they stand; those of JSON and URLs are undone in the text instead. */
function formsOf(value: string): string[] {
  const bytes = Buffer.from(value, 'utf8');
  const percent = value.replace(/[\u0080-\uffff]+/g, percentEncoded);
  return [value, percent, bytes.toString('hex'), ...[0, 1, 2].map((shift) => base64At(bytes, shift))];
}

const percentEncoded = (text: string): string => Buffer.from(text, 'utf8').toString('hex').replace(/../g, '%$&');

/** The characters of base64 that depend on these bytes alone, when `shift` bytes (modulo 3) stand before them. */
function base64At(bytes: Uint8Array, shift: number): string {
  const shifted = Buffer.concat([Buffer.alloc(shift), bytes]);
  return shifted.toString('base64').slice(Math.ceil((shift * 8) / 6), Math.floor((shifted.length * 8) / 6));
}
