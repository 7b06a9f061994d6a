/**
 * The charts, for an inspector, a simulator or a test. They do no I/O and read no clock: an actor that is not provided
 * fails with a message that names it, and `scriptedServer` provides them all from a script.
 */
export {
  type CancellationInput,
  type CancellationReport,
  type CancellationResult,
  type CancelledRequest,
  cancellationMachine,
} from './cancellation-machine.js';
export type { Candidate, CandidateFacts, CandidateVerdict, ShutStackGate } from './candidates.js';
export { CODES, type Code, type Stage } from './codes.js';
export {
  defaultListLimits,
  type ListedItem,
  type ListLimits,
  type ListPage,
  type ListWalk,
  type PageRequest,
  type PaginationInput,
  paginationMachine,
  type SkippedItem,
} from './pagination-machine.js';
export { backoffMs, defaultRestartPolicy, type RestartPolicy, restartPolicy } from './restart-policy.js';
export {
  type ScriptedGeneration,
  type ScriptedPage,
  type ServerScript,
  scriptedServer,
  scriptedWorkspace,
} from './scripted-actors.js';
export { backoffDelayMs, type ServerContext, type ServerInput } from './server-context.js';
export type {
  CancellationCounts,
  DemandedBy,
  ServerCommand,
  ServerEvent,
  ServerNews,
  ServerReport,
  ShutGate,
  SupervisorRef,
  TransportCommand,
  TransportFact,
  TransportInput,
  VetInput,
  Vetting,
} from './server-events.js';
export { serverMachine } from './server-machine.js';
export { defaultServerOptions, type ServerOptions } from './server-options.js';
export { phaseOf, type ServerSnapshot, stageOf } from './server-view.js';
export {
  type Lease,
  markBusy,
  markQuiet,
  recheck,
  releaseSlot,
  requestSlot,
  type SlotDecision,
  type SlotPool,
  type SlotRef,
  slotPool,
  type Waiter,
} from './slots.js';
export {
  type CandidateKey,
  type CloseOutcome,
  candidateKey,
  type Era,
  type Failure,
  failure,
  type Gate,
  type Generation,
  type Handshake,
  type LayerName,
  LIST_KINDS,
  type Lifecycle,
  type LinkRef,
  type ListKind,
  type ListState,
  PHASES,
  type Phase,
  type ServerId,
  type ServerProfile,
  type Ticket,
  type TransportKind,
} from './vocabulary.js';
export {
  type ServerRef,
  type WorkspaceCommand,
  type WorkspaceEvent,
  type WorkspaceInput,
  type WorkspaceNews,
  workspaceMachine,
} from './workspace-machine.js';
