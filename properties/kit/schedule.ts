import type { InvariantId } from '../invariants.js';
import type { Choice } from './acts.js';
import { Violation } from './checks.js';
import { drawChoice } from './pace.js';
import { Random } from './random.js';
import { type Setup, setupOf } from './setup.js';
import { Simulation } from './simulation.js';

export interface ScheduleOptions {
  readonly seed: number;
  /** What is done, in order. Absent: drawn from the seed. */
  readonly choices?: readonly Choice[];
  /** Events to deliver before the ending, when the choices are drawn. Default 500. */
  readonly events?: number;
  /** Keeps the lines of the trace. */
  readonly keepTrace?: boolean;
  /** Runs on something else than what follows from the seed. */
  readonly setup?: Setup;
}

export interface ScheduleResult {
  readonly seed: number;
  readonly events: number;
  readonly hash: string;
  readonly violation: { readonly invariant: InvariantId; readonly step: number; readonly detail: string } | null;
  readonly choices: readonly Choice[];
  readonly lines: readonly string[];
  /** How often each invariant was judged. */
  readonly counts: ReadonlyMap<InvariantId, number>;
}

const EVENTS = 500;
/** More choices than this for one schedule would mean that nothing ever happens. */
const CHOICES_PER_EVENT_MAX = 16;
/** After so many choices in a row that came to nothing, as no server runs that could be called, something else has to happen. */
const IDLE_MAX = 6;
/** Schedules that are brought to rest before they are closed. */
const REST_SHARE = 0.7;

/** One whole life of a supervisor in a simulated world, judged after every event. The same options are the same run. */
export async function runSchedule(options: ScheduleOptions): Promise<ScheduleResult> {
  const run = new ScheduleRun(options);
  return run.play();
}

/** `seed=… step=… invariant=…`: all that is needed to see it again. */
export function inOneLine({ seed, violation }: ScheduleResult): string {
  if (violation === null) return `seed=${seed} holds`;
  return `seed=${seed} step=${violation.step} invariant=${violation.invariant} ${violation.detail}`;
}

class ScheduleRun {
  readonly #options: ScheduleOptions;
  readonly #simulation: Simulation;
  readonly #choices: Choice[] = [];

  constructor(options: ScheduleOptions) {
    this.#options = options;
    this.#simulation = new Simulation(options.setup ?? setupOf(options.seed), options.keepTrace);
  }

  async play(): Promise<ScheduleResult> {
    let violation: Violation | null = null;
    try {
      await this.#live();
    } catch (error) {
      violation = error instanceof Violation ? error : new Violation('no-crash', stackOf(error));
    }
    const { trace, events, world } = this.#simulation;
    const step = this.#choices.length;
    return {
      seed: this.#options.seed,
      events,
      hash: trace.hash,
      violation: violation === null ? null : { invariant: violation.invariant, step, detail: violation.message },
      choices: this.#choices,
      lines: trace.lines,
      counts: world.checks.counts,
    };
  }

  async #live(): Promise<void> {
    const { seed, choices, events = EVENTS } = this.#options;
    const simulation = this.#simulation;
    await simulation.open();
    if (choices !== undefined) for (const choice of choices) await this.#choose(choice);
    else {
      const random = new Random(seed ^ 0x5bd1e995);
      const { pace } = simulation.world.setup;
      const most = events * CHOICES_PER_EVENT_MAX;
      let idle = 0;
      while (simulation.events < events && this.#choices.length < most) {
        const isStuck = idle >= IDLE_MAX;
        const hasDone = await this.#choose(drawChoice(random, isStuck ? 'rough' : pace));
        idle = hasDone || isStuck ? 0 : idle + 1;
      }
    }
    // The others are closed from wherever they are, in the middle of it all.
    if (simulation.world.dice('rest') < REST_SHARE) await simulation.settle();
    await simulation.close();
  }

  #choose(choice: Choice): Promise<boolean> {
    this.#choices.push(choice);
    return this.#simulation.choose(choice);
  }
}

const stackOf = (error: unknown): string => (error instanceof Error ? (error.stack ?? error.message) : String(error));
