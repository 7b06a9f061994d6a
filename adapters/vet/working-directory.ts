import { realpath, stat } from 'node:fs/promises';
import { isAbsolute, resolve } from 'node:path';
import type { ConfigScope, ServerDefinition } from '../../actors/ports.js';
import { isWorkspaceLayer } from '../../machines/vocabulary.js';
import { errorCode, isInside, refusal } from './paths.js';

/**
 * Real path of the directory a server runs in: the workspace, or the definition's `cwd`. A workspace's own must end up
 * inside the workspace, links followed; a user's must be absolute. Rejects with `REFUSED_CWD`.
 */
export async function workingDirectory(definition: ServerDefinition, { root }: ConfigScope): Promise<string> {
  const { cwd } = definition;
  const isOwn = isWorkspaceLayer(definition.layer);
  if (cwd !== undefined && !isOwn && !isAbsolute(cwd)) throw refusal('REFUSED_CWD', definition, 'cwd', 'is not an absolute path');
  const path = cwd === undefined ? root : resolve(root, cwd);

  const real = await realpath(path).catch((error: unknown) => {
    throw refusal('REFUSED_CWD', definition, 'cwd', `cannot be resolved (${errorCode(error)})`);
  });
  const isDirectory = await stat(real).then(
    (stats) => stats.isDirectory(),
    () => false,
  );
  if (!isDirectory) throw refusal('REFUSED_CWD', definition, 'cwd', 'is not a directory');
  if (isOwn && !isInside(real, root)) throw refusal('REFUSED_CWD', definition, 'cwd', 'leads outside the workspace');
  return real;
}
