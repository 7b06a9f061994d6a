import { describe, expect, it } from 'vitest';
import { failure } from '../machines/vocabulary.js';
import { caseFile } from './support/case-file.js';
import { catalogueOf, newCatalogue, toolItem, walk } from './support/catalogue-kit.js';

const lost = failure('LIST_FAILED', 'page 2 did not come');
const keyed = (key: string) => ({ key, definition: { uri: key } });

describe('the catalogue of tools', () => {
  it('finds a tool by its exact full name and by nothing else', () => {
    const catalogue = catalogueOf('read', 'write');
    expect(catalogue.tool('mcp__s__read')).toMatchObject({
      server: 's',
      tool: 'read',
      callable: true,
      stale: false,
      changed: false,
    });
    expect(catalogue.tool('read')).toBeUndefined();
    expect(catalogue.tool('MCP__s__read')).toBeUndefined();
    expect(catalogue.tool('__proto__')).toBeUndefined();
  });

  it('S099 B080 keeps tools of the same name on two servers apart', () => {
    const catalogue = catalogueOf('send_email');
    catalogue.put('t', 'tools', walk([toolItem('send_email')]));
    expect(catalogue.tools().map(({ name }) => name)).toEqual(['mcp__s__send_email', 'mcp__t__send_email']);
    expect(catalogue.tool('mcp__t__send_email')?.server).toBe('t');
  });

  it('B075 knows the original of every mapped name', () => {
    const { servers } = caseFile('B075-charset.names.json') as { servers: Record<string, string[]> };
    const catalogue = catalogueOf(...(servers['s'] ?? []));
    expect(
      catalogue
        .tools()
        .map(({ tool }) => tool)
        .sort(),
    ).toEqual([...(servers['s'] ?? [])].sort());
    expect(catalogue.tools().filter(({ name, tool }) => catalogue.tool(name)?.tool !== tool)).toEqual([]);
  });

  it('lists a tool as a host shows it, with any object for a missing schema', () => {
    const catalogue = newCatalogue();
    catalogue.put('s', 'tools', walk([{ key: 'a', definition: { name: 'a', description: 'does\u200b a' } }]));
    expect(catalogue.tools()).toEqual([
      {
        name: 'mcp__s__a',
        server: 's',
        tool: 'a',
        description: 'does a',
        inputSchema: { type: 'object' },
        callable: true,
        cached: false,
      },
    ]);
  });

  it('B099 forgets a tool that a complete walk no longer sees', () => {
    const catalogue = catalogueOf('a', 'b');
    catalogue.put('s', 'tools', walk([toolItem('a'), toolItem('c')]));
    expect(catalogue.tools().map(({ tool }) => tool)).toEqual(['a', 'c']);
    expect(catalogue.tool('mcp__s__b')).toBeUndefined();
  });

  it.each(['failed', 'truncated'] as const)(
    'keeps the last complete list when a walk is %s, what it did not see marked stale',
    (state) => {
      const catalogue = catalogueOf('a', 'b');
      catalogue.put('s', 'tools', walk([toolItem('b'), toolItem('new')], { state, reason: lost }));
      expect(catalogue.tools().map(({ tool, cached }) => [tool, cached])).toEqual([
        ['a', true],
        ['b', false],
        ['new', false],
      ]);
      expect(catalogue.counts('s').tools).toEqual({ state, count: 3, reason: lost, skipped: [] });
    },
  );

  it('does not pile up what truncated walks brought, one after the other', () => {
    const catalogue = catalogueOf('a');
    for (let at = 0; at < 5; at += 1)
      catalogue.put('s', 'tools', walk([toolItem(`t${at}`)], { state: 'truncated', reason: lost }));
    expect(catalogue.tools().map(({ tool }) => tool)).toEqual(['a', 't4']);
  });

  it('shows the tools past the limit and marks them as not callable', () => {
    const catalogue = newCatalogue();
    catalogue.put(
      's',
      'tools',
      walk(
        ['a', 'b', 'c'].map((name) => toolItem(name)),
        { toolLimit: 2 },
      ),
    );
    expect(catalogue.tools().map(({ callable }) => callable)).toEqual([true, true, false]);
    expect(catalogue.search({ query: 'c' }).hits[0]?.entry).toMatchObject({ overLimit: true, callable: false });
  });

  it('marks everything of a server that does not run as cached', () => {
    const catalogue = catalogueOf('a');
    catalogue.put('s', 'resources', walk([keyed('file:///a')]));
    catalogue.setLive('s', false);
    expect([catalogue.tools()[0]?.cached, catalogue.resources().items[0]?.cached]).toEqual([true, true]);
    catalogue.setLive('s', true);
    expect([catalogue.tools()[0]?.cached, catalogue.resources().items[0]?.cached]).toEqual([false, false]);
    catalogue.setLive('nobody', true);
    expect(catalogue.counts('nobody').tools).toEqual({ state: 'unknown', count: 0, reason: null, skipped: [] });
  });

  it('forgets a server that is dropped, and only that one', () => {
    const catalogue = catalogueOf('a');
    catalogue.put('t', 'tools', walk([toolItem('a')]));
    catalogue.drop('s');
    catalogue.drop('nobody');
    expect(catalogue.tools().map(({ server }) => server)).toEqual(['t']);
    expect(catalogue.search({ query: 'a' }).total).toBe(1);
  });

  it('says what was skipped', () => {
    const catalogue = newCatalogue();
    catalogue.put('s', 'tools', walk([], { skipped: [{ key: '#3', code: 'ITEM_NAME' }] }));
    expect(catalogue.counts('s').tools.skipped).toEqual([{ name: '#3', code: 'ITEM_NAME' }]);
  });
});

describe('a tool that changes', () => {
  const version = (description: string) => walk([toolItem('t', { description }), toolItem('other')]);
  const isChanged = (catalogue: ReturnType<typeof newCatalogue>) => catalogue.tool('mcp__s__t')?.changed;

  it('S097 is marked when one byte of its definition differs; its siblings are not', () => {
    const catalogue = newCatalogue();
    catalogue.put('s', 'tools', version('a'));
    expect(isChanged(catalogue)).toBe(false);
    catalogue.put('s', 'tools', version('b'));
    expect(isChanged(catalogue)).toBe(true);
    expect(catalogue.tool('mcp__s__other')?.changed).toBe(false);
  });

  it('S097 stays marked until a person has said yes to it', () => {
    const catalogue = newCatalogue();
    catalogue.put('s', 'tools', version('a'));
    catalogue.put('s', 'tools', version('b'));
    catalogue.put('s', 'tools', version('b'));
    expect(isChanged(catalogue)).toBe(true);
    catalogue.acceptChange('mcp__s__t');
    catalogue.acceptChange('mcp__s__nobody');
    expect(isChanged(catalogue)).toBe(false);
    catalogue.put('s', 'tools', version('b'));
    expect(isChanged(catalogue)).toBe(false);
  });

  it('S098 is asked about once for each definition when a server alternates', () => {
    const catalogue = newCatalogue();
    let questions = 0;
    for (const description of ['a', 'b', 'a', 'b', 'a', 'c', 'b']) {
      catalogue.put('s', 'tools', version(description));
      if (isChanged(catalogue) === true) {
        questions += 1;
        catalogue.acceptChange('mcp__s__t');
      }
    }
    expect(questions).toBe(2);
  });

  it('S097 cannot launder the change by leaving the list in between', () => {
    const catalogue = newCatalogue();
    catalogue.put('s', 'tools', version('a'));
    catalogue.put('s', 'tools', walk([toolItem('other')]));
    catalogue.put('s', 'tools', version('b'));
    expect(isChanged(catalogue)).toBe(true);
    catalogue.put('s', 'tools', walk([]));
    catalogue.put('s', 'tools', version('a'));
    expect(isChanged(catalogue)).toBe(false);
  });

  it('is marked against what a former run had cached', () => {
    const catalogue = newCatalogue();
    catalogue.load('s', { lists: { tools: version('a').items } }, 64);
    expect(catalogue.tools()[0]?.cached).toBe(true);
    catalogue.put('s', 'tools', version('b'));
    expect(isChanged(catalogue)).toBe(true);
  });

  it('is not changed by another order of its keys', () => {
    const catalogue = newCatalogue();
    catalogue.put('s', 'tools', walk([{ key: 't', definition: { name: 't', description: 'd' } }]));
    catalogue.put('s', 'tools', walk([{ key: 't', definition: { description: 'd', name: 't' } }]));
    expect(isChanged(catalogue)).toBe(false);
  });

  it('S095 has a stable digest even with half a surrogate pair in its description', () => {
    const digestOf = () => {
      const catalogue = newCatalogue();
      catalogue.put('s', 'tools', version('a\ud800'));
      return catalogue.tool('mcp__s__t')?.digest;
    };
    expect(digestOf()).toMatch(/^[0-9a-f]{64}$/);
    expect(digestOf()).toBe(digestOf());
  });
});
