import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { expect } from 'vitest';
import type { Supervisor, SupervisorOptions, Workspace, WorkspaceStatus } from '../../actors/api.js';
import { createSupervisor, ProcessPool } from '../../actors/supervisor.js';
import { createFileConfig } from '../../adapters/config/file-config.js';
import { createHttpPort } from '../../adapters/http/guarded-http.js';
import { createLinkPort } from '../../adapters/links/link-port.js';
import { createMemoryDb } from '../../adapters/memory-db.js';
import { createNodeDigest } from '../../adapters/node-digest.js';
import { createNodeProcessPort } from '../../adapters/node-process.js';
import { createPrivateFiles } from '../../adapters/private-files.js';
import { createRedaction } from '../../adapters/shared/redaction.js';
import { systemRandom } from '../../adapters/system-random.js';
import { createVet } from '../../adapters/vet/vet.js';
import { findMarked } from './stdio-harness.js';
import { VirtualClock } from './virtual-clock.js';

const fixtures = join(import.meta.dirname, '../fixtures');

/** Real processes, files, pipes and sockets under a clock that moves only when told to: hours of quiet pass in a test. */
export interface TimedWorkspace extends AsyncDisposable {
  readonly clock: VirtualClock;
  readonly root: string;
  readonly supervisor: Supervisor;
  readonly workspace: Workspace;
  /** Its name is on the command line of every process started from here. */
  readonly home: string;
  /** Opens another handle on the same root. */
  reopen(): Promise<Workspace>;
  /** Of the processes started from here that are alive. */
  readonly pids: readonly number[];
  /** Lets the processes do what they do until this holds, time standing still. */
  until(holds: (status: WorkspaceStatus) => boolean): Promise<WorkspaceStatus>;
  /** The same, while time goes on in steps of so many milliseconds; while a process is started or stopped it goes at its real pace. */
  untilLater(stepMs: number, holds: (status: WorkspaceStatus) => boolean): Promise<WorkspaceStatus>;
}

/** One entry of a user file, everything of it allowed: what listens at `url`, or else a process, the echo server by default. */
export type TimedServer = {
  readonly lifecycle?: string;
  readonly idleTimeout?: number;
  readonly script?: string;
  readonly url?: string;
};

export async function timedWorkspace(
  servers: Readonly<Record<string, TimedServer>>,
  settings: object = {},
  options: SupervisorOptions = {},
): Promise<TimedWorkspace> {
  const home = await realpath(await mkdtemp(join(tmpdir(), 'mcp-sup-timed-')));
  const root = join(home, 'workspace');
  await mkdir(root);
  const userConfigFile = join(home, 'mcp.json');
  const mcpServers = Object.fromEntries(
    Object.entries(servers).map(([id, { script = 'echo-server.mjs', ...fields }]) => [
      id,
      {
        ...(fields.url === undefined && {
          command: process.execPath,
          args: [join(fixtures, script), id, `--marker=${home}`],
        }),
        approveTools: ['*'],
        ...fields,
      },
    ]),
  );
  await writeFile(userConfigFile, JSON.stringify({ mcpServers, ...settings }));
  const clock = new VirtualClock();
  const digest = createNodeDigest();
  const processes = createNodeProcessPort();
  const http = createHttpPort({ env: {} });
  const supervisor = createSupervisor({
    seed: 1,
    ...options,
    pool: new ProcessPool(clock),
    ports: {
      clock,
      random: systemRandom,
      digest,
      fs: createPrivateFiles({ dir: join(home, 'spill') }),
      db: createMemoryDb(),
      config: createFileConfig({ userConfigFile, hostDir: '.mcp-supervisor', env: process.env, clock, digest }),
      vet: createVet({ env: process.env, digest, marker: systemRandom.nonce() }),
      link: createLinkPort({ process: processes, http, clock }),
      log: { write: () => undefined },
      redaction: createRedaction(),
      close: async () => {
        await Promise.all([processes.closeAll(), http.close()]);
      },
    },
  });
  const workspace = await supervisor.openWorkspace(root);
  await workspace.loaded;
  return {
    clock,
    root,
    supervisor,
    workspace,
    home,
    reopen: () => supervisor.openWorkspace(root),
    get pids() {
      return findMarked(home).alive;
    },
    until: (holds) => waitFor(workspace, holds, () => Promise.resolve()),
    untilLater: (stepMs, holds) => waitFor(workspace, holds, (realMs) => clock.run(isMoving(workspace) ? realMs : stepMs)),
    async [Symbol.asyncDispose]() {
      let isClosed = false;
      const closing = supervisor.close().finally(() => {
        isClosed = true;
      });
      await passing(clock, () => isClosed);
      await closing;
      const left = findMarked(home);
      for (const pid of left.alive) process.kill(pid, 'SIGKILL');
      await rm(home, { recursive: true, force: true });
      expect({ ...left, timers: clock.pending }).toEqual({ alive: [], zombies: 0, timers: 0 });
    },
  };
}

/** The system does its part in real time, and hours would pass before it has started or ended a process. */
const isMoving = (workspace: Workspace): boolean =>
  workspace.status().servers.some(({ phase, stage }) => stage === 'closing' || (phase === 'connecting' && stage !== 'slot'));

const WAIT_MS_MAX = 20_000;

/** Time at its real pace until this holds. */
async function passing(clock: VirtualClock, holds: () => boolean): Promise<void> {
  let lastMs = performance.now();
  while (!holds()) {
    const nowMs = performance.now();
    await clock.run(nowMs - lastMs);
    lastMs = nowMs;
    await setImmediate();
  }
}

async function waitFor(
  workspace: Workspace,
  holds: (status: WorkspaceStatus) => boolean,
  /** Told how many milliseconds have passed since the last step. */
  step: (realMs: number) => Promise<void>,
): Promise<WorkspaceStatus> {
  const beganAt = performance.now();
  let lastMs = 0;
  while (!holds(workspace.status())) {
    const nowMs = performance.now() - beganAt;
    if (nowMs > WAIT_MS_MAX) {
      const short = workspace.status().servers.map(({ id, phase, stage, error }) => ({ id, phase, stage, error }));
      throw new Error(`not reached, but: ${JSON.stringify(short)}`);
    }
    await step(nowMs - lastMs);
    lastMs = nowMs;
    // Whatever the processes have said meanwhile is heard.
    await setImmediate();
  }
  return workspace.status();
}
