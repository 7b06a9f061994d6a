import { byFullName, type RankedTool, type Ranking, rank } from '../machines/ranking.js';
import type { ServerId } from '../machines/vocabulary.js';
import { supervisorError } from './errors.js';
import { hitOf } from './listing-page.js';
import type { ToolEntry } from './tool-entry.js';

export interface SearchQuery {
  readonly query: string;
  readonly server?: ServerId | undefined;
  /** Default 12, at most 40. */
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
  /** Only tools whose texts this says yes to. */
  readonly admits?: ((entry: ToolEntry) => boolean) | undefined;
}

export interface SearchPage {
  readonly hits: readonly { readonly entry: ToolEntry; readonly score: number }[];
  readonly total: number;
  readonly nextCursor: string | null;
}

const SEARCH_DEFAULT = 12;
const SEARCH_MAX = 40;
const TERMS_MAX = 16;
const QUERY_UNITS_MAX = 512;

/** The tools of one server in the order of full names, and as a search looks at them. */
export interface ToolIndex {
  readonly entries: readonly ToolEntry[];
  readonly ranked: readonly RankedTool[];
}

export function toolIndex(tools: readonly ToolEntry[]): ToolIndex {
  const entries = tools.toSorted(byFullName);
  return { entries, ranked: entries.map(({ ranked }) => ranked) };
}

/**
 * The best hits of all these servers. Each is ranked by itself and the best are merged, so that a server that changes costs
 * the others nothing. `INVALID_ARGUMENTS` for a query that is too long and a cursor that is none of ours.
 */
export function searchTools(
  indexes: readonly ToolIndex[],
  { query, limit = SEARCH_DEFAULT, cursor, admits }: SearchQuery,
): SearchPage {
  if (query.length > QUERY_UNITS_MAX || query.trim().split(/\s+/).length > TERMS_MAX) {
    throw supervisorError('INVALID_ARGUMENTS', `"query" takes at most ${TERMS_MAX} terms and ${QUERY_UNITS_MAX} characters`);
  }
  const most = Math.min(limit, SEARCH_MAX);
  const after = cursor === undefined ? {} : { after: hitOf(cursor) };
  const rankIn = ({ entries, ranked }: ToolIndex): Ranking =>
    rank(ranked, {
      text: query,
      limit: most,
      ...after,
      ...(admits === undefined ? {} : { admits: (position: number) => admits(entries[position] as ToolEntry) }),
    });
  let total = 0;
  let behind = 0;
  const found: { readonly entry: ToolEntry; readonly score: number }[] = [];
  for (const index of indexes) {
    const ranking = rankIn(index);
    total += ranking.total;
    behind += ranking.hits.length + ranking.left;
    for (const { position, score } of ranking.hits) found.push({ entry: index.entries[position] as ToolEntry, score });
  }
  const hits = found.sort((one, other) => other.score - one.score || byFullName(one.entry, other.entry)).slice(0, most);
  const last = hits.at(-1);
  const isMore = behind > hits.length && last !== undefined;
  return { hits, total, nextCursor: isMore ? `${last.score} ${last.entry.fullName}` : null };
}
