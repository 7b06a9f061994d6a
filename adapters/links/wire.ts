import type { Failure } from '../../actors/errors.js';
import type { LinkDiagnosis } from '../../actors/ports.js';
import type { Handshake } from '../../machines/vocabulary.js';
import type { StopReport } from './group-stop.js';
import type { Message } from './message.js';

/** How a wire came to its end. */
export interface WireEnd {
  readonly problem: Failure;
  /** The same in the words for a server that never got to speak. */
  readonly early: Failure;
  /** Whether a server died of it; false for one that cannot be reached. */
  readonly death: boolean;
  /** Whether another start may do better, should the server have ended of a request that it does not know. */
  readonly mayRestart: boolean;
}

export interface WireEvents {
  /** The process runs, or the endpoint is about to be asked. */
  opened(pid: number | null): void;
  message(message: Message): void;
  /** Whether somebody waits for the answer with this id; `null`: for any answer. */
  wants(id: string | number | null): boolean;
  /** A request will not be answered, and why. */
  dropped(id: string | number, problem: Failure): void;
  /** First output on stderr. */
  stderr(): void;
  /** At most once for each start, and not after `stop`. */
  ended(end: WireEnd): void;
}

/** What carries the messages of one link: a process and its pipes, or requests to one endpoint. Has one owner, its link. */
export interface Wire {
  readonly pid: number | null;
  /** Whether no server of the modern era is to be found on it. */
  readonly isLegacyOnly: boolean;
  /** How long silence after the first question is no answer, in milliseconds; absent: as the engine thinks best. */
  readonly probeTimeoutMs?: number;
  /** Settles when it takes messages or never will. */
  up(): Promise<void>;
  /** Takes one message of the session, or says why not. */
  push(frame: string): Failure | null;
  /** Takes one of our own requests; what is said beside the frame is in it too. */
  request(frame: string, id: string, method: string, params: object | undefined): Failure | null;
  /** To be told what the handshake agreed on; settles when requests may follow. */
  agreed(handshake: Handshake): Promise<void>;
  /** Tells the server that one of our requests is off. Settles when that was written. */
  cancel(requestId: string, reason: string): Promise<void>;
  /** Starts anew after an end that `mayRestart`, once nothing is left of the last start. */
  restart(): Promise<void>;
  /** Settles when nothing of it is left; never rejects. A second call is the same promise. */
  stop(): Promise<StopReport>;
  diagnosis(): Pick<LinkDiagnosis, 'stderrTail' | 'noiseLines'>;
}

/** The notification that one of our requests is off (basic/utilities/cancellation). */
export const cancelledFrame = (requestId: string, reason: string): string =>
  JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId, reason } });
