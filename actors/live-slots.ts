import {
  markBusy,
  markQuiet,
  recheck,
  releaseSlot,
  requestSlot,
  type SlotDecision,
  type SlotPool,
  slotPool,
} from '../machines/slots.js';
import type { Ticket } from '../machines/vocabulary.js';
import type { ClockPort } from './ports.js';

/** How many live connections one process holds. */
export const LIVE_SLOTS = 16;

/** Who holds or waits for slots: one server of one workspace. */
export interface SlotHolder {
  granted(ticket: Ticket): void;
  reclaimed(ticket: Ticket): void;
}

/** The process's live connections, leased by ticket; the rules are in `machines/slots.ts`, the clock is here. */
export class LiveSlots {
  readonly #clock: ClockPort;
  /** Each with the latest ticket it asked under. */
  readonly #holders = new Map<string, { readonly holder: SlotHolder; readonly ticket: Ticket }>();
  #pool: SlotPool;
  #timer: unknown;
  /** What is to be told once nobody is held back any more; `null` while whoever gets a slot is told at once. */
  #held: (() => void)[] | null = null;

  constructor(clock: ClockPort, capacity: number = LIVE_SLOTS) {
    this.#clock = clock;
    this.#pool = slotPool(capacity);
  }

  /** Leases and waiters now, for status and tests. */
  get pool(): SlotPool {
    return this.#pool;
  }

  /** More slots take effect at once; fewer as the leases end. */
  resize(capacity: number): void {
    slotPool(capacity);
    this.#apply(recheck({ ...this.#pool, capacity }, this.#clock.now()));
  }

  /**
   * Runs `work`, and tells nobody of a slot before it is done: what shuts many out, one after the other, must not let those in
   * whose turn has not come yet.
   */
  heldBack(work: () => void): void {
    const held: (() => void)[] = [];
    this.#held = held;
    try {
      work();
    } finally {
      this.#held = null;
      for (const tell of held) tell();
    }
  }

  request(name: string, ticket: Ticket, keepAlive: boolean, holder: SlotHolder): void {
    this.#holders.set(name, { holder, ticket });
    this.#apply(requestSlot(this.#pool, { holder: name, ticket, keepAlive }, this.#clock.now()));
  }

  release(name: string, ticket: Ticket): void {
    this.#apply(releaseSlot(this.#pool, name, ticket, this.#clock.now()));
    if (this.#holders.get(name)?.ticket === ticket) this.#holders.delete(name);
  }

  /** Takes back whatever a holder has, for one that can no longer say so itself. */
  releaseAll(name: string): void {
    for (const { holder, ticket } of [...this.#pool.leases, ...this.#pool.waiting])
      if (holder === name) this.release(name, ticket);
  }

  quiet(name: string, ticket: Ticket): void {
    this.#apply(markQuiet(this.#pool, name, ticket, this.#clock.now()));
  }

  busy(name: string, ticket: Ticket): void {
    this.#apply(markBusy(this.#pool, name, ticket, this.#clock.now()));
  }

  #apply({ pool, grants, reclaims, recheckAtMs }: SlotDecision): void {
    this.#pool = pool;
    this.#clock.clearTimeout(this.#timer);
    this.#timer = undefined;
    if (recheckAtMs !== null) {
      const now = this.#clock.now();
      this.#timer = this.#clock.setTimeout(
        () => this.#apply(recheck(this.#pool, this.#clock.now())),
        Math.max(1, recheckAtMs - now),
      );
    }
    // Whoever is told may come back with the next request before this returns: the pool is already the new one.
    for (const { holder, ticket } of grants) this.#tell(() => this.#holders.get(holder)?.holder.granted(ticket));
    for (const { holder, ticket } of reclaims) this.#tell(() => this.#holders.get(holder)?.holder.reclaimed(ticket));
  }

  /** A holder that has left its place meanwhile knows by the ticket that it is not meant. */
  #tell(tell: () => void): void {
    if (this.#held === null) tell();
    else this.#held.push(tell);
  }
}
