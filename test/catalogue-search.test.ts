import { describe, expect, it } from 'vitest';
import { failure } from '../machines/vocabulary.js';
import { catalogueOf, newCatalogue, toolItem, walk } from './support/catalogue-kit.js';

const lost = failure('LIST_FAILED', 'page 2 did not come');
const keyed = (key: string) => ({ key, definition: { uri: key } });

describe('searching the catalogue', () => {
  const many = () => catalogueOf(...Array.from({ length: 100 }, (_, at) => `tool_${String(at).padStart(3, '0')}`));

  it('gives 12 hits unless asked for more, never more than 40, and a cursor to go on', () => {
    const catalogue = many();
    expect(catalogue.search({ query: 'tool' }).hits.length).toBe(12);
    const first = catalogue.search({ query: 'tool', limit: 1_000 });
    expect([first.hits.length, first.total]).toEqual([40, 100]);
    const second = catalogue.search({ query: 'tool', limit: 40, cursor: first.nextCursor ?? '' });
    expect(second.hits[0]?.entry.tool).toBe('tool_040');
    const third = catalogue.search({ query: 'tool', limit: 40, cursor: second.nextCursor ?? '' });
    expect([third.hits.length, third.nextCursor]).toEqual([20, null]);
  });

  it('goes on at the right place when the catalogue changed between two pages', () => {
    const catalogue = catalogueOf('a1', 'a2', 'a3', 'a4');
    const { nextCursor } = catalogue.search({ query: 'a', limit: 2 });
    catalogue.put('s', 'tools', walk(['a0', 'a1', 'a3', 'a4'].map((name) => toolItem(name))));
    expect(catalogue.search({ query: 'a', cursor: nextCursor ?? '' }).hits.map(({ entry }) => entry.tool)).toEqual(['a3', 'a4']);
  });

  it('looks at one server and at what is admitted', () => {
    const catalogue = catalogueOf('a', 'ab');
    catalogue.put('t', 'tools', walk([toolItem('a')]));
    expect(catalogue.search({ query: 'a', server: 't' }).total).toBe(1);
    expect(catalogue.search({ query: 'a', admits: ({ tool }) => tool === 'ab' }).hits.map(({ entry }) => entry.tool)).toEqual([
      'ab',
    ]);
  });

  it('refuses a query without end and a cursor of somebody else', () => {
    const refusal: unknown = expect.objectContaining({ code: 'INVALID_ARGUMENTS' });
    const catalogue = catalogueOf('a');
    expect(() => catalogue.search({ query: 'x'.repeat(513) })).toThrow(refusal);
    expect(() => catalogue.search({ query: 'x '.repeat(17) })).toThrow(refusal);
    expect(() => catalogue.search({ query: 'a', cursor: 'abc' })).toThrow(refusal);
  });
});

describe('the other lists', () => {
  it('come 20 a page, at most 100, over all servers or one', () => {
    const catalogue = newCatalogue();
    for (const server of ['b', 'a']) {
      catalogue.put(server, 'resources', walk(Array.from({ length: 70 }, (_, at) => keyed(`r:${String(at).padStart(2, '0')}`))));
    }
    expect(catalogue.resources().items.length).toBe(20);
    const first = catalogue.resources(undefined, { limit: 500 });
    expect([first.items.length, first.total, first.items[0]?.server]).toEqual([100, 140, 'a']);
    const second = catalogue.resources(undefined, { limit: 100, cursor: first.nextCursor ?? '' });
    expect([second.items.length, second.items[0]?.server, second.items[0]?.key, second.nextCursor]).toEqual([
      40,
      'b',
      'r:30',
      null,
    ]);
    expect(catalogue.resources('b').total).toBe(70);
    expect(catalogue.resources('b', { cursor: 'z resources r' }).items).toEqual([]);
  });

  it('refuse a cursor they never gave', () => {
    expect(() => newCatalogue().resources(undefined, { cursor: 'x' })).toThrow('"cursor" is not one a list gave');
  });

  it('give resources and templates in one sequence', () => {
    const catalogue = newCatalogue();
    catalogue.put('s', 'resources', walk([keyed('a'), keyed('c')]));
    catalogue.put('s', 'resourceTemplates', walk([keyed('b'), keyed('c')]));
    const pages: string[] = [];
    let cursor: string | null = null;
    do {
      const page = catalogue.readables('s', cursor === null ? { limit: 1 } : { limit: 1, cursor });
      pages.push(...page.items.map(({ kind, key }) => `${kind} ${key}`));
      cursor = page.nextCursor;
    } while (cursor !== null);
    expect(pages).toEqual(['resources a', 'resourceTemplates b', 'resourceTemplates c', 'resources c']);
    expect(catalogue.templates().total).toBe(2);
  });

  it('answer for one prompt and one resource', () => {
    const catalogue = newCatalogue();
    catalogue.put('s', 'prompts', walk([{ key: 'p', definition: { name: 'p' } }]));
    catalogue.put('s', 'resources', walk([keyed('file:///a')]));
    expect(catalogue.prompt('s', 'p')).toMatchObject({ server: 's', key: 'p', cached: false });
    expect([catalogue.prompt('s', 'q'), catalogue.prompt('t', 'p')]).toEqual([undefined, undefined]);
    expect([catalogue.hasResource('s', 'file:///a'), catalogue.hasResource('s', 'b'), catalogue.hasResource('t', 'b')]).toEqual([
      true,
      false,
      false,
    ]);
    expect(catalogue.prompts().total).toBe(1);
  });

  it('go into the metadata for the next run when they are complete, and come back from it', () => {
    const catalogue = catalogueOf('a');
    catalogue.put('s', 'resources', walk([keyed('r')], { state: 'truncated', reason: lost }));
    const metadata = catalogue.metadata('s', { savedAtMs: 5, ttlMs: null, fingerprint: null });
    expect(metadata).toEqual({ savedAtMs: 5, ttlMs: null, fingerprint: null, lists: { tools: [toolItem('a')] } });
    const next = newCatalogue();
    next.load('s', metadata, 64);
    expect(next.tools().map(({ name, cached }) => [name, cached])).toEqual([['mcp__s__a', true]]);
    expect(catalogue.metadata('nobody', { savedAtMs: 5, ttlMs: null, fingerprint: null }).lists).toEqual({});
  });

  it('are not taken back to what a cache says once the server has been asked', () => {
    const catalogue = catalogueOf('new');
    catalogue.load('s', { lists: { tools: [toolItem('old')] } }, 64);
    expect(catalogue.tools().map(({ tool, cached }) => [tool, cached])).toEqual([['new', false]]);
  });
});
