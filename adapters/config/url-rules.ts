import { isLoopbackHost } from '../shared/loopback.js';
import { isSensitive } from '../shared/sensitive.js';

export interface UrlFault {
  readonly problem: string;
  /** Whether the file is wrong, and not only this server's wish. */
  readonly rejects: boolean;
}

const wrong = (problem: string): UrlFault => ({ problem, rejects: true });
const refused = (problem: string): UrlFault => ({ problem, rejects: false });

/** Longer than any server takes; every key of the query is looked at. */
const URL_CHARS_MAX = 8_192;
const USERINFO = 'carries a user name; credentials do not belong in a URL';

/**
 * Reads the URL of a server. Looks at the text before the parser does, for the parser drops tabs and turns backslashes
 * round without a word. Refuses what is not absolute, is not http(s), is too long, or carries a name, a password or a fragment.
 */
export function readUrl(text: string): URL | UrlFault {
  if (text.length > URL_CHARS_MAX) return refused(`is longer than ${URL_CHARS_MAX} characters`);
  if (/[\u0000-\u0020\u007f\\]/.test(text)) return wrong('holds a blank, a control character or a backslash');
  if (!/^[a-z][a-z0-9+.-]*:/i.test(text) || !URL.canParse(text)) return wrong('is not an absolute URL');
  const url = new URL(text);
  const authority = /^[^:]+:\/*([^/?#]*)/.exec(text)?.[1] ?? '';
  if (authority.includes('@')) return wrong(USERINFO);
  if (!/^https?:\/\/[^/?#]/i.test(text)) return refused('is not an https URL');
  if (text.includes('#')) return refused('carries a fragment, which is never sent');
  return url;
}

/**
 * The fault of a URL that carries a name or a password as it is written, variables and their defaults included: a credential
 * in a file is one whatever the rest becomes.
 */
export function userinfoFault(written: string): UrlFault | null {
  const [beforeQuery = ''] = written.split(/[?#]/, 1);
  const authority = /^[^:]+:[/\\]*([^/\\]*)/.exec(beforeQuery)?.[1] ?? '';
  const hasUserinfo = authority.includes('@') || /:[/\\]{2}[^/\\]*@/.test(beforeQuery);
  return hasUserinfo ? wrong(USERINFO) : null;
}

export const isUrlFault = (read: URL | UrlFault): read is UrlFault => 'problem' in read;

/** Plain http is for this machine, and for hosts the user named. */
export function isPlaintextRefused(url: URL, plaintextHosts: readonly string[]): boolean {
  return url.protocol === 'http:' && !isLoopbackHost(url.hostname) && !plaintextHosts.includes(url.hostname);
}

/** The first query key that looks like a credential. */
export function sensitiveQueryKey(url: URL): string | undefined {
  return [...url.searchParams].find(([key, value]) => isSensitive(key, value))?.[0];
}
