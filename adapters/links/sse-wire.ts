import { type Failure, failure, SupervisorError, supervisorError } from '../../actors/errors.js';
import type { HttpLaunch } from '../../actors/ports.js';
import type { GuardedResponse } from '../../actors/wire-ports.js';
import type { StopReport } from './group-stop.js';
import { type EndpointRequest, HttpEndpoint, type HttpWireDeps, NOTICE_TIMEOUT_MS } from './http-endpoint.js';
import { authFailure, connectionFailure, earlyFailure, handshakeFailure, mediaType, requestFailure } from './http-status.js';
import type { Body, Message } from './message.js';
import { MessageReader } from './message-reader.js';
import { StreamPosition } from './resumption.js';
import { cancelledFrame, type Wire, type WireEvents } from './wire.js';

const URL_LENGTH_MAX = 8_192;

/** One message on its way. */
interface Sending {
  readonly abort: AbortController;
  /** Aborted when it is over, for whoever waits for that. */
  readonly over: AbortController;
}

/**
 * HTTP with SSE as of 2024-11-05: one stream of events on which everything arrives, and messages sent by POST to the address
 * that its first event names, which has to be of the same origin. The end of the stream is the end of the link: whatever a new
 * stream brings is for a new session (B135).
 */
export class SseWire implements Wire {
  readonly pid = null;
  readonly isLegacyOnly = true;
  readonly #launch: HttpLaunch;
  readonly #events: WireEvents;
  readonly #endpoint: HttpEndpoint;
  readonly #reader: MessageReader;
  readonly #stream = new AbortController();
  /** The requests that the server has not accepted yet, by id. */
  readonly #sendings = new Map<string | number, Sending>();
  readonly #up: Promise<void>;
  #isUp: () => void = () => undefined;
  /** Where messages are sent; null before the server has said so. */
  #messagesUrl: string | null = null;
  #hasAgreed = false;
  #initialized: Promise<void> = Promise.resolve();
  #isOver = false;
  #stopping: Promise<StopReport> | null = null;

  constructor(deps: HttpWireDeps, launch: HttpLaunch, events: WireEvents) {
    this.#launch = launch;
    this.#events = events;
    this.#endpoint = new HttpEndpoint(deps, launch);
    this.#reader = new MessageReader(this.#endpoint, deps.clock);
    this.#up = new Promise((resolve) => {
      this.#isUp = resolve;
    });
    queueMicrotask(() => {
      if (this.#isOver) return;
      events.opened(null);
      void this.#run();
    });
  }

  up(): Promise<void> {
    return this.#up;
  }

  push(frame: string): Failure | null {
    const { id, method } = JSON.parse(frame) as Body;
    const isRequest = typeof method === 'string' && (typeof id === 'string' || typeof id === 'number');
    if (isRequest) return this.request(frame, id, method);
    const refused = this.#endpoint.refusal();
    if (refused !== null) return refused;
    const isInitialized = method === 'notifications/initialized';
    const told = isInitialized ? this.#post(frame, 'a notification', new AbortController()) : this.#notify(frame);
    if (isInitialized) this.#initialized = told;
    told.catch(() => undefined);
    return null;
  }

  request(frame: string, id: string | number, method: string): Failure | null {
    const refused = this.#endpoint.refusal();
    if (refused !== null) return refused;
    void this.#ask(frame, id, method);
    return null;
  }

  /** The request itself may still wait to be accepted; a server that does not must not cost a connection for each. */
  cancel(requestId: string, reason: string): Promise<void> {
    this.#sendings.get(requestId)?.abort.abort();
    return this.#notify(cancelledFrame(requestId, reason));
  }

  async agreed(): Promise<void> {
    try {
      await this.#initialized;
    } catch (error) {
      this.#end(connectionFailure(error));
      throw error;
    }
    this.#hasAgreed = true;
  }

  async restart(): Promise<void> {
    // An endpoint is not ours to start.
  }

  stop(): Promise<StopReport> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  diagnosis(): { readonly stderrTail: string; readonly noiseLines: number } {
    return { stderrTail: '', noiseLines: this.#reader.noiseLines };
  }

  async #run(): Promise<void> {
    this.#endpoint.track(this.#stream);
    try {
      const headers = { accept: 'text/event-stream' };
      const response = await this.#endpoint.send({ method: 'GET', url: this.#launch.url, headers, abort: this.#stream });
      const type = mediaType(response.header('content-type'));
      if (response.status !== 200 || type !== 'text/event-stream') {
        response.discard();
        this.#end(response.status === 200 ? notAStream(type) : handshakeFailure(response.status, this.#launch));
        return;
      }
      await this.#read(response);
      this.#end(failure('LINK_LOST', 'The server ended its stream of events.'));
    } catch (error) {
      this.#end(connectionFailure(error));
    } finally {
      this.#endpoint.release(this.#stream);
    }
  }

  async #read(response: GuardedResponse): Promise<void> {
    const source = { abort: this.#stream, position: new StreamPosition(), wants: () => this.#events.wants(null) };
    for await (const event of this.#reader.events(response, source)) {
      if (this.#isOver) return;
      if (event.type === 'endpoint' && this.#messagesUrl === null) {
        this.#messagesUrl = messagesUrl(event.data, response.url);
        this.#isUp();
        continue;
      }
      for (const message of await this.#reader.messagesOf(event, source)) {
        this.#deliver(message);
      }
    }
  }

  #deliver(message: Message): void {
    if (this.#isOver) return;
    const sending = message.kind === 'answer' ? this.#sendings.get(message.id) : undefined;
    if (sending !== undefined) void this.#endpoint.letGo(sending.abort, sending.over);
    this.#events.message(message);
  }

  async #ask(frame: string, id: string | number, method: string): Promise<void> {
    const sending: Sending = { abort: new AbortController(), over: new AbortController() };
    this.#sendings.set(id, sending);
    try {
      await this.#post(frame, method, sending.abort);
    } catch (error) {
      if (!this.#isOver && !sending.abort.signal.aborted) this.#events.dropped(id, connectionFailure(error));
    } finally {
      this.#sendings.delete(id);
      sending.over.abort();
    }
  }

  #notify(frame: string): Promise<void> {
    return this.#post(frame, 'a notification', new AbortController(), { headersTimeoutMs: NOTICE_TIMEOUT_MS });
  }

  /** Settles when the server has taken the message; its answer to a request comes on the stream. */
  async #post(
    frame: string,
    what: string,
    abort: AbortController,
    timeout: Pick<EndpointRequest, 'headersTimeoutMs'> = {},
  ): Promise<void> {
    const url = this.#messagesUrl;
    if (url === null || this.#isOver) throw supervisorError('LINK_LOST', 'The link is closed.');
    this.#endpoint.track(abort);
    try {
      const headers = { 'content-type': 'application/json' };
      const response = await this.#endpoint.send({ ...timeout, method: 'POST', url, headers, body: frame, abort });
      const { status } = response;
      response.discard();
      if (status >= 200 && status < 300) return;
      this.#refused(status, what);
    } catch (error) {
      // Where the server cannot be reached, the stream will say so too, only later.
      const problem = connectionFailure(error);
      if (problem.stage !== 'call' && problem.stage !== 'auth') queueMicrotask(() => this.#end(problem));
      throw error;
    } finally {
      this.#endpoint.release(abort);
    }
  }

  #refused(status: number, what: string): never {
    if (this.#hasAgreed && status !== 401) throw new SupervisorError(requestFailure(what, status, this.#launch));
    const problem = authFailure(status, this.#launch) ?? handshakeFailure(status, this.#launch);
    queueMicrotask(() => this.#end(problem));
    throw new SupervisorError(problem);
  }

  #end(problem: Failure): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#events.ended({ problem, early: earlyFailure(problem), death: false, mayRestart: false });
    this.#endpoint.end();
    this.#isUp();
  }

  async #stop(): Promise<StopReport> {
    this.#isOver = true;
    this.#isUp();
    try {
      await this.#endpoint.close();
      return { outcome: 'clean', detail: 'The stream of events was ended.' };
    } catch (error) {
      return { outcome: 'unknown', detail: connectionFailure(error).message };
    }
  }
}

/** The address for messages; credentials go there, so that it must be where the stream came from. */
function messagesUrl(written: string, streamUrl: string): string {
  const url = written.length <= URL_LENGTH_MAX && URL.canParse(written, streamUrl) ? new URL(written, streamUrl) : null;
  if (url === null) throw supervisorError('CONNECT_FAILED', 'The server names an address for messages that is none.');
  if (url.origin === new URL(streamUrl).origin && url.username === '' && url.password === '') return url.href;
  const origin = url.origin === 'null' ? url.protocol : url.origin;
  throw supervisorError('REFUSED_URL', `The server wants messages sent to another origin than its own: ${origin.slice(0, 256)}.`);
}

const notAStream = (type: string): Failure => {
  const hint = 'If this is a server of Streamable HTTP, write "type": "http".';
  return failure('CONNECT_FAILED', `The endpoint answers with ${type || 'no type'}, which is no stream of events.`, hint);
};
