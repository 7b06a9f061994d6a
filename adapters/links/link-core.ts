import { type Code, type Failure, failure, SupervisorError, supervisorError, toFailure } from '../../actors/errors.js';
import type { ClockPort, Link, LinkDiagnosis, LinkEvents, LinkOptions, Reply } from '../../actors/ports.js';
import type { Handshake } from '../../machines/vocabulary.js';
import type { StopReport } from './group-stop.js';
import { handshakeError } from './handshake-error.js';
import { ListChanges } from './list-changes.js';
import { type Announcement, type Inquiry, isBody, type Message } from './message.js';
import { type EraMemory, negotiate } from './negotiation.js';
import { RequestTable } from './request-table.js';
import type { Engine, Session } from './session.js';
import type { Wire, WireEnd, WireEvents } from './wire.js';

export interface LinkCoreDeps {
  readonly clock: ClockPort;
  readonly eras: EraMemory;
  readonly engine: Engine;
}

const REASON_LENGTH_MAX = 256;
const INTERNAL_ERROR = -32_603;
/** What a probe may fail of and still show that somebody answers. */
const SIGNS_OF_LIFE: ReadonlySet<Code> = new Set(['SERVER_ERROR', 'RESULT_INVALID']);

/**
 * A link over any wire: who asked what, on which era both agreed, what the server announces, and one end. Whatever is about
 * processes or about HTTP is the wire's.
 */
export class LinkCore implements Link {
  readonly #deps: LinkCoreDeps;
  readonly #events: LinkEvents;
  readonly #options: LinkOptions;
  readonly #wire: Wire;
  readonly #table = new RequestTable((frame, id, method, params) => this.#wire.request(frame, id, method, params));
  readonly #listChanges: ListChanges;
  #session: Session | null = null;
  #agreed: Handshake | null = null;
  /** Why nothing goes over this link any more. */
  #over: Failure | null = null;
  /** What became of the server that died of the question for its era, if it did. */
  #restart: 'none' | 'due' | 'made' = 'none';
  #foreignAnswers = 0;
  #handshaking: Promise<Handshake> | null = null;
  #closing: Promise<StopReport> | null = null;
  #probing: Promise<void> | null = null;
  #failProbe: ((problem: Failure) => void) | null = null;

  /** `openWire` may tell the events it is given nothing before it has returned. */
  constructor(deps: LinkCoreDeps, events: LinkEvents, options: LinkOptions, openWire: (events: WireEvents) => Wire) {
    this.#deps = deps;
    this.#events = events;
    this.#options = options;
    this.#listChanges = new ListChanges(deps.clock, (kind) => events.listChanged(kind));
    this.#wire = openWire({
      opened: (pid) => this.#opened(pid),
      message: (message) => this.#receive(message),
      wants: (id) => (id === null ? this.#table.hasPending : this.#table.isPending(id)),
      dropped: (id, problem) => this.#dropped(id, problem),
      stderr: () => this.#stderr(),
      ended: (end) => this.#ended(end),
    });
    deps.engine.preload();
  }

  handshake(): Promise<Handshake> {
    this.#handshaking ??= this.#agree();
    return this.#handshaking;
  }

  request(method: string, params: object | undefined, reply: Reply): string {
    return this.#table.request(method, params, reply);
  }

  forget(requestId: string, late: (answer: 'result' | 'error') => void): void {
    this.#table.forget(requestId, late);
  }

  unwatch(requestId: string): void {
    this.#table.unwatch(requestId);
  }

  async notifyCancelled(requestId: string, reason: string): Promise<void> {
    this.#check();
    await this.#wire.cancel(requestId, reason);
  }

  async listen(): Promise<void> {
    try {
      if (this.#session === null) throw supervisorError('LINK_LOST', 'The handshake has not been made.');
      await this.#session.listen();
    } catch (error) {
      throw this.#error(error, 'SERVER_ERROR');
    }
  }

  /** Any answer is a sign of life, an error too. */
  probe(): Promise<void> {
    this.#probing ??= this.#ask().finally(() => {
      this.#probing = null;
    });
    return this.#probing;
  }

  close(): Promise<StopReport> {
    if (this.#closing === null) {
      this.#finish(failure('LINK_LOST', 'The link was closed.'));
      this.#closing = this.#wire.stop();
    }
    return this.#closing;
  }

  diagnosis(): LinkDiagnosis {
    return {
      ...this.#wire.diagnosis(),
      lateAnswers: this.#table.lateAnswers,
      foreignAnswers: this.#foreignAnswers,
    };
  }

  /** Agrees on an era once the wire is up. What the link was lost of, meanwhile, says more than the SDK's error. */
  async #agree(): Promise<Handshake> {
    const { configHash } = this.#options;
    const { eras } = this.#deps;
    try {
      await this.#wire.up();
      const isLegacy = this.#wire.isLegacyOnly || (await eras.isLegacy(configHash));
      this.#check();
      const session = await negotiate({ openSession: () => this.#openSession(), restarted: () => this.#restarted() }, isLegacy);
      this.#check();
      const agreed = session.handshake();
      if (agreed.era === 'modern') this.#table.speakModern(session.requestMeta());
      await this.#wire.agreed(agreed);
      this.#check();
      this.#agreed = agreed;
      // The older engine asks nobody for an era, so what it meets says nothing about one.
      if (!this.#wire.isLegacyOnly && this.#deps.engine.name === 'client') eras.learn(configHash, session);
      return agreed;
    } catch (error) {
      eras.forget(configHash);
      throw this.#over === null ? handshakeError(error) : new SupervisorError(this.#over, { cause: error });
    }
  }

  #openSession(): Session {
    this.#check();
    const { pid, probeTimeoutMs } = this.#wire;
    const session = this.#deps.engine.open({
      clientInfo: this.#options.clientInfo,
      pid,
      push: (frame) => this.#wire.push(frame),
      ...(probeTimeoutMs !== undefined && { probeTimeoutMs }),
    });
    this.#session = session;
    return session;
  }

  async #restarted(): Promise<boolean> {
    if (this.#restart !== 'due') return false;
    this.#restart = 'made';
    await this.#wire.restart();
    this.#check();
    return true;
  }

  #check(): void {
    if (this.#over !== null) throw new SupervisorError(this.#over);
  }

  #opened(pid: number | null): void {
    if (this.#over === null) this.#events.opened({ pid });
  }

  #receive(message: Message): void {
    if (message.kind === 'announcement') this.#announced(message);
    else if (message.kind === 'answer' && this.#table.answer(message.id, message.body)) return;
    else if (message.kind === 'inquiry' && this.#isAboutRoots(message)) this.#tellNoRoots(message.id);
    else if (this.#session?.receive(message) !== true && message.kind === 'answer') this.#foreignAnswers += 1;
  }

  /** An endpoint of the older era that asks for roots though none were declared is told that there are none. */
  #isAboutRoots({ body }: Inquiry): boolean {
    return body['method'] === 'roots/list' && this.#wire.pid === null && this.#agreed?.era === 'legacy';
  }

  #tellNoRoots(id: string | number): void {
    this.#wire.push(JSON.stringify({ jsonrpc: '2.0', id, result: { roots: [] } }));
  }

  #announced(message: Announcement): void {
    const { method, body } = message;
    const params = isBody(body['params']) ? body['params'] : {};
    if (method === 'notifications/progress') this.#table.progress(params);
    else if (method === 'notifications/subscriptions/acknowledged') this.#session?.receive(message);
    else if (method === 'notifications/cancelled') this.#cancelled(params['requestId'], params['reason'], message);
    else if (this.#agreed !== null) this.#listChanges.announced(method);
  }

  /** An older server may give up a request it was sent; a modern one may only end what the SDK asked. */
  #cancelled(requestId: unknown, reason: unknown, message: Announcement): void {
    if (this.#agreed?.era !== 'legacy' || typeof requestId !== 'string' || !this.#table.isPending(requestId)) {
      this.#session?.receive(message);
      return;
    }
    const why = typeof reason === 'string' && reason !== '' ? `: ${reason.slice(0, REASON_LENGTH_MAX)}` : '.';
    this.#table.fail(requestId, failure('SERVER_ERROR', `The server gave the request up${why}`));
  }

  #dropped(id: string | number, problem: Failure): void {
    if (this.#table.fail(id, problem)) return;
    // The SDK has no other way to be told that its request will not be answered.
    const body = { jsonrpc: '2.0', id, error: { code: INTERNAL_ERROR, message: problem.message } };
    if (this.#session?.receive({ kind: 'answer', id, body }) !== true) this.#foreignAnswers += 1;
  }

  #stderr(): void {
    if (this.#over === null) this.#events.stderr();
  }

  #ended(end: WireEnd): void {
    if (this.#over !== null) return;
    const isAsked = this.#handshaking !== null && this.#agreed === null && this.#session?.hasProbed === true;
    if (end.mayRestart && isAsked && this.#restart === 'none') {
      this.#restart = 'due';
      this.#session?.close();
      return;
    }
    const problem = this.#agreed === null ? end.early : end.problem;
    this.#finish(problem);
    this.#events.lost(problem, end.death);
  }

  #ask(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#failProbe = ({ message }) => reject(supervisorError('PROBE_FAILED', message));
      if (this.#over !== null) this.#failProbe(this.#over);
      this.#table.request(this.#agreed?.era === 'modern' ? 'server/discover' : 'ping', undefined, {
        result: () => resolve(),
        failed: (problem) => (SIGNS_OF_LIFE.has(problem.code) ? resolve() : this.#failProbe?.(problem)),
        progress: () => undefined,
      });
    });
  }

  #error(thrown: unknown, code: Code): SupervisorError {
    if (this.#over !== null) return new SupervisorError(this.#over, { cause: thrown });
    return new SupervisorError(toFailure(thrown, code), { cause: thrown });
  }

  #finish(problem: Failure): void {
    if (this.#over !== null) return;
    this.#over = problem;
    this.#table.close();
    this.#listChanges.close();
    this.#session?.close();
    this.#failProbe?.(problem);
  }
}
