import { constants } from 'node:fs';
import { lstat, mkdir, open, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { supervisorError } from '../../actors/errors.js';

export interface TokenFile {
  readonly path: string;
  /** Gone is gone: a token is good for one run. */
  remove(): Promise<void>;
}

/**
 * Writes a token where only its owner can read it. Rejects with `STORE_UNSAFE` when the directory is another user's, a link, or
 * open to others, and `STORE_FAILED` when the file cannot be written.
 */
export async function writeTokenFile(directory: string, port: number, token: string): Promise<TokenFile> {
  const path = join(directory, `serve-${port}.token`);
  const remove = (): Promise<void> => unlink(path).catch(() => undefined);
  await refuseUnsafe(directory);
  // A port has one owner at a time: what is there was left by a run that could not tidy up.
  await remove();
  try {
    const file = await open(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW, 0o600);
    try {
      await file.writeFile(`${token}\n`);
    } finally {
      await file.close();
    }
  } catch (cause) {
    throw supervisorError('STORE_FAILED', `the token file ${path} cannot be written`, { cause });
  }
  return { path, remove };
}

async function refuseUnsafe(directory: string): Promise<void> {
  try {
    await mkdir(directory, { recursive: true, mode: 0o700 });
  } catch (cause) {
    throw supervisorError('STORE_FAILED', `the state directory ${directory} cannot be made`, { cause });
  }
  const { mode, uid } = await lstat(directory);
  const isOwn = process.getuid === undefined || uid === process.getuid();
  const isDirectory = (mode & constants.S_IFMT) === constants.S_IFDIR;
  if (isDirectory && isOwn && (mode & 0o077) === 0) return;
  throw supervisorError('STORE_UNSAFE', `the state directory ${directory} is open to others`, {
    hint: `It has to be your own, with mode 0700: chmod 700 ${directory}`,
  });
}
