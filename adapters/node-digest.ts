import { createHmac, hash, randomBytes } from 'node:crypto';
import canonicalize from 'canonicalize';
import type { DigestPort } from '../actors/ports.js';

/** SHA-256 by node:crypto. `ofJson` refuses what has no canonical form: lone surrogates, NaN. */
export function createNodeDigest(): DigestPort {
  // New in every process, so that a short secret cannot be guessed from what a screen or a log shows.
  const key = randomBytes(32);
  return {
    ofJson: (value) => {
      const text = canonicalize(value);
      if (text === undefined) throw new TypeError('no canonical JSON for this value');
      return hash('sha256', text, 'hex');
    },
    keyed: (secret) => createHmac('sha256', key).update(secret).digest('hex').slice(0, 12),
  };
}
