import { type Failure, failure, type ServerId } from '../machines/vocabulary.js';
import { SupervisorError } from './errors.js';
import type { Progress, Reply } from './ports.js';

export interface RequestOptions {
  /** From sending; progress starts it again, never past the hard deadline. */
  readonly timeoutMs: number;
  /** What is left of a caller's own bound: progress does not move it. */
  readonly totalMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly session?: string | undefined;
  readonly onProgress?: ((progress: Progress) => void) | undefined;
  /** Asked just before a call is sent that had to wait for room: what was allowed then may not be by now. */
  readonly recheck?: (() => Failure | null) | undefined;
}

/** The table a call stands in. */
export interface CallOwner {
  readonly server: ServerId;
  cancel(call: OpenCall, problem: Failure): void;
  /** The call made progress: its deadline starts again. */
  extend(call: OpenCall): void;
  /** Told once by each call, as it settles. */
  remove(call: OpenCall): void;
}

/** One call on its way. It is its own reply handler: one object a call, no closures on the path of an answer. */
export class OpenCall implements Reply {
  requestId: string | undefined;
  deadlineMs = Number.POSITIVE_INFINITY;
  hardDeadlineMs = Number.POSITIVE_INFINITY;
  isSent = false;
  isSettled = false;
  readonly #table: CallOwner;
  readonly #onAbort: (() => void) | undefined;
  readonly method: string;
  readonly params: object | undefined;
  readonly options: RequestOptions;
  readonly resolve: (result: { readonly [key: string]: unknown }) => void;
  readonly reject: (error: SupervisorError) => void;

  constructor(
    table: CallOwner,
    method: string,
    params: object | undefined,
    options: RequestOptions,
    resolve: (result: { readonly [key: string]: unknown }) => void,
    reject: (error: SupervisorError) => void,
  ) {
    this.#table = table;
    this.method = method;
    this.params = params;
    this.options = options;
    this.resolve = resolve;
    this.reject = reject;
    const { signal } = options;
    if (signal === undefined) return;
    this.#onAbort = () => table.cancel(this, failure('CALL_CANCELLED', `the call to "${table.server}" was withdrawn`));
    if (signal.aborted) this.#onAbort();
    else signal.addEventListener('abort', this.#onAbort, { once: true });
  }

  /** Whoever gets `true` settles the promise; nobody gets it twice. */
  finish(): boolean {
    if (this.isSettled) return false;
    this.isSettled = true;
    if (this.#onAbort !== undefined) this.options.signal?.removeEventListener('abort', this.#onAbort);
    this.#table.remove(this);
    return true;
  }

  result(value: unknown): void {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      this.failed(failure('RESULT_INVALID', `"${this.#table.server}" answered ${this.method} with something that is no object`));
      return;
    }
    const result = value as { readonly resultType?: unknown; readonly [key: string]: unknown };
    // Absent in the legacy era; the modern one has to say that this is the whole answer.
    if (result.resultType === undefined || result.resultType === 'complete') {
      if (this.finish()) this.resolve(result);
      return;
    }
    this.failed(
      result.resultType === 'input_required'
        ? failure('INPUT_REQUIRED_REFUSED', `"${this.#table.server}" asks for input that this host does not give`)
        : failure('RESULT_INVALID', `"${this.#table.server}" answered ${this.method} with a result of an unknown type`),
    );
  }

  failed(problem: Failure, cause?: unknown): void {
    if (this.finish()) this.reject(new SupervisorError(problem, cause === undefined ? undefined : { cause }));
  }

  progress(report: Progress): void {
    if (this.isSettled) return;
    this.#table.extend(this);
    try {
      this.options.onProgress?.(report);
    } catch {
      // A listener of the host that throws must not end the link it is told about.
    }
  }
}
