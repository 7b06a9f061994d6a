import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readMessage } from '../adapters/links/message.js';
import { type FrameLimits, FrameSplitter } from '../adapters/shared/frame-splitter.js';

const limits: FrameLimits = { inlineBytesMax: 40, bytesMax: 120, depthMax: 4, nodesMax: 12 };

/** Lines near every limit: messages, broken ones, noise and bytes that are no text. */
const line = fc.oneof(
  fc.json({ maxDepth: 6 }),
  fc
    .record({ jsonrpc: fc.constant('2.0'), id: fc.constantFrom('c1', 'c2', 3), result: fc.jsonValue() })
    .map((message) => JSON.stringify(message)),
  fc.string({ maxLength: 200 }).map((text) => JSON.stringify({ id: 'c1', text })),
  fc.string({ maxLength: 100 }).map((text) => JSON.stringify({ text, id: 'c1', more: 1 })),
  fc.string({ maxLength: 100 }).map((text) => JSON.stringify({ text, id: 'c2' })),
  fc.string({ unit: 'binary', maxLength: 200 }).map((text) => text.replaceAll('\n', ' ')),
  fc.constantFrom('', '  ', '\r', '{', '{"id":', '{"jsonrpc":"2.0","id":"c1"}', '[1,2]', '\uFEFF{"a":1}'),
);
const stream = fc
  .array(fc.tuple(line, fc.constantFrom('\n', '\r\n')), { maxLength: 20, size: 'max' })
  .map((lines) => Buffer.from(lines.flat().join('')));

/** `decode` may spoil a piece before it is pushed, as a planted bug. */
function split(bytes: Buffer, cuts: readonly number[], decode = (piece: Buffer): Buffer => piece): unknown[] {
  const told: unknown[] = [];
  const splitter = new FrameSplitter(
    {
      frame: (text) => void told.push(['frame', text.trim(), readMessage(text)?.kind]),
      noise: () => void told.push(['noise']),
      blank: () => told.push(['blank']),
      wants: (id) => id === 'c1' || id === null,
      dropped: (problem, id) => void told.push([problem, problem === 'bytes' ? null : id]),
    },
    limits,
  );
  const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length].sort((a, b) => a - b);
  places.slice(1).forEach((end, at) => splitter.push(decode(bytes.subarray(places[at], end))));
  return told;
}

test('S156: however the bytes are cut, the same frames come out in the same order, and nothing throws', () => {
  fc.assert(
    fc.property(stream, fc.array(fc.nat(), { maxLength: 40 }), (bytes, cuts) => {
      expect(split(bytes, cuts)).toEqual(split(bytes, []));
    }),
  );
});

describe('would notice', () => {
  test('pieces that are decoded one by one, which breaks the characters they cut', () => {
    const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 10 });
    const message = text.map((result) => Buffer.from(`${JSON.stringify({ jsonrpc: '2.0', id: 3, result })}\n`));
    const decoded = (piece: Buffer): Buffer => Buffer.from(piece.toString('utf8'));
    const found = fc.check(
      fc.property(message, fc.array(fc.nat(), { minLength: 5, maxLength: 40, size: 'max' }), (bytes, cuts) => {
        expect(split(bytes, cuts, decoded)).toEqual(split(bytes, []));
      }),
    );
    expect(found.failed).toBe(true);
  });
});
