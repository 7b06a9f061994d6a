import type { Failure } from '../../actors/errors.js';
import type { ClockPort, StdioLaunch } from '../../actors/ports.js';
import type { ProcessPort } from '../../actors/wire-ports.js';
import { createLineRing } from '../shared/line-ring.js';
import { beforeHandshake, ChildRun } from './child-run.js';
import type { StopReport } from './group-stop.js';
import { cancelledFrame, type Wire, type WireEvents } from './wire.js';

export interface StdioWireDeps {
  readonly process: ProcessPort;
  readonly clock: ClockPort;
}

const STDERR_BYTES_MAX = 65_536;
/** Lines on stdout that were no messages are shown with stderr, as long as they are few. */
const NOISE_SAMPLES_MAX = 50;

/** The pipes of a child process, and of the one that takes its place when the first died of a question. */
export class StdioWire implements Wire {
  readonly isLegacyOnly = false;
  readonly #deps: StdioWireDeps;
  readonly #launch: StdioLaunch;
  readonly #events: WireEvents;
  readonly #stderr = createLineRing(STDERR_BYTES_MAX);
  #run: ChildRun;
  #isStopped = false;
  #hasStderr = false;
  #noiseLines = 0;

  constructor(deps: StdioWireDeps, launch: StdioLaunch, events: WireEvents) {
    this.#deps = deps;
    this.#launch = launch;
    this.#events = events;
    this.#run = this.#start();
  }

  get pid(): number | null {
    return this.#run.pid;
  }

  up(): Promise<void> {
    return this.#run.up;
  }

  push(frame: string): Failure | null {
    return this.#run.outbox.push(frame);
  }

  request(frame: string): Failure | null {
    return this.#run.outbox.push(frame);
  }

  async agreed(): Promise<void> {
    // A pipe keeps the order of what is written to it.
  }

  cancel(requestId: string, reason: string): Promise<void> {
    return this.#run.outbox.send(cancelledFrame(requestId, reason));
  }

  async restart(): Promise<void> {
    await this.#run.stop();
    if (this.#isStopped) return;
    this.#run = this.#start();
    await this.#run.up;
  }

  stop(): Promise<StopReport> {
    this.#isStopped = true;
    return this.#run.stop();
  }

  diagnosis(): { readonly stderrTail: string; readonly noiseLines: number } {
    return { stderrTail: this.#stderr.tail(), noiseLines: this.#noiseLines };
  }

  #start(): ChildRun {
    const events = this.#events;
    return new ChildRun(this.#deps, this.#launch, {
      started: (pid) => events.opened(pid),
      message: (message) => events.message(message),
      wants: (id) => events.wants(id),
      dropped: (id, problem) => events.dropped(id, problem),
      noise: (sample) => this.#noise(sample),
      stderr: (bytes) => this.#drained(bytes),
      ended: (end) =>
        events.ended({
          problem: end.problem,
          early: beforeHandshake(end),
          death: true,
          mayRestart: end.kind === 'exited',
        }),
    });
  }

  #noise(sample: string): void {
    this.#noiseLines += 1;
    if (this.#noiseLines <= NOISE_SAMPLES_MAX) this.#stderr.push(Buffer.from(`[stdout] ${sample}\n`));
  }

  #drained(bytes: Uint8Array): void {
    this.#stderr.push(bytes);
    if (this.#hasStderr) return;
    this.#hasStderr = true;
    this.#events.stderr();
  }
}
