import { supervisorError } from '../../actors/errors.js';
import { isLoopbackHost } from '../shared/loopback.js';
import { type AddressClass, classOf } from './address-class.js';
import type { Lookup } from './system-lookup.js';
import { hostOf, placeOf } from './target.js';

/** Both, whichever the server listens on; what a resolver says of the name is not asked (RFC 6761 §6.3). */
const LOCALHOST = ['::1', '127.0.0.1'];
const IS_ADDRESS = /^[\d.]+$|:/;

/**
 * Decides which addresses a host may be reached at, once for each connection, and names them so that nothing is resolved again.
 *
 * - `localhost` is 127.0.0.1 and ::1. No other name may lead to this machine.
 * - An address of the class `never` is refused, one written in the URL too.
 * - Private addresses are for servers of the user's own network: written as such, or answered alone. Among public ones they are
 *   an attack, and a name that was public once stays public.
 * - What a server named instead of the user reaches nothing but public addresses, and the host that named it.
 */
export class AddressPolicy {
  readonly #url: URL;
  readonly #lookup: Lookup;
  /** The host that named this one; `null`: the user did. */
  readonly #discoverer: string | null;
  #wasPublic = false;

  constructor(url: URL, lookup: Lookup, discoveredFrom: URL | null) {
    this.#url = url;
    this.#lookup = lookup;
    this.#discoverer = discoveredFrom?.hostname ?? null;
  }

  /** Refuses with `REFUSED_URL` a host that is an address, or this machine, and may not be reached. Resolves nothing. */
  checkHost(): void {
    const host = hostOf(this.#url);
    if (isLoopbackHost(this.#url.hostname)) this.#checkClasses(['loopback'], true);
    else if (IS_ADDRESS.test(host)) this.#checkClasses([classOf(host)], true);
  }

  /** The addresses to connect to. Rejects with `REFUSED_URL`, or with `CONNECT_FAILED` when the name has none. */
  async addresses(): Promise<readonly string[]> {
    this.checkHost();
    const addresses = await addressesOf(this.#url, this.#lookup);
    if (!isLoopbackHost(this.#url.hostname) && !IS_ADDRESS.test(hostOf(this.#url)))
      this.#checkClasses(addresses.map(classOf), false);
    return addresses;
  }

  #checkClasses(found: readonly AddressClass[], isWritten: boolean): void {
    const classes = new Set(found);
    const isOwnHost = this.#discoverer === null || this.#discoverer === this.#url.hostname;
    const isLoopbackOfLoopback = this.#discoverer !== null && isLoopbackHost(this.#discoverer);
    if (classes.has('never')) this.#refuse('an address that belongs to no server', isWritten);
    if (classes.has('loopback') && !(isWritten && (isOwnHost || isLoopbackOfLoopback))) this.#refuse('this machine', isWritten);
    if (classes.has('private') && !isOwnHost) this.#refuse('a private network', isWritten);
    if (classes.has('private') && (classes.has('public') || this.#wasPublic)) {
      this.#refuse('public addresses and to a private network', isWritten);
    }
    this.#wasPublic ||= classes.has('public');
  }

  #refuse(where: string, isWritten: boolean): never {
    const verb = isWritten ? 'is' : 'leads to';
    const hint = isWritten ? undefined : 'A server of this machine is configured as localhost or 127.0.0.1.';
    throw supervisorError(
      'REFUSED_URL',
      `The host of ${placeOf(this.#url)} ${verb} ${where}.`,
      hint === undefined ? {} : { hint },
    );
  }
}

/** The addresses of a host, asking the resolver only for a name that needs it. Rejects with `CONNECT_FAILED` when it has none. */
export async function addressesOf(url: URL, lookup: Lookup): Promise<readonly string[]> {
  const host = hostOf(url);
  if (host.toLowerCase() === 'localhost') return LOCALHOST;
  if (IS_ADDRESS.test(host)) return [host];
  const answers = await lookup(host);
  if (answers.length === 0) throw supervisorError('CONNECT_FAILED', `The host of ${placeOf(url)} has no address.`);
  return answers;
}
