import { CODES, type Code, type Stage } from './codes.js';

/** Words that every layer shares: plain JSON data, fit for an inspector, never a secret. */

export { CODES, type Code, type Stage };

/** The six public phases of a server; hosts match on nothing else. */
export const PHASES = ['idle', 'approving', 'connecting', 'ready', 'backoff', 'failed'] as const;
export type Phase = (typeof PHASES)[number];

/** Why an idle server may not start, in the order the gates are tried. */
export type Gate = 'remoteOff' | 'untrusted' | 'disabled' | 'shadowed' | 'refused' | 'denied';

/** What every start passes, in this order; `Gate` says how one of them is shut, or that another layer serves the id. */
export const GATE_NAMES = ['remote', 'trust', 'enabled', 'refusals', 'approval'] as const;
export type GateName = (typeof GATE_NAMES)[number];

/** 1–32 bytes of `[A-Za-z0-9_-]`, no `__`. */
export type ServerId = string;
export type LayerName = 'user' | `plugin:${string}` | 'workspace' | 'workspace-override';
/** The layers that somebody else may have written. */
export function isWorkspaceLayer(layer: LayerName): boolean {
  return layer === 'workspace' || layer === 'workspace-override';
}

export type TransportKind = 'stdio' | 'http' | 'sse';
export type Lifecycle = 'lazy' | 'eager' | 'keep-alive';
export type Era = 'legacy' | 'modern';
export const LIST_KINDS = ['tools', 'resources', 'resourceTemplates', 'prompts'] as const;
export type ListKind = (typeof LIST_KINDS)[number];

/** One life of a server: counts up with every connection, so that news of an older one can be told apart. */
export type Generation = number;
/** Names one request for a live slot; a grant for an older request must not count. */
export type Ticket = number;

/** An expected failure as data. `actors/errors.ts` turns it into the one error class at the edge. */
export interface Failure {
  readonly code: Code;
  readonly stage: Stage;
  readonly retryable: boolean;
  /** Names the key, the file and the place; never a secret. */
  readonly message: string;
  /** What the reader can do about it. */
  readonly hint?: string;
}

/** A failure with the stage and the retry flag that its code stands for. */
export function failure(code: Code, message: string, hint?: string): Failure {
  const { stage, retryable } = CODES[code];
  return hint === undefined ? { code, stage, retryable, message } : { code, stage, retryable, message, hint };
}

/** What a machine has to know of a server: no command, no environment, no URL. */
export interface ServerProfile {
  readonly id: ServerId;
  readonly layer: LayerName;
  readonly transport: TransportKind;
  readonly lifecycle: Lifecycle;
  /** Digest of what would run; the same hash is the same server. */
  readonly configHash: string;
  readonly isRemote: boolean;
  /** Set when the configuration itself refuses the server. */
  readonly refusal: Failure | null;
  readonly idleTimeoutMs: number;
  readonly initTimeoutMs: number;
}

/** How one candidate is named: an id may stand in several layers, each with its own actor. Holds no dot. */
export type CandidateKey = `${string}/${ServerId}`;
export const candidateKey = (layer: LayerName, id: ServerId): CandidateKey => `${layer}/${id}`;

/** One life of one candidate: what an actor needs to find its link. */
export interface LinkRef {
  readonly key: CandidateKey;
  readonly generation: Generation;
}

/** One list of one server, as far as it is known. */
export interface ListState {
  readonly state: 'unsupported' | 'unknown' | 'complete' | 'truncated' | 'failed';
  readonly count: number;
  readonly reason: Failure | null;
}

/** What a server said of itself in the handshake. Unverified, for display. */
export interface Handshake {
  readonly era: Era;
  readonly protocolVersion: string;
  readonly serverInfo: { readonly name: string; readonly version: string } | null;
  readonly lists: readonly ListKind[];
  /** Whether changes of the lists are announced. */
  readonly announces: boolean;
}

export type CloseOutcome = 'clean' | 'killed' | 'unknown';
export type CancellationOutcome = 'confirmed' | 'lateAnswer' | 'unconfirmed';
