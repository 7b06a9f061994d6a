import { SupervisorError, toFailure } from './errors.js';
import { ignorable } from './harmless.js';
import type { DbPort, LogPort } from './ports.js';

/** What a person decided about one root: whether it is trusted, and the switches of all roots. */
interface Decisions {
  /** `null` = never decided on this computer. */
  readonly trusted: boolean | null;
  readonly switches: ReadonlyMap<string, boolean>;
}

/** Who is told of decisions that another process made. */
export interface DecisionListener {
  trusted(trusted: boolean): void;
  switched(key: string, on: boolean): void;
}

export interface MemoryDeps {
  readonly db: DbPort;
  readonly log: LogPort;
}

/** Stands for trust beside the switches, none of which is called so. */
const TRUST = 'trust';

/**
 * What this computer remembers of a workspace, shared with other processes: a decision of theirs is followed, a decision of
 * this run is written and holds whether or not that works. Reads and writes go one after the other, so that an older truth
 * never comes back after a newer one.
 */
export class WorkspaceMemory {
  readonly #root: string;
  readonly #deps: MemoryDeps;
  readonly #watch: { close(): Promise<void> };
  /** As last read or written; only what differs from it is news. */
  #stored: Decisions = { trusted: null, switches: new Map() };
  #queue: Promise<unknown> = Promise.resolve();
  /** Decisions of this run on their way to the store: what is read meanwhile is older. */
  readonly #pending = new Map<string, number>();
  readonly #approved = new Set<string>();
  #listener: DecisionListener | undefined;
  /** Another process has changed something that was not looked at yet. */
  #isStale = false;
  #isLookDue = false;
  #isClosed = false;

  private constructor(root: string, deps: MemoryDeps) {
    this.#root = root;
    this.#deps = deps;
    this.#watch = deps.db.watch(() => {
      this.#isStale = true;
      this.#look();
    });
  }

  /** Rejects with what the store rejects with: what is not known is not taken for a yes. */
  static async open(root: string, deps: MemoryDeps): Promise<WorkspaceMemory> {
    // Watched first, so that nothing is missed between the first look and the watch.
    const memory = new WorkspaceMemory(root, deps);
    try {
      memory.#stored = await memory.#read();
      return memory;
    } catch (error) {
      await memory.close();
      throw error;
    }
  }

  get trusted(): boolean | null {
    return this.#stored.trusted;
  }

  get switches(): ReadonlyMap<string, boolean> {
    return this.#stored.switches;
  }

  /** Once; what has changed since `open` is told soon after. */
  listen(listener: DecisionListener): void {
    this.#listener = listener;
    if (this.#isStale) this.#look();
  }

  /** Rejects with `STORE_FAILED` when it will not hold for the next run. May be left alone: a failure is logged. */
  setTrusted(trusted: boolean): Promise<void> {
    return this.#decide(TRUST, async () => {
      await this.#deps.db.setTrusted(this.#root, trusted);
      this.#stored = { ...this.#stored, trusted };
    });
  }

  /** As `setTrusted`. */
  setSwitch(key: string, on: boolean): Promise<void> {
    return this.#decide(key, async () => {
      await this.#deps.db.setSwitch(key, on);
      this.#stored = { ...this.#stored, switches: new Map(this.#stored.switches).set(key, on) };
    });
  }

  /** A person has said yes to this fingerprint. It decides what may be shown later, never what may start. */
  saveApproved(fingerprint: string): void {
    if (this.#approved.has(fingerprint) || this.#isClosed) return;
    this.#approved.add(fingerprint);
    this.#inTurn(() => this.#deps.db.saveApproved(fingerprint)).catch((error: unknown) => {
      this.#approved.delete(fingerprint);
      this.#log(error);
    });
  }

  /** Settles when what was decided is written and nobody watches any more. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([this.#watch.close(), this.#queue]);
  }

  #decide(key: string, write: () => Promise<void>): Promise<void> {
    this.#pending.set(key, (this.#pending.get(key) ?? 0) + 1);
    const written = this.#inTurn(async () => {
      try {
        await write();
      } catch (error) {
        this.#log(error);
        throw new SupervisorError(toFailure(error, 'STORE_FAILED'), { cause: error });
      } finally {
        const left = (this.#pending.get(key) ?? 1) - 1;
        if (left === 0) this.#pending.delete(key);
        else this.#pending.set(key, left);
      }
    });
    return ignorable(written);
  }

  #inTurn<T>(task: () => Promise<T>): Promise<T> {
    const done = this.#queue.then(task);
    this.#queue = done.catch(() => undefined);
    return done;
  }

  /** One look after any number of changes, as soon as there is somebody to tell. */
  #look(): void {
    if (this.#listener === undefined || this.#isLookDue || this.#isClosed) return;
    this.#isLookDue = true;
    this.#inTurn(async () => {
      this.#isLookDue = false;
      if (this.#isClosed) return;
      this.#isStale = false;
      this.#follow(await this.#read());
    }).catch((error: unknown) => this.#log(error));
  }

  async #read(): Promise<Decisions> {
    const { db } = this.#deps;
    const [trusted, switches] = await Promise.all([db.trusted(this.#root), db.switches()]);
    return { trusted, switches };
  }

  #follow(now: Decisions): void {
    const before = this.#stored;
    this.#stored = now;
    if (this.#isClosed) return;
    const isNews = (key: string, one: boolean | null | undefined, other: boolean | null | undefined): boolean =>
      one !== other && !this.#pending.has(key);
    // A yes that is no longer there, as in a store that was lost, holds no longer.
    if (isNews(TRUST, before.trusted, now.trusted)) this.#listener?.trusted(now.trusted ?? false);
    for (const [key, on] of now.switches) {
      if (isNews(key, before.switches.get(key), on)) this.#listener?.switched(key, on);
    }
  }

  #log(error: unknown): void {
    const { code, message } = toFailure(error, 'STORE_FAILED');
    this.#deps.log.write({ level: 'error', event: 'store.failed', code, message });
  }
}
