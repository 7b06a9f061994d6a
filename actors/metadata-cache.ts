import type { ListWalk } from '../machines/list-walk.js';
import type { ListKind, ServerId } from '../machines/vocabulary.js';
import type { Catalogue } from './catalogue.js';
import { toFailure } from './errors.js';
import { checkedMetadata, freshForMs, TTL_MS_MAX, ttlMsOf } from './metadata-check.js';
import { keptMetadata, metadataKey } from './metadata-store.js';
import type { Metadata, Ports } from './ports.js';
import type { Shown } from './served-candidates.js';

export interface MetadataCacheDeps {
  readonly ports: Pick<Ports, 'clock' | 'db' | 'digest' | 'log'>;
  /** Real path of the workspace. */
  readonly root: string;
  readonly catalogue: Catalogue;
  /** Whether a server may be started to list it anew, or for the first time, with nobody waiting for it. */
  readonly refreshes: boolean;
  readonly toolLimitOf: (key: Shown['key']) => number;
  /** What a server may run as: the fingerprint that was approved, `null` where its layer needs no approval. */
  readonly approvedAs: (key: Shown['key']) => string | null;
  /** Has a server listed in the background. False where it cannot be now: something shuts it out. */
  readonly demand: (key: Shown['key']) => boolean;
  readonly onChange: () => void;
}

/** What is kept of one server for as long as its id stands for this definition of it. */
interface Shelf {
  shown: Shown;
  readonly loaded: Promise<void>;
  /** What the lists that are kept were read from; undefined while none are known. */
  fingerprint: string | null | undefined;
  /** How long they are fresh in all. */
  spanMs: number;
  /** Something was read to its end that is not saved yet. */
  hasNews: boolean;
  /** What the server last said of each list. */
  readonly ttls: Map<ListKind, number | undefined>;
  /** Its lists are missing or past their time, and it has not been asked to list them since. */
  isDue: boolean;
  timer: unknown;
  saving: Promise<void>;
}

/** How long `close` waits for what is being saved or checked. */
const CLOSE_MS_MAX = 5_000;
/** How long a workspace that opens waits for what is kept. */
const LOAD_MS_MAX = 2_000;

/**
 * Keeps the lists of servers for the next run, and brings those of the last one. A read never waits for a server: what is past
 * its time is shown all the same, and listed anew in the background, once for each span of it.
 */
export class MetadataCache {
  readonly #deps: MetadataCacheDeps;
  readonly #shelves = new Map<ServerId, Shelf>();
  /** When each definition was last demanded, so that an id that comes and goes does not start its server each time. */
  readonly #demanded = new Map<string, number>();
  /** What `close` waits for: lists on their way to the db, and those from it that are being checked. */
  readonly #unfinished = new Set<Promise<unknown>>();
  #isClosed = false;

  constructor(deps: MetadataCacheDeps) {
    this.#deps = deps;
  }

  /** An id stands for this definition from now on. */
  open(shown: Shown): void {
    this.forget(shown.id);
    const shelf: Shelf = {
      shown,
      loaded: Promise.resolve().then(() => this.#load(shelf)),
      fingerprint: undefined,
      spanMs: TTL_MS_MAX,
      hasNews: false,
      ttls: new Map(),
      isDue: false,
      timer: undefined,
      saving: Promise.resolve(),
    };
    this.#shelves.set(shown.id, shelf);
  }

  /** Settles when what is kept of the servers that are shown now was read, or after `LOAD_MS_MAX`. Never rejects. */
  async loaded(): Promise<void> {
    const loading = [...this.#shelves.values()].map(({ loaded }) => loaded);
    await this.#atMost(LOAD_MS_MAX, Promise.all(loading));
  }

  /** The same definition as before; whether it serves its id may have changed. */
  update(shown: Shown): void {
    const shelf = this.#shelves.get(shown.id);
    if (shelf === undefined) return;
    shelf.shown = shown;
    this.#demandIfDue(shelf);
  }

  forget(id: ServerId): void {
    const shelf = this.#shelves.get(id);
    if (shelf === undefined) return;
    this.#deps.ports.clock.clearTimeout(shelf.timer);
    this.#shelves.delete(id);
  }

  /** Takes note of a walk that has ended, for `save`. */
  walked(id: ServerId, { kind, state, ttlMs }: ListWalk): void {
    const shelf = this.#shelves.get(id);
    if (shelf === undefined || state !== 'complete') return;
    shelf.ttls.set(kind, ttlMs);
    shelf.hasNews = true;
  }

  /**
   * No walk is under way any more: keeps every list as it was last read to its end, if one was. `fingerprint` is what the
   * running server was approved as, `null` where its layer needs no approval.
   */
  save(id: ServerId, fingerprint: string | null): void {
    const shelf = this.#shelves.get(id);
    if (shelf?.hasNews !== true || this.#isClosed) return;
    shelf.hasNews = false;
    shelf.isDue = false;
    shelf.fingerprint = fingerprint;
    shelf.spanMs = ttlMsOf({ ttlMs: smallest(shelf.ttls) });
    this.#wait(shelf, shelf.spanMs);
    // What was kept before may hold a list that was not read to its end this time.
    const saving = Promise.all([shelf.loaded, shelf.saving]).then(() => this.#write(shelf));
    shelf.saving = saving;
    void this.#track(saving);
  }

  /** Settles when what is being saved is saved, or has taken too long, and nothing is checked any more. */
  async close(): Promise<void> {
    const { clock } = this.#deps.ports;
    this.#isClosed = true;
    for (const { timer } of this.#shelves.values()) clock.clearTimeout(timer);
    if (this.#unfinished.size === 0) return;
    await this.#atMost(CLOSE_MS_MAX, Promise.allSettled(this.#unfinished));
  }

  async #atMost(ms: number, work: Promise<unknown>): Promise<void> {
    const { clock } = this.#deps.ports;
    let timer: unknown;
    const tooLong = new Promise<void>((resolve) => {
      timer = clock.setTimeout(resolve, ms);
    });
    await Promise.race([work, tooLong]);
    clock.clearTimeout(timer);
  }

  async #load(shelf: Shelf): Promise<void> {
    const { catalogue, toolLimitOf, onChange, ports } = this.#deps;
    const { id, key } = shelf.shown;
    let metadata: Metadata | null = null;
    const isOff = (): boolean => this.#isClosed || !this.#isCurrent(shelf);
    try {
      const raw = await keptMetadata(shelf.shown, { ...ports, root: this.#deps.root });
      if (raw !== null && !isOff()) metadata = await this.#track(checkedMetadata(id, raw, ports, isOff));
    } catch (error) {
      this.#log(error);
    }
    if (isOff()) return;
    const isListed = shelf.fingerprint !== undefined;
    if (metadata !== null) {
      catalogue.load(id, metadata, toolLimitOf(key));
      onChange();
    }
    // A server that was listed meanwhile is as fresh as it can be.
    if (isListed) return;
    if (metadata === null) {
      this.#expire(shelf);
      return;
    }
    shelf.fingerprint = metadata.fingerprint;
    shelf.spanMs = ttlMsOf(metadata);
    const leftMs = freshForMs(metadata, ports.clock.epoch());
    if (leftMs === 0) this.#expire(shelf);
    else {
      this.#wait(shelf, leftMs);
      this.#demandIfDue(shelf);
    }
  }

  #track<T>(work: Promise<T>): Promise<T> {
    const done = (): void => void this.#unfinished.delete(work);
    this.#unfinished.add(work);
    work.then(done, done);
    return work;
  }

  async #write(shelf: Shelf): Promise<void> {
    const { catalogue, ports, root } = this.#deps;
    const { shown, ttls, fingerprint = null } = shelf;
    // What stands for the id now is not what was listed.
    if (!this.#isCurrent(shelf)) return;
    const facts = { savedAtMs: ports.clock.epoch(), ttlMs: smallest(ttls), fingerprint };
    try {
      await ports.db.saveMetadata(metadataKey(shown, { ...ports, root }), catalogue.metadata(shown.id, facts));
    } catch (error) {
      this.#log(error);
    }
  }

  #expire(shelf: Shelf): void {
    shelf.isDue = true;
    this.#demandIfDue(shelf);
  }

  #demandIfDue(shelf: Shelf): void {
    const { refreshes, demand, approvedAs, ports } = this.#deps;
    const { shown, spanMs } = shelf;
    if (!refreshes || !shown.isServing || this.#isClosed) return;
    const fingerprint = approvedAs(shown.key);
    const isOfAnother = shelf.fingerprint !== undefined && shelf.fingerprint !== fingerprint;
    if (!shelf.isDue && !isOfAnother) return;
    const now = ports.clock.now();
    // Two ids may have the same definition, and each is to be listed; so is what was approved since.
    const name = `${shown.key} ${shown.configHash} ${fingerprint ?? ''}`;
    const last = this.#demanded.get(name);
    if (last === undefined || now - last >= spanMs) {
      this.#wait(shelf, spanMs);
      if (!demand(shown.key)) return;
      this.#demanded.set(name, now);
    }
    shelf.isDue = false;
  }

  #wait(shelf: Shelf, ms: number): void {
    const { ports, refreshes } = this.#deps;
    ports.clock.clearTimeout(shelf.timer);
    if (refreshes && !this.#isClosed && this.#isCurrent(shelf))
      shelf.timer = ports.clock.setTimeout(() => this.#expire(shelf), ms);
  }

  #isCurrent(shelf: Shelf): boolean {
    return this.#shelves.get(shelf.shown.id) === shelf;
  }

  #log(error: unknown): void {
    const { code, message } = toFailure(error, 'STORE_FAILED');
    this.#deps.ports.log.write({ level: 'warn', event: 'metadata.failed', code, message });
  }
}

function smallest(ttls: ReadonlyMap<ListKind, number | undefined>): number | null {
  const said = [...ttls.values()].filter((ttlMs) => ttlMs !== undefined);
  return said.length === 0 ? null : Math.min(...said);
}
