import { isHungry } from '../machines/server-context.js';
import { phaseOf, type ServerSnapshot } from '../machines/server-view.js';
import { type CandidateKey, type Failure, failure } from '../machines/vocabulary.js';
import { SupervisorError } from './errors.js';
import type { LiveLink } from './link-table.js';
import type { ClockPort } from './ports.js';

/** Whether a call may go out now, has to wait, or never will. */
export type Readiness =
  | { readonly state: 'ready'; readonly live: LiveLink }
  | { readonly state: 'waiting'; readonly isAsking: boolean }
  | { readonly state: 'refused'; readonly failure: Failure };

/** Reads it from what the machine says. */
export function readinessOf(snapshot: ServerSnapshot, live: LiveLink | undefined, hasChannel: boolean): Readiness {
  const { context } = snapshot;
  const { id } = context.profile;
  const refused = (otherwise: Failure): Readiness => ({
    state: 'refused',
    failure: context.shut?.failure ?? context.problem ?? otherwise,
  });
  switch (phaseOf(snapshot)) {
    case 'ready':
      return live === undefined ? { state: 'waiting', isAsking: false } : { state: 'ready', live };
    case 'approving':
      if (hasChannel) return { state: 'waiting', isAsking: true };
      return { state: 'refused', failure: noChannel(id) };
    case 'connecting':
    case 'backoff':
      return { state: 'waiting', isAsking: false };
    case 'failed':
      // While its last life is being closed it has not given its reason yet.
      if (snapshot.matches({ up: 'closing' })) return { state: 'waiting', isAsking: false };
      return refused(failure('NOT_READY', `"${id}" has failed`));
    case 'idle':
      if (context.blockedBy === null && context.shut === null && isHungry(context)) return { state: 'waiting', isAsking: false };
      return refused(failure('NOT_READY', `"${id}" is not running`));
  }
}

export const noChannel = (id: string): Failure =>
  failure(
    'APPROVAL_NO_CHANNEL',
    `"${id}" waits for an approval and nobody can be asked here`,
    'approve its fingerprint where somebody can see the card',
  );

export interface WaitOptions {
  /** For slot, start and handshake; the time a person takes to answer does not count. */
  readonly budgetMs: number;
  readonly signal?: AbortSignal | undefined;
  readonly session?: string | undefined;
}

/** The server's open link, and what the wait has left of its budget. */
export interface Waited {
  readonly live: LiveLink;
  readonly leftMs: number;
}

interface Waiter {
  readonly options: WaitOptions;
  readonly resolve: (waited: Waited) => void;
  readonly reject: (error: SupervisorError) => void;
  remainingMs: number;
  /** When the clock was started; null while a person is being asked. */
  runsSinceMs: number | null;
  timer: unknown;
  onAbort: (() => void) | undefined;
}

/** Calls that wait for their server. Each is settled once: by the server, its own time, its signal, or whoever ends it all. */
export class Waiters {
  readonly #clock: ClockPort;
  readonly #byServer = new Map<CandidateKey, Set<Waiter>>();
  readonly #onEmpty: (key: CandidateKey) => void;
  readonly #waitingMax: number;

  /** `waitingMax`: how many may wait for one server. */
  constructor(clock: ClockPort, waitingMax: number, onEmpty: (key: CandidateKey) => void) {
    this.#clock = clock;
    this.#waitingMax = waitingMax;
    this.#onEmpty = onEmpty;
  }

  /** Rejects with what keeps the server from being ready, `NOT_READY` when the budget is spent, or `CALL_CANCELLED`. */
  wait(key: CandidateKey, options: WaitOptions): Promise<Waited> {
    const count = this.#byServer.get(key)?.size ?? 0;
    if (count >= this.#waitingMax)
      return Promise.reject(new SupervisorError(failure('OVERLOADED', `${count} calls wait for "${key}" already`)));
    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        options,
        resolve,
        reject,
        remainingMs: options.budgetMs,
        runsSinceMs: null,
        timer: undefined,
        onAbort: undefined,
      };
      const waiters = this.#byServer.get(key) ?? new Set();
      this.#byServer.set(key, waiters.add(waiter));
      this.#run(key, waiter);
      const { signal } = options;
      if (signal === undefined) return;
      waiter.onAbort = () => this.#reject(key, waiter, failure('CALL_CANCELLED', 'the call was withdrawn before it was sent'));
      if (signal.aborted) waiter.onAbort();
      else signal.addEventListener('abort', waiter.onAbort, { once: true });
    });
  }

  isWaitedFor(key: CandidateKey): boolean {
    return this.#byServer.has(key);
  }

  /** Tells everybody who waits for this server how it stands. */
  update(key: CandidateKey, readiness: Readiness): void {
    for (const waiter of [...(this.#byServer.get(key) ?? [])]) {
      if (readiness.state === 'ready') {
        this.#pause(waiter);
        if (this.#end(key, waiter)) waiter.resolve({ live: readiness.live, leftMs: waiter.remainingMs });
      } else if (readiness.state === 'refused') this.#reject(key, waiter, readiness.failure);
      else if (readiness.isAsking) this.#pause(waiter);
      else if (waiter.runsSinceMs === null) this.#run(key, waiter);
    }
  }

  rejectAll(key: CandidateKey, problem: Failure): void {
    for (const waiter of [...(this.#byServer.get(key) ?? [])]) this.#reject(key, waiter, problem);
  }

  endSession(session: string): void {
    for (const [key, waiters] of [...this.#byServer]) {
      for (const waiter of [...waiters]) {
        if (waiter.options.session === session)
          this.#reject(key, waiter, failure('CALL_CANCELLED', 'the session that called has ended'));
      }
    }
  }

  close(problem: Failure): void {
    for (const key of [...this.#byServer.keys()]) this.rejectAll(key, problem);
  }

  #run(key: CandidateKey, waiter: Waiter): void {
    waiter.runsSinceMs = this.#clock.now();
    waiter.timer = this.#clock.setTimeout(
      () => this.#reject(key, waiter, failure('NOT_READY', `"${key}" was not ready within ${waiter.options.budgetMs} ms`)),
      waiter.remainingMs,
    );
  }

  #pause(waiter: Waiter): void {
    if (waiter.runsSinceMs === null) return;
    this.#clock.clearTimeout(waiter.timer);
    waiter.remainingMs = Math.max(0, waiter.remainingMs - (this.#clock.now() - waiter.runsSinceMs));
    waiter.runsSinceMs = null;
  }

  #reject(key: CandidateKey, waiter: Waiter, problem: Failure): void {
    if (this.#end(key, waiter)) waiter.reject(new SupervisorError(problem));
  }

  #end(key: CandidateKey, waiter: Waiter): boolean {
    const waiters = this.#byServer.get(key);
    if (waiters?.delete(waiter) !== true) return false;
    this.#clock.clearTimeout(waiter.timer);
    if (waiter.onAbort !== undefined) waiter.options.signal?.removeEventListener('abort', waiter.onAbort);
    if (waiters.size === 0) {
      this.#byServer.delete(key);
      this.#onEmpty(key);
    }
    return true;
  }
}
