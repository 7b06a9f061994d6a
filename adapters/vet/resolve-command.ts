import { access, constants, realpath, stat } from 'node:fs/promises';
import { basename, dirname, extname, isAbsolute, join, resolve } from 'node:path';
import type { ConfigScope, ServerDefinition } from '../../actors/ports.js';
import { isWorkspaceLayer } from '../../machines/vocabulary.js';
import { errorCode, isInside, refusal } from './paths.js';

export interface ResolveOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly platform: NodeJS.Platform;
}

export type ResolveCommand = (definition: ServerDefinition, scope: ConfigScope, cwd: string) => Promise<string>;

/** What Windows can start without a shell. */
const EXTENSIONS = ['.exe', '.com'] as const;

/**
 * Finds the one file a command stands for: canonical, absolute, executable. Names are looked up on the host's PATH; empty
 * and relative entries never count, nor does a directory that lies inside the workspace or is reached through it, whoever
 * defines the server. Rejects with `REFUSED_COMMAND`, also when the real path cannot be told.
 */
export function createResolveCommand({ env, platform }: ResolveOptions): ResolveCommand {
  // Where a user's command was found last: looked at before every start, but not searched for again.
  const found = new Map<string, string>();
  let foundOn = '';

  const search = async (definition: ServerDefinition, command: string, root: string): Promise<string> => {
    const directories = (env['PATH'] ?? '').split(platform === 'win32' ? ';' : ':').filter((entry) => isAbsolute(entry));
    for (const directory of directories) {
      for (const name of candidates(command, platform)) {
        const path = join(directory, name);
        if ((await isExecutable(path)) && !(await isWithheld(directory, root))) return path;
      }
    }
    const hint = `Give its absolute path, or start the host with a PATH that has it outside the workspace: ${directories.join(' ')}`;
    throw refusal('REFUSED_COMMAND', definition, 'command', 'there is no executable of this name on the PATH', hint);
  };

  const remembered = async (definition: ServerDefinition, command: string, root: string): Promise<string> => {
    if (foundOn !== env['PATH']) found.clear();
    foundOn = env['PATH'] ?? '';
    const key = JSON.stringify([root, command]);
    const known = found.get(key);
    if (known !== undefined && (await isExecutable(known)) && !(await isWithheld(dirname(known), root))) return known;
    const path = await search(definition, command, root);
    found.set(key, path);
    return path;
  };

  return async (definition, { root }, cwd) => {
    const { command = '' } = definition;
    if (command === '' || command.includes('\0')) throw refusal('REFUSED_COMMAND', definition, 'command', 'is no name of a file');
    const find = isWorkspaceLayer(definition.layer) ? search : remembered;
    const path = locate(definition, command, cwd) ?? (await find(definition, command, root));
    return canonical(definition, path, platform);
  };
}

/** The path a command with a separator means; `null` for a bare name. */
function locate(definition: ServerDefinition, command: string, cwd: string): string | null {
  if (command.startsWith('~')) {
    throw refusal(
      'REFUSED_COMMAND',
      definition,
      'command',
      'no shell runs here that would expand "~"',
      'Write the absolute path.',
    );
  }
  if (command.split(/[/\\]/).includes('..')) throw refusal('REFUSED_COMMAND', definition, 'command', 'has a ".." segment');
  if (isAbsolute(command)) return command;
  if (basename(command) === command) return null;
  if (isWorkspaceLayer(definition.layer)) return resolve(cwd, command);
  const hint = 'Write the absolute path; a relative one would run whatever a workspace puts there.';
  throw refusal('REFUSED_COMMAND', definition, 'command', 'is a relative path', hint);
}

function candidates(command: string, platform: NodeJS.Platform): readonly string[] {
  if (platform !== 'win32' || extname(command) !== '') return [command];
  return [...EXTENSIONS, '.cmd', '.bat'].map((extension) => command + extension);
}

/**
 * Whether a directory of the PATH does not count: it lies inside the workspace by its text or in truth, or a link that the
 * workspace holds leads to it. What a checkout brings must not stand in for a program the user named.
 */
async function isWithheld(directory: string, root: string): Promise<boolean> {
  const text = resolve(directory);
  if (isInside(text, root)) return true;
  for (let part = text; ; part = dirname(part)) {
    const real = await realpath(part).catch(() => null);
    if (real === null || isInside(real, root)) return true;
    if (part === dirname(part)) return false;
  }
}

async function isExecutable(path: string): Promise<boolean> {
  try {
    const [stats] = await Promise.all([stat(path), access(path, constants.X_OK)]);
    return stats.isFile();
  } catch {
    return false;
  }
}

async function canonical(definition: ServerDefinition, path: string, platform: NodeJS.Platform): Promise<string> {
  const real = await realpath(path).catch((error: unknown) => {
    throw refusal('REFUSED_COMMAND', definition, 'command', `cannot be resolved (${errorCode(error)})`);
  });
  if (!(await isExecutable(real))) throw refusal('REFUSED_COMMAND', definition, 'command', 'is not an executable file');
  if (platform === 'win32' && !EXTENSIONS.some((extension) => real.toLowerCase().endsWith(extension))) {
    const hint = 'Name the program itself, such as node with the script as its argument.';
    throw refusal('REFUSED_COMMAND', definition, 'command', 'is a script that only a shell could start', hint);
  }
  return real;
}
