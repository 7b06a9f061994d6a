import type { WorkspaceRuntime } from '../../actors/workspace-runtime.js';
import { defaultRestartPolicy } from '../../machines/restart-policy.js';
import { backoffDelayMs } from '../../machines/server-context.js';
import { phaseOf, type ServerSnapshot } from '../../machines/server-view.js';
import type { SlotPool } from '../../machines/slots.js';
import { type CandidateKey, isWorkspaceLayer } from '../../machines/vocabulary.js';
import type { ServerRef } from '../../machines/workspace-machine.js';
import type { Room, SimulatedHost } from './host.js';
import { judgeCalls } from './judge-calls.js';
import { judgeReading } from './judge-readings.js';
import { judgeStatus } from './judge-status.js';

/** How one server stood when it was last looked at. */
interface Seen {
  snapshot: ServerSnapshot;
  pool: SlotPool;
  attempt: number;
  /** Since when it has been ready, or waiting for another try. */
  readySinceMs: number | null;
  backoffSinceMs: number | null;
}

/** A table of calls says that it is quiet so long after its last. */
const QUIET_AFTER_MS = 50;
const STATUS_EVERY = 32;

/** Looks at everything after each turn, and at what has changed more closely. */
export class Judge {
  readonly #host: SimulatedHost;
  readonly #seen = new WeakMap<ServerRef, Seen>();
  #pool: SlotPool;

  constructor(host: SimulatedHost) {
    this.#host = host;
    this.#pool = host.world.pool.slots.pool;
  }

  /** Nothing is left to run by itself: what has to hold between two events is judged. */
  look(): void {
    const { world, rooms } = this.#host;
    for (const { reading, before } of world.readings.splice(0)) judgeReading(this.#host, reading, before);
    this.#judgePool();
    for (const room of rooms) this.#judgeRoom(room);
    judgeCalls(this.#host);
    if (world.ledger.turns % STATUS_EVERY === 0) for (const room of rooms) judgeStatus(world.checks, room);
  }

  #judgePool(): void {
    const { checks, pool } = this.#host.world;
    const before = this.#pool;
    const now = pool.slots.pool;
    if (now === before) return;
    this.#pool = now;
    const { leases, waiting, capacity } = now;
    checks.holds('no-idle-slot', waiting.length === 0 || leases.length >= capacity, () => {
      return `${waiting.length} wait while ${leases.length} of ${capacity} slots are held`;
    });
    // A pool that was made smaller gets there as its leases end.
    checks.holds('live-cap', leases.length <= Math.max(capacity, before.leases.length), () => {
      return `${leases.length} of ${capacity} slots are held`;
    });
  }

  #judgeRoom({ runtime, root }: Room): void {
    if (runtime === null) return;
    for (const [key, ref] of Object.entries(runtime.context.servers)) {
      this.#judgeServer(runtime, root, key as CandidateKey, ref);
    }
  }

  #judgeServer(runtime: WorkspaceRuntime, root: string, key: CandidateKey, ref: ServerRef): void {
    const { clock, checks } = this.#host.world;
    const snapshot = ref.getSnapshot();
    let seen = this.#seen.get(ref);
    if (seen === undefined) {
      const { attempt } = snapshot.context;
      seen = { snapshot, pool: this.#pool, attempt, readySinceMs: null, backoffSinceMs: null };
      this.#seen.set(ref, seen);
    } else if (seen.snapshot === snapshot && seen.pool === this.#pool) {
      this.#judgeWaits(root, key, seen);
      return;
    }
    const isNew = seen.snapshot !== snapshot;
    seen.pool = this.#pool;
    this.#judgeSlot(runtime, key, snapshot);
    if (isNew) {
      const before = seen.snapshot;
      seen.snapshot = snapshot;
      this.#judgeCounts(root, snapshot, seen);
      const isReady = snapshot.hasTag('ready');
      const phase = phaseOf(snapshot);
      seen.readySinceMs = isReady ? (seen.readySinceMs ?? clock.now()) : null;
      seen.backoffSinceMs = snapshot.hasTag('backoff') ? (seen.backoffSinceMs ?? clock.now()) : null;
      if (isReady) this.#judgeReady(root, key, snapshot);
      if (before.context.lists !== snapshot.context.lists && isReady) this.#judgeLists(runtime, root, key, snapshot);
      checks.holds(
        'woken',
        phase !== 'ready' || !runtime.waiters.isWaitedFor(key),
        () => `${root} ${key} is ready and waited for`,
      );
    }
    const isShut = snapshot.context.shut !== null || (snapshot.context.blockedBy !== null && phaseOf(snapshot) === 'idle');
    const open = this.#host.world.ledger.live(root, key)?.openCalls.size ?? 0;
    checks.holds('stop-settles', !isShut || (open === 0 && !runtime.waiters.isWaitedFor(key)), () => {
      return `${root} ${key} is shut and ${open} of its calls are open`;
    });
    this.#judgeWaits(root, key, seen);
  }

  #judgeSlot({ deps }: WorkspaceRuntime, key: CandidateKey, snapshot: ServerSnapshot): void {
    const name = `${deps.name}:${key}`;
    const lease = this.#pool.leases.find(({ holder }) => holder === name);
    const isOpen = snapshot.hasTag('open');
    const isRight = isOpen ? lease?.ticket === snapshot.context.ticket : lease === undefined;
    this.#host.world.checks.holds('slot-held', isRight, () => {
      return `${name} is ${isOpen ? '' : 'not '}open, wants ticket ${snapshot.context.ticket} and holds ${String(lease?.ticket)}`;
    });
  }

  /** What was counted against it goes down only for a reason. */
  #judgeCounts(root: string, { context }: ServerSnapshot, seen: Seen): void {
    const { ledger, checks, clock, setup } = this.#host.world;
    const wasStable = seen.readySinceMs !== null && clock.now() - seen.readySinceMs >= setup.bounds.stableMs;
    const { attempt, profile } = context;
    checks.holds('backoff-reset', attempt >= seen.attempt || wasStable || ledger.isPardoned(root, profile.id), () => {
      return `${root} ${context.key} had failed ${seen.attempt} times and now ${attempt}, not stable since ${String(seen.readySinceMs)}`;
    });
    seen.attempt = attempt;
  }

  #judgeReady(root: string, key: CandidateKey, { context }: ServerSnapshot): void {
    const { ledger, checks } = this.#host.world;
    const connection = ledger.live(root, key);
    const { fingerprint = null, layer = 'user' } = connection?.facts ?? {};
    const isApproved = fingerprint !== null && fingerprint === context.approved && ledger.decisions.approved.has(fingerprint);
    checks.holds('ready-approved', connection !== undefined && (!isWorkspaceLayer(layer) || isApproved), () => {
      return `${root} ${key} is ready as "${String(fingerprint)}" and approved as "${String(context.approved)}"`;
    });
  }

  #judgeLists(runtime: WorkspaceRuntime, root: string, key: CandidateKey, { context }: ServerSnapshot): void {
    const { ledger, checks, setup } = this.#host.world;
    const { state, count } = context.lists.tools;
    const { id, layer } = context.profile;
    const walk = ledger.live(root, key)?.walks.get('tools/list');
    checks.holds(
      'items-bound',
      count <= Math.max(setup.bounds.items, walk?.limits.items ?? 0),
      () => `${root} ${key} keeps ${count} tools`,
    );
    const isOver = (state === 'complete' || state === 'truncated') && !context.walks.includes('tools');
    if (walk === undefined || !isOver || runtime.candidateFor(id)?.layer !== layer) return;
    const missing = [...walk.names].filter((name) => runtime.catalogue.tool(`mcp__${id}__${name}`)?.tool !== name);
    checks.holds(
      'listing-keeps',
      missing.length === 0,
      () => `${root} ${key} listed ${missing.join(', ')} and does not offer it`,
    );
  }

  /** What has to end by itself as time goes on. */
  #judgeWaits(root: string, key: CandidateKey, { snapshot, readySinceMs, backoffSinceMs }: Seen): void {
    const { clock, checks, ledger, setup } = this.#host.world;
    const now = clock.now();
    if (backoffSinceMs !== null) {
      const delayMs = backoffDelayMs(snapshot.context);
      const { floorMs } = setup.bounds;
      const capMs = ledger.onDefaults.has(root) ? defaultRestartPolicy.backoffCapMs : setup.bounds.capMs;
      const isBound = delayMs >= floorMs && delayMs <= capMs && now - backoffSinceMs <= capMs;
      checks.holds('backoff-bounds', isBound, () => `${root} ${key} waits ${delayMs} ms, and has for ${now - backoffSinceMs} ms`);
    }
    if (readySinceMs === null || snapshot.context.profile.lifecycle === 'keep-alive') return;
    const connection = ledger.live(root, key);
    if (connection === undefined || connection.openCalls.size > 0 || connection.hasOthers) return;
    const sinceMs = Math.max(readySinceMs, connection.usedAtMs, ledger.readAtMs.get(root) ?? 0);
    const { idleTimeoutMs } = snapshot.context.profile;
    checks.holds('idles-out', now - sinceMs <= idleTimeoutMs + QUIET_AFTER_MS, () => {
      return `${root} ${key} has been unused for ${now - sinceMs} ms and may be for ${idleTimeoutMs}`;
    });
  }
}
