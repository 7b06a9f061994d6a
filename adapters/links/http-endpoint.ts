import { type Failure, failure, type SupervisorError, supervisorError } from '../../actors/errors.js';
import type { ClockPort, HttpLaunch } from '../../actors/ports.js';
import type { GuardedFetch, GuardedRequest, GuardedResponse, HttpPort } from '../../actors/wire-ports.js';
import { OUTBOX_BYTES_MAX } from './outbox.js';
import { Pace } from './pace.js';

export interface HttpWireDeps {
  readonly http: HttpPort;
  readonly clock: ClockPort;
}

/** Requests to one endpoint that are open at a time. */
export const REQUESTS_MAX = 256;
/** How long a request may stay open behind the answer it was made for, in milliseconds. */
const LINGER_MS = 1_000;
/** How long a server may take to say that it has got what nobody waits for, in milliseconds; then its connection is let go of. */
export const NOTICE_TIMEOUT_MS = 10_000;
/** Who asked has a deadline of its own, so that of the request is put out of the way. */
const NO_TIMEOUT_MS = 2 ** 31 - 1;

export interface EndpointRequest extends Pick<GuardedRequest, 'method' | 'headers' | 'body'> {
  readonly url: string;
  /** Ends it, its answer and every wait for it. */
  readonly abort: AbortController;
  /** How long it may take until the head of the answer is there, in milliseconds. Absent: as long as whoever asked waits. */
  readonly headersTimeoutMs?: number;
}

/** What both transports over HTTP share: the requests to one endpoint, how many there may be, and their common end. */
export class HttpEndpoint {
  readonly #guard: GuardedFetch;
  readonly #clock: ClockPort;
  readonly #pace: Pace;
  readonly #open = new Set<AbortController>();
  /** Bytes of the requests whose answer has not begun. */
  #unsentBytes = 0;
  #isClosed = false;

  constructor(deps: HttpWireDeps, launch: HttpLaunch) {
    const { url, headers, isPlaintextAllowed } = launch;
    this.#guard = deps.http.guard({ url, headers, isPlaintextAllowed });
    this.#clock = deps.clock;
    this.#pace = new Pace(deps.clock);
  }

  /** Why one more message is not taken, if it is not. */
  refusal(): Failure | null {
    if (this.#isClosed) return failure('LINK_LOST', 'The link is closed.');
    if (this.#open.size >= REQUESTS_MAX) {
      return failure('BACKPRESSURE', `The server has ${this.#open.size} requests open already.`);
    }
    if (this.#unsentBytes > OUTBOX_BYTES_MAX) {
      return failure('BACKPRESSURE', `The server does not answer: ${this.#unsentBytes} bytes wait for it.`);
    }
    return null;
  }

  /** To be let go of with `release`. */
  track(abort: AbortController): void {
    this.#open.add(abort);
    if (this.#isClosed) abort.abort();
  }

  release(abort: AbortController): void {
    this.#open.delete(abort);
  }

  async send({ url, abort, headersTimeoutMs, ...request }: EndpointRequest): Promise<GuardedResponse> {
    const bytes = request.body?.length ?? 0;
    this.#unsentBytes += bytes;
    let expired: SupervisorError | null = null;
    let timer: unknown = null;
    if (headersTimeoutMs !== undefined) {
      expired = supervisorError('LINK_LOST', `The server did not answer within ${headersTimeoutMs} ms.`);
      timer = this.#clock.setTimeout(() => abort.abort(expired), headersTimeoutMs);
    }
    try {
      return await this.#guard.request(url, {
        ...request,
        headersTimeoutMs: NO_TIMEOUT_MS,
        signal: abort.signal,
        // A stream of events may be silent, and its reader counts the bytes of each.
        idleTimeoutMs: null,
        bodyBytesMax: null,
      });
    } catch (error) {
      throw expired !== null && abort.signal.reason === expired ? expired : error;
    } finally {
      this.#unsentBytes -= bytes;
      if (timer !== null) this.#clock.clearTimeout(timer);
    }
  }

  /** The pieces of a body, no faster than one server may be read from. */
  async *paced(response: GuardedResponse, abort: AbortController): AsyncGenerator<Uint8Array> {
    for await (const chunk of response.chunks) {
      yield chunk;
      await this.spend(chunk.length, abort);
    }
  }

  /** Takes so much of the pace, and waits when it was too much. */
  async spend(bytes: number, abort: AbortController): Promise<void> {
    const waitMs = this.#pace.spend(bytes);
    if (waitMs === 0) return;
    await this.sleep(waitMs, abort);
    this.#pace.restart();
  }

  /** Waits, at most until the abort; false when that ended it. */
  async sleep(ms: number, { signal }: AbortController): Promise<boolean> {
    if (signal.aborted) return false;
    await new Promise<void>((resolve) => {
      const wake = (): void => {
        this.#clock.clearTimeout(timer);
        signal.removeEventListener('abort', wake);
        resolve();
      };
      const timer = this.#clock.setTimeout(wake, ms);
      signal.addEventListener('abort', wake);
    });
    return !signal.aborted;
  }

  /** Lets a request that was answered come to its end by itself, and ends it when it does not; `over`: aborted at its end. */
  async letGo(abort: AbortController, over = abort): Promise<void> {
    if (await this.sleep(LINGER_MS, over)) abort.abort();
  }

  /** Ends every request and takes no more. */
  end(): void {
    this.#isClosed = true;
    for (const abort of this.#open) abort.abort();
  }

  /** One last request, within its own time. */
  async farewell(request: Omit<EndpointRequest, 'abort'>, deadlineMs: number): Promise<number> {
    const response = await this.send({ ...request, abort: new AbortController(), headersTimeoutMs: deadlineMs });
    response.discard();
    return response.status;
  }

  /** Settles when no socket is left. */
  close(): Promise<void> {
    this.end();
    return this.#guard.close();
  }
}
