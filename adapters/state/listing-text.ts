import { supervisorError } from '../../actors/errors.js';
import type { CatalogueItem, Metadata } from '../../actors/ports.js';
import { LIST_KINDS, type ListKind } from '../../machines/vocabulary.js';

/** What is known of a listing beside its items. */
export interface ListingHead {
  readonly savedAtMs: number;
  readonly ttlMs: number | null;
  readonly fingerprint: string | null;
  readonly kinds: readonly ListKind[];
}

/** About a millisecond of `JSON.parse`. */
const CHUNK_CHARS = 64 * 1024;
/** Ours are far smaller: a tool with a larger schema is refused when it is listed. */
const ITEM_CHARS_MAX = 2 * 1024 * 1024;
const FINGERPRINT_CHARS_MAX = 4_096;

/** Refuses with `STORE_FAILED` what could not be read back. */
export function headOf({ savedAtMs, ttlMs, fingerprint, lists }: Metadata): string {
  const kinds = LIST_KINDS.filter((kind) => lists[kind] !== undefined);
  const text = JSON.stringify({ savedAtMs, ttlMs, fingerprint, kinds });
  if (readHead(text) === null)
    throw supervisorError('STORE_FAILED', 'the lists cannot be kept: a time or the fingerprint is not one');
  return text;
}

/** `null` for what `headOf` did not write. */
export function readHead(text: string): ListingHead | null {
  const value = parse(text);
  if (!isObject(value)) return null;
  const { savedAtMs, ttlMs, fingerprint, kinds } = value;
  if (!isTime(savedAtMs) || !(ttlMs === null || isTime(ttlMs))) return null;
  if (!(fingerprint === null || (typeof fingerprint === 'string' && fingerprint.length <= FINGERPRINT_CHARS_MAX))) return null;
  if (!Array.isArray(kinds) || !kinds.every(isKind)) return null;
  return { savedAtMs, ttlMs, fingerprint, kinds };
}

/** The items as texts of about 64 Ki characters, each of one kind; made one by one, as they are asked for. */
export function* chunksOf({ lists }: Metadata): Generator<string> {
  for (const kind of LIST_KINDS) {
    const pieces: string[] = [];
    let chars = 0;
    for (const item of lists[kind] ?? []) {
      const text = textOf(item);
      if (chars > 0 && chars + text.length > CHUNK_CHARS) {
        yield `["${kind}",${pieces.join()}]`;
        pieces.length = 0;
        chars = 0;
      }
      pieces.push(text);
      chars += text.length;
    }
    if (chars > 0) yield `["${kind}",${pieces.join()}]`;
  }
}

/** `null` for what `chunksOf` did not write. */
export function readChunk(text: unknown, kinds: readonly ListKind[]): { kind: ListKind; items: CatalogueItem[] } | null {
  const value = typeof text === 'string' ? parse(text) : null;
  if (!Array.isArray(value)) return null;
  const [kind, ...items] = value as unknown[];
  if (!isKind(kind) || !kinds.includes(kind) || !items.every(isItem)) return null;
  return { kind, items };
}

function textOf({ key, definition }: CatalogueItem): string {
  let text: string | undefined;
  try {
    text = JSON.stringify({ key, definition });
  } catch (cause) {
    throw supervisorError('STORE_FAILED', 'the lists cannot be kept: an item is not JSON', { cause });
  }
  if (text.length > ITEM_CHARS_MAX) {
    throw supervisorError('STORE_FAILED', `the lists cannot be kept: an item is longer than ${ITEM_CHARS_MAX} characters`);
  }
  return text;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return null;
  }
}

const isObject = (value: unknown): value is { readonly [key: string]: unknown } =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isTime = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value);
const isKind = (value: unknown): value is ListKind => LIST_KINDS.some((kind) => kind === value);
const isItem = (value: unknown): value is CatalogueItem =>
  isObject(value) && typeof value['key'] === 'string' && isObject(value['definition']);
