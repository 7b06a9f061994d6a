import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { byFullName, type RankingQuery, rank, rankedTool } from '../machines/ranking.js';

interface Tool {
  readonly fullName: string;
  readonly server: string;
  readonly tool: string;
  readonly description: string;
}

const tool = (server: string, name: string, description = ''): Tool => ({
  fullName: `mcp__${server}__${name}`,
  server,
  tool: name,
  description,
});

const indexOf = (tools: readonly Tool[]) => tools.map(rankedTool).sort(byFullName);

function search(tools: readonly Tool[], text: string, query: Partial<RankingQuery> = {}) {
  const index = indexOf(tools);
  const { hits, total, left } = rank(index, { text, limit: 40, ...query });
  return { names: hits.map(({ position }) => index[position]?.fullName), scores: hits.map(({ score }) => score), total, left };
}

/** The rules of the ranking, word for word. */
function oracle(tools: readonly Tool[], query: string): readonly (readonly [string, number])[] {
  const text = query.trim().toLowerCase();
  const terms = text.split(/\s+/).filter((term) => term !== '');
  const factor = (field: string, term: string) =>
    field.toLowerCase() === term ? 1 : field.toLowerCase().startsWith(term) ? 0.75 : field.toLowerCase().includes(term) ? 0.5 : 0;
  const scored = tools.flatMap((one) => {
    const hits = terms.map(
      (term) => 12 * factor(one.tool, term) + 8 * factor(one.server, term) + 5 * factor(one.description, term),
    );
    const isFullName = one.fullName.toLowerCase() === text;
    if (hits.includes(0) && !isFullName) return [];
    return [[one.fullName, hits.reduce((sum, hit) => sum + hit, 0) + (isFullName ? 20 : 0)] as const];
  });
  return scored.sort(([a, scoreA], [b, scoreB]) => scoreB - scoreA || (a < b ? -1 : 1));
}

const word = fc.constantFrom('a', 'ab', 'abc', 'b', 'B', 'read', 'Read_file', 'file', 'files', 'x y');
const tools = fc.uniqueArray(
  fc
    .tuple(fc.constantFrom('files', 'db', 'read', 'A'), word, word)
    .map(([server, name, description]) => tool(server, name, description)),
  { selector: (one) => one.fullName, maxLength: 30 },
);
const queries = fc.oneof(
  fc.array(word, { maxLength: 3 }).map((words) => words.join(' ')),
  fc.constantFrom('mcp__files__read', 'MCP__DB__AB', '  read  file ', 'mcp__nothing'),
);

describe('search ranking', () => {
  it('scores name over server over description, exact over prefix over contained', () => {
    const found = search(
      [tool('x', 'read'), tool('x', 'reader'), tool('x', 'bread'), tool('read', 'x'), tool('y', 'z', 'to read a file')],
      'read',
    );
    expect(found.names).toEqual(['mcp__x__read', 'mcp__x__reader', 'mcp__read__x', 'mcp__x__bread', 'mcp__y__z']);
    expect(found.scores).toEqual([12, 9, 8, 6, 2.5]);
  });

  it('needs every term to hit', () => {
    expect(search([tool('files', 'read'), tool('files', 'write')], 'files read').names).toEqual(['mcp__files__read']);
    expect(search([tool('files', 'read')], 'read nothing')).toEqual({ names: [], scores: [], total: 0, left: 0 });
  });

  it('puts the tool whose full name was typed first', () => {
    const found = search([tool('a', 'b'), tool('mcp__a__b', 'mcp__a__b')], 'MCP__a__b');
    expect(found.names).toEqual(['mcp__a__b', 'mcp__mcp__a__b__mcp__a__b']);
    expect(found.scores).toEqual([20, 20]);
  });

  it('lists everything by name for an empty query', () => {
    expect(search([tool('b', 'x'), tool('a', 'y')], '  ').names).toEqual(['mcp__a__y', 'mcp__b__x']);
  });

  it('looks at one server only when told so, and at what else is admitted', () => {
    const all = [tool('a', 'x'), tool('b', 'x'), tool('b', 'xx')];
    expect(search(all, 'x', { server: 'b' }).names).toEqual(['mcp__b__x', 'mcp__b__xx']);
    expect(search(all, 'x', { admits: (position) => position !== 1 }).names).toEqual(['mcp__a__x', 'mcp__b__xx']);
  });

  it('says how many hits there are and how many stand behind the page', () => {
    const all = [tool('a', 'x'), tool('b', 'x'), tool('c', 'x')];
    expect(search(all, 'x', { limit: 2 })).toMatchObject({ names: ['mcp__a__x', 'mcp__b__x'], total: 3, left: 1 });
    expect(search(all, 'x', { limit: 2, after: { score: 12, fullName: 'mcp__b__x' } })).toMatchObject({
      names: ['mcp__c__x'],
      total: 3,
      left: 0,
    });
  });

  it('orders names that are the same as the same', () => {
    expect([byFullName({ fullName: 'a' }, { fullName: 'b' }), byFullName({ fullName: 'b' }, { fullName: 'a' })]).toEqual([-1, 1]);
    expect(byFullName({ fullName: 'a' }, { fullName: 'a' })).toBe(0);
  });

  it('agrees with its rules on any catalogue and query', () => {
    fc.assert(
      fc.property(tools, queries, (all, query) => {
        const { names, scores } = search(all, query);
        expect(names.map((name, at) => [name, scores[at]])).toEqual(oracle(all, query));
      }),
      { numRuns: 1_000 },
    );
  });

  it('gives the same hits page by page, none twice, none left out', () => {
    fc.assert(
      fc.property(tools, queries, fc.integer({ min: 1, max: 5 }), (all, query, limit) => {
        const paged: (string | undefined)[] = [];
        let after: RankingQuery['after'];
        for (let left = 1; left > 0; ) {
          const page = search(all, query, { limit, ...(after === undefined ? {} : { after }) });
          paged.push(...page.names);
          left = page.left;
          after = { score: page.scores.at(-1) ?? 0, fullName: page.names.at(-1) ?? '' };
        }
        expect(paged).toEqual(oracle(all, query).map(([name]) => name));
      }),
    );
  });
});
