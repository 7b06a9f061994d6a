import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readMessage } from '../adapters/links/message.js';
import { ByteBudget } from '../adapters/shared/byte-budget.js';
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
  { limits, wanted = [], budget }: { limits?: FrameLimits; wanted?: string[]; budget?: ByteBudget } = {},
) {
  const frames: string[] = [];
  const noise: string[] = [];
  const dropped: [string, string | number | null][] = [];
  const splitter = new FrameSplitter(
    {
      frame: (text) => void frames.push(text),
      noise: (sample) => void noise.push(sample),
      blank: () => undefined,
      wants: (id) => (id === null ? wanted.length > 0 : wanted.includes(String(id))),
      dropped: (problem, id) => void dropped.push([problem, id]),
    },
    limits,
    budget,
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

  const idLast = `{"result":"${'x'.repeat(100)}","id":"c1"}\n`;
  test.each([
    ['its id comes last and somebody waits for something', ['c1'], [idLast.trim()], []],
    ['its id comes last and is not the one that is waited for', ['c2'], [], [['unwanted', 'c1']]],
    ['nobody waits for anything', [], [], [['unwanted', 'c1']]],
  ])('a large frame is judged by its id wherever that stands: %s', (_what, wanted, frames, dropped) => {
    for (const size of [1, 50, 1_000])
      expect(split(pieces(Buffer.from(idLast), size), { limits: small, wanted })).toEqual({ frames, noise: [], dropped });
  });

  describe('B026: in the whole process', () => {
    const limits: FrameLimits = { ...small, inlineBytesMax: 20_000, bytesMax: 1_000_000 };
    const reader = (budget: ByteBudget, wants: (id: string | number | null) => boolean = () => true) => {
      const told: unknown[] = [];
      const handlers = {
        frame: (text: string) => void told.push(text.length),
        noise: () => void told.push('noise'),
        blank: () => undefined,
        wants,
        dropped: (problem: string, id: string | number | null) => void told.push([problem, id]),
      };
      return { told, splitter: new FrameSplitter(handlers, limits, budget) };
    };
    const open = (id: string): Buffer => Buffer.from(`{"id":"${id}","t":"${'x'.repeat(60_000)}`);

    test('large frames are held up to a limit; one more is dropped with its id, small ones are not', () => {
      const budget = new ByteBudget(130_000);
      const [first, second] = [reader(budget), reader(budget)];
      first.splitter.push(open('c1'));
      first.splitter.push(Buffer.from('"}'));
      second.splitter.push(open('c2'));
      second.splitter.push(Buffer.from('"}\n{"small":'));
      second.splitter.push(Buffer.from('1}\n'));
      expect(second.told).toEqual([['memory', 'c2'], 11]);
      first.splitter.push(Buffer.from('\n'));
      second.splitter.push(open('c3'));
      second.splitter.push(Buffer.from('"}\n'));
      expect([first.told, second.told.slice(2), budget.taken]).toEqual([[60_018], [60_018], 0]);
    });

    test('what a link that ends was holding is given back', () => {
      const budget = new ByteBudget(100_000);
      const { splitter, told } = reader(budget);
      splitter.push(open('c1'));
      expect(budget.taken).toBeGreaterThan(60_000);
      splitter.close();
      splitter.push(Buffer.from('"}\n'));
      expect([budget.taken, told]).toEqual([0, []]);
    });

    test('a large frame that is no longer waited for is held no longer', () => {
      const budget = new ByteBudget(100_000);
      let isWanted = true;
      const { splitter, told } = reader(budget, () => isWanted);
      splitter.push(open('c1'));
      isWanted = false;
      splitter.push(Buffer.from('x'));
      expect(budget.taken).toBe(0);
      splitter.push(Buffer.from('"}\n'));
      expect(told).toEqual([['unwanted', 'c1']]);
    });
  });

  test('B023: what starts like a message and does not end like one is noise, and is not parsed', () => {
    for (const size of [1, 1_000]) {
      const { frames, noise } = split(pieces(Buffer.from('{\n{"a":1\n{"a":1} \n{x\r\n'), size));
      expect([frames.map((frame) => frame.trim()), noise]).toEqual([['{"a":1}'], ['{', '{"a":1', '{x']]);
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
