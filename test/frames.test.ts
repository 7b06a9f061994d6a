import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readMessage } from '../adapters/links/message.js';
import { type FrameLimits, FrameSplitter } from '../adapters/shared/frame-splitter.js';
import { JsonScan } from '../adapters/shared/json-scan.js';
import { createLineRing } from '../adapters/shared/line-ring.js';

const small: FrameLimits = { inlineBytesMax: 64, bytesMax: 256, depthMax: 8, nodesMax: 20 };
const cases = join(import.meta.dirname, 'cases');
const bytesOf = (name: string): Buffer => readFileSync(join(cases, name));
const expectOf = (name: string): { messages: number; noiseLines: number; text: string; maxRetainedBytes: number } =>
  JSON.parse(readFileSync(join(cases, `${name}.expect.json`), 'utf8')) as ReturnType<typeof expectOf>;

/** Feeds chunks and tells what came out, in order. */
function split(
  chunks: readonly (string | Uint8Array)[],
  { limits, wanted = [] }: { limits?: FrameLimits; wanted?: string[] } = {},
) {
  const frames: string[] = [];
  const noise: string[] = [];
  const dropped: [string, string | number | null][] = [];
  const splitter = new FrameSplitter(
    {
      frame: (text) => void frames.push(text),
      noise: (sample) => void noise.push(sample),
      wants: (id) => wanted.includes(String(id)),
      dropped: (problem, id) => void dropped.push([problem, id]),
    },
    limits,
  );
  for (const chunk of chunks) splitter.push(typeof chunk === 'string' ? Buffer.from(chunk) : chunk);
  return { frames, noise, dropped };
}

/** The same bytes in pieces of one size. */
const pieces = (bytes: Uint8Array, size: number): Uint8Array[] =>
  Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) => bytes.subarray(at * size, (at + 1) * size));

/** Messages and noise of a recorded output, as a link counts them. */
function read(chunks: readonly Uint8Array[]) {
  const { frames, noise } = split(chunks);
  const messages = frames.map(readMessage).filter((message) => message !== null);
  return { messages, noiseLines: noise.length + frames.length - messages.length };
}

describe('lines', () => {
  test.each(['B022-stdout-banner', 'B023-json-not-rpc', 'B025-crlf'])(
    '%s: what is no message is counted and the rest goes on',
    (name) => {
      const { messages, noiseLines } = expectOf(`${name}.stdout`);
      for (const size of [1, 7, 100_000]) {
        const found = read(pieces(bytesOf(`${name}.stdout`), size));
        expect([found.messages.length, found.noiseLines]).toEqual([messages, noiseLines]);
      }
    },
  );

  test('B027: a character cut at any byte arrives whole', () => {
    const bytes = bytesOf('B027-utf8-split.stdout');
    const { text } = expectOf('B027-utf8-split.stdout');
    for (let at = 0; at <= bytes.length; at += 1) {
      const { messages } = read([bytes.subarray(0, at), bytes.subarray(at)]);
      expect(messages.at(-1)?.body['result']).toEqual({ content: [{ type: 'text', text }] });
    }
  });

  test.each([
    ['a byte order mark', '\uFEFF{"a":1}\n'],
    ['a carriage return', '{"a":1}\r\n'],
    ['blanks and empty lines around it', '\n \t\r\n  {"a":1}\n\n'],
  ])('takes a line with %s, in one piece and in many', (_what, text) => {
    expect(split([text])).toEqual({ frames: ['{"a":1}'], noise: [], dropped: [] });
    expect(split(pieces(Buffer.from(text), 1)).frames.map((frame) => frame.trim())).toEqual(['{"a":1}']);
  });

  test('keeps the order of many lines in one chunk and one line in many chunks', () => {
    expect(split(['{"a":1}\n{"b":2}\n{"c"', ':3', '}\n{"d":4}\n']).frames).toEqual(['{"a":1}', '{"b":2}', '{"c":3}', '{"d":4}']);
  });

  test('shows only the start of a long line of noise', () => {
    const { noise } = split(['x'.repeat(100), 'y'.repeat(1_000), '\n', `${'z'.repeat(1_000)}\n`]);
    expect(noise.map((sample) => sample.length)).toEqual([256, 256]);
  });
});

describe('limits', () => {
  const answer = (text: string): string => `{"jsonrpc":"2.0","id":"c1","result":{"text":"${text}"}}\n`;

  test('a large frame is handed on to who waits for it and to nobody else', () => {
    const large = answer('x'.repeat(100));
    for (const size of [1, 50, 1_000]) {
      const chunks = pieces(Buffer.from(large), size);
      expect(split(chunks, { limits: small, wanted: ['c1'] }).frames).toEqual([large.trim()]);
      expect(split(chunks, { limits: small }).dropped).toEqual([['unwanted', 'c1']]);
    }
  });

  test('B026 S157: a frame over the cap is dropped while it is read, told once with its id, and the next line is read', () => {
    const chunks = [...pieces(Buffer.from(answer('x'.repeat(5_000))), 40), '{"next":1}\n'];
    const { frames, dropped } = split(chunks, { limits: small, wanted: ['c1'] });
    expect(dropped).toEqual([['bytes', 'c1']]);
    expect(frames).toEqual(['{"next":1}']);
  });

  test('B026 S157: what never ends a line is told once it is over the cap, without an id', () => {
    expect(split(pieces(Buffer.alloc(10_000, 'a'), 64), { limits: small })).toEqual({
      frames: [],
      noise: [],
      dropped: [['bytes', null]],
    });
    expect(split(pieces(Buffer.from(`{"result":"${'a'.repeat(10_000)}`), 64), { limits: small }).dropped).toEqual([
      ['bytes', null],
    ]);
  });

  test.each([
    ['depth', `{"result":${'['.repeat(8)}${']'.repeat(8)},"id":"c1"}`],
    ['nodes', `{"result":[${'0,'.repeat(20)}0],"id":"c1"}`],
  ] as const)('S104 S159 S160: over the limit of %s it is dropped with its id, wherever that stands', (problem, text) => {
    for (const size of [1, 9, 1_000]) {
      expect(split(pieces(Buffer.from(`${text}\n`), size), { limits: small })).toEqual({
        frames: [],
        noise: [],
        dropped: [[problem, 'c1']],
      });
    }
  });

  test('S159: a million levels are refused before they are parsed', () => {
    const deep = Buffer.from(`{"jsonrpc":"2.0","id":7,"result":${'['.repeat(1_000_000)}${']'.repeat(1_000_000)}}\n`);
    expect(split(pieces(deep, 65_536), { wanted: ['7'] }).dropped).toEqual([['depth', 7]]);
  });

  test('brackets, commas and quotes inside of strings count for nothing', () => {
    const text = '{"id":"c1","t":"[[[[[[[[[,,,,,,,,,,,,,,,,,,,,,,,\\"{{{{{{{{{\\\\"}';
    for (const size of [1, 3, 1_000])
      expect(split(pieces(Buffer.from(`${text}\n`), size), { limits: { ...small, inlineBytesMax: 200 } }).frames).toEqual([text]);
  });

  test('B027: the limit counts bytes, not characters', () => {
    const text = `{"t":"${'字'.repeat(30)}"}`;
    expect(text.length).toBeLessThan(small.inlineBytesMax);
    expect(split([`${text}\n`], { limits: small }).dropped).toEqual([['unwanted', null]]);
  });
});

describe('the id of a frame that is not parsed', () => {
  const idOf = (text: string, size: number): string | number | null => {
    const scan = new JsonScan({ depthMax: 100, nodesMax: 1_000 });
    for (const piece of pieces(Buffer.from(text), size)) scan.feed(piece);
    return scan.id;
  };

  test.each([
    ['{"id":"c12","result":{}}', 'c12'],
    ['{"result":{"id":"inner"},"jsonrpc":"2.0","id":5}', 5],
    ['{ "id" : -3 , "x":1}', -3],
    ['{"result":{"id":"inner"},"other":["id",{"id":9}]}', null],
    ['{"x":"id","y":1}', null],
    ['{"id":{"id":4}}', null],
    ['{"id":["c1"]}', null],
    ['{"id":null}', null],
    [`{"id":"${'x'.repeat(300)}"}`, null],
    ['{"x":"\\"id\\":1,","id":"a\\"b"}', 'a"b'],
  ])('of %s is %j', (text, id) => {
    for (const size of [1, 2, 5, 1_000]) expect(idOf(text, size)).toBe(id);
  });
});

describe('the end of stderr', () => {
  test('B030: a progress bar without a line feed stays within its bound and reads as lines', () => {
    const bytes = bytesOf('B030-stderr-cr-only.stderr');
    const { maxRetainedBytes } = expectOf('B030-stderr-cr-only.stderr');
    const ring = createLineRing(maxRetainedBytes);
    const copies = Math.ceil((2 * maxRetainedBytes) / bytes.length);
    for (let copy = 0; copy < copies; copy += 1) ring.push(bytes);
    expect(Buffer.byteLength(ring.tail())).toBeLessThanOrEqual(maxRetainedBytes);
    expect(ring.tail().split('\n').at(-2)).toMatch(/^installing \d+%$/);
  });

  test('keeps the last bytes, whatever the sizes of the writes', () => {
    const text = Array.from({ length: 5_000 }, (_, at) => `line ${at}`).join('\n');
    for (const size of [1, 17, 4_096, 100_000]) {
      const ring = createLineRing(10_000);
      for (const piece of pieces(Buffer.from(text), size)) ring.push(piece);
      // The ten-thousandth byte from the end is a line feed, and an empty line is not shown.
      expect(ring.tail()).toBe(text.slice(-9_999));
    }
  });

  test('does not start in the middle of a character', () => {
    const ring = createLineRing(10);
    ring.push(Buffer.from('字'.repeat(10)));
    expect(ring.tail()).toBe('字字字');
  });

  test('is empty before anything was written', () => {
    expect(createLineRing(10).tail()).toBe('');
  });
});
