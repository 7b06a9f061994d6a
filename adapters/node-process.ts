import { type ChildProcess, type SpawnOptions, spawn, spawnSync } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { supervisorError } from '../actors/errors.js';
import type { StdioLaunch } from '../actors/ports.js';
import type { ChildPort, ProcessHandlers, ProcessPort } from '../actors/wire-ports.js';
import { ProcGroup } from './shared/proc-group.js';

type Signal = 'SIGTERM' | 'SIGKILL';

/** Loop turns in which what the leader wrote before it died is still taken from its pipes, however much a survivor adds. */
const DRAIN_TURNS_MAX = 64;
/** How long `closeAll` waits for a group that was sent SIGKILL, and how often it looks, in milliseconds. */
const REAP_MS_MAX = 2_000;
const POLL_MS = 5;
/** Up to here characters are counted for bytes: a fault of a few KiB in a bound of MiB. */
const SHORT_FRAME_UNITS = 4_096;

/**
 * Starts processes, each as the leader of its own group, with exactly the environment of the launch and no shell. A group
 * that lives when the host exits is killed on the way out; `closeAll` kills what is left and lets go of every pipe.
 *
 * On Windows there are no groups to signal: SIGTERM does nothing there, SIGKILL ends the tree with `taskkill`.
 */
export function createNodeProcessPort(options: { readonly platform?: NodeJS.Platform } = {}): ProcessPort & {
  closeAll(): Promise<void>;
} {
  const platform = options.platform ?? process.platform;
  const mine = new Set<NodeChild>();
  const registry: Registry = {
    add(child) {
      mine.add(child);
      everybody.add(child);
    },
    remove(child) {
      mine.delete(child);
      everybody.remove(child);
    },
  };
  return {
    spawn: (launch, handlers) => new NodeChild(launch, handlers, platform, registry),
    async closeAll() {
      await Promise.all([...mine].map((child) => child.end()));
    },
  };
}

/** The groups that may have somebody alive, so that none outlives the host. */
interface Registry {
  add(child: NodeChild): void;
  remove(child: NodeChild): void;
}

/** Those of all ports: the host has one exit, and many listeners to it would be taken for a leak. */
const everybody = ((): Registry => {
  const live = new Set<NodeChild>();
  const killAll = (): void => {
    for (const child of live) child.killNow();
  };
  return {
    add(child) {
      if (live.size === 0) process.on('exit', killAll);
      live.add(child);
    },
    remove(child) {
      if (live.delete(child) && live.size === 0) process.off('exit', killAll);
    },
  };
})();

class NodeChild implements ChildPort {
  readonly #child: ChildProcess | null;
  readonly #handlers: ProcessHandlers;
  readonly #registry: Registry;
  readonly #isWindows: boolean;
  readonly #members: ProcGroup | null;
  #isLeaderAlive = false;
  /** Once true the id of the group may belong to somebody else and is never signalled again. */
  #isGroupGone = false;
  #isReported = false;
  #chunks = 0;

  constructor(launch: StdioLaunch, handlers: ProcessHandlers, platform: NodeJS.Platform, registry: Registry) {
    this.#handlers = handlers;
    this.#registry = registry;
    this.#isWindows = platform === 'win32';
    this.#child = this.#start(launch);
    this.#isLeaderAlive = this.#child?.pid !== undefined;
    this.#isGroupGone = !this.#isLeaderAlive;
    this.#members = platform === 'linux' && this.pid !== null ? new ProcGroup(this.pid) : null;
    if (this.#child === null || this.#isGroupGone) return;
    registry.add(this);
    this.#listen(this.#child);
  }

  get pid(): number | null {
    return this.#child?.pid ?? null;
  }

  get bufferedBytes(): number {
    return this.#child?.stdin?.writableLength ?? 0;
  }

  write(frame: string, written?: (error: unknown) => void): void {
    const stdin = this.#child?.stdin;
    if (stdin === null || stdin === undefined || !stdin.writable) {
      const error = supervisorError('LINK_LOST', 'The input of the process is closed.');
      queueMicrotask(() => written?.(error));
      return;
    }
    // As bytes where it is long, so that what waits is counted in bytes; a short one costs less as the text it is. And no
    // callback for who does not ask: it would cost a tenth of a call.
    const bytes = frame.length > SHORT_FRAME_UNITS ? Buffer.from(frame, 'utf8') : frame;
    if (written === undefined) stdin.write(bytes);
    else stdin.write(bytes, (error) => written(error ?? null));
  }

  endInput(): void {
    this.#child?.stdin?.end();
  }

  pauseOutput(): void {
    this.#child?.stdout?.pause();
  }

  resumeOutput(): void {
    this.#child?.stdout?.resume();
  }

  signalGroup(signal: Signal): boolean {
    if (this.#isGroupGone) return false;
    if (this.#isWindows) return this.#signalTree(signal);
    return this.#kill(signal);
  }

  isGroupAlive(): boolean {
    if (this.#isGroupGone) return false;
    if (this.#isLeaderAlive) return true;
    if (this.#isWindows) return this.#gone();
    return this.#kill(0) && (this.#members === null || this.#members.isRunning() || this.#gone());
  }

  destroy(): void {
    for (const stream of this.#streams()) stream.destroy();
  }

  /** Kills the group before this returns, for a host that is exiting. */
  killNow(): void {
    if (!this.#isWindows) this.signalGroup('SIGKILL');
    else if (this.#isLeaderAlive) spawnSync('taskkill', taskkillArguments(this.pid), { windowsHide: true, stdio: 'ignore' });
  }

  /** Kills the group, waits until nobody of it is left, within bounds, and lets go of the pipes and of who is left. */
  async end(): Promise<void> {
    const untilMs = performance.now() + REAP_MS_MAX;
    this.signalGroup('SIGKILL');
    while (this.isGroupAlive() && performance.now() < untilMs) await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    this.#registry.remove(this);
    this.destroy();
  }

  #start(launch: StdioLaunch): ChildProcess | null {
    const options: SpawnOptions = {
      cwd: launch.cwd,
      env: { ...launch.env },
      stdio: ['pipe', 'pipe', 'pipe'],
      shell: false,
      // The leader of its own group, so that one signal reaches everything it starts.
      detached: !this.#isWindows,
      windowsHide: true,
    };
    try {
      const child = spawn(launch.command, [...launch.args], options);
      child.on('error', (error) => {
        if (child.pid === undefined) this.#fail(launch, error);
      });
      child.on('exit', (code, signal) => {
        this.#isLeaderAlive = false;
        this.isGroupAlive();
        this.#drain(() => this.#handlers.exited(code, signal));
      });
      return child;
    } catch (error) {
      // Node throws for what it refuses itself (NUL in an argument) and for some codes of the system (E2BIG).
      queueMicrotask(() => this.#fail(launch, error));
      return null;
    }
  }

  #fail(launch: StdioLaunch, error: unknown): void {
    if (this.#isReported) return;
    this.#isReported = true;
    this.destroy();
    this.#handlers.failed(supervisorError('SPAWN_FAILED', spawnProblem(launch, error), { cause: error }));
  }

  #listen(child: ChildProcess): void {
    const { pid, stdin, stdout, stderr } = child;
    if (pid !== undefined) child.once('spawn', () => this.#handlers.started(pid));
    // These stay on: a late EPIPE or ECONNRESET must find a listener, or it takes the host down.
    stdin?.on('error', (error) => this.#handlers.inputFailed(error));
    stdout?.on('error', (error) => this.#handlers.inputFailed(error));
    stderr?.on('error', () => undefined);
    stdout?.on('data', (chunk: Buffer) => {
      this.#chunks += 1;
      this.#handlers.stdout(chunk);
    });
    stderr?.on('data', (chunk: Buffer) => {
      this.#chunks += 1;
      this.#handlers.stderr(chunk);
    });
    stdout?.on('end', () => {
      if (this.#isLeaderAlive) this.#handlers.inputFailed(new Error('The process closed its output.'));
    });
  }

  /**
   * Calls `done` when everything the leader wrote before it died has been handed on. A survivor may hold the pipes open for
   * ever, so `close` is no measure: two turns of the event loop in which nothing came are.
   */
  #drain(done: () => void): void {
    let turns = 0;
    let quiet = 0;
    let seen = this.#chunks;
    const turn = (): void => {
      turns += 1;
      quiet = this.#chunks === seen ? quiet + 1 : 0;
      seen = this.#chunks;
      if (quiet >= 2 || turns >= DRAIN_TURNS_MAX) done();
      else setImmediate(turn);
    };
    setImmediate(turn);
  }

  /** Signals the POSIX group; 0 only asks. False, and never again, when nobody is left. */
  #kill(signal: Signal | 0): boolean {
    const { pid } = this;
    if (pid === null) return this.#gone();
    try {
      process.kill(-pid, signal);
      return true;
    } catch (error) {
      // EPERM: somebody is there who may not be signalled, as after a change of user.
      if (errnoCode(error) === 'EPERM') return true;
      // The leader itself is a member until it is reaped.
      return this.#isLeaderAlive ? true : this.#gone();
    }
  }

  /** Windows: the graceful step there is the end of input, so only SIGKILL does anything. */
  #signalTree(signal: Signal): boolean {
    if (!this.#isLeaderAlive) return this.#gone();
    if (signal === 'SIGTERM') return true;
    const killer = spawn('taskkill', taskkillArguments(this.pid), { windowsHide: true, stdio: 'ignore' });
    killer.on('error', () => this.#child?.kill('SIGKILL'));
    killer.on('exit', (code) => {
      if (code !== 0 && this.#isLeaderAlive) this.#child?.kill('SIGKILL');
    });
    return true;
  }

  #gone(): false {
    this.#isGroupGone = true;
    this.#registry.remove(this);
    return false;
  }

  #streams(): (Readable | Writable)[] {
    const { stdin, stdout, stderr } = this.#child ?? {};
    return [stdin, stdout, stderr].filter((stream) => stream !== null && stream !== undefined);
  }
}

const taskkillArguments = (pid: number | null): string[] => ['/PID', String(pid), '/T', '/F'];

/** Names the file and the system's code; never the environment, and no argument. */
function spawnProblem(launch: StdioLaunch, error: unknown): string {
  const code = errnoCode(error) ?? 'unknown error';
  const hints: Readonly<Record<string, string>> = {
    ENOENT: 'the file, its interpreter or the working directory does not exist',
    EACCES: 'it may not be executed',
    EAGAIN: 'no more processes may be started',
    EMFILE: 'too many files are open',
    E2BIG: 'the arguments and the environment are too long',
  };
  const hint = hints[code];
  return `Could not start ${launch.command}: ${code}${hint === undefined ? '' : `, ${hint}`}.`;
}

function errnoCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}
