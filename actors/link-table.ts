import type { CandidateKey, Failure, Generation, LinkRef } from '../machines/vocabulary.js';
import type { CallTable } from './call-table.js';
import type { Link } from './ports.js';

/** One open generation: the link, and the calls on it. */
export interface LiveLink {
  readonly generation: Generation;
  readonly link: Link;
  readonly calls: CallTable;
}

/**
 * The open links of one workspace by candidate, and every ending that is still under way. Whatever the machines did,
 * `closeAll` ends what is left.
 */
export class LinkTable {
  readonly #live = new Map<CandidateKey, LiveLink>();
  readonly #endings = new Set<Promise<unknown>>();

  put(key: CandidateKey, live: LiveLink): void {
    this.#live.set(key, live);
  }

  get(key: CandidateKey): LiveLink | undefined {
    return this.#live.get(key);
  }

  /** The link of exactly this generation, if it is the open one. */
  find({ key, generation }: LinkRef): LiveLink | undefined {
    const live = this.#live.get(key);
    return live?.generation === generation ? live : undefined;
  }

  all(): readonly LiveLink[] {
    return [...this.#live.values()];
  }

  remove({ key, generation }: LinkRef): void {
    if (this.#live.get(key)?.generation === generation) this.#live.delete(key);
  }

  /** Remembers an ending until it is over. */
  track<T>(ending: Promise<T>): Promise<T> {
    this.#endings.add(ending);
    const forget = (): void => void this.#endings.delete(ending);
    ending.then(forget, forget);
    return ending;
  }

  /** Its machine is gone: what it held is ended from here. */
  abandon(key: CandidateKey, problem: Failure): void {
    const live = this.get(key);
    live?.calls.failAll(problem);
    if (live !== undefined) void this.track(live.link.close());
  }

  async closeAll(): Promise<void> {
    // Started in a promise of its own, so that one that fails at closing holds up none of the others.
    for (const { link } of this.#live.values()) void this.track(Promise.resolve().then(() => link.close()));
    while (this.#endings.size > 0) await Promise.allSettled([...this.#endings]);
    this.#live.clear();
  }
}
