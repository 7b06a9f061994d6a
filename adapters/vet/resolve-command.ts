import { access, constants, realpath, stat } from 'node:fs/promises';
import { basename, dirname, extname, isAbsolute, join, resolve } from 'node:path';
import type { ConfigScope, ServerDefinition } from '../../actors/ports.js';
import { isWorkspaceLayer } from '../../machines/vocabulary.js';
import { isSensitive } from '../shared/sensitive.js';
import { hostValue } from './child-env.js';
import { errorCode, isInside, refusal } from './paths.js';

export interface ResolveOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly platform: NodeJS.Platform;
}

export type ResolveCommand = (definition: ServerDefinition, scope: ConfigScope, cwd: string) => Promise<string>;

/** What Windows can start without a shell. */
const EXTENSIONS = ['.exe', '.com'] as const;
/** Windows' own, for a host without `PATHEXT`. */
const PATHEXT_DEFAULT = '.COM;.EXE;.BAT;.CMD';
/** A name of a program and nothing else; anything odder stays out of messages. */
const PLAIN_NAME = /^[\w.+-]{1,64}$/;

/**
 * Finds the one file a command stands for: canonical, absolute, executable. Names are looked up on the host's PATH; empty
 * and relative entries never count, nor does a directory that lies inside the workspace or is reached through it, whoever
 * defines the server. Rejects with `REFUSED_COMMAND`, also when the real path cannot be told; for a name that was not found
 * the message has the name, and the hint every directory that was searched.
 */
export function createResolveCommand({ env, platform }: ResolveOptions): ResolveCommand {
  // Where a user's command was found last: looked at before every start, but not searched for again.
  const found = new Map<string, string>();
  let foundOn = '';
  const hostPath = (): string => hostValue(env, 'PATH', platform) ?? '';

  const search = async (definition: ServerDefinition, command: string, root: string): Promise<string> => {
    const directories = hostPath()
      .split(platform === 'win32' ? ';' : ':')
      .filter((entry) => isAbsolute(entry));
    const names = platform === 'win32' ? windowsNames(command, hostValue(env, 'PATHEXT', platform)) : [command];
    for (const directory of directories) {
      for (const name of names) {
        const path = join(directory, name);
        if ((await isExecutable(path)) && !(await isWithheld(directory, root))) return path;
      }
    }
    const shown = PLAIN_NAME.test(command) && !isSensitive('', command) ? `"${command}"` : 'this name';
    throw refusal('REFUSED_COMMAND', definition, 'command', `there is no executable ${shown} on the PATH`, searched(directories));
  };

  const remembered = async (definition: ServerDefinition, command: string, root: string): Promise<string> => {
    if (foundOn !== hostPath()) found.clear();
    foundOn = hostPath();
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

/** What a name may be called on disk, in the order of `PATHEXT`. A script is found too, so that the refusal can say so. */
function windowsNames(command: string, pathext: string = PATHEXT_DEFAULT): readonly string[] {
  const extensions = pathext
    .toLowerCase()
    .split(';')
    .filter((extension) => /^\.\w+$/.test(extension));
  // `python3.12` has no extension that counts.
  return extensions.includes(extname(command).toLowerCase()) ? [command] : extensions.map((extension) => command + extension);
}

/** A host that a desktop started has a shorter PATH than a terminal: the usual reason why nothing is found. */
function searched(directories: readonly string[]): string {
  const where = directories.length === 0 ? 'nothing, as it has no absolute entry' : directories.join(' ');
  return (
    `Searched: ${where}. Give the absolute path ("command -v NAME" in a terminal tells it), or start the host with a PATH ` +
    'that has the program outside the workspace.'
  );
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
