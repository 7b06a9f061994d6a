import { expect, it, vi } from 'vitest';
import { Catalogue } from '../actors/catalogue.js';
import { fetchPage } from '../actors/list-pages.js';
import type { ClockPort, Link, Reply } from '../actors/ports.js';
import { createNodeDigest } from '../adapters/node-digest.js';
import { verifyPage } from '../machines/items.js';
import { type ListPage, startWalk, takePage, type WalkProgress } from '../machines/list-walk.js';
import { defaultListLimits } from '../machines/pagination-machine.js';
import type { ListKind } from '../machines/vocabulary.js';
import { toolItem, walk } from './support/catalogue-kit.js';
import { SimulatedLink, wellBehaved } from './support/simulated-link.js';

const MOST = defaultListLimits.items;
const SLICE = 200;

/** Answers every request with this result, at once. */
function linkThatAnswers(result: unknown): Link {
  const launch = { transport: 'stdio', command: '/bin/any', args: [], cwd: '/', env: {} } as const;
  const nothing = { opened: () => undefined, lost: () => undefined, listChanged: () => undefined, stderr: () => undefined };
  const options = { clientInfo: { name: 'test', version: '1' }, configHash: 'hash' };
  const link = new SimulatedLink(1, launch, nothing, options, { ...wellBehaved, opens: false, lists: false });
  vi.spyOn(link, 'request').mockImplementation((_method: string, _params: object | undefined, reply: Reply) => {
    reply.result(result);
    return 'r1';
  });
  return link;
}

/** A list whose tools tell when they are looked at, and how often their description is read. */
function watchedTools(count: number) {
  const touched = new Set<number>();
  const reads = { descriptions: 0 };
  const tools = Array.from({ length: count }, (_, at) => ({
    get name() {
      touched.add(at);
      return `tool-${at}`;
    },
    get description() {
      reads.descriptions += 1;
      return `does\u200b ${at}`;
    },
    inputSchema: { type: 'object' },
  }));
  return { tools, touched, reads };
}

interface Run {
  readonly tools: readonly unknown[];
  readonly kind?: ListKind;
  readonly touched?: ReadonlySet<number>;
  /** What the clock shows; it stands still unless told otherwise. */
  readonly now?: () => number;
  readonly signal?: AbortSignal;
  readonly onTurn?: (turns: number) => void;
}

/** Fetches one page, and how many entries had been looked at by each turn of the event loop. */
async function fetchWatched({ tools, kind = 'tools', touched = new Set(), now = () => 0, signal, onTurn }: Run) {
  const turns: number[] = [];
  const clock: Pick<ClockPort, 'now' | 'setTimeout'> = {
    now,
    setTimeout: (fire) => {
      turns.push(touched.size);
      onTurn?.(turns.length);
      queueMicrotask(fire);
    },
  };
  const request = { source: { key: 'user/s', generation: 1 }, kind, cursor: undefined } as const;
  const deps = { clock, digest: createNodeDigest() };
  const fetched = fetchPage(linkThatAnswers({ [kind]: tools }), request, signal ?? new AbortController().signal, deps);
  return { page: await fetched, turns };
}

const slicesOf = (turns: readonly number[]): readonly number[] => turns.map((seen, at) => seen - (turns[at - 1] ?? 0));

it('S108 a page of 10 000 tools is verified 200 at a time, with a turn of the event loop after each', async () => {
  const { tools, touched } = watchedTools(MOST);
  const { page, turns } = await fetchWatched({ tools, touched });
  expect(page.items.length).toBe(MOST);
  expect(slicesOf(turns)).toEqual(Array.from({ length: MOST / SLICE }, () => SLICE));
});

it('S108 entries that take long are verified fewer at a time', async () => {
  const { tools, touched } = watchedTools(20);
  // A millisecond for each entry.
  const { page, turns } = await fetchWatched({ tools, touched, now: () => touched.size });
  expect(page.items.length).toBe(20);
  expect(slicesOf(turns)).toEqual([5, 5, 5, 5]);
});

it('a page of common length is not delayed by a turn', async () => {
  const { tools } = watchedTools(SLICE - 1);
  expect((await fetchWatched({ tools })).turns).toEqual([]);
});

it('a page nobody waits for any more is not verified to its end', async () => {
  const { tools, touched } = watchedTools(MOST);
  const abort = new AbortController();
  const onTurn = (turns: number): void => {
    if (turns === 2) abort.abort();
  };
  await expect(fetchWatched({ tools, touched, signal: abort.signal, onTurn })).rejects.toMatchObject({
    code: 'LIST_FAILED',
    message: 'tools/list was given up',
  });
  expect(touched.size).toBe(2 * SLICE);
});

it.each<ListKind>(['tools', 'prompts'])('in slices the verdicts on %s are the same as all at once', async (kind) => {
  const tools = Array.from({ length: 3 * SLICE + 1 }, (_, at) => [{ name: `n${at}` }, null, { name: '' }][at % 3]);
  const verdict = verifyPage(kind, { [kind]: tools });
  expect((await fetchWatched({ tools, kind })).page).toEqual(verdict.ok && verdict.page);
});

it('S108 a page that is no list, and one with more entries than are read, fail in slices too', async () => {
  const link = linkThatAnswers({ tools: 'none' });
  const request = { source: { key: 'user/s', generation: 1 }, kind: 'tools', cursor: undefined } as const;
  const clock = { now: () => 0, setTimeout: () => expect.unreachable('nothing to verify') };
  const deps = { clock, digest: createNodeDigest() };
  await expect(fetchPage(link, request, new AbortController().signal, deps)).rejects.toMatchObject({ code: 'LIST_FAILED' });
  const tooMany = [null, ...watchedTools(MOST + 1).tools];
  await expect(fetchWatched({ tools: tooMany })).rejects.toMatchObject({ code: 'LIST_FAILED' });
});

it('10 000 verified tools are taken, listed, searched and taken again without a look at a description or a digest', async () => {
  const { tools, reads } = watchedTools(MOST);
  const { page } = await fetchWatched({ tools });
  const digest = { ofJson: vi.fn(() => 'f'.repeat(64)), keyed: () => '' };
  const catalogue = new Catalogue({ digest });
  reads.descriptions = 0;
  catalogue.put('s', 'tools', walk(page.items));
  expect(catalogue.tools()[0]?.description).toBe('does 0');
  expect(catalogue.search({ query: 'DOES 77' }).total).toBe(tools.filter((_, at) => String(at).includes('77')).length);
  catalogue.put('s', 'tools', walk([], { state: 'truncated' }));
  expect(catalogue.tool('mcp__s__tool-1')?.changed).toBe(false);
  expect([reads.descriptions, digest.ofJson.mock.calls.length]).toEqual([0, 0]);
});

it('tools that nobody verified here are taken without a look at a description too', () => {
  const { tools, reads } = watchedTools(MOST);
  const catalogue = new Catalogue({ digest: { ofJson: () => '', keyed: () => '' } });
  catalogue.put('s', 'tools', walk(tools.map((definition, at) => ({ key: `tool-${at}`, definition }))));
  expect(reads.descriptions).toBe(0);
  expect(catalogue.tool('mcp__s__tool-9')?.description).toBe('does 9');
  expect(reads.descriptions).toBeLessThanOrEqual(2);
});

it('a name that needs a digest is digested once, however often its server is listed', () => {
  const ofJson = vi.fn((text: unknown) => String(text).length.toString(16).padStart(64, '0'));
  const catalogue = new Catalogue({ digest: { ofJson, keyed: () => '' } });
  for (const description of ['a', 'b', 'c']) {
    catalogue.put('s', 'tools', walk([{ key: 'a.b', definition: { name: 'a.b', description } }]));
  }
  expect(catalogue.tools().map(({ tool, description }) => [tool, description])).toEqual([['a.b', 'c']]);
  expect(ofJson).toHaveBeenCalledTimes(1);
});

it('what is listed twice before anybody asks has still changed', () => {
  const catalogue = new Catalogue({ digest: createNodeDigest() });
  for (const description of ['a', 'b']) catalogue.put('s', 'tools', walk([toolItem('t', { description })]));
  expect(catalogue.tool('mcp__s__t')?.changed).toBe(true);
});

it('a server that is dropped before anybody asks for its tools is not offered', () => {
  const catalogue = new Catalogue({ digest: createNodeDigest() });
  catalogue.put('s', 'tools', walk([toolItem('t')]));
  catalogue.drop('s');
  expect([catalogue.tool('mcp__s__t'), catalogue.tools()]).toEqual([undefined, []]);
});

it('10 000 names that need a digest are not digested before somebody asks for a tool', () => {
  const ofJson = vi.fn(() => 'f'.repeat(64));
  const catalogue = new Catalogue({ digest: { ofJson, keyed: () => '' } });
  catalogue.put('s', 'tools', walk(Array.from({ length: MOST }, (_, at) => toolItem(`a.${at}`))));
  expect([catalogue.counts('s').tools.count, catalogue.overLimit('s')]).toEqual([MOST, MOST - 64]);
  expect(ofJson).not.toHaveBeenCalled();
});

it('counts the tools of a server past the limit, and none of a server nobody knows', () => {
  const catalogue = new Catalogue({ digest: { ofJson: () => '', keyed: () => '' } });
  const items = ['a', 'b', 'c'].map((key) => ({ key, definition: {} }));
  catalogue.put('s', 'tools', walk(items, { toolLimit: 1 }));
  expect([catalogue.overLimit('s'), catalogue.overLimit('nobody')]).toEqual([2, 0]);
});

const pageOf = (at: number, size: number): ListPage => ({
  items: Array.from({ length: size }, (_, index) => ({ key: `k${at}-${index}`, definition: {} })),
  skipped: [],
  nextCursor: String(at),
});

/** Every progress of a walk of 100 pages with 100 items each. */
function longWalk(): readonly WalkProgress[] {
  const steps = [startWalk('tools')];
  for (let at = 0; at < 100; at += 1) steps.push(takePage(steps.at(-1) as WalkProgress, pageOf(at, 100), defaultListLimits));
  return steps;
}

it('a walk of 100 pages does not copy the keys of all pages before with each', () => {
  const steps = longWalk();
  const layers = new Set(steps.flatMap(({ keys }) => keys));
  const copied = [...layers].reduce((sum, layer) => sum + layer.size, 0);
  expect(steps.at(-1)?.items.length).toBe(MOST);
  // Copied whole with every page it would be half a million.
  expect(copied).toBeLessThan(8 * MOST);
  expect(Math.max(...steps.map(({ keys }) => keys.length))).toBeLessThanOrEqual(7);
});

it('a walk is not changed by what is taken in behind it, and knows every key of it', () => {
  const steps = longWalk();
  const middle = steps[50] as WalkProgress;
  const sizes = (walked: WalkProgress) => walked.keys.map(({ size }) => size);
  expect(sizes(middle)).toEqual(sizes(longWalk()[50] as WalkProgress));
  const known = Array.from({ length: 50 }, (_, at) => pageOf(at, 100).items).flat();
  const again = takePage(middle, { items: known, skipped: [], nextCursor: undefined }, defaultListLimits);
  expect([again.items.length, again.skipped.length]).toEqual([5_000, 5_000]);
  const later = takePage(middle, pageOf(99, 100), defaultListLimits);
  expect(later.items.length).toBe(5_100);
});
