import { type buildConnector, Client } from 'undici';
import { SupervisorError, supervisorError } from '../../actors/errors.js';
import { isLoopbackHost } from '../shared/loopback.js';
import { type AddressPolicy, addressesOf } from './address-policy.js';
import { openPlain, type Socket } from './plain-socket.js';
import type { Proxy } from './proxy-env.js';
import type { Lookup } from './system-lookup.js';
import { hostOf, placeOf, portOf } from './target.js';
import { openTls, type SecureContext } from './tls-socket.js';
import { connectError } from './wire-error.js';

export interface DialerOptions {
  readonly target: URL;
  readonly proxy: Proxy | null;
  readonly policy: Pick<AddressPolicy, 'checkHost' | 'addresses'>;
  readonly lookup: Lookup;
  /** Called for each connection that needs TLS. */
  readonly trust: () => Promise<SecureContext>;
  /** Whether a request waits for a connection. */
  readonly isWanted: () => boolean;
  /** From asking the resolver to the end of the last handshake. */
  readonly connectTimeoutMs: number;
}

/** One connection on its way. */
interface Attempt {
  /** The socket to the peer, and the layers of TLS upon it. */
  readonly layers: Set<Socket>;
  /** Why it is of no use any more: then it opens nothing more, whatever it was waiting for. */
  abandoned: Error | null;
}

/**
 * Opens the connections to one origin, through the user's proxy where there is one, and owns every socket it opened until that is
 * closed. A proxy resolves by itself: of a name that goes through one, the addresses are the proxy's to judge.
 */
export class Dialer {
  readonly #options: DialerOptions;
  readonly #open = new Set<Socket>();
  readonly #pending = new Set<(reason: Error) => void>();
  #isClosed = false;

  constructor(options: DialerOptions) {
    this.#options = options;
  }

  /** For undici: one call, then one socket or one error of ours. */
  readonly connect: buildConnector.connector = (_options, callback) => {
    const { target, isWanted } = this.#options;
    // undici connects again for a request that was withdrawn, only to find that it was.
    if (!isWanted()) {
      callback(closedError(target), null);
      return;
    }
    this.#dial().then(
      (socket) => callback(null, socket),
      (error: unknown) => callback(connectError(error, placeOf(target), isLoopbackHost(target.hostname)), null),
    );
  };

  /** Ends every socket, those on their way too, and settles when none is left. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const abandon of [...this.#pending]) abandon(closedError(this.#options.target));
    const closed = [...this.#open].map((socket) => new Promise((resolve) => socket.once('close', resolve)));
    for (const socket of this.#open) socket.destroy();
    await Promise.all(closed);
  }

  /** Settles within the time-out, whatever resolver, peer or proxy do; what is on its way then is destroyed. */
  async #dial(): Promise<Socket> {
    const { target, connectTimeoutMs } = this.#options;
    const attempt: Attempt = { layers: new Set(), abandoned: this.#isClosed ? closedError(target) : null };
    let abandon: (reason: Error) => void = () => undefined;
    const abandoned = new Promise<never>((_resolve, reject) => {
      abandon = (reason) => {
        attempt.abandoned = reason;
        reject(reason);
      };
    });
    const expired = supervisorError('CONNECT_TIMEOUT', `${placeOf(target)} took no connection within ${connectTimeoutMs} ms.`);
    const timer = setTimeout(() => abandon(expired), connectTimeoutMs);
    this.#pending.add(abandon);
    const route = this.#route(attempt);
    try {
      return await Promise.race([route, abandoned]);
    } catch (error) {
      for (const socket of attempt.layers) socket.destroy();
      // The last step may have been taken in the same moment.
      void route.then((socket) => socket.destroy()).catch(() => undefined);
      throw error;
    } finally {
      clearTimeout(timer);
      this.#pending.delete(abandon);
    }
  }

  async #route(attempt: Attempt): Promise<Socket> {
    const { target, proxy, policy } = this.#options;
    if (attempt.abandoned !== null) throw attempt.abandoned;
    const isSecure = target.protocol === 'https:';
    if (proxy === null) {
      const socket = await this.#plain(await policy.addresses(), target, attempt);
      return isSecure ? this.#secure(socket, target, attempt) : socket;
    }
    policy.checkHost();
    const socket = await this.#toProxy(proxy, attempt);
    // Of plain http a proxy is sent the request itself.
    return isSecure ? this.#secure(await this.#tunnel(socket, proxy), target, attempt) : socket;
  }

  async #toProxy({ url }: Proxy, attempt: Attempt): Promise<Socket> {
    try {
      const socket = await this.#plain(await addressesOf(url, this.#options.lookup), url, attempt);
      return url.protocol === 'https:' ? await this.#secure(socket, url, attempt) : socket;
    } catch (error) {
      throw connectError(error, `the proxy ${placeOf(url)}`, false);
    }
  }

  /** The tunnel through a proxy (RFC 9110 §9.3.6). */
  async #tunnel(socket: Socket, { url, authorization }: Proxy): Promise<Socket> {
    const { target, connectTimeoutMs } = this.#options;
    const client = new Client(url.origin, {
      // Later, for a client that is handed a socket while it asks for one waits for ever.
      connect: (_options, callback) => queueMicrotask(() => callback(null, socket)),
      headersTimeout: connectTimeoutMs,
    });
    const authority = `${target.hostname}:${portOf(target)}`;
    const headers = { host: authority, ...(authorization === null ? {} : { 'proxy-authorization': authorization }) };
    try {
      const answer = await client.connect({ path: authority, headers });
      if (answer.statusCode === 200) return socket;
      const problem = answer.statusCode === 407 ? 'wants other credentials' : `answered ${answer.statusCode}`;
      throw supervisorError('CONNECT_FAILED', `The proxy ${placeOf(url)} ${problem} on the way to ${placeOf(target)}.`);
    } catch (error) {
      throw SupervisorError.is(error) ? error : connectError(error, `the proxy ${placeOf(url)}`, false);
    } finally {
      void client.destroy().catch(() => undefined);
    }
  }

  async #plain(addresses: readonly string[], { port, protocol }: URL, attempt: Attempt): Promise<Socket> {
    if (attempt.abandoned !== null) throw attempt.abandoned;
    return this.#opened(openPlain(addresses, portOf({ port, protocol })), 'connect', attempt);
  }

  async #secure(socket: Socket, { hostname }: URL, attempt: Attempt): Promise<Socket> {
    const context = await this.#options.trust();
    if (attempt.abandoned !== null) throw attempt.abandoned;
    const secured = openTls(socket, hostOf({ hostname }), context);
    // It has taken the socket over: destroying both from outside takes the process down.
    attempt.layers.delete(socket);
    this.#open.delete(socket);
    return this.#opened(secured, 'secureConnect', attempt);
  }

  /** Owns a socket from here on, and waits for it to be of use. */
  #opened(socket: Socket, event: 'connect' | 'secureConnect', { layers }: Attempt): Promise<Socket> {
    layers.add(socket);
    this.#open.add(socket);
    socket.once('close', () => this.#open.delete(socket));
    // Stays on: an error after the handshake is told to undici, and must find a listener until undici has one.
    socket.on('error', () => undefined);
    return new Promise((resolve, reject) => {
      socket.once(event, () => resolve(socket));
      socket.once('error', reject);
      socket.once('close', () => reject(new Error('closed')));
    });
  }
}

export const closedError = (target: URL): SupervisorError =>
  supervisorError('LINK_LOST', `The connection to ${placeOf(target)} has been closed.`);
