import type { Failure } from '../../actors/errors.js';
import type { Handshake } from '../../machines/vocabulary.js';
import type { Body, Message } from './message.js';

export interface SessionDeps {
  readonly clientInfo: { readonly name: string; readonly version: string };
  readonly pid: number | null;
  /** Puts one frame on the wire, or says why not. */
  readonly push: (frame: string) => Failure | null;
  /** How long silence after the question for the era is taken for no answer, in milliseconds. Absent: 2 000. */
  readonly probeTimeoutMs?: number;
}

/**
 * The control plane of one link: an SDK's client on a wire that is ours. It agrees on an era, listens for announcements and
 * answers what the server asks. One attempt, one session: none is used twice.
 */
export interface Session {
  /** Whether the server was sent a request that an older one may die of. */
  readonly hasProbed: boolean;
  /** Whether the server was spoken to in the older way. */
  readonly hasInitialized: boolean;
  /** Whether the server gave a modern answer only after it had been taken for an older one. */
  readonly isLateModern: boolean;
  /** Agrees on an era and a revision; `isLegacy`: without asking for the era first. */
  connect(isLegacy: boolean): Promise<void>;
  /** What was agreed on. To be asked after `connect`. */
  handshake(): Handshake;
  /** What a modern server wants in the `_meta` of every request. */
  requestMeta(): Body;
  /** Settles when announcements stop coming. */
  listen(): Promise<void>;
  /** Takes a message; false for an answer to what this session never asked. */
  receive(message: Message): boolean;
  /** Ends what waits for an answer; the wire itself is not this session's. */
  close(): void;
}

/** One line of the SDK. */
export interface Engine {
  readonly name: 'client' | 'sdk';
  /** Loads the SDK ahead of its first session; what goes wrong is told by that session. */
  preload(): void;
  open(deps: SessionDeps): Session;
}
