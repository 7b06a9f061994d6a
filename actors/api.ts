import type { Observable } from 'rxjs';
import type {
  CloseOutcome,
  Code,
  Era,
  Failure,
  Gate,
  Generation,
  LayerName,
  Lifecycle,
  ListState,
  Phase,
  ServerId,
  Stage,
  TransportKind,
} from '../machines/vocabulary.js';
import type { Explanation } from './explanation.js';
import type { Gateway, GatewayResult, ToolListing } from './gateway-api.js';
import type {
  ApprovalCard,
  Ask,
  AskOptions,
  AuditEntry,
  ConfigFault,
  Json,
  LogPort,
  PluginLayer,
  Ports,
  Progress,
  Question,
} from './ports.js';

/** The types a host sees. The functions behind them: `supervisor.ts`, `workspace.ts`, `gateway.ts`. */

export interface SupervisorOptions {
  /** Client info for servers, and what the host is called in messages. */
  readonly host?: { readonly name: string; readonly version: string };
  /** Asks a person. Absent: there is no channel, questions stay pending in `questions()`. */
  readonly approve?: Ask;
  /** The host's own roles and safety. May only tighten: `'deny'` and `'ask'` count, anything else leaves the policy's verdict. */
  readonly authorizeCall?: (call: {
    readonly tool: string;
    readonly server: ServerId;
    readonly arguments: Json;
    readonly session: string | null;
  }) => unknown;
  /** Fingerprints a person has already approved for this run. */
  readonly approvedFingerprints?: readonly string[];
  /**
   * Start at load what nobody has called yet: servers that are to be kept alive or eager, and once those that were never
   * listed. Default true; one-shot commands say false and start only what they name.
   */
  readonly discover?: boolean;
  /** Longest wait for an answer to a question. Default 300 000. */
  readonly approvalTimeoutMs?: number;
  /** Longest life of one call, progress or not. Default 600 000. */
  readonly hardDeadlineMs?: number;
  /** Seed of the machines' jitter; absent: drawn at random. */
  readonly seed?: number;
  /** Any XState inspector's callback; see `xstate`'s `inspect` option. */
  readonly inspect?: (event: unknown) => void;
  readonly log?: LogPort;
  /**
   * Takes what is decided and done, in ids and digests, in place of the supervisor's own log; `null` has it recorded nowhere. It
   * is called on the way of every call: it has to return at once, and what it throws is ignored.
   */
  readonly audit?: { record(entry: AuditEntry): void } | null;
}

/** Supervises workspaces within one process. One per host app. */
export interface Supervisor {
  /**
   * Opens the workspace at `root`; the same root gives the same running workspace, counted by handles. Rejects with
   * `WORKSPACE_CONFLICT` when it runs with other options, `SUPERVISOR_CLOSED` after `close()`.
   */
  openWorkspace(root: string, options?: WorkspaceOptions): Promise<Workspace>;
  /**
   * Switches remote servers on or off at once; off settles their calls with `REMOTE_OFF`. It outranks the user's file for this
   * run; with `persist` it is written there too, and the promise rejects with `CONFIG_UNREADABLE` or `CONFIG_INVALID` when
   * that cannot be done. It has its effect in this run either way; once written, the file's word counts again.
   */
  setRemote(on: boolean, options?: { readonly persist?: boolean }): Promise<void>;
  /** Settles when nothing is left: no process, socket, timer, listener. Waiting calls are settled with `SUPERVISOR_CLOSED`. */
  close(options?: { readonly drainMs?: number }): Promise<void>;
}

export interface WorkspaceOptions {
  /** The host's word on trust; `false` wins over what the machine remembers. Absent: what it remembers, else untrusted. */
  readonly trusted?: boolean;
  /** Servers switched on for this run only. */
  readonly enable?: readonly ServerId[];
  /**
   * Layers between the user's file and the workspace's, lowest first, read by the rules of the user's own entries. Copied at
   * once. `CONFIG_INVALID`, naming plugin and key, for two of the same name and for any fault that would reject a file.
   */
  readonly plugins?: readonly PluginLayer[];
}

export interface CallOptions {
  readonly signal?: AbortSignal;
  /** Bounds everything but approval. Absent: the server's `timeout` from sending, its `initTimeout` for getting ready. */
  readonly timeoutMs?: number;
  /** Tells callers apart for approvals, cancellation and progress. */
  readonly session?: string;
  readonly onProgress?: (progress: Progress) => void;
  /** A person typed this very call; a policy's ask is answered by that, a deny is not. */
  readonly byPerson?: boolean;
  /** Asks the person behind this very call about it, in place of the supervisor's `approve`. Never about a server. */
  readonly approve?: Ask;
}

/** `remember` keeps the yes to a call, where its question says `canRemember`; see `Question`. */
export type Decision = 'approve' | 'deny' | { readonly decision: 'approve'; readonly remember?: boolean };

/** One handle on a running workspace. */
export interface Workspace {
  /** Real path. */
  readonly root: string;
  /**
   * Settles when the first configuration was taken or rejected and what former runs listed can be searched (a state db that
   * does not answer holds it up for 2 s at most); questions may still be open. Never rejects.
   */
  readonly loaded: Promise<void>;
  status(): WorkspaceStatus;
  /** `status()` now and after every change; distinct, replayed, completes on close. */
  readonly status$: Observable<WorkspaceStatus>;
  /** The catalogue now. */
  tools(): readonly ToolListing[];
  /**
   * Calls a tool by its full name. Resolves with the server's result, `isError` included; rejects with `SupervisorError`.
   * Settles exactly once and is never replayed.
   */
  call(name: string, args?: Json, options?: CallOptions): Promise<CallResult>;
  readonly gateway: Gateway;
  server(id: ServerId): ServerHandle;
  /**
   * Explains what a name stands for: a server's id, a tool's full or original name, `server.tool`, `server.resources/read` or
   * `server.prompts/get`. More than one where a name fits several servers. Throws `UNKNOWN_SERVER`, with the nearest names, for
   * one that nothing has.
   */
  explain(name: string): readonly Explanation[];
  questions(): readonly Question[];
  /** Answers a question by its nonce. Only an approval is a yes. False when no such question is open. */
  answer(nonce: string, decision: Decision): boolean;
  /** The digest a card shows for this value: whoever pastes a secret sees whether it is the one on the card. */
  digestOf(value: string): string;
  /** Reads the configuration now. Resolves with the status after it was taken or rejected. */
  reload(): Promise<WorkspaceStatus>;
  /** Takes effect at once, and is remembered on this computer; rejects with `STORE_FAILED` when that cannot be done. */
  setTrusted(trusted: boolean): Promise<void>;
  /** Cancels what this session has open. */
  endSession(session: string): void;
  /** Demands every server with open gates and resolves when none is queued, connecting or in its first listing. */
  connectAll(): Promise<WorkspaceStatus>;
  /** Gives up this handle; the last one stops the workspace and settles when nothing of it is left. */
  close(): Promise<void>;
}

export interface CallResult {
  readonly [key: string]: unknown;
}

/** One server by id. Every method rejects or throws `UNKNOWN_SERVER` when the configuration has no such id. */
export interface ServerHandle {
  readonly id: ServerId;
  status(): ServerStatus;
  /** Passes the same gates as a call; on a ready server closes the generation and handshakes anew (with calls in flight only with `force`). */
  test(options?: { readonly force?: boolean; readonly signal?: AbortSignal }): Promise<TestReport>;
  /** Clears what was counted against it and connects anew. */
  restart(): void;
  /**
   * Switches on the highest entry of this id that is off, and remembers it; what waits behind it is asked at once. Effect in
   * this run whatever happens, `STORE_FAILED` when it will not hold for the next.
   */
  enable(): Promise<void>;
  /** Switches off what serves this id, or would have to, and settles its calls at once. Rejects as `enable` does. */
  disable(): Promise<void>;
  /**
   * Takes the entry that serves this id, or would have to, out of its layer's file; comments stay, and so does its switch: an
   * entry of that id that comes back is as on or off as this one was. Resolves when the file was read again. Rejects with `CONFIG_INVALID` for a plugin's entry, `CONFIG_UNREADABLE` when the file cannot be written.
   */
  remove(): Promise<{ readonly file: string }>;
  /**
   * Why it is not ready; with a tool's original or full name, `resources/read` or `prompts/get` also what the rules say of
   * that. Knows ids that only a file names which was not taken.
   */
  explain(tool?: string): Explanation;
  /** Last lines of its stderr. */
  logs(): string;
}

export interface TestReport {
  readonly ok: boolean;
  readonly server: ServerId;
  /** In the order they were passed; the last one is where it ended. */
  readonly stages: readonly { readonly stage: Stage; readonly ok: boolean; readonly tookMs: number }[];
  readonly error: Failure | null;
  readonly status: ServerStatus;
}

export interface WorkspaceStatus {
  readonly workspace: {
    readonly root: string;
    readonly trusted: boolean;
    readonly remoteEnabled: boolean;
    readonly config: {
      readonly state: 'loading' | 'valid' | 'degraded' | 'rejected';
      /** Counts the configurations taken. */
      readonly revision: number;
      readonly errors: readonly ConfigFault[];
      readonly warnings: readonly ConfigFault[];
    };
    /** What is not as it should be with the workspace as a whole, such as records that could not be kept. */
    readonly warnings: readonly string[];
  };
  /** By id. */
  readonly servers: readonly ServerStatus[];
}

export interface ServerStatus {
  readonly id: ServerId;
  readonly layer: LayerName;
  /** Where its entry stands; `plugin:<name>` for a plugin's, null for one that is on its way out. */
  readonly file: string | null;
  /** The other layers that define this id, and why they do not serve it. */
  readonly shadowed: readonly { readonly layer: LayerName; readonly why: string }[];
  readonly transport: TransportKind;
  /** Scheme, host and port of an http or sse server. */
  readonly origin: string | null;
  readonly lifecycle: Lifecycle;
  readonly enabled: boolean;
  readonly phase: Phase;
  readonly blockedBy: Gate | null;
  /** What an approval is given for; null where the layer needs none. */
  readonly fingerprint: string | null;
  readonly generation: Generation;
  readonly pid: number | null;
  readonly era: Era | null;
  readonly protocolVersion: string | null;
  readonly serverInfo: { readonly name: string; readonly version: string } | null;
  readonly tools: ToolsStatus;
  readonly resources: ListState;
  readonly resourceTemplates: ListState;
  readonly prompts: ListState;
  /** Where it is on its way; null when it rests. */
  readonly stage: Stage | null;
  /** Why it is not ready, or what went wrong last. */
  readonly error: Failure | null;
  readonly retryAtMs: number | null;
  readonly restarts: number;
  readonly callsInFlight: number;
  readonly cancellations: { readonly confirmed: number; readonly lateAnswer: number; readonly unconfirmed: number };
  readonly lastClose: { readonly generation: Generation; readonly outcome: CloseOutcome; readonly reason: string } | null;
  readonly warnings: readonly string[];
}

export interface ToolsStatus extends ListState {
  readonly skipped: readonly { readonly name: string; readonly code: Code }[];
}

export type * from './explanation.js';
export type {
  ApprovalCard,
  Ask,
  AskOptions,
  AuditEntry,
  ConfigFault,
  Gateway,
  GatewayResult,
  Json,
  PluginLayer,
  Ports,
  Progress,
  Question,
  ToolListing,
};
