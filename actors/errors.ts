import { CODES, type Code, type Failure, failure, type Stage } from '../machines/vocabulary.js';

export { CODES, type Code, type Failure, failure, type Stage };

const BRAND = Symbol.for('mcp-supervisor.error');

/**
 * The only error class hosts meet. Branch on `code`, never on `message`; `retryable` says whether the same request may
 * succeed later, `hint` what to do. The message names the key, the file and the place, never a secret.
 */
export class SupervisorError extends Error {
  override readonly name = 'SupervisorError';
  readonly code: Code;
  readonly stage: Stage;
  readonly retryable: boolean;
  readonly hint: string | undefined;
  /** Recognised across copies of the package, unlike `instanceof`. */
  readonly [BRAND] = true;

  constructor(problem: Failure, options?: ErrorOptions) {
    super(problem.message, options);
    this.code = problem.code;
    this.stage = problem.stage;
    this.retryable = problem.retryable;
    this.hint = problem.hint;
  }

  /** Recognises an error of this class, from this copy of the package or another. */
  static is(value: unknown): value is SupervisorError {
    return typeof value === 'object' && value !== null && BRAND in value;
  }

  /** The same as data, for snapshots and results. */
  toFailure(): Failure {
    const { code, stage, retryable, message, hint } = this;
    return hint === undefined ? { code, stage, retryable, message } : { code, stage, retryable, message, hint };
  }

  toJSON(): Failure {
    return this.toFailure();
  }
}

/** Shorthand for `new SupervisorError(failure(code, message, hint))`. */
export function supervisorError(code: Code, message: string, options: { hint?: string; cause?: unknown } = {}): SupervisorError {
  return new SupervisorError(
    failure(code, message, options.hint),
    options.cause === undefined ? undefined : { cause: options.cause },
  );
}

/** Whatever was thrown, as a failure: a `SupervisorError` keeps its code, anything else gets `fallback`. */
export function toFailure(thrown: unknown, fallback: Code): Failure {
  if (SupervisorError.is(thrown)) return thrown.toFailure();
  return failure(fallback, thrown instanceof Error ? thrown.message : String(thrown));
}
