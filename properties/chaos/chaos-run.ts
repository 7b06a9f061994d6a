/** What a run was given. */
export interface ChaosOptions {
  /** A directory of its own, empty; whoever made it removes it. */
  readonly home: string;
  /** How many times the world is disturbed. */
  readonly times: number;
  /** Script of a server that answers `echo`, `pid` and `sleep`. */
  readonly server: string;
}

/** What a run counted, in one line, and what should not have happened: empty where everything held. */
export interface ChaosReport {
  readonly line: string;
  readonly faults: readonly string[];
}

/** Disturbs the product on real files and processes while it works. Leaves nothing running, whatever happened. */
export type ChaosRun = (options: ChaosOptions) => Promise<ChaosReport>;

/** Enough faults to see what is wrong. */
const FAULTS_MAX = 20;

/** Collects faults; a broken product must not fill the memory with them. */
export class Faults {
  readonly list: string[] = [];
  #count = 0;

  get count(): number {
    return this.#count;
  }

  add(fault: string): void {
    this.#count += 1;
    if (this.list.length < FAULTS_MAX) this.list.push(fault);
  }
}

/** Of these processes, those that are still there. */
export function alive(pids: Iterable<number>): readonly number[] {
  return [...pids].filter((pid) => {
    try {
      return process.kill(pid, 0);
    } catch {
      return false;
    }
  });
}
