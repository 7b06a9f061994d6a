import { supervisorError } from '../../actors/errors.js';
import { isLoopbackHost } from '../shared/loopback.js';

/** What a message may say of a URL: where it leads, without path, query and user. */
export const placeOf = (url: URL): string => url.origin;

/** A host as sockets and resolvers take it: without brackets and the dot at the end. */
export const hostOf = ({ hostname }: Pick<URL, 'hostname'>): string => hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '');

export const portOf = ({ port, protocol }: Pick<URL, 'port' | 'protocol'>): number =>
  Number(port || (protocol === 'https:' ? 443 : 80));

/** Control characters, blanks and backslashes, which the parser of URLs drops or turns round without a word. */
const TREACHEROUS = /[\u0000-\u0020\u007f\\]/;

/**
 * Reads an absolute http(s) URL. Refuses with `REFUSED_URL` what carries a user, a password or a fragment, what the parser would
 * read otherwise than a person, and plain http to another machine unless it is allowed.
 */
export function readTarget(text: string, isPlaintextAllowed: boolean): URL {
  if (TREACHEROUS.test(text) || !/^https?:\/\/[^/?#]/i.test(text) || !URL.canParse(text)) {
    throw supervisorError('REFUSED_URL', 'The URL is not an absolute http or https URL.');
  }
  const url = new URL(text);
  if (/^[^:]+:\/\/[^/?#]*@/.test(text)) throw supervisorError('REFUSED_URL', `The URL of ${placeOf(url)} carries a user name.`);
  if (text.includes('#')) throw supervisorError('REFUSED_URL', `The URL of ${placeOf(url)} carries a fragment.`);
  if (url.protocol === 'http:' && !isPlaintextAllowed && !isLoopbackHost(url.hostname)) {
    throw supervisorError('REFUSED_URL', `${placeOf(url)} would be reached over plain http.`, { hint: 'Use https.' });
  }
  return url;
}

/** Statuses that name another place for the same request. 303 names a place to look for what this one has already done. */
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/**
 * Where an answer sends its request (RFC 9110 §15.4): `null` when nowhere. The request stays what it is, so a 303 to anything
 * but a GET is refused with `REDIRECT_REFUSED`, as is another origin: another scheme, host or port, or a dot after the host.
 */
export function redirectOf(from: URL, method: string, status: number, location: string | null): URL | null {
  if (!REDIRECTS.has(status) || location === null) return null;
  const refuse = (problem: string): never => {
    throw supervisorError('REDIRECT_REFUSED', `${placeOf(from)} answered with a redirect ${problem}.`);
  };
  if (status === 303 && method !== 'GET') return refuse('that would turn the request into another one');
  if (TREACHEROUS.test(location) || !URL.canParse(location, from.href)) return refuse('that leads nowhere');
  const to = new URL(location, from.href);
  if (to.username !== '' || to.password !== '') return refuse('with a user name');
  if (to.origin === 'null') return refuse(`to ${to.protocol}`);
  if (to.origin !== from.origin) return refuse(`to ${placeOf(to)}`);
  to.hash = '';
  return to;
}
