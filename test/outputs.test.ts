import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { CallResult, GatewayResult } from '../actors/api.js';
import { guardForModel } from '../actors/model-guard.js';
import { utf8Bytes } from '../machines/utf8.js';
import { caseFile } from './support/case-file.js';
import { memoryFs, newOutputs } from './support/catalogue-kit.js';

const UNITS_MAX = 50_000;
const text = (value: string) => ({ content: [{ type: 'text', text: value }] });
const unitsOf = (result: GatewayResult): number => JSON.stringify(result).length;
const textOf = (result: GatewayResult): string => result.content.map((block) => String(block['text'])).join('\n');

function setUp() {
  const fs = memoryFs();
  const outputs = newOutputs(fs);
  return { fs, outputs, bound: (result: CallResult) => outputs.bound(result, 'mcp__s__t') };
}

describe('a text result', () => {
  it('is given as it is up to 8 KiB and 1 000 lines', async () => {
    const { bound, fs } = setUp();
    for (const whole of ['x'.repeat(8_192), 'é'.repeat(4_096), '\n'.repeat(999), 'a\n'.repeat(1_000), '']) {
      expect(await bound(text(whole))).toEqual({ result: text(whole), spilled: [] });
    }
    expect(fs.files.size).toBe(0);
  });

  it.each([
    ['a byte more', 'x'.repeat(8_193), 8_192],
    ['a line more', 'a\n'.repeat(1_001), 1_999],
    ['another script', '文'.repeat(10_000), 2_730],
  ])('B115 S115 with %s is cut between characters, says so, and is kept whole', async (_what, whole, shown) => {
    const { bound, fs } = setUp();
    const { result, spilled } = await bound(text(whole));
    expect(result.content[0]?.['text']).toBe(whole.slice(0, shown));
    expect(result.content[1]?.['text']).toBe(
      `[Output cut: the whole has ${utf8Bytes(whole)} bytes in 1 block. All of it: ${spilled[0] ?? ''} or {"action":"read","uri":"spill://mcp__s__t-1.txt"}]`,
    );
    expect([...fs.files.values()]).toEqual([whole]);
  });

  it('shares the bound over all its blocks, and shows nothing of what comes behind a cut', async () => {
    const { bound, fs } = setUp();
    const blocks = ['a'.repeat(5_000), 'b'.repeat(5_000), 'c'].map((part) => ({ type: 'text', text: part }));
    const { result } = await bound({ content: blocks });
    expect(result.content.slice(0, 2).map((block) => String(block['text']).length)).toEqual([5_000, 3_192]);
    expect(result.content.length).toBe(3);
    expect([...fs.files.values()]).toEqual([`${'a'.repeat(5_000)}\n${'b'.repeat(5_000)}\nc`]);
  });

  it('S119 of a hundred thousand blocks is cut to a hundred', async () => {
    const { bound } = setUp();
    const { result } = await bound({ content: Array.from({ length: 100_000 }, () => ({ type: 'text', text: 'x' })) });
    expect(result.content.length).toBe(101);
    expect(textOf(result)).toContain('in 100000 blocks');
  });

  it('S111 goes to a file of our name, whatever the tool is called', async () => {
    const { fs, outputs } = setUp();
    await outputs.bound(text('x'.repeat(9_000)), '../../etc/passwd\u0000');
    expect([...fs.files.keys()]).toEqual(['spill://------etc-passwd--1.txt']);
  });

  it('is cut and says so when it cannot be kept: a full disk is no failure of the call', async () => {
    const { bound, fs } = setUp();
    fs.fail = true;
    const { result, spilled } = await bound(text('x'.repeat(9_000)));
    expect(spilled).toEqual([]);
    expect(result.isError).toBeUndefined();
    expect(textOf(result)).toContain('The rest could not be kept (SPILL_FAILED).');
  });

  it('S113 is not kept past the quota of one call', async () => {
    const { bound, fs } = setUp();
    const half = 'x'.repeat(33 * 1_024 * 1_024);
    const { result } = await bound({
      content: [
        { type: 'image', data: half },
        { type: 'image', data: `${half}y` },
      ],
    });
    expect(fs.files.size).toBe(1);
    expect(textOf(result)).toContain('SPILL_FAILED');
  });
});

describe('a result of other blocks', () => {
  it('B118 keeps the order, the links, and the siblings of what nobody knows', async () => {
    const { bound } = setUp();
    const { result } = await bound((caseFile('B118-mixed-blocks.result.json') as { result: CallResult }).result);
    expect(result.content).toEqual([
      { type: 'text', text: 'one' },
      { type: 'resource_link', uri: 'https://h.example/f.pdf', name: 'f.pdf', mimeType: 'application/pdf' },
      { type: 'text', text: '[a block of type "hologram" is left out]' },
      { type: 'text', text: 'two' },
      { type: 'text', text: '[a block that is no object is left out]' },
    ]);
  });

  it('B119 keeps small audio and text, and names a binary resource with its size', async () => {
    const { bound } = setUp();
    const { result } = await bound((caseFile('B119-audio-resource.result.json') as { result: CallResult }).result);
    expect(result.content[0]).toEqual({ type: 'audio', data: 'UklGRg==', mimeType: 'audio/wav' });
    expect(result.content[1]).toEqual({
      type: 'resource',
      resource: { uri: 'file:///a.txt', mimeType: 'text/plain', text: 'hello' },
    });
    expect(result.content[2]?.['text']).toMatch(/application\/pdf, 5 bytes, not shown/);
  });

  it('B116 never cuts an image: past the limit it is named and kept', async () => {
    const { bound, fs } = setUp();
    const data = 'A'.repeat(1_146_516);
    const { result } = await bound({ content: [{ type: 'image', data, mimeType: 'image/png' }] });
    expect(textOf(result)).toMatch(/^\[image image\/png, 859887 bytes, not shown\. As base64: \/spills\//);
    expect([...fs.files.values()]).toEqual([data]);
  });

  it('B114 does not repeat the data of an image as structured content', async () => {
    const { bound } = setUp();
    const { result } = await bound((caseFile('B114-image-duplicated.result.json') as { result: CallResult }).result);
    const { structuredContent, content } = result;
    expect(JSON.stringify(structuredContent)).not.toMatch(/[A-Za-z0-9+/=]{257}/);
    expect(content.filter(({ type }) => type === 'text').map((block) => String(block['text']))).not.toContainEqual(
      expect.stringMatching(/[A-Za-z0-9+/=]{257}/),
    );
  });

  it('a long text resource is cut like any text', async () => {
    const { bound, fs } = setUp();
    const { result } = await bound({ contents: [{ uri: 'file:///a', text: 'x'.repeat(20_000) }, 7, { uri: 'file:///b' }] });
    expect(result.content.map((block) => String(block['text']).length)[0]).toBe(8_192);
    expect(textOf(result)).toContain('[the resource file:///b has no contents]');
    expect(fs.files.size).toBe(1);
  });

  it('S118 a link is a text: nothing is fetched, and what it says is short', async () => {
    const { bound } = setUp();
    const { result } = await bound({ content: [{ type: 'resource_link', uri: 'file:///etc/passwd', name: 'n'.repeat(5_000) }] });
    expect(String(result.content[0]?.['name']).length).toBe(1_024);
  });
});

describe('a structured result', () => {
  it('B113 without content is shown as text too; an empty one says that it is empty', async () => {
    const { bound } = setUp();
    const { cases } = caseFile('B113-structured-only.result.json') as { cases: CallResult[] };
    const shown = await Promise.all(cases.map(async (one) => textOf((await bound(one)).result)));
    expect(shown).toEqual(['{"rows":3}', '{"rows":3}', '{"rows":3}', '[empty result]', '[empty result]']);
  });

  it.each([[0], [false], [''], [null], [[1, 2]]])('that is %j is a value like any other', async (value) => {
    const { bound } = setUp();
    const { result } = await bound({ structuredContent: value });
    expect(result).toEqual({ content: [{ type: 'text', text: JSON.stringify(value) }], structuredContent: { value } });
  });

  it('that is null beside content counts as absent', async () => {
    const { bound } = setUp();
    expect((await bound({ ...text('a'), structuredContent: null })).result).toEqual(text('a'));
  });

  it('over 16 KiB is summed up: blocks, previews, small fields, and where the whole is', async () => {
    const { bound, fs } = setUp();
    const big = {
      title: 't',
      rows: 'x\u202e'.repeat(10_000),
      ...Object.fromEntries(Array.from({ length: 30 }, (_, at) => [`f${at}`, at])),
    };
    const { result, spilled } = await bound({ content: [], structuredContent: big, isError: true });
    const summary = result.structuredContent ?? {};
    expect(summary).toMatchObject({
      truncated: true,
      bytes: utf8Bytes(JSON.stringify(big)),
      blockCount: 32,
      spill: { path: spilled[0] },
    });
    const blocks = summary['blocks'] as { key: string; type: string; bytes: number; preview: string }[];
    expect(blocks.length).toBe(20);
    expect(blocks[1]).toMatchObject({ key: 'rows', type: 'string', bytes: 40_002 });
    expect(utf8Bytes(blocks[1]?.preview ?? '')).toBeLessThanOrEqual(256);
    expect(blocks[1]?.preview).toContain('⟨U+202E⟩');
    expect(summary['fields']).toEqual({
      title: 't',
      ...Object.fromEntries(Array.from({ length: 30 }, (_, at) => [`f${at}`, at])),
    });
    expect(fs.files.get((summary['spill'] as { uri: string }).uri)).toBe(JSON.stringify(big));
    expect(result.isError).toBe(true);
  });

  it('over 16 KiB that is a list is summed up by its first twenty elements', async () => {
    const { bound } = setUp();
    const { result } = await bound({ ...text('a'), structuredContent: Array.from({ length: 5_000 }, () => [null, 'abc']) });
    expect(result.structuredContent).toMatchObject({
      blockCount: 5_000,
      fields: {},
      blocks: { length: 20, 0: { key: '0', type: 'list' } },
    });
  });

  it('over 16 KiB that is one string or has a great many fields stays within the bound', async () => {
    const { bound } = setUp();
    const fields = Object.fromEntries(Array.from({ length: 50_000 }, (_, at) => [`field_${at}`, 'v'.repeat(20)]));
    for (const value of ['x'.repeat(20_000), fields, { a: null, ...fields }]) {
      const { result } = await bound({ ...text('a'), structuredContent: value });
      expect(unitsOf(result)).toBeLessThanOrEqual(UNITS_MAX);
      expect(result.structuredContent?.['truncated']).toBe(true);
    }
  });

  it('nested too deep to be written is an error a model can read', async () => {
    const { bound } = setUp();
    let deep: unknown = 1;
    for (let level = 0; level < 100_000; level += 1) deep = [deep];
    const { result } = await bound({ structuredContent: deep });
    expect(result).toEqual({ content: [{ type: 'text', text: '[The result of mcp__s__t cannot be shown.]' }], isError: true });
  });
});

describe('the last guard', () => {
  it('lets no answer pass 50 000 units, whatever it is made of', async () => {
    const { outputs } = setUp();
    const strings = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc
        .tuple(fc.constantFrom('\u0000', '"', '😀', 'a', '\ud800'), fc.nat({ max: 20_000 }))
        .map(([unit, count]) => unit.repeat(count)),
    );
    const block = fc.oneof(
      fc.record({ type: fc.constant('text'), text: strings }),
      fc.record({ type: fc.constant('image'), data: strings, mimeType: strings }),
      fc.record({ type: fc.constant('resource'), resource: fc.record({ uri: strings, text: strings }) }),
      fc.record({ type: fc.constant('resource_link'), uri: strings, name: strings, description: strings }),
      fc.record({ type: strings }),
    );
    const many = fc
      .array(block, { maxLength: 6 })
      .chain((list) => fc.constantFrom(list, Array.from({ length: 20 }, () => list).flat()));
    await fc.assert(
      fc.asyncProperty(many, fc.option(fc.dictionary(fc.string(), strings)), async (content, structuredContent) => {
        const { result } = await outputs.bound({ content, ...(structuredContent === null ? {} : { structuredContent }) }, 'x');
        expect(unitsOf(result)).toBeLessThanOrEqual(UNITS_MAX);
        expect(result.content.length).toBeGreaterThan(0);
      }),
      { numRuns: 40 },
    );
  });

  it('cuts what nobody bounded before, keeps the error flag, and says that it cut', () => {
    const guarded = guardForModel({ ...text('"'.repeat(60_000)), structuredContent: { a: 'b'.repeat(10) }, isError: true });
    expect(unitsOf(guarded)).toBeLessThanOrEqual(UNITS_MAX);
    expect(guarded.isError).toBe(true);
    expect(guarded.structuredContent).toBeUndefined();
    expect(textOf(guarded)).toContain('The rest of this answer is left out');
    const image = guardForModel({
      content: [
        { type: 'text', text: 'kept' },
        { type: 'image', data: 'A'.repeat(60_000) },
      ],
    });
    expect(image.content.map(({ type }) => type)).toEqual(['text', 'text']);
  });

  it('touches nothing that fits', () => {
    const small = text('a');
    expect(guardForModel(small)).toBe(small);
  });
});

describe('reading a spill', () => {
  it('B117 B121 gives every byte back, page by page', async () => {
    const { bound, outputs } = setUp();
    const { result } = caseFile('B117-blob-field.result.json') as { result: CallResult };
    const whole = (result['content'] as { text: string }[])[0]?.text ?? '';
    const cut = await bound(result);
    expect(utf8Bytes(JSON.stringify(cut.result))).toBeLessThan(65_536);
    const uri = /spill:\/\/[^"]+/.exec(textOf(cut.result))?.[0] ?? '';
    let read = '';
    for (let at: string | null = '0'; at !== null; ) {
      const page = await outputs.read(uri, Number(at), 100_000);
      read += String(page.content[0]?.['text']);
      at = page.structuredContent?.['nextCursor'] as string | null;
    }
    expect(read).toBe(whole);
  });

  it('says how to go on, and refuses what is no spill', async () => {
    const { fs, outputs } = setUp();
    fs.files.set('spill://a', 'abcdef');
    expect((await outputs.read('spill://a', 0, 1)).content).toEqual([
      { type: 'text', text: 'abcd' },
      { type: 'text', text: '[More: read again with "cursor": "4".]' },
    ]);
    await expect(outputs.read('spill://b', 0, 3)).rejects.toMatchObject({ code: 'INVALID_ARGUMENTS' });
  });
});
