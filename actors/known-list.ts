import type { ListedItem, SkippedItem } from '../machines/list-walk.js';
import type { Failure, ListState } from '../machines/vocabulary.js';

/** What a walk of one list brought home. */
export interface ListOutcome {
  readonly items: readonly ListedItem[];
  readonly state: 'complete' | 'truncated' | 'failed' | 'unsupported';
  readonly reason: Failure | null;
  readonly skipped: readonly SkippedItem[];
  /** Whether it was read from the running server, not from a cache. */
  readonly live: boolean;
  /** Tools past this many are searchable and not callable. */
  readonly toolLimit: number;
}

/** One list of one server, as the catalogue has it. */
export interface KnownList {
  readonly items: ReadonlyMap<string, ListedItem>;
  /** Keys the last walk did not see and the last complete one did. */
  readonly stale: ReadonlySet<string>;
  /** `null`: never read to its end. */
  readonly lastComplete: readonly ListedItem[] | null;
  readonly state: ListState['state'];
  readonly reason: Failure | null;
  readonly skipped: readonly SkippedItem[];
}

/** A list nobody has asked for yet. */
export const NOTHING: KnownList = {
  items: new Map(),
  stale: new Set(),
  lastComplete: null,
  state: 'unknown',
  reason: null,
  skipped: [],
};

/** A complete walk replaces what was known; another one only adds to the last complete one, and marks the rest stale. */
export function takeOutcome(before: KnownList, outcome: ListOutcome): KnownList {
  const { state, reason, skipped } = outcome;
  const isWhole = state === 'complete' || state === 'unsupported';
  const items = new Map(outcome.items.map((item) => [item.key, item]));
  const missing = isWhole ? [] : (before.lastComplete ?? []).filter(({ key }) => !items.has(key));
  for (const item of missing) items.set(item.key, item);
  const stale = new Set(missing.map(({ key }) => key));
  return { items, stale, lastComplete: isWhole ? outcome.items : before.lastComplete, state, reason, skipped };
}

/** Puts what a former run read completely under what is known by now, which nobody read to its end. */
export function takeFormer(known: KnownList, former: readonly ListedItem[]): KnownList {
  if (known.state === 'unknown') {
    const items = new Map(former.map((item) => [item.key, item]));
    return { ...NOTHING, items, lastComplete: former, state: 'complete' };
  }
  const items = new Map(known.items);
  const missing = former.filter(({ key }) => !items.has(key));
  for (const item of missing) items.set(item.key, item);
  return { ...known, items, stale: new Set(missing.map(({ key }) => key)), lastComplete: former };
}
