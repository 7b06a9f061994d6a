import { type Failure, failure } from '../../actors/errors.js';
import type { HttpLaunch } from '../../actors/ports.js';
import type { GuardedResponse } from '../../actors/wire-ports.js';
import type { HttpEndpoint } from './http-endpoint.js';
import { readJson } from './http-reading.js';
import {
  authFailure,
  connectionFailure,
  handshakeFailure,
  isNoEraEvidence,
  mediaType,
  readError,
  requestFailure,
  saysSessionIsGone,
} from './http-status.js';
import { isBody, type Message } from './message.js';
import type { MessageReader } from './message-reader.js';
import { StreamPosition } from './resumption.js';

/** One request on its way. */
export interface Post {
  readonly id: string | number;
  readonly method: string;
  readonly frame: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Ends it without a word: it was cancelled, or the link is over. */
  readonly abort: AbortController;
  isAnswered: boolean;
}

export interface PostDeps {
  readonly endpoint: HttpEndpoint;
  readonly reader: MessageReader;
  readonly launch: HttpLaunch;
  /** Whether the link is not agreed on an era yet: then whatever goes wrong is the end of it. */
  readonly isHandshake: boolean;
  /** Whether the request named a session. */
  readonly hasSession: boolean;
  readonly isModern: () => boolean;
  readonly post: () => Promise<GuardedResponse>;
  /** Takes its stream up again behind the event with this id. */
  readonly get: (lastEventId: string) => Promise<GuardedResponse>;
  /** `sessionId`: what the answer named, if it named one. */
  readonly received: (message: Message, sessionId: string | null) => void;
  readonly dropped: (problem: Failure) => void;
  readonly ended: (problem: Failure) => void;
}

const METHOD_NOT_FOUND = -32_601;
const HEADER_MISMATCH = -32_020;
const UNSUPPORTED_PROTOCOL_VERSION = -32_022;

/**
 * One POST from its sending to its answer. Told exactly once: the answer, or why there is none, or nothing when it was
 * aborted. A request whose stream breaks is never sent again; an older server may be asked for the rest of the stream.
 */
export class PostRun {
  readonly #post: Post;
  readonly #deps: PostDeps;
  readonly #position = new StreamPosition();
  #hasLostSession = false;

  constructor(post: Post, deps: PostDeps) {
    this.#post = post;
    this.#deps = deps;
  }

  async run(): Promise<void> {
    try {
      const response = await this.#deps.post();
      if (response.status === 200) await this.#read(response);
      else await this.#refused(response);
      if (this.#isOpen()) await this.#resume();
    } catch (error) {
      if (this.#isOpen()) this.#failed(connectionFailure(error));
    }
  }

  /** Whether somebody still has to be told something. */
  #isOpen(): boolean {
    return !this.#post.isAnswered && !this.#post.abort.signal.aborted;
  }

  async #read(response: GuardedResponse): Promise<void> {
    const type = mediaType(response.header('content-type'));
    if (type === 'text/event-stream') return this.#follow(response);
    let error: unknown;
    const source = {
      ...this.#source(),
      nameless: (its: unknown): void => {
        error = its;
      },
    };
    for await (const message of this.#deps.reader.read(response, source)) this.#received(message, response);
    if (!this.#isOpen()) return;
    if (isBody(error) && typeof error['code'] === 'number') {
      this.#answer(error, response);
      return;
    }
    const what = type === '' ? 'an answer of no type' : type;
    this.#unusable(`The server answers ${this.#post.method} with ${what}, in which there is no answer.`);
  }

  /** Reads a stream of events as far as it goes; when it breaks, how far it came decides what to do. */
  async #follow(response: GuardedResponse): Promise<void> {
    try {
      for await (const message of this.#deps.reader.read(response, this.#source())) {
        if (this.#post.abort.signal.aborted) return;
        const wasOpen = this.#isOpen();
        this.#received(message, response);
        // A server should end the stream behind the answer.
        if (wasOpen && !this.#isOpen()) void this.#deps.endpoint.letGo(this.#post.abort);
      }
    } catch (error) {
      const problem = connectionFailure(error);
      if (problem.code !== 'LINK_LOST' && this.#isOpen()) throw error;
    }
  }

  #source() {
    const { abort } = this.#post;
    return { abort, position: this.#position, wants: () => this.#isOpen() };
  }

  /** A server may give a number back as a string (B032). */
  #received(message: Message, response: GuardedResponse): void {
    const { id } = this.#post;
    const isOwn = message.kind === 'answer' && String(message.id) === String(id);
    if (isOwn) this.#heed(message.body['error']);
    this.#deps.received(isOwn ? { ...message, id } : message, response.header('mcp-session-id'));
  }

  /** What an error says about the link, beside being the answer to one request. */
  #heed(error: unknown): void {
    if (this.#deps.isHandshake || !isBody(error)) return;
    if (error['code'] === HEADER_MISMATCH) {
      // The declarations of the tools are out of date. The call is not sent again: its list is read anew for the next one.
      const method = 'notifications/tools/list_changed';
      const announcement: Message = { kind: 'announcement', method, body: { jsonrpc: '2.0', method } };
      queueMicrotask(() => this.#deps.received(announcement, null));
    } else if (error['code'] === UNSUPPORTED_PROTOCOL_VERSION) {
      const problem = failure('ERA_NEGOTIATION_FAILED', 'The server no longer speaks the revision that was agreed on.');
      queueMicrotask(() => this.#deps.ended(problem));
    }
  }

  /** Any status but 200. */
  async #refused(response: GuardedResponse): Promise<void> {
    const { launch, isHandshake, hasSession } = this.#deps;
    const { status } = response;
    const text = await this.#errorText(response);
    const refused = authFailure(status, launch);
    const isGone = hasSession && (status === 404 || (status === 400 && saysSessionIsGone(text)));
    const error = refused === null && !(isHandshake && isNoEraEvidence(status)) ? readError(text) : undefined;
    if (!this.#isOpen()) return;
    if (isGone) this.#sessionGone(status);
    else if (refused !== null && (isHandshake || status === 401)) this.#endWith(refused);
    else if (isBody(error) && typeof error['code'] === 'number') this.#answer(error, response);
    else if (!isHandshake) this.#deps.dropped(this.#done(requestFailure(this.#post.method, status, launch)));
    // An older endpoint knows no such request; whatever it says of it, it has to be spoken to in the older way.
    else if (this.#post.method === 'server/discover' && !isNoEraEvidence(status)) {
      this.#answer({ code: METHOD_NOT_FOUND, message: `HTTP ${status}` }, response);
    } else this.#endWith(handshakeFailure(status, launch));
  }

  /** An error that came without a stream is the answer to the request, whichever id it bears. */
  #answer(error: object, response: GuardedResponse): void {
    const { id } = this.#post;
    this.#received({ kind: 'answer', id, body: { jsonrpc: '2.0', id, error } }, response);
  }

  async #errorText(response: GuardedResponse): Promise<string> {
    const { endpoint } = this.#deps;
    if (response.status < 400) {
      response.discard();
      return '';
    }
    try {
      return await readJson(endpoint.paced(response, this.#post.abort), { wants: () => false });
    } catch {
      return '';
    }
  }

  /** Asks for the rest of the stream, as long as there is hope and the server may have kept it. */
  async #resume(): Promise<void> {
    const { endpoint, reader, hasSession } = this.#deps;
    const { abort, method } = this.#post;
    if (hasSession && saysSessionIsGone(reader.lastNoise)) {
      reader.lastNoise = '';
      this.#sessionGone(200);
      return;
    }
    for (;;) {
      const { lastEventId } = this.#position;
      if (lastEventId === null || this.#deps.isModern() || this.#position.isHopeless) break;
      if (!(await endpoint.sleep(this.#position.nextDelayMs(), abort))) return;
      const isLast = await this.#takeUp(lastEventId);
      if (!this.#isOpen()) return;
      if (isLast) break;
    }
    const problem = failure(
      'LINK_LOST',
      `The answer to ${method} broke off before its end; the request may have had its effect.`,
    );
    if (this.#deps.isHandshake) this.#deps.ended(this.#done(problem));
    else this.#deps.dropped(this.#done(problem));
    // The next request would only be told the same.
    if (this.#hasLostSession) this.#deps.ended(sessionGone('HTTP 404'));
  }

  /** One attempt; true when another one makes no sense. */
  async #takeUp(lastEventId: string): Promise<boolean> {
    try {
      const response = await this.#deps.get(lastEventId);
      const isStream = response.status === 200 && mediaType(response.header('content-type')) === 'text/event-stream';
      if (isStream) await this.#follow(response);
      else response.discard();
      this.#hasLostSession = response.status === 404 && this.#deps.hasSession;
      return !isStream && response.status < 500 && response.status !== 429;
    } catch (error) {
      if (connectionFailure(error).code === 'MESSAGE_TOO_LARGE') throw error;
      return false;
    }
  }

  #failed(problem: Failure): void {
    // What went wrong before the request was sent will go wrong with the next one too.
    if (problem.stage === 'call' && !this.#deps.isHandshake) this.#deps.dropped(this.#done(problem));
    else this.#endWith(problem);
  }

  #sessionGone(status: number): void {
    this.#endWith(sessionGone(status === 404 ? 'HTTP 404' : `HTTP ${status}, although 404 is meant`));
  }

  #unusable(message: string): void {
    if (this.#deps.isHandshake) this.#deps.ended(this.#done(failure('CONNECT_FAILED', message)));
    else this.#deps.dropped(this.#done(failure('RESULT_INVALID', message)));
  }

  /** The request fails of what ends the whole link. */
  #endWith(problem: Failure): void {
    if (!this.#deps.isHandshake) this.#deps.dropped(problem);
    this.#deps.ended(this.#done(problem));
  }

  #done(problem: Failure): Failure {
    this.#post.isAnswered = true;
    return problem;
  }
}

const sessionGone = (how: string): Failure => failure('SESSION_EXPIRED', `The server has forgotten the session (${how}).`);
