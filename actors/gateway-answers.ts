import { cutUtf8 } from '../machines/utf8.js';
import type { Code, Failure } from '../machines/vocabulary.js';
import type { GatewayResult } from './api.js';
import { guardForModel } from './model-guard.js';

const MESSAGE_BYTES = 2_048;

/** Codes that mean: a person, a policy or a switch says no. All of them look the same to a model. */
const DENIALS: ReadonlySet<Code> = new Set<Code>([
  'BLOCKED_BY_POLICY',
  'BLOCKED_BY_USER',
  'APPROVAL_DENIED',
  'APPROVAL_NO_CHANNEL',
  'APPROVAL_TIMEOUT',
  'APPROVAL_STALE',
  'UNTRUSTED',
  'DISABLED',
  'REMOTE_OFF',
]);

/** A text for reading and the same as data. */
export function answer(text: string, data: { readonly [key: string]: unknown }): GatewayResult {
  return { content: [{ type: 'text', text }], structuredContent: data };
}

/** A failure as a result a model can read; a denial in the one shape of all denials. `tool` is what was asked for. */
export function failureAnswer(problem: Failure, tool: string | null): GatewayResult {
  const { code, stage, retryable } = problem;
  const message = cutUtf8(problem.message, MESSAGE_BYTES);
  const hint = problem.hint === undefined ? undefined : cutUtf8(problem.hint, MESSAGE_BYTES);
  const content = [{ type: 'text', text: `${code}: ${message}${hint === undefined ? '' : `\n${hint}`}` }];
  const structuredContent = DENIALS.has(code)
    ? { blocked: true, code, tool, reason: message }
    : { code, stage, message, ...(hint === undefined ? {} : { hint }), retryable };
  return guardForModel({ isError: true, content, structuredContent });
}
