/** What a search looks at, lowered once when the catalogue changes. */
export interface RankedTool {
  readonly fullName: string;
  readonly server: string;
  readonly lowered: { readonly fullName: string; readonly name: string; readonly server: string; readonly description: string };
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

export function rankedTool(tool: { fullName: string; tool: string; server: string; description: string }): RankedTool {
  return {
    fullName: tool.fullName,
    server: tool.server,
    lowered: {
      fullName: tool.fullName.toLowerCase(),
      name: tool.tool.toLowerCase(),
      server: tool.server.toLowerCase(),
      description: tool.description.toLowerCase(),
    },
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
  const text = query.text.trim().toLowerCase();
  const terms = text === '' ? [] : text.split(/\s+/);
  // Positions come in the order of full names, so that each score's list is sorted as it grows; no page needs more than `limit`.
  const byScore = new Map<number, number[]>();
  let total = 0;
  let behind = 0;
  index.forEach((tool, position) => {
    if (query.server !== undefined && tool.server !== query.server) return;
    const score = scoreOf(tool, terms, text);
    if (score === null || query.admits?.(position) === false) return;
    total += 1;
    if (!isBehind(tool, score, query.after)) return;
    behind += 1;
    const positions = byScore.get(score);
    if (positions === undefined) byScore.set(score, [position]);
    else if (positions.length < query.limit) positions.push(position);
  });
  const best = [...byScore].sort(([one], [other]) => other - one);
  const hits = best.flatMap(([score, positions]) => positions.map((position) => ({ position, score }))).slice(0, query.limit);
  return { hits, total, left: behind - hits.length };
}

function scoreOf({ lowered }: RankedTool, terms: readonly string[], text: string): number | null {
  const isFullName = lowered.fullName === text;
  let score = isFullName ? FULL_NAME : 0;
  for (const term of terms) {
    const name = NAME * closeness(lowered.name, term);
    const hit = name + SERVER * closeness(lowered.server, term) + DESCRIPTION * closeness(lowered.description, term);
    if (hit === 0 && !isFullName) return null;
    score += hit;
  }
  return score;
}

function closeness(field: string, term: string): number {
  const at = field.indexOf(term);
  if (at < 0) return 0;
  if (at > 0) return 0.5;
  return field.length === term.length ? 1 : 0.75;
}

function isBehind(tool: RankedTool, score: number, after: RankingQuery['after']): boolean {
  if (after === undefined || score < after.score) return true;
  return score === after.score && tool.fullName > after.fullName;
}
