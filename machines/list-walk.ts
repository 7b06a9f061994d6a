import { CODES, type Code, type Failure, failure, type ListKind } from './vocabulary.js';

/** One verified item: `key` is the tool's or prompt's name, the resource's URI or the URI template. */
export interface ListedItem {
  readonly key: string;
  readonly definition: { readonly [key: string]: unknown };
}

/** An item that is not offered, and why. */
export interface SkippedItem {
  readonly key: string;
  readonly code: Code;
}

/** One page as the fetching actor hands it over: items already verified, a cursor only if the server gave a string. */
export interface ListPage {
  readonly items: readonly ListedItem[];
  readonly skipped: readonly SkippedItem[];
  readonly nextCursor: string | undefined;
  /** How long the server calls this page fresh, as it said it; absent where it said nothing. */
  readonly ttlMs?: number | undefined;
}

export interface ListLimits {
  readonly pages: number;
  readonly items: number;
}

/** Caps of one list; a configuration may only lower them. */
export const defaultListLimits: ListLimits = { pages: 100, items: 10_000 };

/** What one walk through a list brought home. What was verified before it ended early is kept. */
export interface ListWalk {
  readonly kind: ListKind;
  readonly items: readonly ListedItem[];
  /** In the order met, duplicates (`ITEM_DUPLICATE`) included; at most as many as items are allowed. */
  readonly skipped: readonly SkippedItem[];
  /** Pages read. */
  readonly pages: number;
  readonly state: 'complete' | 'truncated' | 'failed';
  readonly reason: Failure | null;
  /** The smallest that any page said; absent where none did. */
  readonly ttlMs?: number | undefined;
}

/** A walk under way. Until it ends it is what it would be if it stopped now: truncated, for no reason yet. */
export interface WalkProgress extends ListWalk {
  readonly isEnded: boolean;
  /** Cursor of the page to fetch next; `undefined` for the first, `''` is a cursor like any other. */
  readonly cursor: string | undefined;
  /** Cursors whose page was fetched or is about to be. */
  readonly followed: ReadonlySet<string>;
  /** Keys of the items, in layers that are never changed: a page adds one, so that a long walk is not copied with every page. */
  readonly keys: readonly ReadonlySet<string>[];
}

export function startWalk(kind: ListKind): WalkProgress {
  return {
    kind,
    items: [],
    skipped: [],
    pages: 0,
    state: 'truncated',
    reason: null,
    isEnded: false,
    cursor: undefined,
    followed: new Set(),
    keys: [],
  };
}

/** Takes one page in and says whether and where the walk goes on. Caps and loops end it with what it has. */
export function takePage(walk: WalkProgress, page: ListPage, limits: ListLimits): WalkProgress {
  const ttlMs = Math.min(walk.ttlMs ?? Number.POSITIVE_INFINITY, page.ttlMs ?? Number.POSITIVE_INFINITY);
  const timed = Number.isFinite(ttlMs) ? { ...walk, ttlMs } : walk;
  const read = appendItems({ ...timed, pages: walk.pages + 1 }, page, limits);
  if (read.isEnded) return read;
  const { nextCursor } = page;
  if (nextCursor === undefined) return { ...read, isEnded: true, state: 'complete' };
  if (walk.followed.has(nextCursor)) {
    return endTruncated(
      read,
      'LIST_CURSOR_LOOP',
      `The ${walk.kind} list led back to a cursor already followed after page ${read.pages}`,
    );
  }
  if (read.pages >= limits.pages) {
    return endTruncated(read, 'LIST_TRUNCATED_PAGES', `The ${walk.kind} list has more than ${limits.pages} pages`);
  }
  return { ...read, cursor: nextCursor, followed: new Set(walk.followed).add(nextCursor) };
}

/** Ends a walk whose next page could not be read. */
export function failWalk(walk: WalkProgress, reason: Failure): WalkProgress {
  return { ...walk, isEnded: true, state: 'failed', reason };
}

/** The result without the bookkeeping of the way there. */
export function walkResult({ kind, items, skipped, pages, state, reason, ttlMs }: WalkProgress): ListWalk {
  const walk = { kind, items, skipped, pages, state, reason };
  return ttlMs === undefined ? walk : { ...walk, ttlMs };
}

/** Why a page could not be read: a failure that was thrown keeps its code, anything else is `LIST_FAILED`. */
export function pageFailure(thrown: unknown): Failure {
  const { code, message, hint } = toRecord(thrown);
  // Nothing is converted: an object's own toString may throw.
  const text =
    [message, thrown].find((one): one is string => typeof one === 'string' && one !== '') ?? 'The page could not be read';
  if (!isCode(code)) return failure('LIST_FAILED', text);
  return failure(code, text, typeof hint === 'string' ? hint : undefined);
}

function appendItems(walk: WalkProgress, page: ListPage, limits: ListLimits): WalkProgress {
  const items = [...walk.items];
  const skipped = [...walk.skipped];
  const fresh = new Set<string>();
  const isKnown = (key: string): boolean => fresh.has(key) || walk.keys.some((layer) => layer.has(key));
  const added = (): WalkProgress => ({ ...walk, items, skipped, keys: withLayer(walk.keys, fresh) });
  const overflow = (what: string): WalkProgress =>
    endTruncated(added(), 'LIST_TRUNCATED_ITEMS', `The ${walk.kind} list has more than ${limits.items} ${what}`);

  // Unusable items are bounded too: a server could otherwise fill the memory with what nobody can use.
  for (const item of page.items) {
    if (!isKnown(item.key)) {
      if (items.length >= limits.items) return overflow('items');
      fresh.add(item.key);
      items.push(item);
    } else {
      if (skipped.length >= limits.items) return overflow('unusable items');
      skipped.push({ key: item.key, code: 'ITEM_DUPLICATE' });
    }
  }
  for (const item of page.skipped) {
    if (skipped.length >= limits.items) return overflow('unusable items');
    skipped.push(item);
  }
  return added();
}

/** Each layer is larger than the next, those that are not are joined: there are few to look into, and a key moves seldom. */
function withLayer(layers: readonly ReadonlySet<string>[], fresh: ReadonlySet<string>): readonly ReadonlySet<string>[] {
  const last = layers.at(-1);
  if (last === undefined || last.size > fresh.size) return [...layers, fresh];
  return withLayer(layers.slice(0, -1), new Set([...last, ...fresh]));
}

function endTruncated(walk: WalkProgress, code: Code, message: string): WalkProgress {
  return { ...walk, isEnded: true, state: 'truncated', reason: failure(code, message) };
}

function toRecord(value: unknown): { readonly code?: unknown; readonly message?: unknown; readonly hint?: unknown } {
  return typeof value === 'object' && value !== null ? value : {};
}

const isCode = (value: unknown): value is Code => typeof value === 'string' && Object.hasOwn(CODES, value);
