import { isUnsupportedVersion } from './handshake-error.js';
import type { SdkSession } from './sdk-session.js';

/** What agreeing on an era needs of the link. */
export interface Negotiator {
  /** A new session with the process that runs now. */
  openSession(): SdkSession;
  /** When the process died of the first question: starts it once more, the old one being gone, and says true. */
  restarted(): Promise<boolean>;
}

/**
 * Agrees with the server on an era and a revision: modern first, unless the server is known to be older. Two servers get a
 * second try: one that dies of a request before `initialize` is started anew and spoken to in the older way; one that was
 * slow, was taken for older and then showed itself as modern is asked for its era again.
 */
export async function negotiate(link: Negotiator, isKnownLegacy: boolean): Promise<SdkSession> {
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

/** Remembers which servers are of the older era, by config hash; the oldest knowledge goes first. */
export class EraMemory {
  static readonly #sizeMax = 1_024;
  readonly #legacy = new Set<string>();

  isLegacy(configHash: string): boolean {
    return this.#legacy.has(configHash);
  }

  /** Learns from a handshake that worked. One that was only slow to show itself as modern is not taken for older. */
  learn(configHash: string, session: SdkSession): void {
    this.forget(configHash);
    if (session.handshake().era === 'modern' || session.isLateModern) return;
    const [oldest] = this.#legacy;
    if (this.#legacy.size >= EraMemory.#sizeMax && oldest !== undefined) this.#legacy.delete(oldest);
    this.#legacy.add(configHash);
  }

  forget(configHash: string): void {
    this.#legacy.delete(configHash);
  }
}
