import { byLuck } from './in-flight.js';

/** What a server offers, page by page, and how its cursors go on. */
export interface Shelf {
  /** Names of its tools by page. */
  readonly pages: readonly (readonly string[])[];
  /** After the last page: nothing, back to one that was read, or on to pages that never end. */
  readonly end: 'stops' | 'loops' | 'never';
  /** The first cursor is the empty string. */
  readonly hasEmptyCursor: boolean;
  /** Goes into every definition: another text is another definition. */
  readonly edition: number;
}

/** What every server has: a tool that may be called, one to be asked about, one that is denied, one that says much. */
export const TOOLS = ['free', 'asked', 'denied', 'long'] as const;

export const plainShelf: Shelf = { pages: [TOOLS], end: 'stops', hasEmptyCursor: false, edition: 1 };

const cursorOf = (shelf: Shelf, page: number): string => (shelf.hasEmptyCursor && page === 1 ? '' : `page ${page}`);

/** The answer to `tools/list` at a cursor. */
export function toolsPage(shelf: Shelf, cursor: string | undefined): object {
  const page = cursor === undefined ? 0 : cursor === '' ? 1 : Number(cursor.slice('page '.length));
  const names = shelf.pages[page] ?? [`extra-${page}`];
  const tools = names.map((name) => ({
    name,
    description: `edition ${shelf.edition}`,
    inputSchema: { type: 'object', properties: { n: { type: 'number' } } },
  }));
  const isLast = page >= shelf.pages.length - 1;
  if (!isLast || shelf.end === 'never') return { tools, nextCursor: cursorOf(shelf, page + 1) };
  return shelf.end === 'stops' ? { tools } : { tools, nextCursor: cursorOf(shelf, Math.max(1, page)) };
}

/** What becomes of one request at its server. `progress` is news of it, and the request goes on. */
export type Fate =
  | { readonly kind: 'result' | 'twice'; readonly value: unknown }
  | { readonly kind: 'error' }
  | { readonly kind: 'never' }
  | { readonly kind: 'progress' }
  | { readonly kind: 'death' };

const garbage = [null, 'text', 7, [], { resultType: 'unheard of' }, { tools: 'none' }, { tools: [{ name: 4 }, null] }];

/** The answer of a server to one request, by luck; what is garbage differs with the number. */
export function fateOf(method: string, params: unknown, shelf: Shelf, luck: number, number: number): Fate {
  const kind = byLuck<Fate['kind'] | 'garbage'>(luck, 'result', [
    [3, 'error'],
    [2, 'never'],
    [4, 'progress'],
    [2, 'garbage'],
    [2, 'twice'],
    [1, 'death'],
  ]);
  if (kind === 'garbage') return { kind: 'result', value: garbage[number % garbage.length] };
  if (kind === 'progress' && method !== 'tools/call') return { kind: 'error' };
  if (kind !== 'result' && kind !== 'twice') return { kind };
  return { kind, value: valueOf(method, params, shelf) };
}

function valueOf(method: string, params: unknown, shelf: Shelf): unknown {
  const given = (params ?? {}) as { readonly cursor?: string; readonly name?: string; readonly arguments?: { n?: number } };
  if (method === 'tools/list') return toolsPage(shelf, given.cursor);
  if (method !== 'tools/call') return { [method.slice(0, method.indexOf('/'))]: [] };
  const text = given.name === 'long' ? 'a line of a long answer\n'.repeat(400) : 'done';
  return { content: [{ type: 'text', text }], n: given.arguments?.n };
}
