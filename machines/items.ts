import { overBudget } from './json-budget.js';
import type { ListedItem, ListPage, SkippedItem } from './list-walk.js';
import { modelText } from './model-text.js';
import { schemaFault } from './schema-check.js';
import { cutUtf8, utf8Bytes } from './utf8.js';
import { type Code, type Failure, failure, type ListKind } from './vocabulary.js';

type Definition = ListedItem['definition'];

export type ItemVerdict = ({ readonly ok: true } & ListedItem) | ({ readonly ok: false; readonly reason: string } & SkippedItem);

/** A page whose frame is sound and whose entries are still to be verified, each by itself. */
export interface OpenPage {
  readonly kind: ListKind;
  readonly entries: readonly unknown[];
  /** Whether the page had more entries than are read. */
  readonly isCut: boolean;
  readonly nextCursor: string | undefined;
}

export type OpenedPage = { readonly ok: true; readonly page: OpenPage } | { readonly ok: false; readonly failure: Failure };

export type PageVerdict = { readonly ok: true; readonly page: ListPage } | { readonly ok: false; readonly failure: Failure };

const NAME_BYTES_MAX = 256;
const URI_BYTES_MAX = 8_192;
const CURSOR_UNITS_MAX = 65_536;
const DESCRIPTION_BYTES_MAX = 64 * 1_024;
const MODEL_DESCRIPTION_BYTES = 2_048;
const MARKER = ' … [description cut]';
/** One more than a walk keeps, so that its cap is seen to be passed. */
const PAGE_ENTRIES_MAX = 10_001;
const ARGUMENTS_MAX = 256;
/** Besides the schemas: icons, annotations, `_meta`. Generous, and small enough that nothing downstream can be hurt by it. */
const ITEM_BUDGET = { depthMax: 160, nodesMax: 100_000, unitsMax: 1_024 * 1_024 };
/** Controls, line separators, bidi, lone surrogates: a name with one of these reads as another name. */
const UNFIT = /[\p{Cc}\p{Cs}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/u;

const KEY_FIELDS = {
  tools: 'name',
  resources: 'uri',
  resourceTemplates: 'uriTemplate',
  prompts: 'name',
} as const satisfies Record<ListKind, string>;

/**
 * Reads one page of a list. A bad entry is skipped with its code, its siblings stay; a page that is no list, or whose cursor
 * is no cursor, is a `LIST_FAILED`. All at once: whoever must not hold anybody up opens the page, verifies its entries in
 * slices, and closes it.
 */
export function verifyPage(kind: ListKind, result: unknown): PageVerdict {
  const opened = openPage(kind, result);
  if (!opened.ok) return opened;
  return closePage(
    opened.page,
    opened.page.entries.map((raw, index) => verifyItem(kind, raw, index + 1)),
  );
}

/** Looks at the frame of a page only, never at an entry. */
export function openPage(kind: ListKind, result: unknown): OpenedPage {
  const entries = isRecord(result) ? result[kind] : undefined;
  if (!isRecord(result) || !Array.isArray(entries)) return noPage(`the answer has no list "${kind}"`);
  const nextCursor = result['nextCursor'] ?? undefined;
  if (nextCursor !== undefined && (typeof nextCursor !== 'string' || nextCursor.length > CURSOR_UNITS_MAX)) {
    return noPage(`"nextCursor" of the list "${kind}" is no usable cursor`);
  }
  const read: readonly unknown[] = entries.slice(0, PAGE_ENTRIES_MAX);
  return { ok: true, page: { kind, entries: read, isCut: entries.length > read.length, nextCursor } };
}

/** Puts together what became of the entries of a page, one verdict for each and in their order. */
export function closePage({ kind, isCut, nextCursor }: OpenPage, verdicts: readonly ItemVerdict[]): PageVerdict {
  const items: ListedItem[] = [];
  const skipped: SkippedItem[] = [];
  for (const verdict of verdicts) {
    if (verdict.ok) items.push({ key: verdict.key, definition: verdict.definition });
    else skipped.push({ key: verdict.key, code: verdict.code });
  }
  // The rest of a page this long is not read; unless the walk's own cap ends it here, that must not pass for a whole list.
  if (isCut && items.length < PAGE_ENTRIES_MAX) {
    return noPage(`one page of the list "${kind}" has more than ${PAGE_ENTRIES_MAX - 1} entries`);
  }
  return { ok: true, page: { items, skipped, nextCursor } };
}

/** Checks one listed item. Never throws, never recurses, never follows a reference, whatever the server sent. */
export function verifyItem(kind: ListKind, raw: unknown, position = 1): ItemVerdict {
  const place = `#${position}`;
  if (!isRecord(raw)) return skip(place, 'ITEM_NAME', 'is no object');
  const field = KEY_FIELDS[kind];
  const key = raw[field];
  if (typeof key !== 'string') return skip(place, 'ITEM_NAME', `"${field}" is no string`);
  const nameFault = keyFault(key, kind);
  if (nameFault !== null) return skip(place, 'ITEM_NAME', `"${field}" ${nameFault}`);
  const schemaProblem = kind === 'tools' ? toolFault(raw) : kind === 'prompts' ? argumentsFault(raw['arguments']) : null;
  if (schemaProblem !== null) return skip(key, 'ITEM_SCHEMA', schemaProblem);
  const description = raw['description'];
  if (typeof description === 'string' && isLonger(description, DESCRIPTION_BYTES_MAX)) {
    return skip(key, 'ITEM_DESCRIPTION', `"description" is longer than ${DESCRIPTION_BYTES_MAX} bytes`);
  }
  const budgetFault = overBudget(raw, ITEM_BUDGET);
  return budgetFault === null ? { ok: true, key, definition: raw } : skip(key, 'ITEM_SCHEMA', budgetFault);
}

/** The description as a model sees it: cleaned, at most 2 KiB; what is cut off is marked. Empty where there is none. */
export function modelDescription(definition: Definition): string {
  const description = definition['description'];
  if (typeof description !== 'string') return '';
  const { text } = modelText(description);
  if (!isLonger(text, MODEL_DESCRIPTION_BYTES)) return text;
  return cutUtf8(text, MODEL_DESCRIPTION_BYTES - utf8Bytes(MARKER)) + MARKER;
}

function keyFault(key: string, kind: ListKind): string | null {
  if (key === '') return 'is empty';
  const bytesMax = kind === 'tools' || kind === 'prompts' ? NAME_BYTES_MAX : URI_BYTES_MAX;
  if (isLonger(key, bytesMax)) return `is longer than ${bytesMax} bytes`;
  return UNFIT.test(key) ? 'holds characters that cannot be shown' : null;
}

function toolFault(raw: Definition): string | null {
  const input = raw['inputSchema'];
  // Left out, it takes any object; null is no schema.
  const inputFault = input === undefined ? null : schemaFault(input, 'object');
  if (inputFault !== null) return `"inputSchema" ${inputFault}`;
  const outputFault = schemaFault(raw['outputSchema'] ?? {}, 'anything');
  return outputFault === null ? null : `"outputSchema" ${outputFault}`;
}

function argumentsFault(list: unknown): string | null {
  if (list === undefined || list === null) return null;
  if (!Array.isArray(list) || list.length > ARGUMENTS_MAX) return `"arguments" is no list of at most ${ARGUMENTS_MAX}`;
  const areNamed = list.every(
    (one: unknown) => isRecord(one) && typeof one['name'] === 'string' && keyFault(one['name'], 'prompts') === null,
  );
  return areNamed ? null : '"arguments" has one without a usable name';
}

/** A unit takes one to three bytes: only a text between the two is encoded to be measured. */
const isLonger = (text: string, bytesMax: number): boolean =>
  text.length > bytesMax || (text.length * 3 > bytesMax && utf8Bytes(text) > bytesMax);

const isRecord = (value: unknown): value is Definition => typeof value === 'object' && value !== null && !Array.isArray(value);

const skip = (key: string, code: Code, reason: string): ItemVerdict => ({ ok: false, key, code, reason });

const noPage = (message: string): { readonly ok: false; readonly failure: Failure } => ({
  ok: false,
  failure: failure('LIST_FAILED', message),
});
