import { Pool } from 'undici';
import { supervisorError } from '../../actors/errors.js';
import type { GuardedEndpoint, GuardedFetch, GuardedRequest, GuardedResponse, HttpPort } from '../../actors/wire-ports.js';
import { isLoopbackHost } from '../shared/loopback.js';
import { AddressPolicy } from './address-policy.js';
import { readAuthorities } from './authorities.js';
import { closedError, Dialer } from './dialer.js';
import { exchange } from './exchange.js';
import { type Env, type Proxy, proxyFor } from './proxy-env.js';
import { headersOf } from './request-headers.js';
import { BODY_BYTES_MAX, PooledResponse } from './response.js';
import { CODINGS } from './response-body.js';
import { type Lookup, systemLookup } from './system-lookup.js';
import { placeOf, readTarget, redirectOf } from './target.js';
import { type SecureContext, trust } from './tls-socket.js';

const REDIRECTS_MAX = 3;
const CONNECT_TIMEOUT_MS = 10_000;
const HEADERS_TIMEOUT_MS = 60_000;
const IDLE_TIMEOUT_MS = 60_000;
const HEADERS_BYTES_MAX = 32_768;

export interface HttpPortOptions {
  /** The user's own environment: proxies and authorities are taken from it, and from nowhere else. */
  readonly env: Env;
  /** Default: as the system resolves names. */
  readonly lookup?: Lookup;
  /** From asking the resolver to the end of the last handshake. Default 10 000. */
  readonly connectTimeoutMs?: number;
}

/** Requests to endpoints over HTTP/1.1, each endpoint with connections of its own. */
export function createHttpPort(options: HttpPortOptions): HttpPort {
  const guards = new Set<Guard>();
  let context: Promise<SecureContext> | null = null;
  const shared: Shared = {
    env: options.env,
    lookup: options.lookup ?? systemLookup,
    connectTimeoutMs: options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS,
    // Read again after a failure: the file may be there next time.
    trust: () => {
      context ??= readAuthorities(options.env).then(trust);
      context.catch(() => {
        context = null;
      });
      return context;
    },
    ended: (guard) => guards.delete(guard),
  };
  let isClosed = false;
  return {
    guard(endpoint) {
      const guard = new Guard(endpoint, shared);
      guards.add(guard);
      if (isClosed) void guard.close();
      return guard;
    },
    async close() {
      isClosed = true;
      await Promise.all([...guards].map((guard) => guard.close()));
    },
  };
}

interface Shared {
  readonly env: Env;
  readonly lookup: Lookup;
  readonly connectTimeoutMs: number;
  readonly trust: () => Promise<SecureContext>;
  readonly ended: (guard: Guard) => void;
}

/** What the first request to an endpoint makes. */
interface Line {
  readonly origin: string;
  readonly dialer: Dialer;
  readonly pool: Pool;
  readonly policy: AddressPolicy;
  /** What goes with requests that a proxy is sent whole, as it is for plain http; `null`: the origin gets them. */
  readonly forwarded: Readonly<Record<string, string>> | null;
}

/** The way to one endpoint: its origin and no other, as often as is asked, and nothing twice. */
class Guard implements GuardedFetch {
  readonly #endpoint: GuardedEndpoint;
  readonly #shared: Shared;
  #line: Line | null = null;
  /** Requests that have no answer yet. */
  #waiting = 0;
  #closing: Promise<void> | null = null;

  constructor(endpoint: GuardedEndpoint, shared: Shared) {
    this.#endpoint = endpoint;
    this.#shared = shared;
  }

  async request(url: string, options: GuardedRequest): Promise<GuardedResponse> {
    let target = readTarget(url, this.#isPlaintextAllowed);
    const line = this.#opened();
    if (target.origin !== line.origin) {
      throw supervisorError('REFUSED_URL', `${placeOf(target)} is not the origin of this endpoint, ${line.origin}.`);
    }
    line.policy.checkHost();
    const redirectsMax = options.redirectsMax ?? REDIRECTS_MAX;
    for (let redirects = 0; ; redirects += 1) {
      const response = await this.#send(line, target, options);
      const next = followed(response, target, options.method);
      if (next === null) return response;
      if (redirects === redirectsMax) {
        throw supervisorError('REDIRECT_REFUSED', `${placeOf(target)} answered with more than ${redirectsMax} redirects.`);
      }
      target = next;
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#end();
    return this.#closing;
  }

  get #isPlaintextAllowed(): boolean {
    return this.#endpoint.isPlaintextAllowed && this.#endpoint.discoveredFrom === undefined;
  }

  #opened(): Line {
    const url = readTarget(this.#endpoint.url, this.#isPlaintextAllowed);
    if (this.#closing !== null) throw closedError(url);
    this.#line ??= this.#makeLine(url);
    return this.#line;
  }

  #makeLine(target: URL): Line {
    const { env, lookup, connectTimeoutMs, trust } = this.#shared;
    const { discoveredFrom } = this.#endpoint;
    const policy = new AddressPolicy(target, lookup, discoveredFrom === undefined ? null : new URL(discoveredFrom));
    const proxy = proxyFor(target, env);
    const dialer = new Dialer({ target, proxy, policy, lookup, trust, connectTimeoutMs, isWanted: () => this.#waiting > 0 });
    const pool = new Pool(target.origin, {
      connect: dialer.connect,
      // The dialer has a time-out of its own, and each request brings the others.
      maxHeaderSize: HEADERS_BYTES_MAX,
      pipelining: 1,
      allowH2: false,
    });
    const isForwarded = proxy !== null && target.protocol === 'http:';
    return { origin: target.origin, dialer, pool, policy, forwarded: isForwarded ? proxyHeaders(proxy) : null };
  }

  async #send(line: Line, target: URL, options: GuardedRequest): Promise<PooledResponse> {
    const { method, body, idleTimeoutMs = IDLE_TIMEOUT_MS, headersTimeoutMs = HEADERS_TIMEOUT_MS } = options;
    const place = placeOf(target);
    const own = headersOf(this.#endpoint.headers, options.headers ?? {}, isLoopbackHost(target.hostname) ? 'identity' : CODINGS);
    const request = {
      method,
      path: line.forwarded === null ? `${target.pathname}${target.search}` : target.href,
      headers: { ...own, ...line.forwarded },
      body: body ?? null,
      headersTimeout: headersTimeoutMs,
      // Nought is how undici spells never.
      bodyTimeout: idleTimeoutMs ?? 0,
    };
    this.#waiting += 1;
    try {
      const answer = await exchange(line.pool, request, place, options.signal);
      const { bodyBytesMax = BODY_BYTES_MAX } = options;
      return new PooledResponse(answer, target, bodyBytesMax);
    } finally {
      this.#waiting -= 1;
    }
  }

  async #end(): Promise<void> {
    this.#shared.ended(this);
    if (this.#line === null) return;
    const { pool, dialer, origin } = this.#line;
    await pool.destroy(closedError(new URL(origin)));
    await dialer.close();
  }
}

/** Where the request goes next; what is left of the answer that said so is let go of. `null`: this is the answer. */
function followed(response: PooledResponse, target: URL, method: string): URL | null {
  try {
    const next = redirectOf(target, method, response.status, response.header('location'));
    if (next !== null) response.discard();
    return next;
  } catch (error) {
    response.discard();
    throw error;
  }
}

function proxyHeaders({ authorization }: Proxy): Record<string, string> {
  return authorization === null ? {} : { 'proxy-authorization': authorization };
}
