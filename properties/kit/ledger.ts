import type { CandidateKey, ServerId } from '../../machines/vocabulary.js';
import type { Connection, LaunchFacts } from './connection.js';
import type { VirtualClock } from './virtual-clock.js';

/** One call of a host, followed from its making to its end. The number goes with it, and comes back with the answer. */
export interface LedgerCall {
  readonly n: number;
  readonly root: string;
  readonly server: ServerId;
  readonly tool: string;
  readonly session: string | undefined;
  readonly timeoutMs: number | undefined;
  readonly abort: AbortController | null;
  readonly bornAtMs: number;
  /** A person typed it: that is its approval. */
  readonly byPerson: boolean;
  /** A question was put about it, which its bound does not cover. */
  wasAsked: boolean;
  isApproved: boolean;
  /** A workspace brings a server of its id along, which has a question of its own. */
  mayBeAsked: boolean;
  connection: Connection | null;
  sentAtMs: number;
  /** When it was sent or last made progress. */
  movedAtMs: number;
  outcome: string | null;
}

/** What decisions the host and its user have made that hold beyond doubt, and who may not run for them. */
class Decisions {
  readonly approved = new Set<string>();
  /** By root; absent where another process may have decided otherwise. */
  readonly trusted = new Map<string, boolean>();
  /** `root key` of what was switched off and not on again. */
  readonly off = new Set<string>();
  /** The host's own word; null before the first. */
  remote: boolean | null = null;
}

const OPEN_KEPT = 12;

/** The independent account of a schedule: what was asked, sent, answered, opened and decided, by nobody but those who did it. */
export class Ledger {
  readonly clock: VirtualClock;
  readonly calls = new Map<number, LedgerCall>();
  readonly open = new Set<LedgerCall>();
  readonly connections: Connection[] = [];
  /** The last that were closed. */
  readonly closed: Connection[] = [];
  readonly launches = new WeakMap<object, LaunchFacts>();
  readonly decisions = new Decisions();
  /** Times of deaths by `root key`, since somebody last cleared them. */
  readonly deaths = new Map<string, number[]>();
  readonly signals: AbortSignal[] = [];
  /** When a configuration last arrived, by root. */
  readonly readAtMs = new Map<string, number>();
  /** Roots whose user file could not be read: there the product's own defaults may hold instead of the schedule's numbers. */
  readonly onDefaults = new Set<string>();
  /** Counts what was done to the world: what happens by itself follows in the same turn. */
  turns = 0;
  /** The turn of the last pardon: of `root key`, of `root /id`, of `root`. */
  readonly #pardons = new Map<string, number>();
  #opened = 0;

  /** How many slots are held. */
  readonly leased: () => number;

  constructor(clock: VirtualClock, leased: () => number) {
    this.clock = clock;
    this.leased = leased;
  }

  nextConnection(): number {
    this.#opened += 1;
    return this.#opened;
  }

  add(call: LedgerCall): void {
    this.calls.set(call.n, call);
    this.open.add(call);
    if (call.abort !== null) this.signals.push(call.abort.signal);
  }

  /** The newest that is not closed. */
  live(root: string, key: CandidateKey): Connection | undefined {
    return this.connections.findLast(({ facts }) => facts.key === key && facts.root === root);
  }

  left(connection: Connection): void {
    connection.isClosed = true;
    const at = this.connections.indexOf(connection);
    if (at >= 0) this.connections.splice(at, 1);
    this.closed.push(connection);
    if (this.closed.length > OPEN_KEPT) this.closed.shift();
  }

  died({ facts: { root, key } }: Connection): void {
    const where = `${root} ${key}`;
    const deaths = this.deaths.get(where) ?? [];
    this.deaths.set(where, deaths);
    deaths.push(this.clock.now());
  }

  /** A workspace is opened anew: what was decided before holds only if it was written down. */
  forgetDecisions(root: string): void {
    this.decisions.trusted.delete(root);
    for (const where of [...this.decisions.off]) if (where.startsWith(`${root} `)) this.decisions.off.delete(where);
  }

  /** A person, or another definition, starts the count afresh: for one id of a root, or for all of them. */
  pardon(root: string, id?: ServerId): void {
    this.#pardons.set(id === undefined ? root : `${root} ${id}`, this.turns);
    for (const where of [...this.deaths.keys()]) {
      if (where.startsWith(`${root} `) && (id === undefined || where.endsWith(`/${id}`))) this.deaths.delete(where);
    }
  }

  /** Whether that was done in this turn. */
  isPardoned(root: string, id: ServerId): boolean {
    return this.#pardons.get(root) === this.turns || this.#pardons.get(`${root} ${id}`) === this.turns;
  }
}
