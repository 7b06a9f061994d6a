import type { ActorRef, Snapshot } from 'xstate';
import type { ListWalk } from './pagination-machine.js';
import type { ServerOptions } from './server-options.js';
import type {
  CancellationOutcome,
  CandidateKey,
  CloseOutcome,
  Failure,
  Gate,
  Generation,
  Handshake,
  LinkRef,
  ListKind,
  ServerProfile,
  Ticket,
} from './vocabulary.js';

/** Who wants the server: a person's act may ask a denied question again, a call may skip one wait of backoff. */
export type DemandedBy = 'person' | 'call' | 'lifecycle' | 'discovery';

/** The first gate that is shut, decided by the workspace; null when all that need no look at the disk are open. */
export type ShutGate = { readonly gate: Gate; readonly failure: Failure } | null;

/** Commands, from the workspace downward. */
export type ServerCommand =
  | { readonly type: 'server.demand'; readonly by: DemandedBy }
  /** No call waits for this server any more. */
  | { readonly type: 'demand.ended' }
  /** A person's restart: what was counted is forgotten. */
  | { readonly type: 'server.restart' }
  /** Leave for good; the actor is done once nothing of it is open. */
  | { readonly type: 'server.retire'; readonly failure: Failure }
  | { readonly type: 'gates.changed'; readonly shut: ShutGate }
  /** Another definition under the same key: what runs is closed, the gates come again. */
  | { readonly type: 'profile.changed'; readonly profile: ServerProfile }
  /** Lifecycle or time-outs only: nothing is closed. */
  | { readonly type: 'profile.adjusted'; readonly profile: ServerProfile }
  /** Other numbers of the workspace: they count from the next time they are asked for. */
  | { readonly type: 'options.changed'; readonly options: ServerOptions }
  | { readonly type: 'approval.granted'; readonly fingerprint: string }
  | { readonly type: 'approval.denied'; readonly fingerprint: string; readonly failure: Failure }
  | { readonly type: 'slot.granted'; readonly ticket: Ticket }
  | { readonly type: 'slot.reclaimed'; readonly ticket: Ticket }
  /** Edges of the call table of one generation. */
  | { readonly type: 'calls.busy'; readonly generation: Generation }
  | { readonly type: 'calls.quiet'; readonly generation: Generation }
  | { readonly type: 'call.cancelled'; readonly generation: Generation; readonly requestId: string; readonly reason: string }
  | { readonly type: 'answer.late'; readonly requestId: string; readonly answer: 'result' | 'error' };

/** Facts from the transport actor. Each names its generation; facts of an older one change nothing. */
export type TransportFact =
  | { readonly type: 'transport.opened'; readonly generation: Generation; readonly pid: number | null }
  | { readonly type: 'transport.initialized'; readonly generation: Generation; readonly handshake: Handshake }
  /** `death` is false for a remote that cannot be reached: that costs no restart. */
  | { readonly type: 'transport.lost'; readonly generation: Generation; readonly failure: Failure; readonly death: boolean }
  | {
      readonly type: 'transport.closed';
      readonly generation: Generation;
      readonly outcome: CloseOutcome;
      readonly detail: string;
    }
  | { readonly type: 'transport.stderr'; readonly generation: Generation }
  | { readonly type: 'list.changed'; readonly generation: Generation; readonly kind: ListKind };

/** What the machine and its children say to it. */
export type ServerNews =
  | { readonly type: 'restart.forgotten'; readonly seq: number }
  | { readonly type: 'cancellation.settled'; readonly requestId: string; readonly outcome: CancellationOutcome };

export type ServerEvent = ServerCommand | TransportFact | ServerNews;

/** What a server tells the workspace that owns it. */
export type ServerReport =
  | { readonly type: 'slot.wanted'; readonly key: CandidateKey; readonly ticket: Ticket; readonly keepAlive: boolean }
  | { readonly type: 'slot.released'; readonly key: CandidateKey; readonly ticket: Ticket }
  | { readonly type: 'slot.quiet'; readonly key: CandidateKey; readonly ticket: Ticket }
  | { readonly type: 'slot.busy'; readonly key: CandidateKey; readonly ticket: Ticket }
  | { readonly type: 'approval.wanted'; readonly key: CandidateKey; readonly fingerprint: string }
  | { readonly type: 'approval.closed'; readonly key: CandidateKey; readonly fingerprint: string }
  /** Whether this candidate, as it would run now, needs no question any more. */
  | { readonly type: 'approval.known'; readonly key: CandidateKey; readonly approved: boolean }
  | { readonly type: 'list.walked'; readonly key: CandidateKey; readonly generation: Generation; readonly walk: ListWalk }
  /** Whoever waits for this server is to be told, now. */
  | { readonly type: 'server.interrupted'; readonly key: CandidateKey; readonly failure: Failure }
  /** Nothing of it is left. */
  | { readonly type: 'server.gone'; readonly key: CandidateKey };

/** A narrow reference instead of `sendParent`: the machine can be tested and stepped alone. */
export type SupervisorRef = ActorRef<Snapshot<unknown>, ServerReport>;

/** Down to the transport actor: begin the staged stop, settle open calls with this failure at once. */
export interface TransportCommand {
  readonly type: 'transport.close';
  readonly failure: Failure;
}

export interface TransportInput extends LinkRef {
  readonly configHash: string;
  /** What was approved; the actor compares before it starts anything. */
  readonly fingerprint: string | null;
}

export interface VetInput {
  readonly key: CandidateKey;
  readonly configHash: string;
}

/** What a look at the disk says of a candidate. */
export type Vetting =
  | { readonly verdict: 'approved'; readonly fingerprint: string | null }
  | { readonly verdict: 'ask'; readonly fingerprint: string }
  | { readonly verdict: 'refused'; readonly failure: Failure };

export type CancellationCounts = Readonly<Record<CancellationOutcome, number>>;
