import { describe, expect, test } from 'vitest';
import { hollow, isShipped } from './citations/hollow.mjs';
import { citedIn, idsIn, readGroups, uncited } from './citations/titles.mjs';

describe('the ids that a title cites', () => {
  test('are the names of cases and of attacks, alone, in a row, and as a range', () => {
    expect(idsIn('refuses it (S001)')).toEqual(['S001']);
    expect(idsIn('B013: dies, S055a and S110')).toEqual(['B013', 'S055a', 'S110']);
    expect(idsIn('all of S019–S022')).toEqual(['S019', 'S020', 'S021', 'S022']);
    expect(idsIn('S104 S159-S160: over the limit')).toEqual(['S104', 'S159', 'S160']);
    expect(idsIn('a class of S1234 or BS001')).toEqual([]);
  });

  test('are found in titles of tests and suites, in tables, and in no other text', () => {
    const source = `
      // S900
      const rows = [['S003', 'S004']];
      describe('S001', () => {
        test.each([['S002']])('%s', () => expect('S901').toBe('S902'));
        test.each(rows)('%s', () => {});
        it.skipIf(false)(\`S005 \${'S006'}\`, () => {});
      });`;
    expect(citedIn('test/a.test.ts', source).toSorted()).toEqual(['S001', 'S002', 'S003', 'S004', 'S005', 'S006']);
    expect(citedIn('test/support/b.ts', "const one = { title: 'S007', other: 'S903' };")).toEqual(['S007']);
  });

  test('leave over what none of them cites', () => {
    const group = { name: 'one', complete: true, ids: ['S001', 'S002'] };
    expect(uncited([group], new Set(['S002']))).toEqual([{ name: 'one', complete: true, total: 2, missing: ['S001'] }]);
  });

  test('belong to one group each', () => {
    const ids = readGroups().flatMap((group) => group.ids);
    expect(ids.length).toBeGreaterThan(300);
    expect(new Set(ids).size).toBe(ids.length);
  });
});

describe('a hollow module', () => {
  const source = `
    import { other } from './other.js';
    export const table = ['a', 'b'].map((key) => [key, 1] as const);
    export const all = [...other(), 1];
    export function add({ a, b }: { a: number; b: number }): number { return a + b; }
    export const arrow = async <T>(value: T): Promise<T> => value;
    export class Sum extends Base {
      readonly #parts = new Map<string, number>();
      constructor(private_: string) { super(private_); this.set(private_); }
      get total(): number { return 1; }
      set total(value) { throw value; }
      set(part: string): void { this.#parts.set(part, 1); }
    }`;

  test('keeps what it is made of, and its functions do nothing, whatever they are given', () => {
    const emptied = hollow(source).replace(/\s+/g, ' ');
    expect(emptied).toContain("['a', 'b'].map((key) => [key, 1] as const)");
    expect(emptied).toContain('[...(other()) || [], 1]');
    expect(emptied).toContain('export function add() { }');
    expect(emptied).toContain('export const arrow = async () => { }');
    expect(emptied).toContain('constructor() { super(); }');
    expect(emptied).toContain('get total() { }');
    expect(emptied).toContain('set total(value) { }');
    expect(emptied).toContain('set() { }');
    expect(hollow(source, 'a.ts', 'inert')).toContain('return globalThis.inert');
  });

  test('is one of the product, never one of the tests', () => {
    expect(['index.ts', 'machines/a.ts', 'actors/a.ts', 'adapters/cli/a.ts'].every(isShipped)).toBe(true);
    expect(['test/a.test.ts', 'properties/kit/a.ts', 'bench/a.ts', 'actors/a.js'].some(isShipped)).toBe(false);
  });
});
