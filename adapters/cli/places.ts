import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { supervisorError } from '../../actors/errors.js';
import { quoted } from '../shared/visible-text.js';
import type { Io } from './io.js';
import type { SupervisorPaths } from './library.js';
import type { Flags } from './parse.js';
import { UsageError } from './usage-error.js';

/** The workspace as an absolute path; it has to exist. */
export async function directory({ cwd }: Io, { workspace }: Flags): Promise<string> {
  const path = resolve(cwd, workspace ?? '.');
  const found = await stat(path).catch(() => null);
  if (found?.isDirectory() !== true) throw new UsageError(`--workspace ${quoted(path)} is not a directory.`);
  return path;
}

/** A file that was named has to exist, unlike the default one. */
export async function pathsFrom({ cwd }: Io, { userConfig, stateDir }: Flags): Promise<SupervisorPaths> {
  const file = userConfig === undefined ? undefined : resolve(cwd, userConfig);
  if (file !== undefined && (await stat(file).catch(() => null)) === null) {
    throw supervisorError('CONFIG_UNREADABLE', `--user-config ${file} does not exist or cannot be reached.`);
  }
  return {
    ...(file === undefined ? {} : { userConfig: file }),
    ...(stateDir === undefined ? {} : { stateDir: resolve(cwd, stateDir) }),
  };
}
