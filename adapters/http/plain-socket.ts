import { connect, type Socket } from 'node:net';

export type { Socket };

/** How long one address of several is tried before the next is tried beside it (RFC 8305 §5). */
const ATTEMPT_MS = 1_000;
const KEEP_ALIVE_MS = 60_000;

/** Opens a connection to one of these addresses and to no other: nothing is resolved here. */
export function openPlain(addresses: readonly string[], port: number): Socket {
  const answers = addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
  return connect({
    // A name that is nobody's: the addresses are given below. What is an address itself would not be looked up.
    host: 'vetted.invalid',
    port,
    lookup: (_hostname, _options, callback) => callback(null, answers),
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: ATTEMPT_MS,
    noDelay: true,
    // Tells a peer that is gone from a stream of events in which nothing happens.
    keepAlive: true,
    keepAliveInitialDelay: KEEP_ALIVE_MS,
  });
}
