import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { modelDescription, verifyItem, verifyPage } from '../machines/items.js';
import { overBudget } from '../machines/json-budget.js';
import { cutUtf8, utf8Bytes } from '../machines/utf8.js';
import type { ListKind } from '../machines/vocabulary.js';
import { caseFile } from './support/case-file.js';

const tool = (schema: unknown, more: object = {}) => verifyItem('tools', { name: 't', inputSchema: schema, ...more });

function codeOf(verdict: ReturnType<typeof verifyItem>): string {
  return verdict.ok ? 'ok' : verdict.code;
}

const reasonOf = (verdict: ReturnType<typeof verifyItem>): string => (verdict.ok ? 'ok' : verdict.reason);

/** `depth` schemas within each other, as a parser builds them: no recursion here either. */
function nested(depth: number, leaf: unknown = { type: 'string' }): unknown {
  let schema = leaf;
  for (let level = 1; level < depth; level += 1) schema = { type: 'object', properties: { a: schema } };
  return schema;
}

function pageOf(kind: ListKind, result: unknown) {
  const verdict = verifyPage(kind, result);
  if (!verdict.ok) throw new Error(verdict.failure.message);
  return verdict.page;
}

describe('a listed tool', () => {
  it.each([
    ['B101-mixed.tools.json', ['good', 'noType'], ['stringRoot', 'badType', 'reqInside', '#6', '#7', '#8']],
    ['B102-nulls.tools.json', ['n', 'ok'], []],
    ['B103-empty.tools.json', ['e', 'm', 'ok'], ['z', 't']],
    ['B104-anyof.tools.json', ['cov'], []],
    ['B105-recursive.tools.json', ['get', 'tree', 'ok'], []],
    ['B107-dialects.tools.json', ['d7', 'd7b', 'd2019', 'd2020', 'none', 'odd'], []],
    ['B108-remote-ref.tools.json', ['ok'], ['ssrf', 'file']],
    ['B109-output-no-type.tools.json', ['m', 'bad', 'ok'], []],
  ])('is judged by itself, its siblings stay: B101 B102 B103 B104 B105 B107 B108 B109 (%s)', (file, usable, skipped) => {
    const page = pageOf('tools', caseFile(file));
    expect(page.items.map(({ key }) => key)).toEqual(usable);
    expect(page.skipped.map(({ key }) => key)).toEqual(skipped);
  });

  it('keeps exactly what the server sent, unknown fields included', () => {
    const raw = { name: 't', inputSchema: {}, 'x-own': 1 };
    const verdict = verifyItem('tools', raw);
    expect(verdict).toEqual({ ok: true, key: 't', definition: raw });
  });

  it.each([
    ['no object', 'junk'],
    ['a list', []],
    ['no name', { inputSchema: {} }],
    ['a number for a name', { name: 3, inputSchema: {} }],
    ['an empty name', { name: '', inputSchema: {} }],
    ['a name of 257 bytes', { name: 'é'.repeat(128) + 'a', inputSchema: {} }],
    ['a newline in its name', { name: 'a\nb', inputSchema: {} }],
    ['a bidi override in its name', { name: 'a\u202eb', inputSchema: {} }],
    ['half a surrogate pair in its name', { name: 'a\ud800', inputSchema: {} }],
  ])('S100 with %s is skipped as ITEM_NAME', (_what, raw) => {
    expect(verifyItem('tools', raw, 4)).toMatchObject({ ok: false, key: '#4', code: 'ITEM_NAME' });
  });

  it('S100 with an odd but harmless name is kept', () => {
    for (const name of ['a.b/c', 'other__read', 'é'.repeat(128), 'Create CIFS Share', '__proto__', 'constructor']) {
      expect(codeOf(verifyItem('tools', { name, inputSchema: {} }))).toBe('ok');
    }
  });

  it.each([
    ['null', null],
    ['true', true],
    ['a list', []],
    ['the schema of a string', { type: 'string' }],
    ['a list of types without object', { type: ['string', 'null'] }],
    ['a type that does not exist', { type: 'object', properties: { n: { type: 'int' } } }],
    ['a list of types with one that does not exist', { type: 'object', items: { type: ['string', 'text'] } }],
    ['properties that are a list', { type: 'object', properties: [] }],
    ['a property that is a list', { type: 'object', properties: { required: ['coin'] } }],
    ['anyOf that is an object', { anyOf: {} }],
    ['a number for a subschema', { not: 3 }],
  ])('S103 with %s for a schema is skipped as ITEM_SCHEMA', (_what, schema) => {
    expect(codeOf(tool(schema))).toBe('ITEM_SCHEMA');
  });

  it.each([
    [
      'every kind of subschema',
      { type: ['object', 'null'], $defs: { a: true }, anyOf: [{ type: ['string'] }], items: [{}], not: {} },
    ],
    ['keywords set to null', { type: null, properties: null, required: null, items: null, anyOf: null }],
    ['keywords nobody knows', { type: 'object', 'x-ui': { type: 'slider', $ref: '#/a' }, 'x-list': [{ type: 'odd' }] }],
    ['data that looks like a bad schema', { properties: { a: { const: { type: 'int' }, enum: [{ $ref: 'http://h/' }] } } }],
  ])('with %s is kept', (_what, schema) => {
    expect(reasonOf(tool(schema))).toBe('ok');
  });

  it.each(['http://169.254.169.254/', 'https://h/s', 'file:///etc/passwd', 'unix:/s', '//h/s', '\\\\h\\s', ' http://h/'])(
    'S101 that refers to %s is skipped: nothing is ever fetched',
    (reference) => {
      const below = { type: 'object', properties: { x: { $ref: reference } } };
      expect(reasonOf(tool(below))).toBe('"inputSchema" refers to another document');
      expect(codeOf(tool({ 'x-own': { $dynamicRef: reference } }))).toBe('ITEM_SCHEMA');
      expect(reasonOf(tool({}, { outputSchema: below }))).toBe('"outputSchema" refers to another document');
    },
  );

  it('S101 that refers to itself, or has a property called $ref, is kept', () => {
    expect(codeOf(tool({ $ref: '#/$defs/a', $defs: { a: { type: 'object' } } }))).toBe('ok');
    expect(codeOf(tool({ properties: { $ref: { type: 'string' } } }))).toBe('ok');
  });

  it('S102 S105 with a reference cycle or a runaway pattern is kept: neither is followed nor run', () => {
    const schema = { $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a', pattern: '^(a+)+$' } } };
    expect(codeOf(tool(schema))).toBe('ok');
  });

  it('S103 may nest 64 schemas and no more', () => {
    expect(reasonOf(tool(nested(64)))).toBe('ok');
    expect(reasonOf(tool(nested(65)))).toBe('"inputSchema" is nested deeper than 64');
  });

  it.each([5_000, 50_000])('S103 nested %i deep neither overflows the stack nor hides its siblings', (depth) => {
    const page = pageOf('tools', {
      tools: [
        { name: 'deep', inputSchema: nested(depth) },
        { name: 'ok', inputSchema: {} },
      ],
    });
    expect(page).toMatchObject({ items: [{ key: 'ok' }], skipped: [{ key: 'deep', code: 'ITEM_SCHEMA' }] });
    expect(codeOf(tool({}, { outputSchema: nested(depth) }))).toBe('ITEM_SCHEMA');
    expect(codeOf(tool({}, { _meta: nested(depth) }))).toBe('ITEM_SCHEMA');
  });

  it('S103 may have 2 000 subschemas and no more', () => {
    const wide = (count: number) => ({
      type: 'object',
      properties: Object.fromEntries(Array.from({ length: count }, (_, at) => [`p${at}`, {}])),
    });
    expect(reasonOf(tool(wide(1_999)))).toBe('ok');
    expect(reasonOf(tool(wide(2_000)))).toBe('"inputSchema" has more than 2000 subschemas');
    expect(codeOf(tool(wide(20_000)))).toBe('ITEM_SCHEMA');
  });

  it('S103 S108 may take 256 KiB of schema and no more, in one string, in many values, in its keys', () => {
    const bytes = 256 * 1_024;
    const around = JSON.stringify({ description: '' }).length;
    expect(reasonOf(tool({ description: 'x'.repeat(bytes - around) }))).toBe('ok');
    const tooLarge = `"inputSchema" is larger than ${bytes} bytes`;
    expect(reasonOf(tool({ description: 'é'.repeat(bytes / 2) }))).toBe(tooLarge);
    expect(reasonOf(tool({ description: 'x'.repeat(bytes + 1) }))).toBe(tooLarge);
    expect(reasonOf(tool({ enum: Array.from({ length: 150_000 }, (_, at) => at) }))).toBe(tooLarge);
    expect(reasonOf(tool({ enum: Array.from({ length: 300_000 }, (_, at) => at) }))).toBe(tooLarge);
    expect(reasonOf(tool({ properties: { ['k'.repeat(bytes)]: true } }))).toBe(tooLarge);
  });

  it('S104 with a million values beside its schema is skipped', () => {
    expect(codeOf(tool({}, { _meta: { list: new Array<null>(1_000_000).fill(null) } }))).toBe('ITEM_SCHEMA');
  });

  it('S108 with a description over 64 KiB is skipped as ITEM_DESCRIPTION', () => {
    expect(codeOf(tool({}, { description: 'é'.repeat(32 * 1_024) }))).toBe('ok');
    expect(codeOf(tool({}, { description: `${'é'.repeat(32 * 1_024)}a` }))).toBe('ITEM_DESCRIPTION');
    expect(codeOf(tool({}, { description: 'x'.repeat(1_024 * 1_024) }))).toBe('ITEM_DESCRIPTION');
  });

  it('never throws, whatever was sent', () => {
    fc.assert(
      fc.property(
        fc.constantFrom<ListKind>('tools', 'resources', 'resourceTemplates', 'prompts'),
        fc.jsonValue(),
        (kind, value) => {
          verifyPage(kind, {
            [kind]: [value, { name: 'n', uri: 'u', uriTemplate: 'u', arguments: value, inputSchema: value, outputSchema: value }],
          });
          verifyPage(kind, value);
        },
      ),
    );
  });
});

describe('a listed resource, template or prompt', () => {
  it('is known by its URI, URI template or name', () => {
    expect(pageOf('resources', { resources: [{ uri: 'file:///a', name: 'a' }] }).items[0]?.key).toBe('file:///a');
    expect(pageOf('resourceTemplates', { resourceTemplates: [{ uriTemplate: 'a://{b}' }] }).items[0]?.key).toBe('a://{b}');
    expect(pageOf('prompts', { prompts: [{ name: 'p', arguments: null }] }).items[0]?.key).toBe('p');
  });

  it('is skipped without one', () => {
    const resources = [{ name: 'a' }, { uri: '' }, { uri: 'a\u0000' }, { uri: 'x'.repeat(8_193) }];
    expect(pageOf('resources', { resources }).skipped.map(({ code }) => code)).toEqual(resources.map(() => 'ITEM_NAME'));
  });

  it('a prompt is skipped when its arguments are no list of named ones', () => {
    const verdicts = [{}, [{}], ['a'], [{ name: 'a\nb' }], Array.from({ length: 257 }, () => ({ name: 'a' }))].map((list) =>
      codeOf(verifyItem('prompts', { name: 'p', arguments: list })),
    );
    expect(verdicts).toEqual(verdicts.map(() => 'ITEM_SCHEMA'));
    expect(codeOf(verifyItem('prompts', { name: 'p', arguments: [{ name: 'a', required: true }] }))).toBe('ok');
  });
});

describe('a page of a list', () => {
  it.each([
    ['no object', 3],
    ['no list', { items: [] }],
    ['an object for a list', { tools: {} }],
    ['a number for a cursor', { tools: [], nextCursor: 3 }],
    ['a cursor of a megabyte', { tools: [], nextCursor: 'x'.repeat(1_024 * 1_024) }],
  ])('that is %s is a failure, not an empty list', (_what, result) => {
    expect(verifyPage('tools', result)).toMatchObject({ ok: false, failure: { code: 'LIST_FAILED', stage: 'list' } });
  });

  it('tells an empty cursor from none', () => {
    expect(pageOf('tools', { tools: [], nextCursor: '' }).nextCursor).toBe('');
    expect(pageOf('tools', { tools: [], nextCursor: null }).nextCursor).toBeUndefined();
    expect(pageOf('tools', { tools: [] }).nextCursor).toBeUndefined();
  });

  it('S108 longer than a walk may keep is read up to the cap, and fails when the cap was not reached by good items', () => {
    const many = Array.from({ length: 10_002 }, (_, at) => ({ name: `t${at}` }));
    expect(pageOf('tools', { tools: many }).items.length).toBe(10_001);
    expect(verifyPage('tools', { tools: [null, ...many] })).toMatchObject({ ok: false, failure: { code: 'LIST_FAILED' } });
  });
});

describe('a description for a model', () => {
  it('is the text, cleaned; empty where there is none', () => {
    expect(modelDescription({ description: 'Reads\u200b a file' })).toBe('Reads a file');
    expect(modelDescription({ description: null })).toBe('');
  });

  it('S108 is cut to 2 KiB with a marker, between code points', () => {
    const cut = modelDescription({ description: '😀'.repeat(1_000) });
    expect(utf8Bytes(cut)).toBeLessThanOrEqual(2_048);
    expect(cut).toMatch(/^(😀)+ … \[description cut\]$/u);
    expect(modelDescription({ description: 'x'.repeat(2_048) })).toBe('x'.repeat(2_048));
  });
});

describe('cutting to bytes', () => {
  it('S115 gives the longest beginning that fits, never half a character', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.nat({ max: 40 }), (text, bytesMax) => {
        const cut = cutUtf8(text, bytesMax);
        const next = Array.from(text.slice(cut.length))[0] ?? '';
        expect(text.startsWith(cut)).toBe(true);
        expect(cut).not.toMatch(/\p{Cs}/u);
        expect(utf8Bytes(cut)).toBeLessThanOrEqual(bytesMax);
        expect(next === '' || utf8Bytes(cut + next) > bytesMax).toBe(true);
      }),
    );
  });

  it('does not split a pair at the very place it looks up to', () => {
    expect(cutUtf8('abc😀', 4)).toBe('abc');
    expect(cutUtf8('a😀b', 4)).toBe('a');
    expect(cutUtf8('😀', 0)).toBe('');
    expect(cutUtf8('\ud800', 3)).toBe('\ud800');
  });
});

describe('a budget for JSON', () => {
  const budget = { depthMax: 3, nodesMax: 5, unitsMax: 10 };

  it('names the bound that is broken', () => {
    expect(overBudget([[[1]]], budget)).toBeNull();
    expect(overBudget([[[[1]]]], budget)).toBe('nested deeper than 3');
    expect(overBudget([1, 2, 3, 4, 5], budget)).toBe('more than 5 values');
    expect(overBudget({ abcdef: 'ghijk' }, budget)).toBe('more than 10 characters');
    expect(overBudget(null, budget)).toBeNull();
  });

  it('ends on a value that holds itself', () => {
    const loop: unknown[] = [];
    loop.push(loop);
    expect(overBudget(loop, budget)).toBe('nested deeper than 3');
  });
});
