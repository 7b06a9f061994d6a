import { type Failure, failure, SupervisorError } from '../../actors/errors.js';
import type { HttpLaunch } from '../../actors/ports.js';
import type { GuardedResponse } from '../../actors/wire-ports.js';
import type { Handshake } from '../../machines/vocabulary.js';
import { followAnnouncements } from './announcement-stream.js';
import type { StopReport } from './group-stop.js';
import { type EndpointRequest, HttpEndpoint, type HttpWireDeps, NOTICE_TIMEOUT_MS } from './http-endpoint.js';
import { connectionFailure, earlyFailure, handshakeFailure, requestFailure } from './http-status.js';
import { type Body, isBody, type Message } from './message.js';
import { MessageReader } from './message-reader.js';
import { claimedVersion, modernHeaders, ToolHeaders } from './modern-headers.js';
import { type Post, PostRun } from './post-run.js';
import { cancelledFrame, type Wire, type WireEvents } from './wire.js';

/** How long the server is given to end its session, in milliseconds. */
const DELETE_TIMEOUT_MS = 2_000;
/** Without one, as long as whoever asked waits. */
type Timeout = Pick<EndpointRequest, 'headersTimeoutMs'>;

const ACCEPT = 'application/json, text/event-stream';
/** Longer than any in use; what is longer is no session. */
const SESSION_LENGTH_MAX = 4_096;

/**
 * Streamable HTTP in both eras: each request a POST whose answer is JSON or a stream of events. The older era has a session,
 * a stream of announcements, and streams that can be taken up again; the newer one has none of these, says the method and the
 * name of each request in its headers, and takes the end of a stream for a cancellation.
 *
 * An endpoint cannot be told from one that is down before it was asked: `opened` is told at once, the handshake asks. A lost
 * endpoint is no death. No fall-back to the older transport: that one is configured (B142).
 */
export class StreamableHttpWire implements Wire {
  readonly pid = null;
  readonly isLegacyOnly = false;
  /** Silence is no evidence of an era here; who opened the link gives the handshake up. */
  readonly probeTimeoutMs = 2 ** 31 - 1;
  readonly #launch: HttpLaunch;
  readonly #events: WireEvents;
  readonly #endpoint: HttpEndpoint;
  readonly #reader: MessageReader;
  readonly #tools = new ToolHeaders();
  readonly #posts = new Map<string | number, Post>();
  #agreed: Handshake | null = null;
  #sessionId: string | null = null;
  /** The revision that was agreed on in the older way. */
  #version: string | null = null;
  #initialized: Promise<void> = Promise.resolve();
  #isOver = false;
  #stopping: Promise<StopReport> | null = null;

  constructor(deps: HttpWireDeps, launch: HttpLaunch, events: WireEvents) {
    this.#launch = launch;
    this.#events = events;
    this.#endpoint = new HttpEndpoint(deps, launch);
    this.#reader = new MessageReader(this.#endpoint, deps.clock);
    queueMicrotask(() => {
      if (!this.#isOver) events.opened(null);
    });
  }

  async up(): Promise<void> {
    // Nothing to wait for: the first request connects.
  }

  push(frame: string): Failure | null {
    const { id, method, params } = JSON.parse(frame) as Body;
    if (typeof method === 'string' && (typeof id === 'string' || typeof id === 'number')) {
      if (method === 'initialize') this.#sessionId = this.#version = null;
      const version = claimedVersion(params);
      return this.#ask(frame, id, method, version === null ? {} : modernHeaders(version, method, params));
    }
    const isModern = this.#agreed?.era === 'modern';
    if (method === 'notifications/cancelled' && isModern && isBody(params)) this.#withdraw(params['requestId']);
    // A modern client answers nothing on this transport and announces nothing.
    if (isModern) return null;
    const refused = this.#endpoint.refusal();
    if (refused !== null) return refused;
    const isInitialized = method === 'notifications/initialized';
    const told = this.#tell(frame, isInitialized ? {} : { headersTimeoutMs: NOTICE_TIMEOUT_MS });
    if (isInitialized) this.#initialized = told;
    told.catch(() => undefined);
    return null;
  }

  request(frame: string, id: string, method: string, params: object | undefined): Failure | null {
    const headers = this.#agreed?.era === 'modern' ? modernHeaders(this.#agreed.protocolVersion, method, params) : {};
    if (method === 'tools/call') Object.assign(headers, this.#tools.of(params));
    return this.#ask(frame, id, method, headers);
  }

  /** An older server is asked nothing before it has taken the notification that the handshake is over. */
  async agreed(handshake: Handshake): Promise<void> {
    try {
      await this.#initialized;
    } catch (error) {
      this.#end(connectionFailure(error));
      throw error;
    }
    this.#agreed = handshake;
    if (handshake.era === 'legacy') void this.#followAnnouncements();
  }

  async cancel(requestId: string, reason: string): Promise<void> {
    if (!this.#withdraw(requestId) || this.#agreed?.era !== 'legacy') return;
    await this.#tell(cancelledFrame(requestId, reason), { headersTimeoutMs: NOTICE_TIMEOUT_MS });
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

  #ask(frame: string, id: string | number, method: string, headers: Record<string, string>): Failure | null {
    const refused = this.#endpoint.refusal();
    if (refused !== null) return refused;
    const post: Post = { id, method, frame, headers, abort: new AbortController(), isAnswered: false };
    this.#posts.set(id, post);
    void this.#run(post);
    return null;
  }

  async #run(post: Post): Promise<void> {
    const isHandshake = this.#agreed === null;
    const hasSession = this.#sessionId !== null;
    this.#endpoint.track(post.abort);
    try {
      const run = new PostRun(post, {
        endpoint: this.#endpoint,
        reader: this.#reader,
        launch: this.#launch,
        isHandshake,
        hasSession,
        isModern: () => claimsModern(post),
        post: () => this.#send('POST', post.abort, { ...post.headers, accept: ACCEPT }, post.frame),
        get: (lastEventId) => this.#get(post.abort, lastEventId),
        received: (message, sessionId) => this.#received(post, message, sessionId),
        dropped: (problem) => this.#events.dropped(post.id, problem),
        ended: (problem) => this.#end(problem),
      });
      await run.run();
    } finally {
      this.#endpoint.release(post.abort);
      // Whoever still waits for the end of this request is woken.
      post.abort.abort();
      if (this.#posts.get(post.id) === post) this.#posts.delete(post.id);
    }
  }

  /** What came on the stream of one request: its answer, which may say more than its asker wants to know, or anything else. */
  #received(post: Post, message: Message, sessionId: string | null): void {
    if (this.#isOver) return;
    if (message.kind !== 'answer' || message.id !== post.id) return this.#deliver(message);
    post.isAnswered = true;
    const { result } = message.body;
    if (post.method === 'initialize' && isBody(result)) this.#openSession(result, sessionId);
    if (post.method !== 'tools/list' || !claimsModern(post)) return this.#deliver(message);
    const learned = this.#tools.learn(result);
    this.#deliver(learned === result ? message : { ...message, body: { ...message.body, result: learned } });
  }

  #deliver(message: Message): void {
    // A server of the newer era has no requests of its own.
    if (message.kind === 'inquiry' && this.#agreed?.era === 'modern') return;
    if (message.kind === 'answer') this.#answeredElsewhere(message.id);
    this.#events.message(message);
  }

  /** Some servers answer a request on another stream than its own, and leave that open. */
  #answeredElsewhere(id: string | number): void {
    const post = this.#posts.get(id);
    if (post === undefined || post.isAnswered) return;
    post.isAnswered = true;
    void this.#endpoint.letGo(post.abort);
  }

  #openSession(result: Body, sessionId: string | null): void {
    this.#sessionId = sessionId !== null && sessionId !== '' && sessionId.length <= SESSION_LENGTH_MAX ? sessionId : null;
    const version = result['protocolVersion'];
    this.#version = typeof version === 'string' ? version : null;
  }

  /** Ends the request with this id, if it is open, without a word to anybody. */
  #withdraw(id: unknown): boolean {
    const post = this.#posts.get(id as string);
    if (post === undefined) return false;
    this.#posts.delete(post.id);
    post.abort.abort();
    return true;
  }

  /** Sends what has no answer. Whatever a server says to that, as long as it accepts, is read by nobody (B136). */
  async #tell(frame: string, timeout: Timeout): Promise<void> {
    const abort = new AbortController();
    this.#endpoint.track(abort);
    const hasSession = this.#sessionId !== null;
    try {
      const response = await this.#send('POST', abort, { accept: ACCEPT }, frame, timeout);
      const { status } = response;
      response.discard();
      if (status >= 200 && status < 300) return;
      if (status === 404 && hasSession) this.#end(failure('SESSION_EXPIRED', 'The server has forgotten the session (HTTP 404).'));
      const refused =
        this.#agreed === null ? handshakeFailure(status, this.#launch) : requestFailure('a notification', status, this.#launch);
      throw new SupervisorError(refused);
    } finally {
      this.#endpoint.release(abort);
    }
  }

  #followAnnouncements(): Promise<void> {
    return followAnnouncements({
      endpoint: this.#endpoint,
      reader: this.#reader,
      get: (abort, lastEventId) => this.#get(abort, lastEventId),
      message: (message) => {
        if (!this.#isOver) this.#deliver(message);
      },
      wants: () => this.#events.wants(null),
      lost: (problem) => this.#end(problem),
    });
  }

  #get(abort: AbortController, lastEventId: string | null): Promise<GuardedResponse> {
    const resume = lastEventId === null ? {} : { 'last-event-id': lastEventId };
    return this.#send('GET', abort, { accept: 'text/event-stream', ...resume });
  }

  #send(
    method: 'GET' | 'POST',
    abort: AbortController,
    headers: Readonly<Record<string, string>>,
    body?: string,
    timeout: Timeout = {},
  ): Promise<GuardedResponse> {
    return this.#endpoint.send({
      ...timeout,
      method,
      url: this.#launch.url,
      abort,
      headers: { ...this.#sessionHeaders(), ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
      ...(body !== undefined && { body }),
    });
  }

  #sessionHeaders(): Record<string, string> {
    return {
      ...(this.#sessionId !== null && { 'mcp-session-id': this.#sessionId }),
      ...(this.#version !== null && { 'mcp-protocol-version': this.#version }),
    };
  }

  #end(problem: Failure): void {
    if (this.#isOver) return;
    this.#isOver = true;
    if (problem.code === 'SESSION_EXPIRED') this.#sessionId = null;
    this.#events.ended({ problem, early: earlyFailure(problem), death: false, mayRestart: false });
    this.#endpoint.end();
  }

  async #stop(): Promise<StopReport> {
    this.#isOver = true;
    this.#endpoint.end();
    const report = await this.#endSession();
    try {
      await this.#endpoint.close();
      return report;
    } catch (error) {
      return { outcome: 'unknown', detail: connectionFailure(error).message };
    }
  }

  /** Best effort: a server may have no way to end a session (2025-11-25, transports, "Session Management"). */
  async #endSession(): Promise<StopReport> {
    if (this.#sessionId === null) return { outcome: 'clean', detail: 'There was no session to end.' };
    const headers = this.#sessionHeaders();
    try {
      const status = await this.#endpoint.farewell({ method: 'DELETE', url: this.#launch.url, headers }, DELETE_TIMEOUT_MS);
      const isDone = (status >= 200 && status < 300) || status === 404 || status === 405;
      return { outcome: isDone ? 'clean' : 'unknown', detail: `The server answered the end of its session with HTTP ${status}.` };
    } catch (error) {
      return {
        outcome: 'unknown',
        detail: `The server could not be told to end its session: ${connectionFailure(error).message}`,
      };
    }
  }
}

const claimsModern = (post: Post): boolean => Object.hasOwn(post.headers, 'mcp-method');
