import { closeSync, constants, lstatSync, openSync, type Stats } from 'node:fs';
import { lstat, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { supervisorError } from '../../actors/errors.js';

/** Tells one file from another that takes its name; `null` when there is none. A look at a name only: nothing is opened. */
export function identityOf(path: string): string | null {
  const found = lstatSync(path, { throwIfNoEntry: false });
  return found === undefined ? null : `${found.dev}:${found.ino}`;
}

/**
 * Whether there is a file that only we can read, in a directory that only we can enter. Rejects with `STORE_UNSAFE` for
 * anything else that stands there.
 */
export async function isSafeFile(path: string): Promise<boolean> {
  if (!(await isSafeDirectory(dirname(path)))) return false;
  const file = await statOf(path);
  if (file === null) return false;
  if (!file.isFile()) throw unsafe(path, 'is not a plain file', 'move it away');
  if (file.nlink > 1) throw unsafe(path, 'has a second name elsewhere', 'move it away');
  checkOwner(path, file, 0o600);
  return true;
}

/** Makes the directory (0700), and those above it, where they are missing. Rejects with `STORE_UNSAFE` as `isSafeFile` does. */
export async function makeSafeDirectory(path: string): Promise<void> {
  await makeDirectory(path);
  await isSafeDirectory(path);
}

/** Not `recursive`: Node tries for ever where a directory cannot be made, as in `/proc`. */
async function makeDirectory(path: string): Promise<void> {
  try {
    await mkdir(path, { mode: 0o700 });
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return;
    const above = dirname(path);
    if (!hasCode(error, 'ENOENT') || above === path || (await statOf(above)) !== null) throw error;
    await makeDirectory(above);
    await mkdir(path, { mode: 0o700 }).catch((late: unknown) => {
      if (!hasCode(late, 'EEXIST')) throw late;
    });
  }
}

async function isSafeDirectory(path: string): Promise<boolean> {
  const dir = await statOf(path);
  if (dir === null) return false;
  if (!dir.isDirectory()) throw unsafe(path, 'is not a directory', 'move it away, or choose another state directory');
  checkOwner(path, dir, 0o700);
  const above = await stat(dirname(path));
  if (isPosix && (above.mode & 0o1002) === 0o002) {
    throw unsafe(dirname(path), 'can be changed by everybody', `chmod o-w "${dirname(path)}"`);
  }
  return true;
}

/**
 * Makes an empty file (0600) unless there is one. It is opened only when it is new, and closed in the same turn: closing any
 * handle of a file gives up the locks this process holds on it (https://www.sqlite.org/howtocorrupt.html, 2.2).
 */
export function makeEmptyFile(path: string): void {
  try {
    closeSync(openSync(path, constants.O_RDWR | constants.O_CREAT | constants.O_EXCL, 0o600));
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error;
  }
}

/** Settles when the disk has what was written to a file, without holding up the event loop. */
export async function flushFile(path: string): Promise<void> {
  let handle: Awaited<ReturnType<typeof open>>;
  try {
    handle = await open(path, 'r+');
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return;
    throw error;
  }
  try {
    await handle.datasync();
  } finally {
    await handle.close();
  }
}

/** Gives a file its name, for good: also after a power cut. */
export async function putInPlace(draft: string, path: string): Promise<void> {
  await rename(draft, path);
  // Windows has no handle of a directory to flush.
  if (!isPosix) return;
  const dir = await open(dirname(path), 'r');
  try {
    await dir.sync();
  } finally {
    await dir.close();
  }
}

/** Removes what a process that was ended in the midst of it has left. */
export async function removeStarting(path: string): Promise<void> {
  const names = await readdir(dirname(path));
  await removeFiles(names.filter((name) => name.startsWith(basename(path))).map((name) => join(dirname(path), name)));
}

/** Removes those of them that there are. */
export async function removeFiles(paths: readonly string[]): Promise<void> {
  for (const path of paths) await rm(path, { force: true });
}

/** Moves a file and those that belong to it out of the way, and removes the oldest of what was moved before. */
export async function moveAside(path: string, suffixes: readonly string[], epochMs: number, kept: number): Promise<string> {
  const dir = dirname(path);
  const stem = `${basename(path)}.corrupt-`;
  const target = await freeName(join(dir, `${stem}${epochMs}`));
  // The file first: while its name is free nobody takes up what belongs to it.
  for (const suffix of ['', ...suffixes]) await rename(path + suffix, target + suffix).catch(ignoreMissing);
  const asides = (await readdir(dir)).filter((name) => name.startsWith(stem));
  const sets = [...new Set(asides.map((name) => /^\d+(\.\d+)?/.exec(name.slice(stem.length))?.[0] ?? ''))];
  const oldest = sets.filter((set) => set !== '').sort((a, b) => Number(a) - Number(b));
  for (const set of oldest.slice(0, Math.max(0, oldest.length - kept))) {
    await removeFiles(['', ...suffixes].map((suffix) => join(dir, stem + set + suffix)));
  }
  return target;
}

async function freeName(wanted: string): Promise<string> {
  for (let copy = 0; ; copy += 1) {
    const name = copy === 0 ? wanted : `${wanted}.${copy}`;
    if ((await statOf(name)) === null) return name;
  }
}

const isPosix = process.platform !== 'win32';

function checkOwner(path: string, { uid, mode }: Stats, wanted: number): void {
  // Windows keeps its rights elsewhere; the user's profile is private there.
  if (!isPosix) return;
  if (uid !== process.geteuid?.()) throw unsafe(path, 'belongs to another user', 'choose another state directory');
  if ((mode & 0o077) !== 0) throw unsafe(path, 'is open to others', `chmod ${wanted.toString(8)} "${path}"`);
}

const unsafe = (path: string, what: string, hint: string): Error =>
  supervisorError('STORE_UNSAFE', `"${path}" ${what}; nothing is read from it or written to it`, { hint });

async function statOf(path: string): Promise<Stats | null> {
  try {
    return await lstat(path);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return null;
    throw error;
  }
}

function ignoreMissing(error: unknown): void {
  if (!hasCode(error, 'ENOENT')) throw error;
}

const hasCode = (error: unknown, code: string): boolean => error instanceof Error && 'code' in error && error.code === code;
