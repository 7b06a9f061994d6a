import { supervisorError } from '../../actors/errors.js';
import { isLoopbackHost } from '../shared/loopback.js';
import { hostOf, portOf } from './target.js';

export type Env = Readonly<Record<string, string | undefined>>;

/** A proxy the user's environment names. */
export interface Proxy {
  readonly url: URL;
  /** The value of `proxy-authorization`; a secret. */
  readonly authorization: string | null;
}

/**
 * The proxy for a URL: `https_proxy` or `http_proxy` by its scheme, else `all_proxy`, each also in capitals; none for this machine
 * and for what `no_proxy` lists. A proxy that cannot be used is refused with `REFUSED_URL`: going without one is not what was
 * asked for.
 */
export function proxyFor(target: URL, env: Env): Proxy | null {
  if (isLoopbackHost(target.hostname)) return null;
  const name = [`${target.protocol.slice(0, -1)}_proxy`, 'all_proxy'].find((key) => valueOf(env, key) !== '');
  if (name === undefined || isListed(target, valueOf(env, 'no_proxy'))) return null;
  const text = valueOf(env, name);
  const written = /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `http://${text}`;
  const url = URL.canParse(written) ? new URL(written) : null;
  if (url === null || !/^https?:$/.test(url.protocol) || url.hostname === '') {
    const hint = 'It has to be the URL of an http or https proxy.';
    throw supervisorError('REFUSED_URL', `${name.toUpperCase()} of the environment names no proxy that can be used.`, { hint });
  }
  return { url, authorization: authorizationOf(url) };
}

/** Small letters first, as the tools do that know both. */
function valueOf(env: Env, name: string): string {
  return (env[name] || env[name.toUpperCase()] || '').trim();
}

function authorizationOf({ username, password }: URL): string | null {
  if (username === '' && password === '') return null;
  return `Basic ${Buffer.from(`${decoded(username)}:${decoded(password)}`).toString('base64')}`;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** `*`, a host with all below it, with or without a dot or `*.` before it, and with or without a port. */
function isListed(target: URL, list: string): boolean {
  const host = hostOf(target).toLowerCase();
  const port = String(portOf(target));
  return list.split(/[\s,]+/).some((item) => {
    if (item === '*') return true;
    const [, name = '', itsPort] = /^(\[.*\]|[^:]*|.*:.*:.*?)(?::(\d+))?$/.exec(item.toLowerCase()) ?? [];
    const suffix = name.replace(/^\[(.*)\]$/, '$1').replace(/^\*?\./, '');
    if (suffix === '' || (itsPort !== undefined && itsPort !== port)) return false;
    return host === suffix || host.endsWith(`.${suffix}`);
  });
}
