import type { PutOutcome, WantedServer } from '../config/wanted-servers.js';
import { DIALECTS } from '../import/dialects.js';
import type { ImportNote } from '../import/entry-draft.js';
import type { ImportedServer } from '../import/find-servers.js';
import { serverIdFor } from '../import/server-id.js';
import { quoted, visibleLine } from '../shared/visible-text.js';
import type { ImportSource } from './import-sources.js';

/** What becomes of one server of another program. Names keys, never values. */
export interface PlannedServer {
  readonly file: string;
  readonly program: string;
  /** Where it stands in its file. */
  readonly place: string;
  readonly name: string;
  /** Its id here; null when no id can be made of its name, or it has no entry. */
  readonly id: string | null;
  readonly action: PutOutcome['action'];
  readonly why: string | null;
  readonly notes: readonly ImportNote[];
}

interface Candidate {
  readonly file: string;
  readonly server: ImportedServer;
  readonly wanted: WantedServer | null;
}

/** The servers of all sources, in order, and what each would be here. */
export function candidatesOf(sources: readonly ImportSource[]): readonly Candidate[] {
  return sources.flatMap(({ file, servers }) =>
    (servers ?? []).map((server) => {
      const id = serverIdFor(server.name);
      return { file, server, wanted: id === null || server.entry === null ? null : { id, entry: server.entry } };
    }),
  );
}

export const wantedOf = (candidates: readonly Candidate[]): readonly WantedServer[] =>
  candidates.flatMap(({ wanted }) => wanted ?? []);

/** Tells for each candidate what was decided; `outcomes` are those of `wantedOf`, in its order. */
export function planOf(candidates: readonly Candidate[], outcomes: readonly PutOutcome[]): readonly PlannedServer[] {
  const next = outcomes[Symbol.iterator]();
  return candidates.map(({ file, server, wanted }) => {
    const { place, name, refusal, notes, format } = server;
    const head = { file, program: DIALECTS[format].program, place, name };
    const outcome = wanted === null ? undefined : next.next().value;
    if (outcome === undefined) {
      const key = refusal === null || refusal.key === '' ? '' : `${refusal.key}: `;
      const why = refusal === null ? 'no id can be made of its name' : `${key}${refusal.why}`;
      return { ...head, id: null, action: 'skipped', why, notes: [] };
    }
    const { id, action, why } = outcome;
    const isWritten = action === 'added' || action === 'replaced';
    const own = outcome.notes.map((said): ImportNote => ({ key: '', kind: 'note', why: said }));
    return { ...head, id, action, why, notes: isWritten ? [...notes, ...own] : [] };
  });
}

/** The plan for people: the servers of each file, with what cannot be carried over under each. */
export function renderPlan(plan: readonly PlannedServer[]): readonly string[] {
  return plan.flatMap((server, at) => {
    const { file, program, place } = server;
    const before = plan[at - 1];
    const isFirst = before?.file !== file || before.place !== place;
    const head = isFirst ? [`${quoted(file)}, ${visibleLine(place)} (${program})`] : [];
    const notes = server.notes.map(({ key, kind, why }) => `      ${kind} ${key === '' ? '' : `${key}: `}${why}`);
    return [...head, `  ${quoted(server.name)} ${fateOf(server)}`, ...notes.map(visibleLine)];
  });
}

function fateOf({ name, id, action, why }: PlannedServer): string {
  const as = id === null || id === name ? '' : ` as "${id}"`;
  if (action === 'skipped') return `is left out${as}: ${visibleLine(why ?? '')}`;
  return action === 'same' ? `is there already${as}` : `is ${action}${as}`;
}
