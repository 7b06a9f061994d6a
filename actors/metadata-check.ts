import { defaultListLimits, type ListedItem } from '../machines/list-walk.js';
import { LIST_KINDS, type ListKind, type ServerId } from '../machines/vocabulary.js';
import { type VerifyDeps, verifyInSlices } from './list-pages.js';
import type { Metadata } from './ports.js';

/** How long lists are fresh that came without a word on it, and the longest a server may call them so. */
export const TTL_MS_MAX = 7 * 24 * 3_600_000;
/** The shortest: what changes faster is announced, or is not worth a start. */
export const TTL_MS_MIN = 60_000;

/** How long the lists are fresh in all. */
export function ttlMsOf({ ttlMs }: Pick<Metadata, 'ttlMs'>): number {
  return Math.min(TTL_MS_MAX, Math.max(TTL_MS_MIN, ttlMs ?? TTL_MS_MAX));
}

/** How long they still are, in ms; 0 once they are past it, and for a time of saving that lies ahead or is none. */
export function freshForMs(metadata: Pick<Metadata, 'ttlMs' | 'savedAtMs'>, nowMs: number): number {
  const age = nowMs - metadata.savedAtMs;
  return age >= 0 ? Math.max(0, ttlMsOf(metadata) - age) : 0;
}

/**
 * What the state db gave back, verified as if the server had just sent it, in slices: other processes write there, and
 * so may other versions of this one. Items that do not pass are left out; `null` where nothing of it is usable, or when `isOff`
 * said so between two slices.
 */
export async function checkedMetadata(
  server: ServerId,
  raw: unknown,
  deps: VerifyDeps,
  isOff: () => boolean = () => false,
): Promise<Metadata | null> {
  if (!isRecord(raw) || !isRecord(raw['lists'])) return null;
  const { savedAtMs, ttlMs, fingerprint } = raw;
  const lists: Partial<Record<ListKind, readonly ListedItem[]>> = {};
  for (const kind of LIST_KINDS) {
    const items: unknown = raw['lists'][kind];
    if (!Array.isArray(items)) continue;
    const checked = await checkedItems(server, kind, items, deps, isOff);
    if (checked === null) return null;
    lists[kind] = checked;
  }
  return {
    savedAtMs: typeof savedAtMs === 'number' ? savedAtMs : Number.NaN,
    ttlMs: typeof ttlMs === 'number' && !Number.isNaN(ttlMs) ? ttlMs : null,
    fingerprint: typeof fingerprint === 'string' ? fingerprint : null,
    lists,
  };
}

async function checkedItems(
  server: ServerId,
  kind: ListKind,
  items: readonly unknown[],
  deps: VerifyDeps,
  isOff: () => boolean,
): Promise<readonly ListedItem[] | null> {
  const entries = items.slice(0, defaultListLimits.items).map((item) => (isRecord(item) ? item['definition'] : null));
  const verdicts = await verifyInSlices(server, { kind, entries, isCut: false, nextCursor: undefined }, deps, isOff);
  if (verdicts === null) return null;
  const checked = new Map<string, ListedItem>();
  for (const verdict of verdicts) {
    if (verdict.ok && !checked.has(verdict.key)) checked.set(verdict.key, { key: verdict.key, definition: verdict.definition });
  }
  return [...checked.values()];
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
