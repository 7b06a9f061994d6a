import { describe, expect, it } from 'vitest';
import { failure } from '../machines/vocabulary.js';
import { catalogueOf, newCatalogue, toolItem, walk } from './support/catalogue-kit.js';

const lost = failure('LIST_FAILED', 'page 2 did not come');

describe('what the catalogue keeps for the next run', () => {
  it('is the last complete list, although a later walk failed', () => {
    const catalogue = catalogueOf('read', 'write');
    catalogue.put('s', 'resources', walk([]));
    catalogue.put('s', 'tools', walk([toolItem('read')], { state: 'failed', reason: lost }));
    const { lists } = catalogue.metadata('s', { savedAtMs: 1, ttlMs: null, fingerprint: null });
    expect(lists.tools?.map(({ key }) => key)).toEqual(['read', 'write']);
    expect(lists.resources).toEqual([]);
  });

  it('is nothing of a list that was never read to its end', () => {
    const catalogue = newCatalogue();
    catalogue.put('s', 'tools', walk([toolItem('read')], { state: 'truncated', reason: lost }));
    expect(catalogue.metadata('s', { savedAtMs: 1, ttlMs: null, fingerprint: null }).lists).toEqual({});
  });
});

describe('another limit of tools', () => {
  it('counts at once, in either direction', () => {
    const catalogue = catalogueOf('a', 'b', 'c');
    catalogue.limitTools('s', 1);
    expect(catalogue.tools().map(({ callable }) => callable)).toEqual([true, false, false]);
    expect(catalogue.overLimit('s')).toBe(2);
    catalogue.limitTools('s', 2);
    expect(catalogue.tools().map(({ callable }) => callable)).toEqual([true, true, false]);
  });

  it('makes no definition a changed one, and nothing of a server that is not known', () => {
    const catalogue = catalogueOf('a');
    catalogue.limitTools('s', 1);
    expect(catalogue.tool('mcp__s__a')?.changed).toBe(false);
    catalogue.limitTools('nobody', 1);
    expect(catalogue.tools()).toHaveLength(1);
  });
});
