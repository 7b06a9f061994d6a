import { type Choice, perform } from './acts.js';
import { bringToRest, closeAll } from './endings.js';
import { SimulatedHost } from './host.js';
import { Judge } from './judge.js';
import type { Setup } from './setup.js';
import { Trace } from './trace.js';
import { turn } from './turn.js';
import { SimulatedWorld } from './world.js';

/**
 * A supervisor in a simulated world, one event after the other, judged after each. A test of a host app uses
 * `host.supervisor` as it would the real one, and makes the world go on by `choose` and `settle`.
 */
export class Simulation {
  readonly trace: Trace;
  readonly world: SimulatedWorld;
  readonly host: SimulatedHost;
  readonly #judge: Judge;
  #events = 0;

  /** `keepTrace`: the lines of the trace are kept, for a person to read. */
  constructor(setup: Setup, keepTrace = false) {
    this.trace = new Trace(keepTrace);
    this.world = new SimulatedWorld(setup, this.trace);
    this.host = new SimulatedHost(this.world);
    this.#judge = new Judge(this.host);
  }

  /** Events delivered so far. */
  get events(): number {
    return this.#events;
  }

  /** Asks for every workspace of the set-up; each is there once what it reads has been delivered. */
  async open(): Promise<void> {
    // Loaded beforehand: a file that is read takes real time, and there is none in a schedule.
    if (this.world.setup.world === 'process') await import('@modelcontextprotocol/client');
    for (const room of this.host.rooms) await this.step(() => this.host.open(room));
  }

  /** Does one thing; false when there was nothing to do it to. Throws the `Violation` of an invariant that it broke. */
  choose(choice: Choice): Promise<boolean> {
    return this.step(() => perform(this.host, choice));
  }

  /**
   * Lets one thing happen, and all that follows from it by itself; then judges. `work` says what it did, or null when it did
   * nothing.
   */
  readonly step = async (work: () => string | null): Promise<boolean> => {
    const { ledger, checks, clock } = this.world;
    ledger.turns += 1;
    const line = work();
    if (line === null) return false;
    this.#events += 1;
    this.trace.write(`${clock.now()} ${line}`);
    await turn();
    this.#judge.look();
    if (checks.broken !== null) throw checks.broken;
    return true;
  };

  /** No fault any more, from now on: everything demanded has to come to rest. */
  async settle(): Promise<void> {
    this.#help();
    await bringToRest(this.host, this.step);
  }

  /** Closes the supervisor from wherever it stands, and judges that nothing is left. */
  async close(): Promise<void> {
    this.#help();
    await closeAll(this.host, this.step);
  }

  #help(): void {
    this.world.isHelpful = true;
    this.world.fillDisk(false);
  }
}
