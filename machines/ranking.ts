/** What a search looks at, lowered once when the catalogue changes. */
export interface RankedTool {
  readonly fullName: string;
  readonly server: string;
  /**
   * Name, server and description, lowered, with a newline after each of the first two. No term holds a newline, so what is
   * found lies in one of the three, and one look tells most tools that they do not fit.
   */
  readonly text: string;
  /** Where the name ends in `text`. */
  readonly nameEnd: number;
  /** Where the server ends in `text`. */
  readonly serverEnd: number;
}

export interface RankingQuery {
  readonly text: string;
  /** Only tools of this server. */
  readonly server?: string;
  /** Only tools this says yes to. */
  readonly admits?: (position: number) => boolean;
  /** Continue behind this hit of the page before. */
  readonly after?: { readonly score: number; readonly fullName: string };
  readonly limit: number;
}

export interface Ranking {
  readonly hits: readonly { readonly position: number; readonly score: number }[];
  /** Hits on all pages. */
  readonly total: number;
  /** How many hits stand behind this page. */
  readonly left: number;
}

const NAME = 12;
const SERVER = 8;
const DESCRIPTION = 5;
const FULL_NAME = 20;

/** `description` is what a model sees of it. */
export function rankedTool(tool: { fullName: string; tool: string; server: string; description: string }): RankedTool {
  const { fullName, server } = tool;
  const name = tool.tool.toLowerCase();
  const lowered = server.toLowerCase();
  const nameEnd = name.length;
  return {
    fullName,
    server,
    text: `${name}\n${lowered}\n${tool.description.toLowerCase()}`,
    nameEnd,
    serverEnd: nameEnd + 1 + lowered.length,
  };
}

/** Orders full names as a ranking breaks ties: by UTF-16 unit, in every locale the same. */
export const byFullName = (a: { readonly fullName: string }, b: { readonly fullName: string }): number =>
  a.fullName < b.fullName ? -1 : Number(a.fullName > b.fullName);

/**
 * Ranks tools for a query, best first. Terms are parted by space and all must hit; without a term everything hits. `index` must
 * be in the order of `byFullName`. Linear in the index: only the scores that occur are sorted, and there are few.
 */
export function rank(index: readonly RankedTool[], query: RankingQuery): Ranking {
  const { server, admits, after, limit } = query;
  const text = query.text.trim().toLowerCase();
  const terms = text === '' ? [] : text.split(/\s+/);
  // Positions come in the order of full names, so that each score's list is sorted as it grows; no page needs more than `limit`.
  const byScore = new Map<number, number[]>();
  let total = 0;
  let behind = 0;
  for (let position = 0; position < index.length; position += 1) {
    const tool = index[position] as RankedTool;
    if (server !== undefined && tool.server !== server) continue;
    const score = scoreOf(tool, terms, text);
    if (score === null || admits?.(position) === false) continue;
    total += 1;
    if (!isBehind(tool, score, after)) continue;
    behind += 1;
    const positions = byScore.get(score);
    if (positions === undefined) byScore.set(score, [position]);
    else if (positions.length < limit) positions.push(position);
  }
  const best = [...byScore].sort(([one], [other]) => other - one);
  const hits = best.flatMap(([score, positions]) => positions.map((position) => ({ position, score }))).slice(0, limit);
  return { hits, total, left: behind - hits.length };
}

function scoreOf(tool: RankedTool, terms: readonly string[], text: string): number | null {
  const isFullName = tool.fullName.length === text.length && tool.fullName.toLowerCase() === text;
  let score = isFullName ? FULL_NAME : 0;
  for (const term of terms) {
    const first = tool.text.indexOf(term);
    if (first >= 0) score += hitOf(tool, term, first);
    else if (!isFullName) return null;
  }
  return score;
}

/** What a term scores that stands in the text first at `first`. */
function hitOf({ text, nameEnd, serverEnd }: RankedTool, term: string, first: number): number {
  let at = first;
  let hit = 0;
  if (at < nameEnd) {
    hit += NAME * closeness(at, term.length, nameEnd);
    at = text.indexOf(term, nameEnd + 1);
  }
  if (at >= 0 && at < serverEnd) {
    hit += SERVER * closeness(at - nameEnd - 1, term.length, serverEnd - nameEnd - 1);
    at = text.indexOf(term, serverEnd + 1);
  }
  if (at >= 0) hit += DESCRIPTION * closeness(at - serverEnd - 1, term.length, text.length - serverEnd - 1);
  return hit;
}

/** Of a term of this length at this place of a field: the whole field, its beginning, or something inside. */
function closeness(at: number, length: number, fieldLength: number): number {
  if (at > 0) return 0.5;
  return length === fieldLength ? 1 : 0.75;
}

function isBehind(tool: RankedTool, score: number, after: RankingQuery['after']): boolean {
  if (after === undefined || score < after.score) return true;
  return score === after.score && tool.fullName > after.fullName;
}
