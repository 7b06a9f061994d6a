import { CODES, type Code, type Failure, failure, supervisorError } from '../../actors/errors.js';
import { visibleJson, visibleLine } from '../shared/visible-text.js';
import type { GatewayResult, WorkspaceStatus } from './library.js';
import { renderFault } from './render-status.js';

/** A value for `--json`. */
export const jsonLine = (value: unknown): string => `${visibleJson(value)}\n`;

/** A failure for `--json`: always the same five keys. */
export function failureJson({ code, stage, message, hint, retryable }: Failure): object {
  return { code, stage, message, hint: hint ?? null, retryable };
}

/** A failure for people. */
export function failureText({ code, stage, message, hint }: Failure): string {
  const advice = hint === undefined ? '' : `${visibleLine(hint)}\n`;
  return `${code} (${stage}): ${visibleLine(message)}\n${advice}`;
}

/** Whether a file was refused as a whole. */
export function isConfigRejected({ workspace: { config } }: WorkspaceStatus): boolean {
  return config.state === 'rejected' || config.state === 'degraded';
}

/**
 * Refuses to start anything on half a configuration: the layer that could not be read may hold the very deny that counts.
 * Throws the first fault.
 */
export function requireWholeConfig(status: WorkspaceStatus): void {
  if (!isConfigRejected(status)) return;
  const [first, ...others] = status.workspace.config.errors;
  const more = others.length === 0 ? '' : ` And ${others.length} more; mcp-supervisor status shows them.`;
  throw supervisorError(
    first?.code ?? 'CONFIG_INVALID',
    first === undefined ? 'The configuration is rejected.' : renderFault(first) + more,
    {
      hint: 'Nothing is started until the file is mended.',
    },
  );
}

/** The text a model would read. */
export function gatewayText({ content }: GatewayResult): string {
  return content
    .flatMap((block) => (block.type === 'text' && typeof block['text'] === 'string' ? [block['text']] : []))
    .join('\n');
}

/** A gateway's refusal as data, from the code it names; null for a success. */
export function gatewayFailure(result: GatewayResult): Failure | null {
  if (result.isError !== true) return null;
  const { code, message, reason } = result.structuredContent ?? {};
  const said = [message, reason].find((text) => typeof text === 'string') ?? gatewayText(result);
  return failure(isCode(code) ? code : 'SERVER_ERROR', said);
}

const isCode = (name: unknown): name is Code => typeof name === 'string' && Object.hasOwn(CODES, name);
