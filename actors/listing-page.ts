import type { ListedItem } from '../machines/list-walk.js';
import type { ListKind, ServerId } from '../machines/vocabulary.js';
import { supervisorError } from './errors.js';

/** A resource, a template or a prompt as it is listed. */
export interface CatalogueListing extends ListedItem {
  readonly server: ServerId;
  readonly kind: ListKind;
  /** Not in the server's last listing, or the server is not running. */
  readonly cached: boolean;
}

export interface PageRequest {
  readonly cursor?: string | undefined;
  /** Default 20, at most 100. */
  readonly limit?: number | undefined;
}

export interface ListingPage {
  readonly items: readonly CatalogueListing[];
  /** On all pages. */
  readonly total: number;
  readonly nextCursor: string | null;
}

const DEFAULT = 20;
const MAX = 100;

/**
 * One page of what is listed, in order of server and key. The cursor names the last item seen, so that a list that changes
 * between two pages neither repeats nor skips what stayed. `INVALID_ARGUMENTS` for a cursor that names none.
 */
export function listingPage(all: readonly CatalogueListing[], server: ServerId | undefined, request: PageRequest): ListingPage {
  const listed = server === undefined ? all : all.filter((item) => item.server === server);
  const start = request.cursor === undefined ? 0 : firstBehind(listed, request.cursor);
  const items = listed.slice(start, start + Math.min(request.limit ?? DEFAULT, MAX));
  const last = items.at(-1);
  const isLast = start + items.length >= listed.length;
  return { items, total: listed.length, nextCursor: isLast || last === undefined ? null : cursorAt(last) };
}

const cursorAt = ({ server, kind, key }: CatalogueListing): string => `${server} ${kind} ${key}`;

/** By server, then by key, then by kind, by UTF-16 unit. */
export function inListingOrder(listed: readonly CatalogueListing[]): readonly CatalogueListing[] {
  return [...listed].sort((a, b) => compare(a.server, b.server) || compare(a.key, b.key) || compare(a.kind, b.kind));
}

function firstBehind(listed: readonly CatalogueListing[], cursor: string): number {
  const [, server, kind, key] = /^([^ ]+) ([A-Za-z]+) (.*)$/s.exec(cursor) ?? [];
  if (server === undefined || kind === undefined || key === undefined) {
    throw supervisorError('INVALID_ARGUMENTS', '"cursor" is not one a list gave');
  }
  const isBehind = (item: CatalogueListing): boolean =>
    (compare(item.server, server) || compare(item.key, key) || compare(item.kind, kind)) > 0;
  const start = listed.findIndex(isBehind);
  return start < 0 ? listed.length : start;
}

const compare = (a: string, b: string): number => (a < b ? -1 : Number(a > b));

/** The last hit of the page before, from a search's cursor. Throws `INVALID_ARGUMENTS` for one that no search gave. */
export function hitOf(cursor: string): { score: number; fullName: string } {
  const [, score, name] = /^(\d{1,6}(?:\.\d{1,2})?) ([A-Za-z0-9_-]{1,64})$/.exec(cursor) ?? [];
  if (score === undefined || name === undefined) throw supervisorError('INVALID_ARGUMENTS', '"cursor" is not one a search gave');
  return { score: Number(score), fullName: name };
}
