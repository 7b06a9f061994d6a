import { readdirSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { filter, firstValueFrom, timeout } from 'rxjs';
import { expect, vi } from 'vitest';
import type { ServerStatus, Supervisor, Workspace, WorkspaceOptions, WorkspaceStatus } from '../../actors/api.js';
import { createStateDb } from '../../adapters/state/state-db.js';
import { systemClock } from '../../adapters/system-clock.js';
import { createSupervisor, type NodeSupervisorOptions } from '../../index.js';
import { followTimers } from './own-timers.js';
import { countPipes, findMarked } from './stdio-harness.js';

const fixtures = join(import.meta.dirname, '../fixtures');
const packages = join(import.meta.dirname, '../../node_modules/@modelcontextprotocol');

/** Longest wait for a status that has to come; generous, as the machine that runs the tests may be busy. */
const WAIT_MS_MAX = 20_000;

export interface Entry {
  readonly command: string;
  readonly args: readonly string[];
  readonly [field: string]: unknown;
}

export interface UserConfig {
  readonly mcpServers: Readonly<Record<string, Entry>>;
  readonly [setting: string]: unknown;
}

export interface OpenOptions {
  readonly user?: UserConfig;
  /** `.mcp.json` of the workspace. */
  readonly project?: { readonly mcpServers: Readonly<Record<string, Entry>> };
  readonly workspace?: WorkspaceOptions;
  readonly supervisor?: NodeSupervisorOptions;
}

/** A temporary workspace with a supervisor on real files and processes. */
export interface RealWorkspace extends AsyncDisposable {
  /** Holds everything of this run; its name is on the command line of every process started from here. */
  readonly home: string;
  readonly root: string;
  readonly userFile: string;
  readonly projectFile: string;
  /** A fixture, marked; all its tools are allowed. */
  fixture(file: string, ...flags: string[]): Entry;
  hostile(mode: string, ...flags: string[]): Entry;
  /** A published server, marked; all its tools are allowed. */
  published(name: string, ...args: string[]): Entry;
  writeUser(config: UserConfig | string): Promise<void>;
  writeProject(config: object | string): Promise<void>;
  /** Opens the workspace and waits for its first configuration. Once. */
  open(options?: OpenOptions): Promise<Workspace>;
  /** Of the open workspace. */
  readonly supervisor: Supervisor;
  /** Of the processes started from here that are alive. */
  readonly pids: readonly number[];
  /** Closes the supervisor, and asserts that nothing of it is left. Also done by the end of the block. */
  end(): Promise<void>;
}

/** What a run takes from the process it runs in. */
interface Held {
  /** Descriptors of pipes and sockets. */
  readonly pipes: number;
  /** Files and directories that are watched. */
  readonly watches: number;
  readonly listeners: number;
}

const held = (): Held => ({
  pipes: countPipes(),
  watches: countWatches(),
  listeners: process.eventNames().reduce((sum, name) => sum + process.listenerCount(name), 0),
});

/**
 * SQLite's binding keeps a runtime of its own for as long as the process lives, from the first store on: a few descriptors, once.
 * They are there before anything is counted.
 */
async function loadStateDb(home: string): Promise<void> {
  const db = createStateDb({ dir: join(home, 'first-state'), clock: systemClock });
  await db.setTrusted('/nowhere', false);
  await db.close();
}

/** Use it with `await using`: whatever becomes of the test, the supervisor is closed and what it leaves fails the test. */
export async function realWorkspace(): Promise<RealWorkspace> {
  const home = await realpath(await mkdtemp(join(tmpdir(), 'mcp-sup-real-')));
  const root = join(home, 'workspace');
  await mkdir(root);
  const userFile = join(home, 'user.json');
  const projectFile = join(root, '.mcp.json');
  await loadStateDb(home);
  const before = held();
  const timers = followTimers();
  let supervisor: Supervisor | null = null;

  const entry = (script: string, args: readonly string[]): Entry => ({
    command: process.execPath,
    args: [script, ...args, `--marker=${home}`],
    approveTools: ['*'],
  });
  const here: RealWorkspace = {
    home,
    root,
    userFile,
    projectFile,
    fixture: (file, ...flags) => entry(join(fixtures, file), flags),
    hostile: (mode, ...flags) => entry(join(fixtures, 'hostile-server.mjs'), [`--mode=${mode}`, ...flags]),
    published: (name, ...args) => entry(join(packages, name, 'dist/index.js'), args),
    writeUser: (config) => writeFile(userFile, jsonOf(config)),
    writeProject: (config) => writeFile(projectFile, jsonOf(config)),
    async open({ user, project, workspace = {}, supervisor: options = {} } = {}) {
      if (user !== undefined) await here.writeUser(user);
      if (project !== undefined) await here.writeProject(project);
      supervisor = createSupervisor({
        ...options,
        paths: { userConfig: userFile, stateDir: join(home, 'state') },
      });
      const opened = await supervisor.openWorkspace(root, workspace);
      await opened.loaded;
      return opened;
    },
    get supervisor() {
      if (supervisor === null) throw new Error('it is not open');
      return supervisor;
    },
    get pids() {
      return findMarked(home).alive;
    },
    async end() {
      await supervisor?.close();
      // At once: `close` has settled, and by then nothing is left.
      expect({ ...findMarked(home), timers: timers.running() }).toEqual({ alive: [], zombies: 0, timers: [] });
      // A handle that is closed gives its descriptor back a turn of the event loop later.
      await vi.waitFor(() => expect(held()).toEqual(before));
    },
    async [Symbol.asyncDispose]() {
      try {
        await here.end();
      } finally {
        timers.stop();
        // A test that fails must not leave its servers to the next one.
        for (const pid of here.pids) process.kill(pid, 'SIGKILL');
        await rm(home, { recursive: true, force: true });
      }
    },
  };
  return here;
}

/** What this process watches, over all its inotify descriptors. */
function countWatches(): number {
  let watches = 0;
  for (const fd of readdirSync('/proc/self/fdinfo')) {
    try {
      watches += readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8').match(/^inotify wd:/gm)?.length ?? 0;
    } catch {
      // The descriptor this directory was read with is gone.
    }
  }
  return watches;
}

const jsonOf = (config: object | string): string => (typeof config === 'string' ? config : JSON.stringify(config, null, 2));

/** The first status, now or later, of which this holds; says what it was instead when none comes. */
export async function until(workspace: Workspace, holds: (status: WorkspaceStatus) => boolean): Promise<WorkspaceStatus> {
  try {
    return await firstValueFrom(workspace.status$.pipe(filter(holds), timeout({ first: WAIT_MS_MAX })));
  } catch (cause) {
    const { workspace: about, servers } = workspace.status();
    throw new Error(`not reached, but: ${[JSON.stringify(about.config), ...servers.map(inShort)].join('\n')}`, { cause });
  }
}

const inShort = ({ id, phase, stage, generation, pid, blockedBy, error, tools }: ServerStatus): string =>
  JSON.stringify({ id, phase, stage, generation, pid, blockedBy, error, tools });

/** The same of one server. */
export async function untilServer(
  workspace: Workspace,
  id: string,
  holds: (server: ServerStatus) => boolean,
): Promise<ServerStatus> {
  const one = ({ servers }: WorkspaceStatus): ServerStatus | undefined => servers.find((server) => server.id === id);
  const status = await until(workspace, (now) => {
    const server = one(now);
    return server !== undefined && holds(server);
  });
  return one(status) as ServerStatus;
}

export const isReady = ({ phase, stage }: ServerStatus): boolean => phase === 'ready' && stage === null;

export const untilReady = (workspace: Workspace, id: string): Promise<ServerStatus> => untilServer(workspace, id, isReady);

/** Waits until all of them are. */
export const untilAllReady = (workspace: Workspace, ...ids: string[]): Promise<WorkspaceStatus> =>
  until(workspace, ({ servers }) => ids.every((id) => servers.some((server) => server.id === id && isReady(server))));

/** Every distinct `phase generation` a server goes through from now on. */
export function recordPhases(workspace: Workspace): { of(id: string): readonly string[]; stop(): void } {
  const seen = new Map<string, string[]>();
  const subscription = workspace.status$.subscribe(({ servers }) => {
    for (const { id, phase, generation } of servers) {
      const phases = seen.get(id) ?? [];
      const now = `${phase} ${generation}`;
      if (phases.at(-1) !== now) phases.push(now);
      seen.set(id, phases);
    }
  });
  return { of: (id) => seen.get(id) ?? [], stop: () => subscription.unsubscribe() };
}

/** Id to process and generation, of all servers. */
export const lives = (workspace: Workspace): Readonly<Record<string, string>> =>
  Object.fromEntries(workspace.status().servers.map(({ id, pid, generation }) => [id, `pid ${pid} generation ${generation}`]));

/** The text of a result's first block. */
export function textOf(result: { readonly [key: string]: unknown }): string {
  const [first] = result['content'] as readonly { readonly text?: string }[];
  return first?.text ?? '';
}
