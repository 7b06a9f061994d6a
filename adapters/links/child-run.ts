import { type Failure, failure, toFailure } from '../../actors/errors.js';
import type { ClockPort, StdioLaunch } from '../../actors/ports.js';
import type { ChildPort, ProcessPort } from '../../actors/wire-ports.js';
import { GroupStop, type StopReport } from './group-stop.js';
import { Inflow, type InflowEvents } from './inflow.js';
import { Outbox } from './outbox.js';

/** How long a process whose pipe broke is given to say by its exit what happened, in milliseconds. */
const BROKEN_PIPE_GRACE_MS = 100;

/** How a run came to its end: the process could not start, it exited, or it lives and is beyond use. */
export interface RunEnd {
  readonly kind: 'unstarted' | 'exited' | 'unusable';
  readonly problem: Failure;
}

/** The same end, in the words for a process that never got to speak. */
export function beforeHandshake({ kind, problem }: RunEnd): Failure {
  if (kind === 'unstarted' || problem.code !== 'LINK_LOST') return problem;
  return failure(kind === 'exited' ? 'EXITED_EARLY' : 'INITIALIZE_FAILED', problem.message);
}

export interface RunEvents extends Omit<InflowEvents, 'unusable'> {
  started(pid: number): void;
  stderr(bytes: Uint8Array): void;
  /** At most once, and not after `stop`. */
  ended(end: RunEnd): void;
}

/** 127 is what `env` and every shell say of a program that is not there, as of the interpreter a `#!` line names. */
function exitOf(code: number | null): string {
  return code === 127
    ? 'exit code 127: its interpreter, or a program it starts, is not on its PATH'
    : `exit code ${String(code)}`;
}

/** One life of one process: its pipes as messages, one end, and the stop that leaves nothing of it. */
export class ChildRun {
  readonly #clock: ClockPort;
  readonly #events: RunEvents;
  readonly #child: ChildPort;
  readonly #stop: GroupStop;
  readonly #inflow: Inflow;
  readonly outbox: Outbox;
  /** Settles when the process runs or never will. */
  readonly up: Promise<void>;
  #isUp: () => void = () => undefined;
  #isOver = false;
  #brokenTimer: unknown = null;

  constructor(deps: { readonly process: ProcessPort; readonly clock: ClockPort }, launch: StdioLaunch, events: RunEvents) {
    this.#clock = deps.clock;
    this.#events = events;
    this.up = new Promise((resolve) => {
      this.#isUp = resolve;
    });
    this.#child = deps.process.spawn(launch, {
      started: (pid) => this.#started(pid),
      failed: (error) => this.#failed(error),
      stdout: (chunk) => this.#inflow.push(chunk),
      stderr: (chunk) => events.stderr(chunk),
      exited: (code, signal) => this.#exited(code, signal),
      inputFailed: (error) => this.#broke(error),
    });
    this.outbox = new Outbox(this.#child);
    this.#inflow = new Inflow(this.#child, this.#clock, {
      message: (message) => events.message(message),
      wants: (id) => events.wants(id),
      dropped: (id, problem) => events.dropped(id, problem),
      noise: (sample) => events.noise(sample),
      unusable: (problem) => this.#end({ kind: 'unusable', problem }),
    });
    this.#stop = new GroupStop(this.#child, this.#clock);
  }

  get pid(): number | null {
    return this.#child.pid;
  }

  /** Takes nothing more in either direction and ends the process group; joins a stop under way. */
  stop(): Promise<StopReport> {
    this.#finish();
    return this.#stop.stop();
  }

  #started(pid: number): void {
    if (!this.#isOver) this.#events.started(pid);
    this.#isUp();
  }

  #failed(error: unknown): void {
    this.#stop.leaderGone();
    this.#end({ kind: 'unstarted', problem: toFailure(error, 'SPAWN_FAILED') });
  }

  #exited(code: number | null, signal: string | null): void {
    this.#stop.leaderGone();
    this.#inflow.drain();
    const how = signal === null ? exitOf(code) : `signal ${signal}`;
    this.#end({ kind: 'exited', problem: failure('LINK_LOST', `The process ended (${how}).`) });
  }

  #broke(error: unknown): void {
    if (this.#isOver || this.#brokenTimer !== null) return;
    const why = error instanceof Error ? error.message : 'a pipe broke';
    this.#brokenTimer = this.#clock.setTimeout(() => {
      this.#end({
        kind: 'unusable',
        problem: failure('LINK_LOST', `Its pipes broke, and the process has not ended with them: ${why}`),
      });
    }, BROKEN_PIPE_GRACE_MS);
  }

  #end(end: RunEnd): void {
    if (this.#isOver) return;
    this.#finish();
    this.#events.ended(end);
  }

  #finish(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    if (this.#brokenTimer !== null) this.#clock.clearTimeout(this.#brokenTimer);
    this.#inflow.close();
    this.outbox.close();
    this.#isUp();
  }
}
