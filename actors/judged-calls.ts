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
  /** Of what served the id when the question was made: the answer is for that alone. */
  readonly identity: string;
  readonly end: (problem: Failure) => void;
}

export interface JudgedCallsDeps {
  /** Why no call to a server can go on, if none can. */
  readonly endOf: (server: ServerId) => Failure | null;
  readonly identityOf: (server: ServerId) => string;
  /** How many may be judged for one server at once. */
  readonly pendingMax: number;
}

/** What was agreed to was another definition, or another layer's, under the same id. */
export const anotherServer = (server: ServerId): Failure =>
  failure('APPROVAL_STALE', `"${server}" is another server than when the call was made`);

/**
 * Calls that the host or a person is asked about: nothing of them has been sent, so each may end at once with its caller, its
 * session, or the gates of its server, whoever has not answered yet.
 */
export class JudgedCalls {
  readonly #pending = new Set<Pending>();
  readonly #deps: JudgedCallsDeps;

  constructor(deps: JudgedCallsDeps) {
    this.#deps = deps;
  }

  /** Settles as `judge` does, or earlier with what ended the call; the signal that `judge` was given is aborted then. */
  during(call: JudgedCall, judge: (ended: AbortSignal) => Promise<void>): Promise<void> {
    const barred = this.#deps.endOf(call.server) ?? this.#overload(call.server);
    if (barred !== null) return Promise.reject(new SupervisorError(barred));
    const identity = this.#deps.identityOf(call.server);
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
      const pending: Pending = { call, identity, end };
      if (call.signal?.aborted === true) return withdraw();
      call.signal?.addEventListener('abort', withdraw, { once: true });
      this.#pending.add(pending);
      judge(ended.signal).finally(leave).then(resolve, reject);
    });
  }

  /** After a change of anything: whoever cannot go on any more is told. */
  check(): void {
    for (const { call, identity, end } of [...this.#pending]) {
      const problem = this.#deps.endOf(call.server);
      if (problem !== null) end(problem);
      else if (identity !== this.#deps.identityOf(call.server)) end(anotherServer(call.server));
    }
  }

  /** The server was restarted or closed: whoever is asked about a call to it need not answer any more. */
  interrupt(server: ServerId, problem: Failure): void {
    for (const { call, end } of [...this.#pending]) if (call.server === server) end(problem);
  }

  #overload(server: ServerId): Failure | null {
    const count = [...this.#pending].filter(({ call }) => call.server === server).length;
    return count < this.#deps.pendingMax
      ? null
      : failure('OVERLOADED', `${count} calls to "${server}" wait for a decision already`);
  }

  endSession(session: string): void {
    for (const { call, end } of [...this.#pending])
      if (call.session === session) end(failure('CALL_CANCELLED', 'the session that called has ended'));
  }
}
