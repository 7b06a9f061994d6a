import { type Failure, SupervisorError } from './errors.js';
import type { RedactionPort } from './ports.js';

/** Of what others wrote no more is kept with an error, in UTF-16 units. */
const TEXT_UNITS_MAX = 8_192;
/** Causes of causes, and parts within parts, that are kept. */
const DEPTH_MAX = 8;
const PARTS_MAX = 256;
/** Codes of the system, of Node and of JSON-RPC: never a value. */
const ERROR_CODE = /^[A-Z][A-Z0-9_]{0,63}$/;

/** A failure whose texts hold no secret and are of one line; the same one where nothing had to be taken out. */
export function redactedFailure(redaction: RedactionPort, problem: Failure): Failure {
  const message = redaction.line(problem.message);
  const hint = problem.hint === undefined ? undefined : redaction.text(problem.hint);
  if (message === problem.message && hint === problem.hint) return problem;
  return { ...problem, message, ...(hint === undefined ? {} : { hint }) };
}

/**
 * What was thrown, without secrets in it or in any of its causes, however it is printed: of a `SupervisorError` the failure,
 * of any other error name, message, stack and a code of the system, of anything else what JSON would say of it. What errors
 * carry besides (`spawnargs`, requests, responses) is left out.
 */
export function redactedError(redaction: RedactionPort, thrown: unknown): unknown {
  return new Copying(redaction).copy(thrown, 0);
}

class Copying {
  readonly #redaction: RedactionPort;
  #parts = 0;

  constructor(redaction: RedactionPort) {
    this.#redaction = redaction;
  }

  copy(thrown: unknown, depth: number): unknown {
    try {
      if (depth > DEPTH_MAX) return undefined;
      return thrown instanceof Error || SupervisorError.is(thrown) ? this.#error(thrown, depth) : this.#data(thrown, depth);
    } catch {
      // Its getters may throw; then it has nothing to say.
      return undefined;
    }
  }

  #error(thrown: Error | SupervisorError, depth: number): Error {
    const { cause: raw } = thrown;
    const cause = raw === undefined ? undefined : this.copy(raw, depth + 1);
    const options = cause === undefined ? undefined : { cause };
    if (SupervisorError.is(thrown))
      return this.#dressed(new SupervisorError(redactedFailure(this.#redaction, thrown.toFailure()), options), thrown);
    const copy = new Error(this.#text(thrown.message), options);
    Object.defineProperty(copy, 'name', { value: this.#line(thrown.name), configurable: true });
    if ('code' in thrown && isErrorCode(thrown.code)) Object.assign(copy, { code: thrown.code });
    return this.#dressed(copy, thrown);
  }

  /** The stack says where it came from; a part of it is the message. */
  #dressed(copy: Error, { stack }: Error): Error {
    if (typeof stack === 'string')
      Object.defineProperty(copy, 'stack', { value: this.#text(stack), configurable: true, writable: true });
    return copy;
  }

  #data(value: unknown, depth: number): unknown {
    this.#parts += 1;
    if (this.#parts > PARTS_MAX || depth > DEPTH_MAX) return undefined;
    if (typeof value === 'string') return this.#text(value);
    if (value === null || typeof value === 'number' || typeof value === 'boolean') return value;
    if (Array.isArray(value)) return value.slice(0, PARTS_MAX).map((part: unknown) => this.#data(part, depth + 1));
    if (typeof value !== 'object') return undefined;
    const parts = Object.entries(value).slice(0, PARTS_MAX);
    return Object.fromEntries(parts.map(([name, part]) => [this.#line(name), this.#named(name, part, depth)]));
  }

  /** A name may be what tells that its value is a secret. */
  #named(name: string, part: unknown, depth: number): unknown {
    if (typeof part !== 'string') return this.#data(part, depth + 1);
    const pair = `"${name}":"${part}"`;
    return this.#redaction.text(pair).startsWith(`"${name}":"[redacted]`) ? '[redacted]' : this.#data(part, depth + 1);
  }

  #text(text: string): string {
    return this.#redaction.text(text.slice(0, TEXT_UNITS_MAX));
  }

  #line(text: string): string {
    return this.#redaction.line(text.slice(0, TEXT_UNITS_MAX));
  }
}

const isErrorCode = (code: unknown): boolean => typeof code === 'number' || (typeof code === 'string' && ERROR_CODE.test(code));
