import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { assign, createActor, fromPromise, toPromise } from 'xstate';
import { failWalk, takePage } from '../machines/list-walk.js';
import { type ListPage, type ListWalk, type PageRequest, paginationMachine } from '../machines/pagination-machine.js';
import { VirtualClock } from '../test/support/virtual-clock.js';

type Machine = typeof paginationMachine;

/** A server is a page for every cursor it can name, so that loops, dead ends and repeats all come up; `null` fails. */
const cursor = fc.constantFrom('', '0', '1', '2', '3', 'no such page');
const page = fc.record({
  items: fc.array(
    fc.integer({ min: 0, max: 20 }).map((key) => ({ key: `k${key}`, definition: { key } })),
    { maxLength: 5, size: 'max' },
  ),
  skipped: fc.array(fc.constant({ key: 'bad', code: 'ITEM_SCHEMA' as const }), { maxLength: 2 }),
  nextCursor: fc.option(cursor, { nil: undefined, freq: 6 }),
});
const server = fc.record({
  first: page,
  pages: fc.dictionary(cursor, fc.option(page, { nil: null, freq: 8 }), { minKeys: 3, maxKeys: 6, size: 'max' }),
});
const limits = fc.record({ pages: fc.integer({ min: 1, max: 6 }), items: fc.integer({ min: 1, max: 15 }) });

interface Walked {
  readonly limits: { readonly pages: number; readonly items: number };
  /** Cursors asked for. */
  readonly asked: readonly (string | undefined)[];
  /** Pages that were answered. */
  readonly read: readonly ListPage[];
  readonly walk: ListWalk;
}

const property = (machine: Machine, check: (walked: Walked) => void) =>
  fc.asyncProperty(server, limits, async ({ first, pages }, caps) => {
    const asked: (string | undefined)[] = [];
    const read: ListPage[] = [];
    const fetchPage = fromPromise<ListPage, PageRequest>(async ({ input }) => {
      if (asked.push(input.cursor) > 50) throw new Error('this would never end');
      const found = input.cursor === undefined ? first : (pages[input.cursor] ?? null);
      if (found === null) throw new Error('no such page');
      read.push(found);
      return found;
    });
    const source = { key: 'user/any', generation: 1 } as const;
    const actor = createActor(machine.provide({ actors: { fetchPage } }), {
      input: { source, kind: 'tools', limits: caps, pageTimeoutMs: 1_000 },
      clock: new VirtualClock(),
    });
    check({ limits: caps, asked, read, walk: await toPromise(actor.start()) });
  });

const keysOf = (pages: readonly ListPage[]): readonly string[] => [
  ...new Set(pages.flatMap(({ items }) => items.map(({ key }) => key))),
];

const rules: Record<string, (walked: Walked) => void> = {
  'a walk never reads more pages or keeps more items than the caps allow': ({ limits: caps, asked, walk }) => {
    expect(asked.length).toBeLessThanOrEqual(caps.pages);
    expect(walk.items.length).toBeLessThanOrEqual(caps.items);
    expect(walk.skipped.length).toBeLessThanOrEqual(caps.items);
  },

  'no cursor is followed twice': ({ asked }) => {
    expect(new Set(asked).size).toBe(asked.length);
  },

  'what was verified is kept, once each and in order, however the walk ends': ({ limits: caps, read, walk }) => {
    const seen = keysOf(read);
    const kept = walk.items.map(({ key }) => key);
    expect(kept).toEqual(seen.slice(0, kept.length));
    if (walk.reason?.code !== 'LIST_TRUNCATED_ITEMS') expect(kept).toEqual(seen);
    else expect(Math.max(kept.length, walk.skipped.length)).toBe(caps.items);
    expect(walk.pages).toBe(read.length);
  },

  'only a walk that came to the last page of the list is complete': ({ asked, read, walk }) => {
    const isAtEnd = read.length === asked.length && read.at(-1)?.nextCursor === undefined;
    const isCut = walk.reason?.code === 'LIST_TRUNCATED_ITEMS';
    expect(walk.state === 'complete').toBe(isAtEnd && !isCut);
    expect(walk.state === 'failed').toBe(read.length < asked.length);
    expect(walk.reason === null).toBe(walk.state === 'complete');
  },
};

describe('pagination', () => {
  test.each(Object.entries(rules))('%s', async (_sentence, check) => {
    await fc.assert(property(paginationMachine, check));
  });
});

describe('would notice', () => {
  const broken: Record<string, Machine> = {
    'a walk never reads more pages or keeps more items than the caps allow': paginationMachine.provide({
      actions: {
        takePage: assign({
          walk: ({ context: { walk, limits: caps } }, next: ListPage) => takePage(walk, next, { ...caps, pages: caps.pages + 1 }),
        }),
      },
    }),
    'no cursor is followed twice': paginationMachine.provide({
      actions: {
        takePage: assign({
          walk: ({ context: { walk, limits: caps } }, next: ListPage) => takePage({ ...walk, followed: new Set() }, next, caps),
        }),
      },
    }),
    'what was verified is kept, once each and in order, however the walk ends': paginationMachine.provide({
      actions: {
        fail: assign({
          walk: ({ context: { walk } }) =>
            failWalk({ ...walk, items: [] }, { code: 'LIST_FAILED', stage: 'list', retryable: true, message: '' }),
        }),
      },
    }),
    'only a walk that came to the last page of the list is complete': paginationMachine.provide({
      actions: {
        takePage: assign({
          walk: ({ context: { walk, limits: caps } }, next: ListPage) =>
            // An empty cursor taken for the end of the list.
            takePage(walk, next.nextCursor === '' ? { ...next, nextCursor: undefined } : next, caps),
        }),
      },
    }),
  };

  test('has a planted bug for every rule', () => {
    expect(Object.keys(broken)).toEqual(Object.keys(rules));
  });

  test.each(Object.entries(broken))('%s', async (sentence, machine) => {
    const check = rules[sentence];
    const report = check && (await fc.check(property(machine, check), { numRuns: 1_000, endOnFailure: true }));
    expect(report?.failed).toBe(true);
  });
});
