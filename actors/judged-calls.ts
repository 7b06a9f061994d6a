import { type Failure, failure, type ServerId } from '../machines/vocabulary.js';
import { SupervisorError } from './errors.js';

/** Whose call is judged, and for which server. */
export interface JudgedCall {
  readonly server: ServerId;
  readonly signal?: AbortSignal | undefined;
  readonly session?: string | undefined;
}

interface Pending {
  readonly call: JudgedCall;
  readonly end: (problem: Failure) => void;
}

/**
 * Calls that the host or a person is asked about: nothing of them has been sent, so each may end at once with its caller, its
 * session, or the gates of its server, whoever has not answered yet.
 */
export class JudgedCalls {
  readonly #pending = new Set<Pending>();
  readonly #endOf: (server: ServerId) => Failure | null;

  /** `endOf` says why no call to a server can go on, if none can. */
  constructor(endOf: (server: ServerId) => Failure | null) {
    this.#endOf = endOf;
  }

  /** Settles as `judge` does, or earlier with what ended the call; the signal that `judge` was given is aborted then. */
  during(call: JudgedCall, judge: (ended: AbortSignal) => Promise<void>): Promise<void> {
    const barred = this.#endOf(call.server);
    if (barred !== null) return Promise.reject(new SupervisorError(barred));
    return new Promise((resolve, reject) => {
      const ended = new AbortController();
      const leave = (): void => {
        this.#pending.delete(pending);
        call.signal?.removeEventListener('abort', withdraw);
      };
      const end = (problem: Failure): void => {
        leave();
        ended.abort();
        reject(new SupervisorError(problem));
      };
      const withdraw = (): void => end(failure('CALL_CANCELLED', 'the call was withdrawn before it was approved'));
      const pending: Pending = { call, end };
      if (call.signal?.aborted === true) return withdraw();
      call.signal?.addEventListener('abort', withdraw, { once: true });
      this.#pending.add(pending);
      judge(ended.signal).finally(leave).then(resolve, reject);
    });
  }

  /** After a change of anything: whoever cannot go on any more is told. */
  check(): void {
    for (const { call, end } of [...this.#pending]) {
      const problem = this.#endOf(call.server);
      if (problem !== null) end(problem);
    }
  }

  endSession(session: string): void {
    for (const { call, end } of [...this.#pending])
      if (call.session === session) end(failure('CALL_CANCELLED', 'the session that called has ended'));
  }
}
