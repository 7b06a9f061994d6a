import type {
  CloseOutcome,
  Era,
  Failure,
  Generation,
  Handshake,
  LayerName,
  Lifecycle,
  ListKind,
  ServerId,
  TransportKind,
} from '../machines/vocabulary.js';

/**
 * What the core needs from the world, in the core's own words. Adapters implement these, the simulator and the tests
 * stand in for them. Everything secret lives behind this line: machines get ids, digests and generations only.
 */
export interface Ports {
  readonly clock: ClockPort;
  readonly random: RandomPort;
  readonly digest: DigestPort;
  readonly fs: FsPort;
  readonly db: DbPort;
  readonly config: ConfigPort;
  readonly vet: VetPort;
  readonly link: LinkPort;
  readonly log: LogPort;
  /** Absent: no approval of a tool is remembered. */
  readonly grants?: GrantsPort;
  /** Absent: what is decided and done is recorded nowhere. */
  readonly audit?: AuditPort;
  /** Absent: a search by regular expression is refused. */
  readonly regex?: RegexPort;
  /** The one true path of a root; rejects with `CONFIG_UNREADABLE` when there is none. Absent: a path is taken as it is. */
  readonly realPath?: (path: string) => Promise<string>;
  /** Ends what the adapters still hold; called once, after the last workspace. */
  readonly close?: () => Promise<void>;
}

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

// ── time, chance, digests ──────────────────────────────────────────────────────────────────────────────────────────

export interface ClockPort {
  /** Monotonic milliseconds. */
  now(): number;
  /** Milliseconds since 1970, for display and for what outlives the process. */
  epoch(): number;
  setTimeout(fire: () => void, delayMs: number): unknown;
  clearTimeout(handle: unknown): void;
}

export interface RandomPort {
  /** 32 bits to seed a machine's jitter with. */
  seed(): number;
  /** At least 128 bits, printable; names a question so that an answer cannot be for another one. */
  nonce(): string;
}

export interface DigestPort {
  /** SHA-256 in hex over the canonical JSON (RFC 8785) of a value. */
  ofJson(value: Json): string;
  /** 12 hex digits of a digest keyed for this process: tells values apart without showing them. */
  keyed(secret: string): string;
}

// ── files and state ────────────────────────────────────────────────────────────────────────────────────────────────

export interface FsPort {
  /** Writes a new file only its owner can read, under our own directory and our own name. Rejects with `SPILL_FAILED`. */
  writeSpill(name: string, text: string): Promise<{ readonly path: string; readonly uri: string }>;
  /** A page of what was spilled, by its `spill://` URI. Rejects with `INVALID_ARGUMENTS` for any other name. */
  readSpill(uri: string, offset: number, limit: number): Promise<{ readonly text: string; readonly nextOffset: number | null }>;
  /** Removes what this process spilled. */
  close(): Promise<void>;
}

/**
 * What must outlive a run; shared with the other processes of this user. Rejects with `STORE_FAILED`. Nothing in it is a
 * secret: credentials are kept as digests only.
 */
export interface DbPort {
  /** `null` = never decided on this machine. `root` is a real path. */
  trusted(root: string): Promise<boolean | null>;
  setTrusted(root: string, trusted: boolean): Promise<void>;
  /** Switches decided by a person: key (see `machines/candidates.ts`) to on or off. */
  switches(): Promise<ReadonlyMap<string, boolean>>;
  setSwitch(key: string, on: boolean): Promise<void>;
  /** The lists last read completely, by metadata key. */
  metadata(key: string): Promise<Metadata | null>;
  saveMetadata(key: string, metadata: Metadata): Promise<void>;
  /** The era a server was of when it was last greeted, by config hash; forgotten after 7 days. */
  era(configHash: string): Promise<Era | null>;
  /** `null` forgets. */
  saveEra(configHash: string, era: Era | null): Promise<void>;
  /** Whether a person ever approved this fingerprint on this machine. It decides what may be shown, never what may start. */
  wasApproved(fingerprint: string): Promise<boolean>;
  saveApproved(fingerprint: string): Promise<void>;
  /** What a person approved for good in this root: the digests of the definitions that counted then, by full tool name. */
  grants(root: string): Promise<ReadonlyMap<string, ReadonlySet<string>>>;
  /** Another digest of the same tool is kept beside it. */
  saveGrant(root: string, tool: string, digest: string): Promise<void>;
  /** Whatever was granted for these tools. */
  forgetGrants(root: string, tools: readonly string[]): Promise<void>;
  /** By header name: which value was given, and for which endpoint. `owner` names one server of one layer. */
  credentials(owner: string): Promise<ReadonlyMap<string, CredentialOrigin>>;
  saveCredentials(owner: string, credentials: ReadonlyMap<string, CredentialOrigin>): Promise<void>;
  /**
   * 256 random bits, made once: keys the digests kept here, so that those of two stores cannot be compared and none can be
   * looked up in a table. It lies beside them: who has the store can still try out short values.
   */
  salt(): Promise<string>;
  /** Calls back after another process changed trust, a switch or a grant. */
  watch(changed: () => void): { close(): Promise<void> };
  close(): Promise<void>;
}

/** Digests, keyed by `salt()`. */
export interface CredentialOrigin {
  readonly value: string;
  readonly endpoint: string;
}

export interface Metadata {
  /** Milliseconds since 1970. */
  readonly savedAtMs: number;
  /** How long the server called its lists fresh; `null` where it said nothing. */
  readonly ttlMs: number | null;
  /** What the server was approved as when it was listed; `null` where its layer needs no approval. */
  readonly fingerprint: string | null;
  readonly lists: Readonly<Partial<Record<ListKind, readonly CatalogueItem[]>>>;
}

/** One verified item of a list: `key` is the tool's or prompt's name, the resource's URI or the URI template. */
export interface CatalogueItem {
  readonly key: string;
  /** Exactly what the server sent, as JSON. */
  readonly definition: { readonly [key: string]: unknown };
}

// ── configuration ──────────────────────────────────────────────────────────────────────────────────────────────────

export interface ConfigPort {
  /** Reads every file layer afresh. Never rejects: what cannot be read is said in the reading. */
  read(scope: ConfigScope): Promise<readonly LayerReading[]>;
  /** Calls back, debounced, after any of the files, or the list of remembered tools, may have changed. */
  watch(scope: ConfigScope, changed: () => void): { close(): Promise<void> };
  /**
   * Takes one entry out of its layer's file, comments and layout kept. Rejects with `UNKNOWN_SERVER` when the file has none,
   * `CONFIG_INVALID` for a plugin's, `CONFIG_UNREADABLE` when the file cannot be written; then it is as it was.
   */
  remove(scope: ConfigScope, layer: LayerName, id: ServerId): Promise<{ readonly file: string }>;
  /** Writes `remote.enabled` into the user's file, which is made when there is none. Rejects as `remove` does. */
  setRemote(enabled: boolean): Promise<{ readonly file: string }>;
}

export interface ConfigScope {
  /** Real path of the workspace. */
  readonly root: string;
  /** Layers that the host gives in code, lowest first. */
  readonly plugins?: readonly PluginLayer[];
}

/** A layer between the user's file and the workspace's. */
export interface PluginLayer {
  /** 1 to 32 of `A-Z a-z 0-9 _ -`; the layer is called `plugin:<name>`. */
  readonly name: string;
  /** As `mcpServers` in a file: id to entry. Checked as a file is. */
  readonly servers: { readonly [id: string]: unknown };
}

export interface LayerReading {
  readonly layer: LayerName;
  readonly file: string;
  /** `rejected`: the file has a fault of the kind that rejects a reload whole; `errors` says which. */
  readonly state: 'absent' | 'valid' | 'rejected';
  readonly servers: readonly ServerDefinition[];
  /** Only the user layer has any. */
  readonly settings: UserSettings | null;
  readonly errors: readonly ConfigFault[];
  readonly warnings: readonly ConfigFault[];
  /** Ids that a rejected file names, as far as it can be read: nothing of it is taken, and people ask why. */
  readonly named?: readonly ServerId[];
}

export interface ConfigFault {
  readonly file: string;
  /** From 1; `null` where there is no place, as in a file that cannot be opened. */
  readonly line: number | null;
  readonly column: number | null;
  /** Path of the key, `mcpServers.files.command`; empty for the whole file. */
  readonly key: string;
  readonly code: Failure['code'];
  readonly message: string;
}

export type PolicyVerdict = 'allow' | 'ask' | 'deny';

/** A rule for tools: a glob over the original tool name, whole and case-sensitive. `tool: null` is the whole server. */
export interface PolicyRule {
  readonly server: ServerId;
  readonly tool: string | null;
  readonly verdict: PolicyVerdict;
  readonly layer: LayerName;
  /** Where it stands; absent for one that stands in no file. */
  readonly place?: { readonly file: string; readonly line: number };
}

export interface UserSettings {
  readonly remoteEnabled: boolean;
  readonly plaintextHosts: readonly string[];
  readonly workspaceVariables: readonly string[];
  readonly limits: {
    readonly servers?: number;
    readonly tools?: number;
    readonly live?: number;
    readonly pages?: number;
    readonly items?: number;
  };
  /** `restart.*` options, in ms and counts; see `machines/restart-policy.ts`. */
  readonly restart: { readonly [option: string]: number };
  readonly toolPolicies: readonly PolicyRule[];
}

/** One entry of one layer, expanded and checked. Holds secrets: it stays in the actors layer and is named by its hash. */
export interface ServerDefinition {
  readonly id: ServerId;
  readonly layer: LayerName;
  readonly transport: TransportKind;
  /** Digest of command, args, env, cwd, url and headers: the same hash needs no restart. */
  readonly configHash: string;
  /** stdio only. As written, variables expanded; resolved by `vet`. */
  readonly command?: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** http and sse only. */
  readonly url?: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Names of the headers that may carry a credential: they stay with the URL they were given for. */
  readonly credentialHeaders: readonly string[];
  /** Any non-loopback URL. */
  readonly isRemote: boolean;
  readonly lifecycle: Lifecycle;
  readonly idleTimeoutMs: number;
  /** Request deadline of one call. */
  readonly timeoutMs: number;
  readonly initTimeoutMs: number;
  readonly maxTools: number | null;
  readonly description: string | null;
  readonly policies: readonly PolicyRule[];
  readonly approveTools: readonly string[];
  /** The fault of this server alone that keeps it from starting while the rest goes on. */
  readonly refusal: Failure | null;
  readonly file: string;
  readonly line: number;
}

// ── approval ───────────────────────────────────────────────────────────────────────────────────────────────────────

export interface VetPort {
  /**
   * Says exactly what would run: canonical command, exact environment, fingerprint over their content. Asked anew before
   * every start. Rejects with `REFUSED_COMMAND`, `REFUSED_CWD` or `REFUSED_ENV`; nothing is started.
   */
  vet(definition: ServerDefinition, scope: ConfigScope): Promise<Vetted>;
}

export interface Vetted {
  readonly launch: Launch;
  /** `null` where the layer needs no approval of its own. */
  readonly fingerprint: string | null;
  readonly card: ApprovalCard | null;
}

/** Everything a person has to see before saying yes; complete and untruncated, a renderer escapes it. */
export interface ApprovalCard {
  readonly server: ServerId;
  readonly layer: LayerName;
  readonly transport: TransportKind;
  readonly fingerprint: string;
  readonly command?: { readonly written: string; readonly resolved: string };
  readonly args?: readonly string[];
  readonly cwd?: string;
  /** Sensitive values as a keyed digest, the others in clear; `highlight` marks names that can change what runs. */
  readonly env?: readonly {
    readonly name: string;
    readonly value?: string;
    readonly digest?: string;
    readonly highlight: boolean;
  }[];
  readonly files?: readonly { readonly path: string; readonly sha256: string }[];
  readonly url?: string;
  readonly headers?: readonly { readonly name: string; readonly digest: string }[];
  /** Sentences such as "downloads code at every start". */
  readonly notes: readonly string[];
}

export type Question =
  | {
      readonly kind: 'server';
      readonly nonce: string;
      readonly server: ServerId;
      readonly fingerprint: string;
      readonly card: ApprovalCard;
    }
  | {
      readonly kind: 'call';
      readonly nonce: string;
      readonly server: ServerId;
      /** Full name. */
      readonly tool: string;
      readonly arguments: Json;
      readonly session: string | null;
      /** Why it is asked: the policy's rule, in words. */
      readonly rule: string;
      /** Whether an answer may be remembered: this tool, as it is defined now, is then not asked about again in this workspace. */
      readonly canRemember: boolean;
    };

export interface AskOptions {
  /** Aborted when the answer no longer matters. */
  readonly signal: AbortSignal;
  /** The digest a card shows for this value: tells a person who pastes a secret whether it is the one on the card. */
  readonly digestOf: (value: string) => string;
}

/**
 * Only `'approve'`, or an object with `decision: 'approve'`, is a yes; everything else, a rejection too, is a no. With
 * `remember: true` the yes to a call is kept, where the question says that it can be.
 */
export type Ask = (question: Question, options: AskOptions) => unknown;

/** The workspace's own list of tools that a person approved for good; a line counts only beside what the db has of it. */
export interface GrantsPort {
  /** Never rejects: a file with a fault lists nothing, and says why. */
  read(scope: ConfigScope): Promise<GrantsReading>;
  /**
   * Adds one tool by its full name, comments and layout kept; a file is made when there is none. Rejects with `CONFIG_INVALID`
   * for a file with faults, `CONFIG_UNREADABLE` when it cannot be written or leads out of the workspace; then it is as it was.
   */
  add(scope: ConfigScope, tool: string): Promise<{ readonly file: string }>;
}

export interface GrantsReading {
  readonly file: string;
  readonly state: 'absent' | 'valid' | 'faulty';
  /** Full names. */
  readonly tools: readonly string[];
  readonly faults: readonly ConfigFault[];
}

// ── links ──────────────────────────────────────────────────────────────────────────────────────────────────────────

/** What starts one server: exact, resolved, with secrets. Never enters a machine or a log. */
export type Launch = StdioLaunch | HttpLaunch;

export interface StdioLaunch {
  readonly transport: 'stdio';
  /** Canonical absolute path. */
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  /** The whole environment of the process; nothing is inherited besides. */
  readonly env: Readonly<Record<string, string>>;
}

export interface HttpLaunch {
  readonly transport: 'http' | 'sse';
  readonly url: string;
  /** Sent to the origin of `url` and nowhere else. */
  readonly headers: Readonly<Record<string, string>>;
  /** The user listed this host for plain http. Loopback needs no leave. */
  readonly isPlaintextAllowed: boolean;
}

export interface LinkOptions {
  readonly clientInfo: { readonly name: string; readonly version: string };
  readonly configHash: string;
}

export interface LinkEvents {
  /** The process runs or the endpoint answered, before `lost`; again, during the handshake, when a second process was needed. */
  opened(info: { readonly pid: number | null }): void;
  /** The peer is gone or beyond use; at most once. `death` is false for a remote that cannot be reached. */
  lost(problem: Failure, death: boolean): void;
  /** The server announced that a list changed. */
  listChanged(kind: ListKind): void;
  /** First output on stderr of this link. */
  stderr(): void;
}

export interface LinkPort {
  /** Opens one link for one generation; returns at once and never throws: what goes wrong is told to `events.lost`. */
  open(launch: Launch, events: LinkEvents, options: LinkOptions): Link;
}

export interface Link {
  /** Agrees on an era and a revision. Rejects with `EXITED_EARLY`, `INITIALIZE_FAILED`, `ERA_NEGOTIATION_FAILED`. */
  handshake(): Promise<Handshake>;
  /**
   * Sends one request and returns its id. The reply is told at most once; after `lost` or `forget` never. May tell
   * `reply.failed` (`BACKPRESSURE`, `MESSAGE_TOO_LARGE`, `LINK_LOST`) before it returns.
   */
  request(method: string, params: object | undefined, reply: Reply): string;
  /** Drops the reply of a request and watches for its late answer, which is told at most once. */
  forget(requestId: string, late: (answer: 'result' | 'error') => void): void;
  /** Stops watching. */
  unwatch(requestId: string): void;
  /** Tells the server, as its transport and era want it, that the request is off. Settles when it was written. */
  notifyCancelled(requestId: string, reason: string): Promise<void>;
  /** Settles when announcements of changes stop coming; rejects when they cannot be had. Not asked of a legacy link. */
  listen(): Promise<void>;
  /** One cheap round trip: legacy `ping`, modern `server/discover`. */
  probe(): Promise<void>;
  /** Staged stop. Settles when nothing of this link is left, never rejects; a second call is the same promise. */
  close(): Promise<{ readonly outcome: CloseOutcome; readonly detail: string }>;
  /** Last lines of stderr and counts of what was dropped on the way. */
  diagnosis(): LinkDiagnosis;
}

export interface LinkDiagnosis {
  readonly stderrTail: string;
  /** Lines on stdout that were no messages. */
  readonly noiseLines: number;
  /** Answers to calls that were already settled. */
  readonly lateAnswers: number;
  /** Answers to ids that were never asked. */
  readonly foreignAnswers: number;
}

export interface Reply {
  result(value: unknown): void;
  failed(problem: Failure, cause?: unknown): void;
  progress(report: Progress): void;
}

export interface Progress {
  readonly progress: number;
  readonly total?: number;
  readonly message?: string;
}

// ── patterns ───────────────────────────────────────────────────────────────────────────────────────────────────────

export interface RegexPort {
  /** A pattern that is looked for anywhere in a text, whatever the case, in linear time. Throws for one it does not take. */
  compile(pattern: string): { test(text: string): boolean };
}

// ── log ────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Ids, codes and digests only: no arguments, results, environment, headers or tokens. */
export interface LogEntry {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly event: string;
  readonly server?: ServerId;
  readonly generation?: Generation;
  readonly code?: Failure['code'];
  readonly era?: Era;
  readonly message?: string;
}

export interface LogPort {
  write(entry: LogEntry): void;
}

// ── audit ──────────────────────────────────────────────────────────────────────────────────────────────────────────

export interface AuditPort {
  /** Keeps an entry, in the order of coming. Never throws and never waits: what cannot be kept is counted. */
  record(entry: AuditEntry): void;
  /** How many entries could not be kept so far, and why the last one was not. */
  lost(): { readonly count: number; readonly reason: string | null };
  /** Settles when what was recorded is kept, or counted as lost; never rejects. */
  close(): Promise<void>;
}

/**
 * One thing that was decided or done, in ids and digests: no arguments, results, environment, headers or tokens. `workspace` is
 * the digest of its real path, `session` and `arguments` are digests too. A digest of arguments is made when it is first read,
 * which should be soon: whoever reads it later may pay for what the caller did to them meanwhile.
 */
export type AuditEntry = { readonly workspace: string } & (
  | {
      /** A process was started or an endpoint is connected to. */
      readonly event: 'start';
      readonly server: ServerId;
      readonly layer: string;
      readonly transport: TransportKind;
      readonly generation: Generation;
      readonly config: string;
      readonly fingerprint: string | null;
    }
  | {
      /** The policy's verdict on a call, after the host's own word. An ask is followed by its answer, unless a person made the call. */
      readonly event: 'call';
      readonly server: ServerId;
      readonly layer: LayerName | null;
      readonly tool: string;
      readonly session: string | null;
      readonly arguments: string;
      readonly verdict: PolicyVerdict;
      readonly rule: string;
      readonly byPerson: boolean;
    }
  | {
      readonly event: 'answer';
      readonly about: 'server' | 'call';
      readonly server: ServerId;
      /** What a server was asked about as; null for a call. */
      readonly fingerprint: string | null;
      /** Null for a server. */
      readonly tool: string | null;
      readonly session: string | null;
      readonly arguments: string | null;
      readonly answer: 'approve' | 'always' | 'deny' | 'timeout';
    }
  /** An approval of a tool that is remembered from now on, or no longer. */
  | { readonly event: 'grant'; readonly tool: string; readonly definition: string | null; readonly kept: boolean }
  | { readonly event: 'trust'; readonly trusted: boolean }
  | { readonly event: 'switch'; readonly server: ServerId; readonly layer: string; readonly on: boolean }
  | { readonly event: 'remote'; readonly on: boolean }
);
