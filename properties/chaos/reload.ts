import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Workspace } from '../../actors/api.js';
import { createSupervisor, SupervisorError } from '../../index.js';
import { alive, type ChaosOptions, type ChaosReport, Faults } from './chaos-run.js';
import { BAD, type Edit, type Files, GOOD } from './reload-edits.js';

/** Calls in flight on each server that is under load. */
const CALLERS = 4;
/** Every so many reloads, the server that changes is another one, and one more comes or goes. */
const CHANGE_EVERY = 10;

interface ReloadOptions extends ChaosOptions {
  /** Servers that no reload may touch: `one` and `two`; a third, `changing`, is what would be noticed. */
  readonly steady?: readonly string[];
}

/**
 * Reloads real files as often as it is told, every second of them bad, with calls running all the time: whatever a reload did
 * to a server whose definition stayed, or to a call on it, is a fault.
 */
export async function reloadRun({ home, times, server, steady = ['one', 'two'] }: ReloadOptions): Promise<ChaosReport> {
  const root = join(home, 'workspace');
  await mkdir(root);
  const entry = (...flags: string[]) => ({ command: process.execPath, args: [server, ...flags], approveTools: ['*'] });
  const base: Omit<Files, 'round'> = {
    user: join(home, 'user.json'),
    project: join(root, '.mcp.json'),
    config: (round) => {
      const change = Math.floor(round / CHANGE_EVERY);
      const guest = change % 2 === 0 ? {} : { guest: entry('--guest') };
      return {
        mcpServers: {
          one: entry('--one'),
          two: entry('--two'),
          changing: { ...entry(`--${change}`), lifecycle: 'eager' },
          ...guest,
        },
      };
    },
  };
  await writeFile(base.user, JSON.stringify(base.config(0)));
  const supervisor = createSupervisor({ paths: { userConfig: base.user, stateDir: join(home, 'state') } });
  const pids = new Set<number>();
  try {
    const workspace = await supervisor.openWorkspace(root, { trusted: true });
    await workspace.connectAll();
    workspace.status$.subscribe(({ servers }) => {
      for (const { pid } of servers) if (pid !== null) pids.add(pid);
    });
    const counted = await reloadUnderLoad(workspace, base, times, steady);
    await supervisor.close();
    return report(counted, alive(pids), times);
  } finally {
    await supervisor.close();
    for (const pid of alive(pids)) process.kill(pid, 'SIGKILL');
  }
}

interface Counts {
  readonly load: Load;
  readonly misread: Faults;
  readonly restarts: Faults;
  readonly taken: number;
  readonly rejected: number;
}

async function reloadUnderLoad(
  workspace: Workspace,
  base: Omit<Files, 'round'>,
  times: number,
  steady: readonly string[],
): Promise<Counts> {
  const [misread, restarts] = [new Faults(), new Faults()];
  const life = (id: string): string => {
    const { pid, generation, restarts: count } = workspace.server(id).status();
    return `pid ${String(pid)}, generation ${generation}, restarts ${count}`;
  };
  const lives = new Map(steady.map((id) => [id, life(id)]));
  const load = startLoad(workspace, steady);
  let [taken, rejected] = [0, 0];
  for (let round = 0; round < times; round += 1) {
    const edit = editOf(round);
    await edit.make({ ...base, round });
    const { state } = (await workspace.reload()).workspace.config;
    if (state === 'valid') taken += 1;
    if (state === 'rejected') rejected += 1;
    if (state !== (edit.isGood ? 'valid' : 'rejected')) misread.add(`reload ${round}, ${edit.what}: ${state}`);
    for (const [id, before] of lives) {
      const now = life(id);
      if (now !== before) restarts.add(`reload ${round}, ${edit.what}: "${id}" was ${before}, is ${now}`);
      lives.set(id, now);
    }
  }
  await load.stop();
  return { load, misread, restarts, taken, rejected };
}

/** Good and bad by turns; each of a kind has its turn. */
function editOf(round: number): Edit {
  const list = round % 2 === 0 ? GOOD : BAD;
  return list[Math.floor(round / 2) % list.length] as Edit;
}

interface Load {
  readonly calls: number;
  readonly failed: Faults;
  stop(): Promise<void>;
}

/** Calls each of the servers, one after the other and several at once, until it is stopped; then the last are waited for. */
function startLoad(workspace: Workspace, ids: readonly string[]): Load {
  const failed = new Faults();
  let [calls, isOver] = [0, false];
  const caller = async (id: string, which: number): Promise<void> => {
    while (!isOver) {
      const said = `${which}.${calls}`;
      calls += 1;
      try {
        const result = await workspace.call(`mcp__${id}__echo`, { text: said });
        if (!JSON.stringify(result).includes(said)) failed.add(`"${id}" answered something else`);
      } catch (error) {
        failed.add(`"${id}": ${SupervisorError.is(error) ? error.code : String(error)}`);
      }
      // Whoever reloads has its turn too.
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  const callers = ids.flatMap((id) => Array.from({ length: CALLERS }, (_, which) => caller(id, which)));
  return {
    get calls() {
      return calls;
    },
    failed,
    stop: async () => {
      isOver = true;
      await Promise.all(callers);
    },
  };
}

function report({ load, misread, restarts, taken, rejected }: Counts, left: readonly number[], times: number): ChaosReport {
  const line = [
    `reloads: ${times}`,
    `taken: ${taken}`,
    `rejected: ${rejected}`,
    `restarts of unchanged servers: ${restarts.count}`,
    `calls: ${load.calls}`,
    `calls failed: ${load.failed.count}`,
    `processes left: ${left.length}`,
  ].join(', ');
  const faults = [...misread.list, ...restarts.list, ...load.failed.list, ...left.map((pid) => `process ${pid} is left`)];
  // A run in which nobody called proves nothing.
  return { line, faults: load.calls < times ? [...faults, `only ${load.calls} calls were made`] : faults };
}
