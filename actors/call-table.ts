import PQueue from 'p-queue';
import { type Failure, failure, type ServerId } from '../machines/vocabulary.js';
import { SupervisorError, toFailure } from './errors.js';
import { type CallOwner, OpenCall, type RequestOptions } from './open-call.js';
import type { ClockPort, Link } from './ports.js';

export type { RequestOptions };

export interface CallTableOptions {
  readonly server: ServerId;
  /** Requests in flight at once; more wait. */
  readonly inFlightMax: number;
  /** Requests that wait; one more is `OVERLOADED`. */
  readonly waitingMax: number;
  /** No progress extends a call past this. */
  readonly hardDeadlineMs: number;
  /** Told when the table gets its first call, and a while after it lost its last. */
  readonly onEdge: (isBusy: boolean) => void;
  /** A call that was sent was settled without its answer: the server has to be told. */
  readonly onCancelled: (requestId: string, reason: string) => void;
  readonly onLateAnswer: (requestId: string, answer: 'result' | 'error') => void;
}

/** How long after its last call a table says that it is quiet: a machine event for every call would cost more than the call. */
export const QUIET_AFTER_MS = 50;
/** Late answers a link is asked to watch for; for more of them the oldest watch ends. */
const WATCHED_MAX = 256;

/**
 * The open calls of one link: plain objects in a set, not actors. Settles each exactly once; what it does not do is send
 * anything twice. One timer serves all deadlines, armed for the earliest.
 */
export class CallTable implements CallOwner {
  readonly #open = new Set<OpenCall>();
  /** Not sent yet, in the order of their coming. */
  readonly #waiting = new Set<OpenCall>();
  /** Only overflow comes here: each turn waits for room and sends whoever is first by then. */
  readonly #turns = new PQueue({ concurrency: 1 });
  /** At least one for everybody who waits, and never more than may wait, however many give up. */
  #turnsLeft = 0;
  readonly #watched = new Set<string>();
  readonly #link: Link;
  readonly #clock: ClockPort;
  readonly #options: CallTableOptions;
  #inFlight = 0;
  #admitNext: (() => void) | undefined;
  #ended: Failure | undefined;
  #isBusy = false;
  #quietTimer: unknown;
  #deadlineTimer: unknown;
  #armedForMs = Number.POSITIVE_INFINITY;

  constructor(link: Link, clock: ClockPort, options: CallTableOptions) {
    this.#link = link;
    this.#clock = clock;
    this.#options = options;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  /** Whether a request made now is sent now. */
  get hasRoom(): boolean {
    return this.#inFlight < this.#options.inFlightMax && this.#waiting.size === 0;
  }

  /** Resolves with the server's result object; rejects with `SupervisorError` otherwise. */
  request(method: string, params: object | undefined, options: RequestOptions): Promise<{ readonly [key: string]: unknown }> {
    return new Promise((resolve, reject) => {
      if (this.#ended !== undefined) return reject(new SupervisorError(this.#ended));
      const call = new OpenCall(this, method, params, options, resolve, reject);
      if (call.isSettled) return;
      // The caller's own bound runs from here, in the queue too.
      if (options.totalMs !== undefined) {
        if (options.totalMs <= 0) return call.failed(this.#late(method));
        call.hardDeadlineMs = this.#clock.now() + options.totalMs;
      }
      if (this.hasRoom) {
        this.#open.add(call);
        this.#send(call);
      } else this.#enqueue(call);
    });
  }

  /**
   * Settles every call, sent or not, with the same failure, and takes no more. Calls that a deliberate end cuts off were
   * cancelled, although nobody can be told any more; those of a link that was lost were not.
   */
  failAll(problem: Failure, isDeliberate = false): void {
    this.#ended = problem;
    for (const call of [...this.#open]) {
      const { requestId } = call;
      call.failed(problem);
      if (isDeliberate && requestId !== undefined) this.#options.onCancelled(requestId, problem.message);
    }
    this.#clock.clearTimeout(this.#deadlineTimer);
    this.#clock.clearTimeout(this.#quietTimer);
  }

  endSession(session: string): void {
    for (const call of [...this.#open]) {
      if (call.options.session === session)
        this.cancel(call, failure('CALL_CANCELLED', `the session that called "${this.#options.server}" has ended`));
    }
  }

  /** Settles the caller first; the server is told afterwards, and what it still answers is watched for. */
  cancel(call: OpenCall, problem: Failure): void {
    const { requestId } = call;
    if (!call.finish()) return;
    call.reject(new SupervisorError(problem));
    if (requestId === undefined) return;
    this.#watch(requestId);
    this.#options.onCancelled(requestId, problem.message);
  }

  extend(call: OpenCall): void {
    const now = this.#clock.now();
    call.deadlineMs = Math.min(now + call.options.timeoutMs, call.hardDeadlineMs);
  }

  get server(): ServerId {
    return this.#options.server;
  }

  /** Called once by each call as it settles. */
  remove(call: OpenCall): void {
    this.#open.delete(call);
    if (call.isSent) {
      this.#inFlight -= 1;
      this.#admitNext?.();
      if (this.#inFlight === 0 && this.#ended === undefined) this.#armQuiet();
    } else if (this.#waiting.delete(call)) this.#admitNext?.();
  }

  #watch(requestId: string): void {
    this.#watched.add(requestId);
    this.#link.forget(requestId, (answer) => {
      this.#watched.delete(requestId);
      this.#options.onLateAnswer(requestId, answer);
    });
    const [oldest] = this.#watched;
    if (oldest === undefined || this.#watched.size <= WATCHED_MAX) return;
    this.#watched.delete(oldest);
    this.#link.unwatch(oldest);
  }

  #send(call: OpenCall): void {
    const now = this.#clock.now();
    this.#inFlight += 1;
    call.isSent = true;
    call.hardDeadlineMs = Math.min(now + this.#options.hardDeadlineMs, call.hardDeadlineMs);
    call.deadlineMs = Math.min(now + call.options.timeoutMs, call.hardDeadlineMs);
    if (!this.#isBusy) {
      this.#isBusy = true;
      this.#options.onEdge(true);
    }
    if (call.deadlineMs < this.#armedForMs) this.#armDeadline(call.deadlineMs, now);
    // A link may fail a request before it returns, and the edge above may have ended the table.
    if (call.isSettled) return;
    try {
      call.requestId = this.#link.request(call.method, call.params, call);
    } catch (error) {
      call.failed(toFailure(error, 'LINK_LOST'));
    }
  }

  #enqueue(call: OpenCall): void {
    if (this.#waiting.size >= this.#options.waitingMax) {
      call.failed(failure('OVERLOADED', `"${this.#options.server}" has ${this.#waiting.size} calls waiting already`));
      return;
    }
    this.#waiting.add(call);
    this.#open.add(call);
    if (call.hardDeadlineMs < Number.POSITIVE_INFINITY) {
      call.deadlineMs = call.hardDeadlineMs;
      if (call.deadlineMs < this.#armedForMs) this.#armDeadline(call.deadlineMs, this.#clock.now());
    }
    if (this.#turnsLeft >= this.#waiting.size) return;
    this.#turnsLeft += 1;
    void this.#turns.add(() => this.#takeTurn());
  }

  async #takeTurn(): Promise<void> {
    while (this.#waiting.size > 0 && this.#inFlight >= this.#options.inFlightMax) {
      await new Promise<void>((resolve) => {
        this.#admitNext = resolve;
      });
    }
    this.#turnsLeft -= 1;
    const [first] = this.#waiting;
    if (first === undefined) return;
    this.#waiting.delete(first);
    const barred = first.options.recheck?.() ?? null;
    if (barred === null) this.#send(first);
    else first.failed(barred);
  }

  #armDeadline(atMs: number, nowMs: number): void {
    this.#clock.clearTimeout(this.#deadlineTimer);
    this.#armedForMs = atMs;
    this.#deadlineTimer = this.#clock.setTimeout(() => this.#expire(), Math.max(0, atMs - nowMs));
  }

  #expire(): void {
    const now = this.#clock.now();
    this.#armedForMs = Number.POSITIVE_INFINITY;
    let next = Number.POSITIVE_INFINITY;
    for (const call of [...this.#open]) {
      if (call.deadlineMs > now) next = Math.min(next, call.deadlineMs);
      else this.cancel(call, this.#late(call.method));
    }
    if (next < this.#armedForMs && this.#ended === undefined) this.#armDeadline(next, now);
  }

  #late(method: string): Failure {
    return failure('CALL_TIMEOUT', `"${this.#options.server}" did not answer ${method} in time`);
  }

  #armQuiet(): void {
    this.#quietTimer ??= this.#clock.setTimeout(() => {
      this.#quietTimer = undefined;
      if (this.#inFlight > 0 || !this.#isBusy) return;
      this.#isBusy = false;
      this.#options.onEdge(false);
    }, QUIET_AFTER_MS);
  }
}
