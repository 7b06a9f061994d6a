import { homedir } from 'node:os';
import { resolve } from 'node:path';
import { supervisorError } from '../../../actors/errors.js';
import type { ConfigFault } from '../../../actors/ports.js';
import { draftServers, type ServersDraft } from '../../config/put-servers.js';
import { defaultPaths } from '../../default-paths.js';
import { DIALECTS } from '../../import/dialects.js';
import { knownPlaces } from '../../import/known-places.js';
import { createNodeDigest } from '../../node-digest.js';
import { quoted, visibleText } from '../../shared/visible-text.js';
import { createDeadline, type Deadline } from '../deadline.js';
import { EXIT } from '../exit-codes.js';
import { candidatesOf, type PlannedServer, planOf, renderPlan, wantedOf } from '../import-plan.js';
import { discoverSources, type ImportSource, sourceNamed } from '../import-sources.js';
import { canAsk, type Io, unlessAborted, write } from '../io.js';
import type { Flags } from '../parse.js';
import { pathsFrom } from '../places.js';
import { renderFault } from '../render-status.js';
import { jsonLine } from '../report.js';
import { askWord, confirm } from '../terminal-prompt.js';

interface Run {
  readonly io: Io;
  readonly flags: Flags;
  readonly deadline: Deadline;
  /** Rejects with `NOT_READY` when `--timeout` is over first, and with `Interrupted` when a signal came. */
  readonly inTime: <T>(work: Promise<T>) => Promise<T>;
}

/**
 * Takes servers of other programs over into the user's file: shows what would be written and what cannot be carried over, and
 * writes it once a person has said so, by `--yes` or on the terminal. Elsewhere it only shows. A no is `BLOCKED_BY_USER`; a
 * file that cannot be read, theirs or the user's, is refused with its place, and nothing is touched.
 */
export async function importCommand(io: Io, flags: Flags, [named]: readonly string[]): Promise<number> {
  const { userConfig: userFile } = defaultPaths(await pathsFrom(io, flags), io.env);
  const deadline = createDeadline(flags.timeoutMs);
  const ending = AbortSignal.any([deadline.signal, io.interrupted]);
  const run: Run = { io, flags, deadline, inTime: (work) => unlessAborted(ending, work) };
  try {
    const { sources, faults } = await run.inTime(found(io, named));
    const chosen = named === undefined ? await chooseAmong(run, sources) : sources;
    const candidates = candidatesOf(chosen);
    const options = { userFile, env: io.env, digest: createNodeDigest(), replace: flags.replace };
    const draft = await run.inTime(draftServers(wantedOf(candidates), options));
    const plan = planOf(candidates, draft.outcomes);
    if (flags.json) return await tellAsJson(run, draft, plan, faults);
    await write(io.stderr, faults.map((fault) => `warning: ${renderFault(fault)}\n`).join(''));
    return await tell(run, draft, plan);
  } finally {
    deadline.end();
  }
}

async function found(io: Io, named: string | undefined): ReturnType<typeof discoverSources> {
  if (named !== undefined) return { sources: [await sourceNamed(resolve(io.cwd, named))], faults: [] };
  const { HOME: home } = io.env;
  return discoverSources(knownPlaces({ home: home ?? homedir(), platform: process.platform, env: io.env }));
}

/** A person may take one of several files; where nobody is asked all are taken. */
async function chooseAmong(run: Run, sources: readonly ImportSource[]): Promise<readonly ImportSource[]> {
  const { io, flags } = run;
  if (sources.length < 2 || flags.yes || flags.json || !canAsk(io)) return sources;
  const lines = sources.map((source, at) => `  ${at + 1}  ${titleOf(source)}\n`).join('');
  const word = await asked(run, () =>
    askWord(io, `Found on this computer:\n${lines}Which one? A number, or all: `, io.interrupted),
  );
  if (word === 'all') return sources;
  const one = /^\d{1,3}$/.test(word ?? '') ? sources[Number(word) - 1] : undefined;
  if (one === undefined) throw nothingChanged();
  return [one];
}

function titleOf({ file, servers }: ImportSource): string {
  const programs = new Set((servers ?? []).map(({ format }) => DIALECTS[format].program));
  const count = servers?.length ?? 0;
  return `${quoted(file)} (${[...programs].join(', ')}): ${count} ${count === 1 ? 'server' : 'servers'}`;
}

async function tell(run: Run, draft: ServersDraft, plan: readonly PlannedServer[]): Promise<number> {
  const { io, flags } = run;
  if (plan.length === 0) {
    await write(io.stdout, 'No server of another program was found. "import FILE" reads a file that you name.\n');
    return EXIT.done;
  }
  const shown = [...renderPlan(plan), ...(draft.diff.length === 0 ? [] : ['', ...draft.diff])];
  await write(io.stdout, `${shown.map(visibleText).join('\n')}\n`);
  if (draft.diff.length === 0) {
    await write(io.stdout, '\nThere is nothing to write.\n');
    return EXIT.done;
  }
  if (!flags.yes && !canAsk(io)) {
    await write(io.stderr, 'Nothing was written. Where nobody can be asked, give --yes.\n');
    return EXIT.done;
  }
  if (!flags.yes && !(await asked(run, () => confirm(io, `Write this to ${quoted(draft.file)}?`, io.interrupted))))
    throw nothingChanged();
  await run.inTime(draft.write());
  await write(io.stdout, `\nWritten to ${quoted(draft.file)}. mcp-supervisor status shows what starts now.\n`);
  return EXIT.done;
}

async function tellAsJson(
  { io, flags, inTime }: Run,
  draft: ServersDraft,
  servers: readonly PlannedServer[],
  faults: readonly ConfigFault[],
): Promise<number> {
  const written = flags.yes && draft.diff.length > 0;
  if (written) await inTime(draft.write());
  await write(io.stdout, jsonLine({ ok: true, written, file: draft.file, servers, faults, diff: draft.diff.join('\n') }));
  return EXIT.done;
}

/** A person's time does not count. */
async function asked<T>({ io, deadline }: Run, question: () => Promise<T>): Promise<T> {
  deadline.pause();
  const answer = await unlessAborted(io.interrupted, question());
  deadline.resume();
  return answer;
}

const nothingChanged = () => supervisorError('BLOCKED_BY_USER', 'Nothing was changed.');
