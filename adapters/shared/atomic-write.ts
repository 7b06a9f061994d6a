import { constants } from 'node:fs';
import {
  access,
  type FileHandle,
  lstat,
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  stat,
} from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, relative, sep } from 'node:path';

export interface AtomicWrite {
  /** A link is followed: what it leads to is replaced, and the link stays. */
  readonly file: string;
  readonly content: string;
  /** What the file held when the new content was made from it; `null` = there was none. */
  readonly expected: string | null;
  /** Real path of a directory that the file must not lead out of, by whatever link; `OutsideError` when it does. */
  readonly within?: string;
  /** Takes from everybody but the owner what the old file's mode let them do. Default false: the mode stays. */
  readonly ownerOnly?: boolean;
}

/** A file that would be written elsewhere than it seems. */
export class OutsideError extends Error {
  override readonly name = 'OutsideError';
}

/** No write takes so long: who began one then is gone. */
const ABANDONED_AFTER_MS = 3_600_000;
/** How many characters `mkdtemp` makes up. */
const MKDTEMP_CHARS = 6;
const TEMPORARY = 'new';

const NEW_FILE = { mode: 0o600, uid: null, gid: null } as const;

interface Owner {
  readonly mode: number;
  readonly uid: number | null;
  readonly gid: number | null;
}

/**
 * Replaces a file whole: whoever reads it finds the old content or the new, also after a crash; what a crash leaves behind the
 * next write takes away. Mode and owner stay; a new file is 0600, and a directory that has to be made is 0700. Resolves with
 * false, having changed nothing, when the file is no longer what was `expected`. Rejects with the system's error when it cannot
 * be written; then it is as it was.
 */
export async function writeAtomically({ file, content, expected, within, ownerOnly = false }: AtomicWrite): Promise<boolean> {
  if (expected === null) await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const target = await targetOf(file);
  if (within !== undefined && !isInside(within, target)) throw new OutsideError(`"${file}" leads out of "${within}"`);
  const dir = dirname(target);
  const owner = expected === null ? NEW_FILE : await ownerOf(target, ownerOnly ? 0o700 : 0o7777);
  // A directory of our own beside it: nobody can have put anything under the new file's name.
  const prefix = `.${basename(target)}-`;
  await sweep(dir, prefix);
  const home = await mkdtemp(join(dir, prefix));
  const temporary = join(home, TEMPORARY);
  try {
    await writeNew(temporary, content, owner);
    // As late as can be: whoever writes between this look and the next line is overtaken.
    if ((await contentOf(file)) !== expected || (await targetOf(file)) !== target) return false;
    await rename(temporary, target);
  } finally {
    await rm(home, { recursive: true, force: true });
  }
  await syncDirectory(dir);
  return true;
}

/** Whether a real path is in a directory, given by its real path. */
export function isInside(dir: string, path: string): boolean {
  const way = relative(dir, path);
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

/** What processes that died in the middle of a write have left; a directory that another may be writing in is kept. */
async function sweep(dir: string, prefix: string): Promise<void> {
  try {
    for (const name of await readdir(dir)) {
      if (!name.startsWith(prefix) || name.length !== prefix.length + MKDTEMP_CHARS) continue;
      const path = join(dir, name);
      const facts = await lstat(path);
      if (!facts.isDirectory() || Date.now() - facts.mtimeMs <= ABANDONED_AFTER_MS) continue;
      // Whatever holds anything else is none of ours.
      const isOurs = (await readdir(path)).every((held) => held === TEMPORARY);
      if (isOurs) await rm(path, { recursive: true, force: true });
    }
  } catch {
    // Nothing depends on it, and the next write tries again.
  }
}

async function targetOf(file: string): Promise<string> {
  try {
    return await realpath(file);
  } catch (error) {
    if (!isAbsence(error)) throw error;
    return join(await realpath(dirname(file)), basename(file));
  }
}

/** A file that may not be written is not replaced either, though its directory would allow it. */
async function ownerOf(file: string, modeMask: number): Promise<Owner> {
  await access(file, constants.W_OK);
  const { mode, uid, gid } = await stat(file);
  return { mode: mode & modeMask, uid, gid };
}

async function contentOf(file: string): Promise<string | null> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if (isAbsence(error)) return null;
    throw error;
  }
}

async function writeNew(file: string, content: string, { mode, uid, gid }: Owner): Promise<void> {
  const handle = await open(file, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW, 0o600);
  try {
    await handle.writeFile(content, 'utf8');
    if (uid !== null && gid !== null) await keepOwner(handle, uid, gid);
    await handle.chmod(mode);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function keepOwner(handle: FileHandle, uid: number, gid: number): Promise<void> {
  const now = await handle.stat();
  if (now.uid !== uid || now.gid !== gid) await handle.chown(uid, gid);
}

/** The new name outlives a loss of power where the system can promise it; the content is safe either way. */
async function syncDirectory(dir: string): Promise<void> {
  try {
    const handle = await open(dir, constants.O_RDONLY);
    await handle.sync().finally(() => handle.close());
  } catch {
    // Some systems do not open directories.
  }
}

const isAbsence = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === 'ENOENT';
