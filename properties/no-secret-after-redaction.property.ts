import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createLineRing } from '../adapters/shared/line-ring.js';
import { createRedaction } from '../adapters/shared/redaction.js';

/** Values that are looked for: by chance, with what encodings change, of other alphabets, and long ones. */
const secret = fc
  .oneof(
    fc.string({ unit: 'grapheme-ascii', minLength: 8, maxLength: 60 }),
    fc.base64String({ minLength: 12, maxLength: 80 }),
    fc.string({
      unit: fc.constantFrom('a', 'B', '7', '/', '+', '-', '_', '"', '\\', '%', ' ', '&', '='),
      minLength: 8,
      maxLength: 40,
    }),
    fc.string({ unit: fc.constantFrom('ä', 'ж', '語', '😀', 'k', '9'), minLength: 8, maxLength: 24 }),
    fc.base64String({ minLength: 1_200, maxLength: 2_400 }),
  )
  // A value that is its own surroundings would be found in what is not it.
  .map((text) => `Q9${text.trim()}9Q`);

type Encode = (value: string, before: string) => string;
/** Each writes the value as somebody may; base64 together with what stands before it, so at any alignment. */
const encodings: Readonly<Record<string, Encode>> = {
  raw: (value) => value,
  'in a URL': (value) => encodeURIComponent(value),
  'in a URL, lower case': (value) => encodeURIComponent(value).replace(/%../g, (triplet) => triplet.toLowerCase()),
  'in a form': (value) => new URLSearchParams({ v: value }).toString().slice(2),
  'in a URL, every byte': (value) => Buffer.from(value).toString('hex').replace(/../g, '%$&'),
  'in a URL in a URL': (value) => encodeURIComponent(encodeURIComponent(value)),
  'in JSON': (value) => JSON.stringify(value).slice(1, -1),
  'in JSON in JSON': (value) => JSON.stringify(JSON.stringify(value)).slice(1, -1),
  'in ASCII JSON': (value) => value.replace(/[^]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
  base64: (value, before) => Buffer.from(before + value).toString('base64'),
  base64url: (value, before) => Buffer.from(before + value).toString('base64url'),
  hex: (value) => Buffer.from(value).toString('hex'),
  HEX: (value) => Buffer.from(value).toString('hex').toUpperCase(),
};
const encoding = fc.constantFrom(...Object.keys(encodings));
/** Surroundings in which no secret stands. */
const around = fc.string({ unit: fc.constantFrom('x', 'y', ' ', '.', ':', '\n', '€'), maxLength: 40 });
const prefix = fc.constantFrom('', ':', 'u:', 'user:', 'Bearer ');

/** The first piece of an encoded value that is left in a text, of so many units. */
function leftOf(encoded: string, text: string, run = 8): string | undefined {
  for (let at = 0; at + run <= encoded.length; at += 1) {
    const piece = encoded.slice(at, at + run);
    if (text.includes(piece)) return piece;
  }
  return undefined;
}

/** Fewer than six units of a value are not looked for where a text was cut; an escape makes up to fifteen of one. */
const runOf = (name: string): number => (/^(raw|base64|base64url|hex|HEX)$/.test(name) ? 8 : 6 * 15);

/** The bytes of a base64 text that come from the value alone begin a few characters in. */
const ownPart = (name: string, encoded: string, before: string): string =>
  name.startsWith('base64') ? encoded.replace(/=+$/, '').slice(Math.ceil((before.length * 8) / 6)) : encoded;

function redactionOf(value: string) {
  const redaction = createRedaction();
  redaction.hold([{ env: { A_TOKEN: value } }]);
  return redaction;
}

const scene = fc.record({ value: secret, name: encoding, before: prefix, head: around, tail: around });

describe('after redaction', () => {
  test('no text holds a value that is held, in whatever form it stands there (S152)', () => {
    fc.assert(
      fc.property(scene, ({ value, name, before, head, tail }) => {
        const encoded = encodings[name]?.(value, before) ?? '';
        const clean = redactionOf(value).text(`${head} ${encoded} ${tail}`);
        expect(leftOf(ownPart(name, encoded, before), clean)).toBeUndefined();
        expect(clean).toContain('[redacted]');
        // What stands around it is not taken along, unless the value itself looks like an escape that was cut.
        if (name === 'raw' && !/[%\\]/.test(value))
          expect(clean).toBe(redactionOf('another-0123456').text(`${head} [redacted] ${tail}`));
      }),
    );
  });

  test('no end of a ring holds a part of a value, whatever its chunks and wherever it was cut (S152, B180)', () => {
    const cut = fc.record({
      value: secret,
      name: encoding,
      chunk: fc.integer({ min: 1, max: 9 }),
      more: fc.integer({ min: 1, max: 400 }),
      missing: fc.integer({ min: 0, max: 60 }),
    });
    fc.assert(
      fc.property(cut, around, ({ value, name, chunk, more, missing }, tail) => {
        const encoded = encodings[name]?.(value, '') ?? '';
        // What is cut at both its ends is longer than what it may hold.
        const ring = createLineRing(Buffer.byteLength(encoded) + more);
        // The end of what the server writes has not come yet.
        const bytes = Buffer.from(`${encoded} ${tail}${encoded}`).subarray(0, missing === 0 ? undefined : -missing);
        for (let at = 0; at < bytes.length; at += chunk) ring.push(bytes.subarray(at, at + chunk));
        expect(leftOf(encoded, redactionOf(value).text(ring.tail()), runOf(name))).toBeUndefined();
      }),
    );
  });

  test('nothing is taken out of a text in which no secret stands, and nothing is taken out twice', () => {
    fc.assert(
      fc.property(secret, around, ({ length }, text) => {
        const redaction = redactionOf('Z'.repeat(length + 8));
        expect(redaction.text(text)).toBe(redactionOf('another-0123456').text(text));
        expect(redaction.text(redaction.text(text))).toBe(redaction.text(text));
      }),
    );
  });

  test('a value that nobody holds any more is a text like any other; one that somebody still holds is not', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom('hold', 'release'), { maxLength: 12 }), (acts) => {
        const redaction = createRedaction();
        const held: { release(): void }[] = [];
        for (const act of acts) {
          if (act === 'hold') held.push(redaction.hold([{ env: { A: 'xy12-zw34-qq' } }]));
          else held.pop()?.release();
        }
        expect(redaction.text('it is xy12-zw34-qq.')).toBe(held.length > 0 ? 'it is [redacted].' : 'it is xy12-zw34-qq.');
      }),
    );
  });
});

describe('would notice', () => {
  test('a redaction that looks for the value as it is written only', () => {
    const found = fc.check(
      fc.property(scene, ({ value, name, before, head, tail }) => {
        const encoded = encodings[name]?.(value, before) ?? '';
        const clean = `${head} ${encoded} ${tail}`.replaceAll(value, '[redacted]');
        return leftOf(ownPart(name, encoded, before), clean) === undefined;
      }),
    );
    expect(found.failed).toBe(true);
  });
});
