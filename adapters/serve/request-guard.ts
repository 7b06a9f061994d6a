import { isSameSecret } from './secrets.js';

/** What the guard looks at. Header names are lower-case; one that stands twice has two values. */
export interface GuardedRequest {
  readonly method: string;
  /** As it stands in the request line. */
  readonly target: string;
  readonly headers: Readonly<Record<string, readonly string[] | undefined>>;
}

export interface Refusal {
  readonly status: number;
  readonly message: string;
  /** JSON-RPC's own, where the request is at fault. Default -32 000. */
  readonly code?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

export const ENDPOINT_PATH = '/mcp';
const METHODS = ['GET', 'POST', 'DELETE'];
const BEARER = /^Bearer ([A-Za-z0-9._~+/-]+=*)$/i;

/**
 * Why a request is refused before anything of it is read, or null. First of all whether it was meant for this address and
 * comes from no web page (a page can have its own name resolve to 127.0.0.1), then the token; who has none learns nothing
 * more, whatever the request was for.
 */
export function refusalOf({ method, target, headers }: GuardedRequest, port: number, token: string): Refusal | null {
  const host = headers['host'] ?? [];
  if (host.length !== 1 || !(host[0] === `127.0.0.1:${port}` || host[0] === `localhost:${port}`))
    return { status: 403, message: 'The request is meant for another host' };
  const site = headers['sec-fetch-site'];
  if (headers['origin'] !== undefined || (site !== undefined && site.some((value) => value !== 'none')))
    return { status: 403, message: 'Web pages are not served' };
  if (!isAuthorized(headers['authorization'], token))
    return { status: 401, message: 'A bearer token is needed', headers: { 'WWW-Authenticate': 'Bearer' } };
  if (target !== ENDPOINT_PATH) return { status: 404, message: `The only path is ${ENDPOINT_PATH}` };
  if (!METHODS.includes(method)) return { status: 405, message: 'Method not allowed', headers: { Allow: METHODS.join(', ') } };
  return null;
}

function isAuthorized(given: readonly string[] = [], token: string): boolean {
  const [only, ...more] = given;
  const [, presented] = BEARER.exec(only ?? '') ?? [];
  return presented !== undefined && more.length === 0 && isSameSecret(presented, token);
}

/** Whether a text can be a token of ours: at least 128 bits as base64url, and nothing a header could not carry. */
export const isToken = (text: string): boolean => /^[A-Za-z0-9._~+/-]{22,512}=*$/.test(text);
