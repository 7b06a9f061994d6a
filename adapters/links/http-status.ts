import { type Failure, failure, SupervisorError } from '../../actors/errors.js';
import type { HttpLaunch } from '../../actors/ports.js';
import { isBody } from './message.js';

const SERVER_TEXT_MAX = 256;
const SSE_HINT = 'If this is a server of the older HTTP with SSE transport, write "type": "sse" and the URL of its event stream.';

/** An answer that says that the credentials will not do; `null` for any other. RFC 9110 15.5.2, 15.5.4. */
export function authFailure(status: number, launch: HttpLaunch): Failure | null {
  const origin = originOf(launch);
  if (status === 403) return failure('AUTH_FAILED', `${origin} denies access (HTTP 403).`);
  if (status !== 401) return null;
  if (Object.keys(launch.headers).some((name) => name.toLowerCase() === 'authorization')) {
    return failure(
      'AUTH_FAILED',
      `${origin} refuses the configured Authorization header (HTTP 401).`,
      'Check "headers.Authorization".',
    );
  }
  return failure('AUTH_REQUIRED', `${origin} wants to be authorised (HTTP 401).`);
}

/** Why a handshake over HTTP cannot go on with this answer. */
export function handshakeFailure(status: number, launch: HttpLaunch): Failure {
  const refused = authFailure(status, launch);
  if (refused !== null) return refused;
  const isPerhapsOlder = launch.transport === 'http' && status >= 400 && status < 500 && status !== 429;
  const message = `${originOf(launch)} answers the handshake with HTTP ${status}.`;
  return failure('CONNECT_FAILED', message, isPerhapsOlder ? SSE_HINT : undefined);
}

/** Why one request failed with this answer. */
export function requestFailure(method: string, status: number, launch: HttpLaunch): Failure {
  const refused = authFailure(status, launch);
  if (refused !== null) return refused;
  const message = `The server answers ${method} with HTTP ${status}.`;
  return failure(status === 429 ? 'OVERLOADED' : 'SERVER_ERROR', message);
}

/** Whether a status tells nothing of the era of a server: about credentials, haste or its own trouble. */
export const isNoEraEvidence = (status: number): boolean =>
  status < 400 || status === 401 || status === 403 || status === 408 || status === 429 || status >= 500;

/** What went wrong while calls were none yet, in the words for a server that was never spoken to. */
export const earlyFailure = (problem: Failure): Failure =>
  problem.stage === 'call' ? failure('CONNECT_FAILED', problem.message, problem.hint) : problem;

/**
 * Whether a server says in some other way than by 404 that it has forgotten the session (B123): some answer 400, some with an
 * event that is no message. To be asked only of answers to a request that named one.
 */
export function saysSessionIsGone(text: string): boolean {
  const error = readError(text);
  const message = isBody(error) ? error['message'] : error;
  if (typeof message !== 'string') return false;
  const said = message.slice(0, SERVER_TEXT_MAX);
  return /\bsession\b/i.test(said) && /not found|no valid|invalid|unknown|expired|no longer/i.test(said);
}

/** What went wrong while talking to an endpoint, with a code of ours. */
export function connectionFailure(thrown: unknown): Failure {
  if (SupervisorError.is(thrown)) return thrown.toFailure();
  return failure('LINK_LOST', thrown instanceof Error ? thrown.message : String(thrown));
}

/** The media type of an answer, without its parameters; empty where there is none. */
export const mediaType = (contentType: string | null): string => contentType?.split(';', 1)[0]?.trim().toLowerCase() ?? '';

/** The error of a JSON text that is a JSON-RPC error or looks like one. */
export function readError(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return isBody(value) ? value['error'] : undefined;
  } catch {
    return undefined;
  }
}

const originOf = ({ url }: HttpLaunch): string => (URL.canParse(url) ? new URL(url).origin : 'The endpoint');
