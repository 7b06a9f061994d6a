import type { LinkEvents, Reply } from '../../actors/ports.js';
import type { ListLimits } from '../../machines/list-walk.js';
import type { CandidateKey, LayerName, ServerId } from '../../machines/vocabulary.js';

/** What was started, as whoever looked at it before its start saw it. */
export interface LaunchFacts {
  readonly root: string;
  readonly key: CandidateKey;
  readonly id: ServerId;
  readonly layer: LayerName;
  readonly configHash: string;
  readonly fingerprint: string | null;
  readonly isRemote: boolean;
}

/** One walk through one list, as its server sees it. */
export interface SeenWalk {
  readonly limits: ListLimits;
  pages: number;
  readonly followed: Set<string>;
  /** Names of the sound items of the pages that were answered, in their order. */
  readonly names: Set<string>;
}

/** One link of one generation, as it is seen from outside. */
export class Connection {
  readonly number: number;
  readonly facts: LaunchFacts;
  /** What the product wants to hear of it; kept, so that it can hear news that comes too late. */
  readonly events: LinkEvents;
  isLost = false;
  isClosing = false;
  isClosed = false;
  hasShaken = false;
  /** Calls that were sent over it and have not settled. */
  readonly openCalls = new Set<number>();
  /** A call that the ledger does not follow went over it too. */
  hasOthers = false;
  readonly requests = new Set<string>();
  readonly cancelled = new Set<string>();
  readonly walks = new Map<string, SeenWalk>();
  /** Replies of requests that were made, the latest last. */
  readonly replies: Reply[] = [];
  /** When it was last used by a call, or else when it was opened. */
  usedAtMs: number;

  constructor(number: number, facts: LaunchFacts, events: LinkEvents, nowMs: number) {
    this.number = number;
    this.facts = facts;
    this.events = events;
    this.usedAtMs = nowMs;
  }

  get name(): string {
    return `${this.facts.root} ${this.facts.key} #${this.number}`;
  }

  get isLive(): boolean {
    return !this.isClosed;
  }

  /** Neither lost nor on its way out. */
  get isUsable(): boolean {
    return !this.isLost && !this.isClosing && !this.isClosed;
  }
}
