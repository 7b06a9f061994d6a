import { constants } from 'node:fs';
import { type FileHandle, lstat, mkdir, mkdtemp, open, rmdir, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { supervisorError } from '../actors/errors.js';
import type { FsPort } from '../actors/ports.js';

export interface PrivateFilesOptions {
  /** Absolute path of a directory of ours; made when the first file is written. */
  readonly dir: string;
  /** What this process may have written and not yet removed, in bytes of UTF-8. */
  readonly totalBytesMax?: number;
}

interface Folder {
  readonly path: string;
  /** Tells whether the name still stands for the directory that was made. */
  readonly identity: string;
}

const TOTAL_BYTES_MAX = 1024 * 1024 * 1024;
const SCHEME = 'spill://';
/** No UTF-8 character is longer. */
const CHARACTER_BYTES_MAX = 4;

/**
 * Long outputs in files that only their owner can read (0600, in a directory of this process, 0700), under names of our
 * own. What is read back must have been written by this process; offsets and limits are bytes of UTF-8.
 */
export function createPrivateFiles({ dir, totalBytesMax = TOTAL_BYTES_MAX }: PrivateFilesOptions): FsPort {
  const written = new Map<string, string>();
  const writing = new Set<Promise<unknown>>();
  let folder: Promise<Folder> | null = null;
  let totalBytes = 0;
  let isClosed = false;

  const write = async (name: string, text: string): Promise<{ path: string; uri: string }> => {
    const bytes = Buffer.from(text, 'utf8');
    if (totalBytes + bytes.length > totalBytesMax) throw new Error('over the quota of this process');
    const home = await folderOnce();
    if ((await identityOf(home.path)) !== home.identity) throw new Error('the directory was replaced');
    const file = `${fileStem(name)}-${crypto.randomUUID()}.txt`;
    const path = join(home.path, file);
    const uri = SCHEME + file;
    written.set(uri, path);
    totalBytes += bytes.length;
    await writeNew(path, bytes);
    return { path, uri };
  };
  /** One attempt at a time; one that failed is made again. */
  const folderOnce = (): Promise<Folder> => {
    folder ??= makeFolder(dir).catch((error: unknown) => {
      folder = null;
      throw error;
    });
    return folder;
  };

  return {
    async writeSpill(name, text) {
      if (isClosed) throw supervisorError('SPILL_FAILED', 'the supervisor is closed; nothing is written any more');
      const attempt = write(name, text);
      writing.add(attempt);
      try {
        return await attempt;
      } catch (error) {
        throw supervisorError('SPILL_FAILED', `a long output could not be written to its file (${reasonOf(error)})`, {
          cause: error,
        });
      } finally {
        writing.delete(attempt);
      }
    },

    async readSpill(uri, offset, limit) {
      const path = written.get(uri);
      if (path === undefined) throw supervisorError('INVALID_ARGUMENTS', 'there is no spilled output of this name');
      if (!Number.isSafeInteger(offset) || offset < 0 || !Number.isSafeInteger(limit) || limit < CHARACTER_BYTES_MAX) {
        throw supervisorError(
          'INVALID_ARGUMENTS',
          `offset is a whole number from 0 up, limit one from ${CHARACTER_BYTES_MAX} up`,
        );
      }
      const handle = await openOwn(path);
      try {
        return await readPage(handle, offset, limit);
      } finally {
        await handle.close();
      }
    },

    async close() {
      isClosed = true;
      await Promise.allSettled(writing);
      for (const path of written.values()) await unlink(path).catch(() => undefined);
      written.clear();
      const home = await folder?.catch(() => null);
      if (home !== null && home !== undefined) await rmdir(home.path).catch(() => undefined);
      folder = null;
    },
  };
}

async function makeFolder(dir: string): Promise<Folder> {
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const path = await mkdtemp(join(dir, 'spill-'));
  return { path, identity: await identityOf(path) };
}

async function identityOf(path: string): Promise<string> {
  const { dev, ino, mode, uid } = await lstat(path);
  return [dev, ino, mode, uid].join(':');
}

/** What is kept of a name that a server may have chosen. */
const fileStem = (name: string): string => name.replace(/[^A-Za-z0-9_-]+/g, '-').slice(0, 40) || 'output';

async function writeNew(path: string, bytes: Uint8Array): Promise<void> {
  const handle = await open(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW, 0o600);
  try {
    await handle.writeFile(bytes);
  } finally {
    await handle.close();
  }
}

async function openOwn(path: string): Promise<FileHandle> {
  try {
    return await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    throw supervisorError('INVALID_ARGUMENTS', 'the spilled output is no longer there', { cause: error });
  }
}

/** One page that begins and ends between characters, whatever the offset was. */
async function readPage(handle: FileHandle, offset: number, limit: number): Promise<{ text: string; nextOffset: number | null }> {
  const { size } = await handle.stat();
  const wanted = Math.min(limit, Math.max(0, size - offset));
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(wanted), 0, wanted, offset);
  const bytes = buffer.subarray(0, bytesRead);
  const start = offset === 0 ? 0 : firstBoundary(bytes);
  const isLast = offset + bytesRead >= size;
  const end = isLast ? bytesRead : lastBoundary(bytes);
  return { text: bytes.toString('utf8', start, end), nextOffset: isLast ? null : offset + end };
}

const isContinuation = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80;

function firstBoundary(bytes: Uint8Array): number {
  let at = 0;
  while (isContinuation(bytes[at])) at += 1;
  return at;
}

/** Where the last character that is whole ends. */
function lastBoundary(bytes: Uint8Array): number {
  let start = bytes.length - 1;
  while (start > 0 && isContinuation(bytes[start])) start -= 1;
  const lead = bytes[start] ?? 0;
  const length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  return start + length <= bytes.length ? start + length : start;
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown error';
  return 'code' in error && typeof error.code === 'string' ? error.code : error.message;
}
