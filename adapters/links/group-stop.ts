import type { ClockPort } from '../../actors/ports.js';
import type { ChildPort } from '../../actors/wire-ports.js';
import type { CloseOutcome } from '../../machines/vocabulary.js';

export interface StopReport {
  readonly outcome: CloseOutcome;
  readonly detail: string;
}

/** How long a stage is given before the next, in milliseconds; `confirmMs` bounds the wait after the last. */
export const STOP_STAGES = { inputMs: 200, termMs: 800, confirmMs: 2_000, pollMs: 10 } as const;

/**
 * Ends one process and what it started, in stages: end of input, 200 ms; SIGTERM to the group, 800 ms; SIGKILL to the
 * group. The stages are the group's, since the leader may be no more than a shell around the server. When the leader goes
 * unasked, whoever is left of its group is killed at once. Settles when nobody is left.
 *
 * `clean`: all of it ended on end of input, on SIGTERM or by itself. `killed`: SIGKILL was needed, for the leader or for
 * what it left behind. `unknown`: 2 s after SIGKILL somebody still seems to be there.
 */
export class GroupStop {
  readonly #child: ChildPort;
  readonly #clock: ClockPort;
  #isLeaderGone = false;
  #wake: (() => void) | null = null;
  #needed: 'nothing' | 'SIGTERM' | 'SIGKILL' = 'nothing';
  #report: Promise<StopReport> | null = null;

  constructor(child: ChildPort, clock: ClockPort) {
    this.#child = child;
    this.#clock = clock;
  }

  /** To be told when the leader was reaped, or never came to be. */
  leaderGone(): void {
    this.#isLeaderGone = true;
    if (this.#report === null && this.#child.isGroupAlive()) this.#signal('SIGKILL');
    this.#wake?.();
  }

  /** Begins, or joins, the stop. */
  stop(): Promise<StopReport> {
    this.#report ??= this.#run();
    return this.#report;
  }

  async #run(): Promise<StopReport> {
    this.#child.endInput();
    let isGone = await this.#goneWithin(STOP_STAGES.inputMs);
    if (!isGone) {
      this.#signal('SIGTERM');
      isGone = await this.#goneWithin(STOP_STAGES.termMs);
    }
    if (!isGone) {
      this.#signal('SIGKILL');
      isGone = await this.#goneWithin(STOP_STAGES.confirmMs);
    }
    this.#child.destroy();
    return this.#describe(isGone);
  }

  #signal(signal: 'SIGTERM' | 'SIGKILL'): void {
    if (this.#child.signalGroup(signal) && this.#needed !== 'SIGKILL') this.#needed = signal;
  }

  /** Waits until nobody of the group is left, at most so long. */
  async #goneWithin(ms: number): Promise<boolean> {
    const untilMs = this.#clock.now() + ms;
    while (!this.#isLeaderGone || this.#child.isGroupAlive()) {
      const leftMs = untilMs - this.#clock.now();
      if (leftMs <= 0) return false;
      // We are told of the end of the leader; there is no event for the end of a process that is not our child.
      await this.#sleep(this.#isLeaderGone ? Math.min(leftMs, STOP_STAGES.pollMs) : leftMs);
    }
    return true;
  }

  /** Until the leader is gone, at most so long. */
  async #sleep(ms: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = this.#clock.setTimeout(resolve, ms);
      this.#wake = () => {
        this.#clock.clearTimeout(timer);
        resolve();
      };
    });
    this.#wake = null;
  }

  #describe(isGone: boolean): StopReport {
    if (!isGone) return { outcome: 'unknown', detail: 'Something of the group may be alive after SIGKILL.' };
    if (this.#child.pid === null) return { outcome: 'clean', detail: 'The process never started.' };
    switch (this.#needed) {
      case 'nothing':
        return { outcome: 'clean', detail: 'The process ended by itself.' };
      case 'SIGTERM':
        return { outcome: 'clean', detail: 'The process ended on SIGTERM.' };
      case 'SIGKILL':
        return { outcome: 'killed', detail: 'SIGKILL was needed for the process or for what it left behind.' };
    }
  }
}
