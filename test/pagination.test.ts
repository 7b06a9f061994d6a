import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createActor, fromPromise, toPromise } from 'xstate';
import { supervisorError } from '../actors/errors.js';
import {
  defaultListLimits,
  type ListPage,
  type ListWalk,
  type PageRequest,
  type PaginationInput,
  paginationMachine,
} from '../machines/pagination-machine.js';
import { VirtualClock } from './support/virtual-clock.js';

type Fetch = (request: PageRequest, signal: AbortSignal) => Promise<ListPage>;

const input = (overrides: Partial<PaginationInput> = {}): PaginationInput => ({
  source: { key: 'user/files', generation: 1 },
  kind: 'tools',
  limits: defaultListLimits,
  pageTimeoutMs: 30_000,
  ...overrides,
});

function start(fetch: Fetch, overrides: Partial<PaginationInput> = {}, clock = new VirtualClock()) {
  const fetchPage = fromPromise<ListPage, PageRequest>(({ input: request, signal }) => fetch(request, signal));
  const actor = createActor(paginationMachine.provide({ actors: { fetchPage } }), { input: input(overrides), clock });
  actor.start();
  return { actor, clock };
}

const walk = (fetch: Fetch, overrides: Partial<PaginationInput> = {}): Promise<ListWalk> =>
  toPromise(start(fetch, overrides).actor);

const page = (names: readonly string[], nextCursor?: string): ListPage => ({
  items: names.map((key) => ({ key, definition: { name: key } })),
  skipped: [],
  nextCursor,
});

/** Serves the pages one after the other and says which cursors were asked for. */
function book(...pages: readonly (ListPage | Error)[]) {
  const cursors: (string | undefined)[] = [];
  const fetch: Fetch = ({ cursor }) => {
    const next = pages[cursors.push(cursor) - 1] ?? new Error('asked for a page too many');
    return next instanceof Error ? Promise.reject(next) : Promise.resolve(next);
  };
  return { fetch, cursors };
}

const keys = (result: ListWalk): readonly string[] => result.items.map(({ key }) => key);

/** As many pages as wanted, `size` items each, every one pointing on unless it is the `last`. */
const endless =
  (size: number, last = Number.POSITIVE_INFINITY): Fetch =>
  ({ cursor }) => {
    const at = Number(cursor ?? 1);
    const names = Array.from({ length: size }, (_, index) => `item-${at}-${index}`);
    return Promise.resolve(page(names, at < last ? String(at + 1) : undefined));
  };

interface Expected {
  readonly codes: readonly string[];
  readonly requests: readonly string[];
  readonly tools: readonly string[];
}

interface Book {
  readonly responses: Readonly<
    Record<string, { readonly tools: readonly { readonly name: string }[]; readonly nextCursor?: string }>
  >;
}

describe('lists as reported servers send them', () => {
  const read = (file: string): unknown => JSON.parse(readFileSync(join(import.meta.dirname, 'cases', file), 'utf8'));

  test.each([
    'B083-three-pages.pages.json',
    'B084-repeated.pages.json',
    'B084-cycle-of-three.pages.json',
    'B085-empty-cursor-loop.pages.json',
  ])('%s', async (file) => {
    const { responses } = read(file) as Book;
    const expected = read(`${file}.expect.json`) as Expected;
    const requests: string[] = [];
    const result = await walk(({ cursor = '<none>' }) => {
      requests.push(cursor);
      const response = responses[cursor];
      return response === undefined
        ? Promise.reject(new Error(`no page "${cursor}"`))
        : Promise.resolve(
            page(
              response.tools.map(({ name }) => name),
              response.nextCursor,
            ),
          );
    });
    expect(requests).toEqual(expected.requests);
    expect(keys(result)).toEqual(expected.tools);
    expect(result.reason?.code).toBe(expected.codes.includes('PAGING_LOOP') ? 'LIST_CURSOR_LOOP' : undefined);
    expect(result.state).toBe(expected.codes.length === 0 ? 'complete' : 'truncated');
  });
});

describe('a walk', () => {
  test('asks for the first page without a cursor and names the list and the link each time', async () => {
    const requests: PageRequest[] = [];
    await walk(
      (request) => {
        requests.push(request);
        return Promise.resolve(page([], requests.length === 1 ? 'next' : undefined));
      },
      { kind: 'prompts' },
    );
    const source = { key: 'user/files', generation: 1 };
    expect(requests).toEqual([
      { source, kind: 'prompts', cursor: undefined },
      { source, kind: 'prompts', cursor: 'next' },
    ]);
  });

  test('of an empty list is complete with one page and no items', async () => {
    expect(await walk(book(page([])).fetch)).toEqual({
      kind: 'tools',
      items: [],
      skipped: [],
      pages: 1,
      state: 'complete',
      reason: null,
    });
  });

  test('keeps the first of two items with one key and records the other', async () => {
    const first = { key: 'a', definition: { title: 'first' } };
    const second = { key: 'a', definition: { title: 'second' } };
    const bad = { key: 'b', code: 'ITEM_SCHEMA' } as const;
    const result = await walk(
      book({ items: [first], skipped: [bad], nextCursor: 'x' }, { items: [second], skipped: [], nextCursor: undefined }).fetch,
    );
    expect(result).toMatchObject({ state: 'complete', items: [first], skipped: [bad, { key: 'a', code: 'ITEM_DUPLICATE' }] });
  });

  test('of exactly a hundred pages is complete', async () => {
    expect(await walk(endless(1, 100))).toMatchObject({ state: 'complete', pages: 100, reason: null });
  });

  test('of a hundred pages that points on is truncated, with all hundred kept', async () => {
    const result = await walk(endless(1));
    expect(result).toMatchObject({ state: 'truncated', pages: 100, reason: { code: 'LIST_TRUNCATED_PAGES', retryable: false } });
    expect(result.items).toHaveLength(100);
  });

  test('of exactly ten thousand items is complete', async () => {
    const result = await walk(endless(1_000, 10));
    expect([result.state, result.items.length]).toEqual(['complete', 10_000]);
  });

  test('cuts what is over ten thousand items and asks for no further page', async () => {
    const result = await walk(endless(999));
    expect(result).toMatchObject({ state: 'truncated', pages: 11, reason: { code: 'LIST_TRUNCATED_ITEMS' } });
    expect(result.items).toHaveLength(10_000);
  });

  test.each([
    [
      'skipped',
      { items: [], skipped: Array.from({ length: 4 }, () => ({ key: 'x', code: 'ITEM_NAME' as const })), nextCursor: '1' },
    ],
    ['doubled', page(['x', 'x', 'x', 'x', 'x'], '1')],
  ])('ends when more items were %s than may be kept', async (_what, first) => {
    const result = await walk(book(first).fetch, { limits: { pages: 9, items: 3 } });
    expect(result).toMatchObject({ state: 'truncated', reason: { code: 'LIST_TRUNCATED_ITEMS' } });
    expect(result.skipped).toHaveLength(3);
  });
});

describe('a page that cannot be read', () => {
  test('leaves what was verified before it', async () => {
    const result = await walk(book(page(['a', 'b'], 'x'), new Error('pipe broke')).fetch);
    expect(keys(result)).toEqual(['a', 'b']);
    expect(result).toMatchObject({
      state: 'failed',
      pages: 1,
      reason: { code: 'LIST_FAILED', message: 'pipe broke', retryable: true },
    });
  });

  test.each([
    [
      'an error of ours',
      supervisorError('MESSAGE_TOO_LARGE', 'too big', { hint: 'ask for less' }),
      'MESSAGE_TOO_LARGE',
      'too big',
    ],
    ['a failure without a hint', { code: 'LINK_LOST', message: 'gone' }, 'LINK_LOST', 'gone'],
    ['a code of somebody else', { code: 'ENOENT', message: 'no file' }, 'LIST_FAILED', 'no file'],
    ['a code every object has', { code: 'toString', message: 'odd' }, 'LIST_FAILED', 'odd'],
    ['a bare text', 'no', 'LIST_FAILED', 'no'],
    ['nothing at all', undefined, 'LIST_FAILED', 'The page could not be read'],
    ['null', null, 'LIST_FAILED', 'The page could not be read'],
    ['an object that cannot be made a text', Object.create(null), 'LIST_FAILED', 'The page could not be read'],
  ])('says why when thrown %s', async (_what, thrown: unknown, code, message) => {
    const result = await walk(async () => {
      throw thrown;
    });
    expect(result.reason).toMatchObject({ code, message });
  });

  test('keeps the hint that came with the failure', async () => {
    const result = await walk(book(supervisorError('MESSAGE_TOO_LARGE', 'too big', { hint: 'ask for less' })).fetch);
    expect(result.reason?.hint).toBe('ask for less');
  });

  test('ends the walk when it is late, and is told to stop', async () => {
    let seen: AbortSignal | undefined;
    const { actor, clock } = start(
      ({ cursor }, signal) => {
        seen = signal;
        return cursor === undefined ? Promise.resolve(page(['a'], 'x')) : new Promise(() => undefined);
      },
      { pageTimeoutMs: 5_000 },
    );
    await clock.run(4_999);
    expect(actor.getSnapshot().status).toBe('active');
    await clock.run(1);
    const { output } = actor.getSnapshot();
    expect(output).toMatchObject({ state: 'failed', items: [{ key: 'a' }], reason: { code: 'LIST_FAILED', retryable: true } });
    expect(output?.reason?.message).toBe('Page 2 of the tools list did not come within 5000 ms');
    expect(seen?.aborted).toBe(true);
    expect(clock.pending).toBe(0);
  });

  test('has the whole time again for every page', async () => {
    const clock = new VirtualClock();
    const slow: Fetch = ({ cursor }) =>
      new Promise((resolve) => clock.setTimeout(() => resolve(page([], cursor === undefined ? 'x' : undefined)), 800));
    const { actor } = start(slow, { pageTimeoutMs: 1_000 }, clock);
    await clock.run(1_600);
    expect(actor.getSnapshot().output).toMatchObject({ state: 'complete', pages: 2, reason: null });
  });
});

test('a walk without the actor that fetches pages fails and says which one', async () => {
  const result = await toPromise(createActor(paginationMachine, { input: input(), clock: new VirtualClock() }).start());
  expect(result).toMatchObject({ state: 'failed', reason: { message: 'bug: the actor "fetchPage" is not provided' } });
});

test('a walk that is stopped says that it is not complete', async () => {
  const { actor, clock } = start(({ cursor }) =>
    cursor === undefined ? Promise.resolve(page(['a'], 'x')) : new Promise(() => undefined),
  );
  await clock.run(1);
  actor.stop();
  expect(actor.getSnapshot().context.walk).toMatchObject({ state: 'truncated', reason: null, isEnded: false });
  expect(clock.pending).toBe(0);
});
