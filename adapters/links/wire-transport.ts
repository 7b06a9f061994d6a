import { supervisorError } from '../../actors/errors.js';
import { isBody, type Message } from './message.js';
import type { SessionDeps } from './session.js';

/**
 * Our wire as either line of the SDK sees it: both take it for one of their own transports. Having `pid` and `stderr` tells
 * the current line that a process is behind it, so that it asks for the era in place and takes silence for an older server; a
 * second process is started only for the SDK's own transport.
 */
export class WireTransport {
  readonly pid: number | null;
  readonly stderr = null;
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  onmessage?: ((message: object) => void) | undefined;
  /** Methods of the requests that were sent. */
  readonly sent = new Set<string>();
  readonly #asked = new Set<string | number>();
  readonly #push: SessionDeps['push'];
  #initializeId: unknown;
  #protocolVersion = '';
  #isClosed = false;

  constructor(pid: number | null, push: SessionDeps['push']) {
    this.pid = pid;
    this.#push = push;
  }

  async start(): Promise<void> {
    if (this.#isClosed) throw supervisorError('LINK_LOST', 'The link is closed.');
  }

  /** Settles at once: a write that fails ends the whole link, which says more than the error of one write. */
  async send(message: object): Promise<void> {
    if (this.#isClosed) throw supervisorError('LINK_LOST', 'The link is closed.');
    if (this.#isForbidden(message)) return;
    this.#note(message);
    const refused = this.#push(JSON.stringify(message));
    if (refused !== null) throw supervisorError(refused.code, refused.message);
  }

  async close(): Promise<void> {
    this.end();
  }

  end(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.onclose?.();
  }

  /** Called by the SDK once it has agreed with an older server. */
  setProtocolVersion(version: string): void {
    this.#protocolVersion = version;
  }

  /** The revision agreed on with an older server; empty before that. */
  get protocolVersion(): string {
    return this.#protocolVersion;
  }

  /** Hands a message to the SDK; false for an answer to what it never asked. */
  receive(message: Message): boolean {
    const { body } = message;
    const id = message.kind === 'answer' ? this.#matchAsked(message.id) : undefined;
    if (id === null) return false;
    // Only the envelope was checked; the SDK validates what is inside before it uses it.
    if (!this.#isClosed) this.onmessage?.(id === undefined || id === body['id'] ? body : { ...body, id });
    return true;
  }

  /** The id this answers, once; some servers give a number back as a string. */
  #matchAsked(id: string | number): string | number | null {
    if (this.#asked.delete(id)) return id;
    const count = typeof id === 'string' ? Number(id) : Number.NaN;
    return String(count) === id && this.#asked.delete(count) ? count : null;
  }

  #note(message: object): void {
    if (!('method' in message && 'id' in message)) return;
    const { method, id } = message;
    if (typeof method !== 'string' || (typeof id !== 'string' && typeof id !== 'number')) return;
    this.sent.add(method);
    this.#asked.add(id);
    if (method === 'initialize') this.#initializeId = id;
  }

  /** The older line cancels `initialize` when it gives it up, which every revision forbids (utilities/cancellation). */
  #isForbidden(message: object): boolean {
    if (!('method' in message && message.method === 'notifications/cancelled' && 'params' in message)) return false;
    const { params } = message;
    return this.#initializeId !== undefined && isBody(params) && params['requestId'] === this.#initializeId;
  }
}
