import type { StdioLaunch } from './ports.js';

/** What links are made on: processes, and requests to one endpoint. Only adapters of links use these. */

export interface ProcessPort {
  /** Starts a process as leader of its own group. Never throws: a failure is told to `handlers.failed`. */
  spawn(launch: StdioLaunch, handlers: ProcessHandlers): ChildPort;
}

export interface ProcessHandlers {
  started(pid: number): void;
  /** Could not be started; at most once, instead of `started`. */
  failed(error: unknown): void;
  stdout(chunk: Uint8Array): void;
  stderr(chunk: Uint8Array): void;
  /** The leader is gone and reaped; its pipes may still be held by others. At most once. */
  exited(code: number | null, signal: string | null): void;
  /** A write failed (EPIPE) or the pipe broke. */
  inputFailed(error: unknown): void;
}

export interface ChildPort {
  readonly pid: number | null;
  /** Bytes accepted but not yet taken by the pipe. */
  readonly bufferedBytes: number;
  write(frame: string, written?: (error: unknown) => void): void;
  endInput(): void;
  /** Reads nothing more of its stdout until `resumeOutput`; what it writes meanwhile waits in the pipe, and then it waits. */
  pauseOutput(): void;
  resumeOutput(): void;
  /** Signals the whole group; false when nobody of it is left. */
  signalGroup(signal: 'SIGTERM' | 'SIGKILL'): boolean;
  /** Whether any process of the group is alive. */
  isGroupAlive(): boolean;
  /** Lets go of the pipes, whoever else still holds them. */
  destroy(): void;
}

// ── http ───────────────────────────────────────────────────────────────────────────────────────────────────────────

export interface HttpPort {
  /** A way to one endpoint. Nothing is resolved or connected before its first request. */
  guard(endpoint: GuardedEndpoint): GuardedFetch;
  /** Ends what is open on every endpoint; settles when no socket is left. */
  close(): Promise<void>;
}

export interface GuardedEndpoint {
  /** As configured: absolute, https unless it is loopback or `isPlaintextAllowed`. */
  readonly url: string;
  /** Sent to the origin of `url` only. */
  readonly headers: Readonly<Record<string, string>>;
  readonly isPlaintextAllowed: boolean;
  /**
   * The endpoint of the user's that named this one; absent: the user did. What was discovered reaches public addresses only, and
   * the host that named it; loopback, and plain http with it, for a loopback endpoint only.
   */
  readonly discoveredFrom?: string;
}

export interface GuardedFetch {
  /**
   * One request, followed through at most 3 redirects of the same origin with the same body and headers. Rejects with
   * `REFUSED_URL`, `REDIRECT_REFUSED`, `TLS_FAILED`, `CONNECT_FAILED`, `CONNECT_TIMEOUT`, and `CALL_CANCELLED` when its
   * signal is aborted; once it has been sent also with `LINK_LOST` (no headers in time, broken, closed), `MESSAGE_TOO_LARGE`
   * (headers) and `RESULT_INVALID` (not HTTP). `CONFIG_INVALID`: a header that cannot be sent. Never retries by itself.
   */
  request(url: string, options: GuardedRequest): Promise<GuardedResponse>;
  /** Aborts what is open and settles when no socket of this endpoint is left. */
  close(): Promise<void>;
}

export interface GuardedRequest {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal?: AbortSignal;
  /** From sending to the last header. Default 60 000. */
  readonly headersTimeoutMs?: number;
  /** Between two pieces of the body; `null`: it may be silent for ever, as a stream of events is. Default 60 000. */
  readonly idleTimeoutMs?: number | null;
  /** Of the decompressed body as a whole; `null`: who reads it counts, as for a stream of events. Default 64 MiB. */
  readonly bodyBytesMax?: number | null;
  /** Default 3; 0 where a redirect would carry a secret away, as of a request for a token. */
  readonly redirectsMax?: number;
}

export interface GuardedResponse {
  readonly status: number;
  /** Where it came from, after redirects. */
  readonly url: string;
  /** Value of a header by lower-case name; several are joined by a comma. */
  header(name: string): string | null;
  /**
   * The decompressed body, once. Throws `MESSAGE_TOO_LARGE` past the cap, `LINK_LOST` when the connection breaks or falls
   * silent for too long. Leaving the loop lets go of the connection.
   */
  readonly chunks: AsyncIterable<Uint8Array>;
  /** The rest of the body as text, within the cap. */
  text(): Promise<string>;
  /** Lets go of the connection without reading the rest. */
  discard(): void;
}
