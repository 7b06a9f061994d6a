import { type BigIntStats, constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { createSha256 } from './sha256.js';

/** Read and hashed a piece at a time, so that the loop turns in between. */
const CHUNK_BYTES = 256 * 1024;
/** Nothing that starts a server is larger; a sparse file must not hash for hours. */
const FILE_BYTES_MAX = 1024 * 1024 * 1024;
const CACHE_ENTRIES_MAX = 256;

export interface ContentDigest {
  /**
   * SHA-256 in hex of a regular file's content. `fresh` reads it in any case; otherwise a digest is remembered for as long as
   * the file is the same by device, inode, size and both times. Rejects when it is no regular file, too large, or changes
   * while it is read.
   */
  of(path: string, options: { readonly fresh: boolean }): Promise<string>;
}

export function createContentDigest(): ContentDigest {
  const known = new Map<string, string>();
  return {
    async of(path, { fresh }) {
      const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
      try {
        const before = await handle.stat({ bigint: true });
        if (!before.isFile()) throw new Error('not a regular file');
        if (before.size > BigInt(FILE_BYTES_MAX)) throw new Error('too large');
        const identity = identityOf(before);
        const remembered = fresh ? undefined : known.get(identity);
        if (remembered !== undefined) return remembered;

        const sha256 = await hash(handle);
        if (identityOf(await handle.stat({ bigint: true })) !== identity) throw new Error('changed while it was read');
        if (!fresh) remember(known, identity, sha256);
        return sha256;
      } finally {
        await handle.close();
      }
    },
  };
}

const identityOf = ({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string => [dev, ino, size, mtimeNs, ctimeNs].join(':');

async function hash(handle: FileHandle): Promise<string> {
  const sha256 = createSha256();
  const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
  for (let position = 0; ; ) {
    const { bytesRead } = await handle.read(buffer, 0, CHUNK_BYTES, position);
    if (bytesRead === 0) return sha256.hex();
    sha256.update(buffer.subarray(0, bytesRead));
    position += bytesRead;
  }
}

/** The oldest goes first; a map keeps the order of insertion. */
function remember(known: Map<string, string>, identity: string, sha256: string): void {
  const oldest = known.keys().next();
  if (known.size >= CACHE_ENTRIES_MAX && oldest.done !== true) known.delete(oldest.value);
  known.set(identity, sha256);
}
