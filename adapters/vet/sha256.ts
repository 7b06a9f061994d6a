import { createHash } from 'node:crypto';

export interface Sha256 {
  update(bytes: Uint8Array): void;
  /** Ends it. */
  hex(): string;
}

/** SHA-256 of bytes that come in pieces. */
export function createSha256(): Sha256 {
  const hash = createHash('sha256');
  return {
    update: (bytes) => {
      hash.update(bytes);
    },
    hex: () => hash.digest('hex'),
  };
}
