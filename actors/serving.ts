import type { ListWalk } from '../machines/list-walk.js';
import { hasQuestion, type ServerContext } from '../machines/server-context.js';
import type { ServerReport } from '../machines/server-events.js';
import { isOverdue, phaseOf, type ServerSnapshot, stageOf } from '../machines/server-view.js';
import { type CandidateKey, LIST_KINDS, type ServerId } from '../machines/vocabulary.js';
import type { ServerRef } from '../machines/workspace-machine.js';
import type { Catalogue } from './catalogue.js';
import type { LinkTable, LiveLink } from './link-table.js';
import { MetadataCache } from './metadata-cache.js';
import type { Ports } from './ports.js';
import type { Shown } from './served-candidates.js';
import { readinessOf, type Waiters } from './waiters.js';

export interface ServingDeps {
  readonly ports: Ports;
  /** Real path of the workspace. */
  readonly root: string;
  readonly catalogue: Catalogue;
  readonly links: LinkTable;
  readonly waiters: Waiters;
  readonly hasChannel: boolean;
  /** Start what has never been listed, or is past its time, once. */
  readonly discovers: boolean;
  readonly serverRef: (key: CandidateKey) => ServerRef | undefined;
  /** What every id stands for now. */
  readonly shown: () => readonly Shown[];
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
  readonly #cache: MetadataCache;
  readonly #shown = new Map<ServerId, Shown>();
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
    this.#cache = new MetadataCache({
      ...deps,
      refreshes: deps.discovers,
      approvedAs: (key) => approvedAs(deps.serverRef(key)?.getSnapshot().context),
      demand: (key) => this.#demand(key),
    });
  }

  /** None is queued, connecting, in its first listing or closing; who has said that there is no slot for it is none of them. */
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
    let last = ref.getSnapshot();
    ref.subscribe({
      next: (snapshot) => {
        // An event that meant nothing to the server is no news of it.
        if (snapshot === last || !isCurrent()) return;
        last = snapshot;
        this.#moved(key, snapshot);
      },
      error: () => undefined,
    });
    this.#moved(key, last);
  }

  /** Whoever waits for this server hears how it stands. */
  update(key: CandidateKey): void {
    const ref = this.#deps.serverRef(key);
    if (ref !== undefined)
      this.#deps.waiters.update(key, readinessOf(ref.getSnapshot(), this.#deps.links.get(key), this.#deps.hasChannel));
  }

  /** After a change of what an id stands for: another definition's items must not be offered under it. */
  serve(): void {
    const { catalogue, shown, toolLimitOf, serverRef } = this.#deps;
    const now = shown();
    const ids = new Set(now.map(({ id }) => id));
    for (const id of [...this.#shown.keys()]) if (!ids.has(id)) this.#drop(id);
    for (const one of now) {
      const { id, key, configHash, isServing } = one;
      const before = this.#shown.get(id);
      const isSame = before?.key === key && before.configHash === configHash;
      if (!isSame && before !== undefined) this.#drop(id);
      this.#shown.set(id, one);
      catalogue.setApproved(id, isServing);
      catalogue.limitTools(id, toolLimitOf(key));
      if (isSame) this.#cache.update(one);
      else this.#cache.open(one);
      const ref = serverRef(key);
      this.#setReady(id, key, isServing && ref !== undefined && phaseOf(ref.getSnapshot()) === 'ready');
    }
    this.#deps.onChange();
  }

  /** Settles when the lists of former runs are in the catalogue, as far as there are any; not held up by a slow db for long. */
  listsLoaded(): Promise<void> {
    return this.#cache.loaded();
  }

  /** Settles when what was listed is kept for the next run. */
  close(): Promise<void> {
    return this.#cache.close();
  }

  #drop(id: ServerId): void {
    this.#shown.delete(id);
    this.#ready.delete(id);
    this.#cache.forget(id);
    this.#deps.catalogue.drop(id);
  }

  list({ key, walk }: Extract<ServerReport, { type: 'list.walked' }>): void {
    const id = this.#put(key, walk, true);
    const context = this.#deps.serverRef(key)?.getSnapshot().context;
    if (id === undefined || context === undefined) return;
    this.#cache.walked(id, walk);
    this.#saveIfDone(id, context);
  }

  /** What was read of a list before its server went away. */
  keep(key: CandidateKey, walk: ListWalk): void {
    this.#put(key, walk, false);
  }

  #put(key: CandidateKey, walk: ListWalk, live: boolean): ServerId | undefined {
    const id = [...this.#shown.values()].find((one) => one.key === key)?.id;
    if (id === undefined) return undefined;
    const { kind, items, state, reason, skipped } = walk;
    this.#deps.catalogue.put(id, kind, { items, state, reason, skipped, live, toolLimit: this.#deps.toolLimitOf(key) });
    this.#deps.onChange();
    return id;
  }

  /** A round of walks is kept as a whole: saved one by one, the lists that come later would be missing meanwhile. */
  #saveIfDone(id: ServerId, context: ServerContext): void {
    if (context.handshake === null || context.walks.length > 0) return;
    const fingerprint = approvedAs(context);
    // Without it nobody could tell later whether it may be shown.
    if (fingerprint !== null || !hasQuestion(context)) this.#cache.save(id, fingerprint);
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
    if ((phase === 'connecting' && !isOverdue(snapshot)) || stageOf(snapshot) === 'closing') this.#moving.add(key);
    else this.#moving.delete(key);
    if (phase !== 'backoff') this.backoffSinceMs.delete(key);
    else if (!this.backoffSinceMs.has(key)) this.backoffSinceMs.set(key, this.#deps.ports.clock.epoch());
    const { id } = snapshot.context.profile;
    if (this.#shown.get(id)?.key === key) {
      this.#tellLists(id, key, snapshot.context);
      this.#saveIfDone(id, snapshot.context);
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

  /** Only where all gates are open; what is on its way is listed as it is, and what runs as if it had announced a change. */
  #demand(key: CandidateKey): boolean {
    const ref = this.#deps.serverRef(key);
    const snapshot = ref?.getSnapshot();
    if (ref === undefined || snapshot === undefined) return false;
    const { shut, blockedBy, handshake, generation } = snapshot.context;
    if (shut !== null || blockedBy !== null) return false;
    if (phaseOf(snapshot) !== 'ready') ref.send({ type: 'server.demand', by: 'discovery' });
    else for (const kind of handshake?.lists ?? []) ref.send({ type: 'list.changed', generation, kind });
    return true;
  }
}

/** The fingerprint a workspace's server may run as; no other layer needs one. */
function approvedAs(context: ServerContext | undefined): string | null {
  return context !== undefined && hasQuestion(context) ? context.approved : null;
}
