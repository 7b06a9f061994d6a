import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { ClockPort, ConfigPort, LayerReading, ServerDefinition } from '../../actors/ports.js';
import { createFileConfig } from '../../adapters/config/file-config.js';
import { createNodeDigest } from '../../adapters/node-digest.js';
import { systemClock } from '../../adapters/system-clock.js';

export interface ConfigFolder extends AsyncDisposable {
  readonly root: string;
  readonly userFile: string;
  readonly projectFile: string;
  readonly overrideFile: string;
  readonly config: ConfigPort;
  /** The same files, watched in another time. */
  configWith(clock: ClockPort): ConfigPort;
  /** Writes the files given, reads all layers, and returns them by name. */
  read(files: ConfigTexts): Promise<Readings>;
}

export interface ConfigTexts {
  readonly user?: string | object;
  readonly project?: string | object;
  readonly override?: string | object;
}

export interface Readings {
  readonly user: LayerReading;
  readonly project: LayerReading;
  readonly override: LayerReading;
}

/** A temporary workspace and a user file outside it, removed with the block that uses it. */
export async function configFolder(env: Readonly<Record<string, string | undefined>> = {}): Promise<ConfigFolder> {
  const home = await realpath(await mkdtemp(join(tmpdir(), 'config-')));
  const root = join(home, 'workspace');
  await mkdir(root);
  const userFile = join(home, 'user', 'mcp.json');
  const projectFile = join(root, '.mcp.json');
  const overrideFile = join(root, '.mcp-supervisor', 'mcp.json');
  const configWith = (clock: ClockPort): ConfigPort =>
    createFileConfig({ userConfigFile: userFile, hostDir: '.mcp-supervisor', env, clock, digest: createNodeDigest() });
  const config = configWith(systemClock);
  return {
    root,
    userFile,
    projectFile,
    overrideFile,
    config,
    configWith,
    async read({ user, project, override }) {
      await write(userFile, user);
      await write(projectFile, project);
      await write(overrideFile, override);
      return readAll(config, root);
    },
    [Symbol.asyncDispose]: () => rm(home, { recursive: true, force: true }),
  };
}

export async function readAll(config: ConfigPort, root: string): Promise<Readings> {
  const readings = await config.read({ root });
  const [user, project, override] = readings;
  if (user === undefined || project === undefined || override === undefined) throw new Error('three layers were expected');
  return { user, project, override };
}

/** The one server of a reading that has this id; a rejected layer has none. */
export function serverOf({ servers, errors }: LayerReading, id = 'x'): ServerDefinition {
  const server = servers.find((candidate) => candidate.id === id);
  if (server === undefined) throw new Error(`no server ${id}; errors: ${JSON.stringify(errors)}`);
  return server;
}

async function write(file: string, content: string | object | undefined): Promise<void> {
  if (content === undefined) return;
  await mkdir(dirname(file), { recursive: true });
  await writeFile(
    file,
    typeof content === 'string' || content instanceof Uint8Array ? content : JSON.stringify(content, null, 2),
  );
}
