import type { ListWalk } from '../machines/list-walk.js';
import type { ServerContext } from '../machines/server-context.js';
import type { ServerReport } from '../machines/server-events.js';
import { phaseOf, type ServerSnapshot, stageOf } from '../machines/server-view.js';
import { type CandidateKey, LIST_KINDS, type ServerId } from '../machines/vocabulary.js';
import type { ServerRef } from '../machines/workspace-machine.js';
import type { Catalogue } from './catalogue.js';
import { toFailure } from './errors.js';
import type { LinkTable, LiveLink } from './link-table.js';
import type { Ports } from './ports.js';
import type { Served } from './served-candidates.js';
import { readinessOf, type Waiters } from './waiters.js';

export interface ServingDeps {
  readonly ports: Ports;
  readonly catalogue: Catalogue;
  readonly links: LinkTable;
  readonly waiters: Waiters;
  readonly hasChannel: boolean;
  /** Start what has never been listed, once. */
  readonly discovers: boolean;
  readonly serverRef: (key: CandidateKey) => ServerRef | undefined;
  /** The candidates that serve their ids now. */
  readonly effective: () => readonly Served[];
  readonly toolLimitOf: (key: CandidateKey) => number;
  readonly timeoutMsOf: (key: CandidateKey) => number;
  readonly onChange: () => void;
  /** The workspace is closing: whoever waited has been told, and nobody calls any more. */
  readonly isEnded: () => boolean;
}

/** A server that takes calls now. */
export interface ReadyServer {
  readonly live: LiveLink;
  /** Request deadline of its calls. */
  readonly timeoutMs: number;
}

/** Follows every server: tells who waits, keeps the catalogue to what serves each id, and has the unknown listed once. */
export class Serving {
  readonly #deps: ServingDeps;
  readonly #served = new Map<ServerId, { readonly key: CandidateKey; readonly configHash: string }>();
  readonly #discovered = new Set<string>();
  /** The lists of each machine as last looked at. */
  readonly #lists = new Map<CandidateKey, ServerContext['lists']>();
  /** Servers on their way somewhere. */
  readonly #moving = new Set<CandidateKey>();
  /** Kept beside the machines, so that a call finds its link by one lookup. */
  readonly #ready = new Map<ServerId, ReadyServer>();
  /** When a server's present wait for another try began, in ms since 1970. */
  readonly backoffSinceMs = new Map<CandidateKey, number>();

  constructor(deps: ServingDeps) {
    this.#deps = deps;
  }

  /** None is queued, connecting, in its first listing or closing. */
  get isSettled(): boolean {
    return this.#moving.size === 0;
  }

  readyServer(id: ServerId): ReadyServer | undefined {
    return this.#ready.get(id);
  }

  follow(key: CandidateKey): void {
    const ref = this.#deps.serverRef(key);
    if (ref === undefined) return;
    // Calls may have begun to wait while an earlier actor of this key was on its way out.
    if (this.#deps.waiters.isWaitedFor(key)) ref.send({ type: 'server.demand', by: 'call' });
    // The last word of an actor that has left is not how its successor stands.
    const isCurrent = (): boolean => this.#deps.serverRef(key) === ref;
    // The workspace machine hears of an actor that fails; here it only must not become an uncaught exception.
    ref.subscribe({ next: (snapshot) => isCurrent() && this.#moved(key, snapshot), error: () => undefined });
    this.#moved(key, ref.getSnapshot());
  }

  /** Whoever waits for this server hears how it stands. */
  update(key: CandidateKey): void {
    const ref = this.#deps.serverRef(key);
    if (ref !== undefined)
      this.#deps.waiters.update(key, readinessOf(ref.getSnapshot(), this.#deps.links.get(key), this.#deps.hasChannel));
  }

  /** After a change of what serves which id: another definition's items must not be offered under it. */
  serve(): void {
    const { catalogue, effective } = this.#deps;
    const now = effective();
    const ids = new Set(now.map(({ id }) => id));
    for (const id of [...this.#served.keys()]) {
      if (ids.has(id)) continue;
      this.#served.delete(id);
      this.#ready.delete(id);
      catalogue.drop(id);
    }
    for (const { id, key, configHash } of now) {
      const before = this.#served.get(id);
      if (before?.key !== key || before.configHash !== configHash) {
        this.#served.set(id, { key, configHash });
        if (before !== undefined) catalogue.drop(id);
        void this.#load(id, key, configHash);
      }
      catalogue.limitTools(id, this.#deps.toolLimitOf(key));
      const ref = this.#deps.serverRef(key);
      this.#setReady(id, key, ref !== undefined && phaseOf(ref.getSnapshot()) === 'ready');
    }
    this.#deps.onChange();
  }

  list({ key, walk }: Extract<ServerReport, { type: 'list.walked' }>): void {
    this.#put(key, walk, true);
  }

  /** What was read of a list before its server went away. */
  keep(key: CandidateKey, walk: ListWalk): void {
    this.#put(key, walk, false);
  }

  #put(key: CandidateKey, walk: ListWalk, live: boolean): void {
    const served = [...this.#served].find(([, { key: serving }]) => serving === key);
    if (served === undefined) return;
    const [id, { configHash }] = served;
    const { catalogue, ports, toolLimitOf } = this.#deps;
    const { kind, items, state, reason, skipped } = walk;
    catalogue.put(id, kind, { items, state, reason, skipped, live, toolLimit: toolLimitOf(key) });
    if (state === 'complete') this.#keep(ports.db.saveMetadata(configHash, catalogue.metadata(id, ports.clock.epoch())));
    this.#deps.onChange();
  }

  forget(key: CandidateKey): void {
    this.#moving.delete(key);
    this.#lists.delete(key);
    this.backoffSinceMs.delete(key);
    this.#deps.onChange();
  }

  #moved(key: CandidateKey, snapshot: ServerSnapshot): void {
    if (this.#deps.isEnded()) return;
    const phase = phaseOf(snapshot);
    if (phase === 'connecting' || stageOf(snapshot) === 'closing') this.#moving.add(key);
    else this.#moving.delete(key);
    if (phase !== 'backoff') this.backoffSinceMs.delete(key);
    else if (!this.backoffSinceMs.has(key)) this.backoffSinceMs.set(key, this.#deps.ports.clock.epoch());
    const { id } = snapshot.context.profile;
    if (this.#served.get(id)?.key === key) {
      this.#tellLists(id, key, snapshot.context);
      this.#setReady(id, key, phase === 'ready');
    }
    this.update(key);
    this.#deps.onChange();
  }

  /** Lists that a server does not have, or did not read out, bring no walk; what is offered must not be older than that. */
  #tellLists(id: ServerId, key: CandidateKey, { handshake, lists }: ServerContext): void {
    if (handshake === null || this.#lists.get(key) === lists) return;
    this.#lists.set(key, lists);
    const { catalogue, toolLimitOf } = this.#deps;
    const known = catalogue.counts(id);
    for (const kind of LIST_KINDS) {
      const { state, reason } = lists[kind];
      if ((state !== 'unsupported' && state !== 'failed') || known[kind].state === state) continue;
      catalogue.put(id, kind, { items: [], state, reason, skipped: [], live: true, toolLimit: toolLimitOf(key) });
    }
  }

  #setReady(id: ServerId, key: CandidateKey, isReady: boolean): void {
    const { links, timeoutMsOf, catalogue } = this.#deps;
    const live = isReady ? links.get(key) : undefined;
    if (live === undefined) this.#ready.delete(id);
    else this.#ready.set(id, { live, timeoutMs: timeoutMsOf(key) });
    catalogue.setLive(id, live !== undefined);
  }

  async #load(id: ServerId, key: CandidateKey, configHash: string): Promise<void> {
    const { ports, catalogue, toolLimitOf } = this.#deps;
    try {
      const metadata = await ports.db.metadata(configHash);
      const isStill = this.#served.get(id)?.configHash === configHash;
      const isListed = LIST_KINDS.some((kind) => catalogue.counts(id)[kind].state !== 'unknown');
      if (!isStill || isListed) return;
      if (metadata === null) this.#discover(key, configHash);
      else {
        catalogue.load(id, metadata, toolLimitOf(key));
        this.#deps.onChange();
      }
    } catch (error) {
      this.#log(error);
      this.#discover(key, configHash);
    }
  }

  #discover(key: CandidateKey, configHash: string): void {
    // Two ids may have the same definition, and each is to be listed.
    const discovery = `${key} ${configHash}`;
    if (!this.#deps.discovers || this.#discovered.has(discovery)) return;
    this.#discovered.add(discovery);
    this.#deps.serverRef(key)?.send({ type: 'server.demand', by: 'discovery' });
  }

  #keep(saving: Promise<void>): void {
    saving.catch((error: unknown) => this.#log(error));
  }

  #log(error: unknown): void {
    const { code, message } = toFailure(error, 'STORE_FAILED');
    this.#deps.ports.log.write({ level: 'warn', event: 'metadata.failed', code, message });
  }
}
