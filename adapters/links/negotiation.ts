import type { DbPort } from '../../actors/ports.js';
import type { Era } from '../../machines/vocabulary.js';
import { isUnsupportedVersion } from './handshake-error.js';
import type { Session } from './session.js';

/** What agreeing on an era needs of the link. */
export interface Negotiator {
  /** A new session with the process that runs now. */
  openSession(): Session;
  /** When the server died of the first question: starts it once more, the old one being gone, and says true. */
  restarted(): Promise<boolean>;
}

/**
 * Agrees with the server on an era and a revision: modern first, unless the server is known to be older. Two servers get a
 * second try: one that dies of a request before `initialize` is started anew and spoken to in the older way; one that was
 * slow, was taken for older and then showed itself as modern is asked for its era again.
 */
export async function negotiate(link: Negotiator, isKnownLegacy: boolean): Promise<Session> {
  const session = link.openSession();
  try {
    await session.connect(isKnownLegacy);
    return session;
  } catch (error) {
    const isRestarted = await link.restarted();
    const isModern = session.hasInitialized && (session.isLateModern || isUnsupportedVersion(error));
    session.close();
    if (!isRestarted && !isModern) throw error;
    const second = link.openSession();
    await second.connect(isRestarted);
    return second;
  }
}

/** What keeps the era of servers beyond the life of the process: part of the state db's port. */
export type EraStore = Pick<DbPort, 'era' | 'saveEra'>;

/**
 * Remembers which servers are of the older era, by config hash; the oldest knowledge goes first. With a store, what another
 * run has learnt is asked for once; a store that fails is done without, and nobody waits for what is written to it.
 */
export class EraMemory {
  static readonly #sizeMax = 1_024;
  readonly #store: EraStore | null;
  readonly #legacy = new Set<string>();
  /** Config hashes that this process knows about by itself or has asked the store for. */
  readonly #known = new Set<string>();

  constructor(store?: EraStore) {
    this.#store = store ?? null;
  }

  async isLegacy(configHash: string): Promise<boolean> {
    if (this.#store === null || this.#known.has(configHash)) return this.#legacy.has(configHash);
    const era = await this.#store.era(configHash).catch(() => null);
    // Meanwhile a handshake of this very server may have told more than the store knows.
    if (!this.#known.has(configHash)) this.#remember(configHash, era === 'legacy');
    return this.#legacy.has(configHash);
  }

  /** Learns from a handshake that worked. One that was only slow to show itself as modern is not taken for older. */
  learn(configHash: string, session: Session): void {
    const { era } = session.handshake();
    const isLegacy = era === 'legacy' && !session.isLateModern;
    this.#remember(configHash, isLegacy);
    this.#save(configHash, isLegacy || era === 'modern' ? era : null);
  }

  forget(configHash: string): void {
    const wasLegacy = this.#legacy.has(configHash);
    this.#remember(configHash, false);
    if (wasLegacy) this.#save(configHash, null);
  }

  #remember(configHash: string, isLegacy: boolean): void {
    put(this.#known, configHash, EraMemory.#sizeMax);
    if (isLegacy) put(this.#legacy, configHash, EraMemory.#sizeMax);
    else this.#legacy.delete(configHash);
  }

  #save(configHash: string, era: Era | null): void {
    this.#store?.saveEra(configHash, era).catch(() => undefined);
  }
}

/** Puts an element last; the first one goes when there are too many. */
function put(set: Set<string>, element: string, sizeMax: number): void {
  set.delete(element);
  const [oldest] = set;
  if (set.size >= sizeMax && oldest !== undefined) set.delete(oldest);
  set.add(element);
}
