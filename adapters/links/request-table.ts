import { type Failure, failure } from '../../actors/errors.js';
import type { Progress, Reply } from '../../actors/ports.js';
import { FRAME_LIMITS } from '../shared/frame-splitter.js';
import { type Body, isBody } from './message.js';

/** No SDK id looks like this: those are numbers, `listen:1` and `server-discover-probe-1`. */
const ID_PREFIX = 'c';
const SERVER_TEXT_MAX = 2_048;

/** Takes one frame for the wire, or says why not; the rest is what the frame says, for a wire that has to know. */
type Push = (frame: string, id: string, method: string, params: object | undefined) => Failure | null;
type Late = (answer: 'result' | 'error') => void;

/**
 * The data plane of one link: our own requests by our own ids. An answer is one lookup; a request is one concatenation and
 * one write. Knows nothing of eras but what to put into `_meta`. Holds no timer: who asks decides when to forget.
 */
export class RequestTable {
  readonly #push: Push;
  readonly #pending = new Map<string, Reply>();
  /** Forgotten requests whose late answer somebody wants to hear of. */
  readonly #watched = new Map<string, Late>();
  #meta: Body = {};
  /** The same as the inside of a JSON object, after the progress token. */
  #metaText = '';
  #isModern = false;
  #asked = 0;
  #lateAnswers = 0;
  #isClosed = false;

  constructor(push: Push) {
    this.#push = push;
  }

  get lateAnswers(): number {
    return this.#lateAnswers;
  }

  /** What every request of a modern link carries, besides its progress token. */
  speakModern(meta: Body): void {
    this.#meta = meta;
    this.#metaText = `,${JSON.stringify(meta).slice(1, -1)}`;
    this.#isModern = true;
  }

  request(method: string, params: object | undefined, reply: Reply): string {
    this.#asked += 1;
    const id = ID_PREFIX + String(this.#asked);
    const refused = this.#isClosed ? failure('LINK_LOST', 'The link is closed.') : this.#send(id, method, params);
    if (refused === null) this.#pending.set(id, reply);
    else reply.failed(refused);
    return id;
  }

  forget(id: string, late: Late): void {
    if (this.#pending.delete(id)) this.#watched.set(id, late);
  }

  unwatch(id: string): void {
    this.#watched.delete(id);
  }

  get hasPending(): boolean {
    return this.#pending.size > 0;
  }

  isPending(id: string | number): boolean {
    return this.#pending.has(id as string);
  }

  /** Settles the request that this answers; false when the id is not one of ours. */
  answer(id: string | number, body: Body): boolean {
    if (typeof id !== 'string') return false;
    const reply = this.#pending.get(id);
    if (reply === undefined) return this.#late(id, 'error' in body ? 'error' : 'result');
    this.#pending.delete(id);
    const { result, error } = body;
    if (error !== undefined) reply.failed(serverFailure(error), errorCause(error));
    else if (!isBody(result)) reply.failed(failure('RESULT_INVALID', 'The answer holds no result object.'));
    else if (this.#isModern && !isKnownResult(result)) reply.failed(unknownResult());
    else reply.result(result);
    return true;
  }

  /** Ends a request without an answer; false when the id is not one of ours. */
  fail(id: string | number, problem: Failure): boolean {
    if (typeof id !== 'string') return false;
    const reply = this.#pending.get(id);
    if (reply === undefined) return this.#late(id, 'result');
    this.#pending.delete(id);
    reply.failed(problem);
    return true;
  }

  progress(params: unknown): void {
    if (!isBody(params)) return;
    const reply = this.#pending.get(params['progressToken'] as string);
    const report = readProgress(params);
    if (reply !== undefined && report !== null) reply.progress(report);
  }

  /** Drops every reply and every watch, without a word, and refuses what comes after. */
  close(): void {
    this.#isClosed = true;
    this.#pending.clear();
    this.#watched.clear();
  }

  #send(id: string, method: string, params: object | undefined): Failure | null {
    let frame: string;
    try {
      frame = `{"jsonrpc":"2.0","id":"${id}","method":${JSON.stringify(method)},"params":${this.#params(id, params)}}`;
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      return failure('INVALID_ARGUMENTS', `The parameters of ${method} cannot be written as JSON: ${why}`);
    }
    if (frame.length > FRAME_LIMITS.bytesMax) {
      return failure('MESSAGE_TOO_LARGE', `The request is larger than ${FRAME_LIMITS.bytesMax} bytes.`);
    }
    return this.#push(frame, id, method, params);
  }

  /** The caller's parameters with our `_meta`, which is put in as text: the common case builds no second object. */
  #params(id: string, params: object | undefined): string {
    if (params === undefined) return `{"_meta":{"progressToken":"${id}"${this.#metaText}}}`;
    if ('_meta' in params) {
      const theirs = isBody(params._meta) ? params._meta : {};
      return JSON.stringify({ ...params, _meta: { ...theirs, progressToken: id, ...this.#meta } });
    }
    const text = JSON.stringify(params);
    if (!text.startsWith('{')) throw new TypeError('they are no object');
    const head = text.slice(0, -1);
    return `${head}${head === '{' ? '' : ','}"_meta":{"progressToken":"${id}"${this.#metaText}}}`;
  }

  /** An answer nobody waits for any more: to one forgotten, or a second one. */
  #late(id: string, answer: 'result' | 'error'): boolean {
    if (!this.#wasOurs(id)) return false;
    this.#lateAnswers += 1;
    const late = this.#watched.get(id);
    this.#watched.delete(id);
    late?.(answer);
    return true;
  }

  #wasOurs(id: string): boolean {
    const count = Number(id.slice(ID_PREFIX.length));
    return id === ID_PREFIX + String(count) && count >= 1 && count <= this.#asked;
  }
}

/** `input_required` is the caller's to go on with. */
function isKnownResult(result: Body): boolean {
  const type = result['resultType'];
  return type === undefined || type === 'complete' || type === 'input_required';
}

const unknownResult = (): Failure => failure('RESULT_INVALID', 'The result is of an unknown type.');

function serverFailure(error: unknown): Failure {
  const message = isBody(error) && typeof error['message'] === 'string' ? error['message'] : '';
  return failure('SERVER_ERROR', message.slice(0, SERVER_TEXT_MAX) || 'The server answered with an error that says nothing.');
}

const errorCause = (error: unknown): { code: unknown; data: unknown } =>
  isBody(error) ? { code: error['code'], data: error['data'] } : { code: undefined, data: error };

function readProgress(params: Body): Progress | null {
  const { progress, total, message } = params;
  if (typeof progress !== 'number') return null;
  return {
    progress,
    ...(typeof total === 'number' && { total }),
    ...(typeof message === 'string' && { message: message.slice(0, SERVER_TEXT_MAX) }),
  };
}
