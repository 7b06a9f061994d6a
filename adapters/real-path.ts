import { realpath } from 'node:fs/promises';
import { supervisorError } from '../actors/errors.js';

/** The one true path of a workspace. Rejects with `CONFIG_UNREADABLE` when there is no such directory to read. */
export async function realPath(root: string): Promise<string> {
  try {
    return await realpath(root);
  } catch (cause) {
    throw supervisorError('CONFIG_UNREADABLE', `the workspace "${root}" cannot be opened`, { cause });
  }
}
