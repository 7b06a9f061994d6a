import { type InvariantId, invariants } from '../invariants.js';

/** An invariant that did not hold. */
export class Violation extends Error {
  override readonly name = 'Violation';
  readonly invariant: InvariantId;

  constructor(invariant: InvariantId, detail: string) {
    super(`${invariant}: ${detail}`);
    this.invariant = invariant;
  }
}

/** Judges invariants and counts how often each was judged: a check that is never reached proves nothing. */
export class Checks {
  readonly #counts = new Map<InvariantId, number>(invariants.map(({ id }) => [id, 0]));
  #broken: Violation | null = null;

  /** The first that did not hold. */
  get broken(): Violation | null {
    return this.#broken;
  }

  /** How often each was judged. */
  get counts(): ReadonlyMap<InvariantId, number> {
    return this.#counts;
  }

  /**
   * Judges one. It throws nothing, as it may be called from within the product, which would take an error for the world's own;
   * the detail is made only where it is needed.
   */
  holds(invariant: InvariantId, isHeld: boolean, detail: () => string): void {
    this.#counts.set(invariant, (this.#counts.get(invariant) ?? 0) + 1);
    if (!isHeld) this.#broken ??= new Violation(invariant, detail());
  }
}
