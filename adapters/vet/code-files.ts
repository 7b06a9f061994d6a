import { constants, type FileHandle, open, readdir, realpath } from 'node:fs/promises';
import { basename, dirname, extname, join, resolve } from 'node:path';
import type { ServerDefinition } from '../../actors/ports.js';
import type { Invocation } from './invocation.js';
import { impliedPaths, namedPaths, readsDirectory } from './named-paths.js';
import { errorCode, isInside, refusal } from './paths.js';

const CODE_EXTENSIONS = new Set(
  (
    '.js .mjs .cjs .jsx .ts .mts .cts .tsx .py .pyw .pyz .rb .pl .pm .sh .bash .zsh .fish .ksh .ps1 .psm1 .bat .cmd .php .lua .r .jl .jar .class ' +
    '.wasm .so .dll .dylib .node .ex .exs .erl .escript .go .rs .swift .kt .kts .groovy .scala .clj .tcl .awk .exe .com'
  ).split(' '),
);

/** What these say of a path: that no file is there. Anything else is a file we cannot look at. */
const NO_FILE = new Set(['ENOENT', 'ENOTDIR', 'ENAMETOOLONG']);

/** What Node and its kin add to a name, in no order; each may be what runs. */
const ADDED = ['.js', '.cjs', '.mjs', '.node', '.ts', '.cts', '.mts', '.tsx', '.jsx', '.py'];
/** What a directory runs as, besides what its package.json says. */
const ENTRY_POINTS = [...ADDED.map((extension) => `index${extension}`), '__main__.py', '__init__.py'];
/** A larger package.json is no help to anybody. */
const PACKAGE_BYTES_MAX = 1024 * 1024;

export interface WorkspaceCode {
  /** Real paths, sorted. */
  readonly files: readonly string[];
  /** Whether the command line leads to files of the workspace beyond these. */
  readonly isOpen: boolean;
}

/**
 * The files of the workspace that a command line would run, as far as it tells: those it names that are code (executable,
 * beginning with `#!`, an extension of code), those an option loads, what a directory or a name without extension stands for.
 * Rejects with `REFUSED_COMMAND` when one cannot be looked at.
 */
export async function codeFiles(
  definition: ServerDefinition,
  invocation: Invocation,
  root: string,
  cwd: string,
): Promise<WorkspaceCode> {
  const files = new Set<string>();
  let isOpen = readsDirectory(invocation);
  const named = [...namedPaths(definition.args, invocation, cwd), ...impliedPaths(invocation, root, cwd)];
  const siblings = createSiblings();

  for (const { path, index, isRun } of named) {
    try {
      const found = await lookAt(path, root, isRun);
      const others = [...(await siblings.of(path)), ...(found.kind === 'directory' ? await entryPoints(path) : [])];
      if (found.kind === 'directory' || found.kind === 'data') isOpen = true;
      for (const other of [found, ...(await Promise.all(others.map((file) => lookAt(file, root, true))))]) {
        if (other.kind === 'code') files.add(other.real);
      }
    } catch (error) {
      const code = errorCode(error);
      if (!isInside(path, root)) continue;
      const field = index === null ? 'args' : `args[${index}]`;
      throw refusal('REFUSED_COMMAND', definition, field, `names a file that cannot be looked at (${code})`);
    }
  }
  return { files: [...files].sort(), isOpen };
}

interface Found {
  /** `none` also for what lies outside the workspace. */
  readonly kind: 'none' | 'code' | 'data' | 'directory';
  readonly real: string;
}

async function lookAt(path: string, root: string, isRun: boolean): Promise<Found> {
  try {
    const real = await realpath(path);
    if (!isInside(path, root) && !isInside(real, root)) return { kind: 'none', real };
    return { kind: await kindOf(real, isRun), real };
  } catch (error) {
    if (NO_FILE.has(errorCode(error))) return { kind: 'none', real: path };
    throw error;
  }
}

/** Names beside a path that begin with it; each directory is listed once. */
function createSiblings(): { of(path: string): Promise<readonly string[]> } {
  const listed = new Map<string, Promise<ReadonlySet<string>>>();
  return {
    async of(path) {
      const dir = dirname(path);
      const names =
        listed.get(dir) ??
        readdir(dir).then(
          (all) => new Set(all),
          () => new Set<string>(),
        );
      listed.set(dir, names);
      const present = await names;
      return ADDED.filter((extension) => present.has(basename(path) + extension)).map((extension) => path + extension);
    },
  };
}

/** What a directory stands for when it is run: its package.json and the main file that names, its index, its `__main__.py`. */
async function entryPoints(dir: string): Promise<readonly string[]> {
  const manifest = join(dir, 'package.json');
  const main = await mainOf(manifest);
  const mains = main === null ? [] : [resolve(dir, main)];
  const guesses = mains.flatMap((path) => [
    ...ADDED.map((added) => path + added),
    ...ENTRY_POINTS.map((name) => join(path, name)),
  ]);
  const paths = [manifest, ...mains, ...guesses, ...ENTRY_POINTS.map((name) => join(dir, name))];
  return paths.filter((path) => !path.includes('\0'));
}

async function mainOf(manifest: string): Promise<string | null> {
  try {
    const handle = await open(manifest, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
    try {
      const stat = await handle.stat();
      if (!stat.isFile() || stat.size > PACKAGE_BYTES_MAX) return null;
      const parsed: unknown = JSON.parse(await handle.readFile('utf8'));
      if (typeof parsed !== 'object' || parsed === null || !('main' in parsed)) return null;
      return typeof parsed.main === 'string' ? parsed.main : null;
    } finally {
      await handle.close();
    }
  } catch {
    // Unreadable or no JSON: then it names no file, and it is digested itself.
    return null;
  }
}

async function kindOf(real: string, isRun: boolean): Promise<'code' | 'data' | 'directory'> {
  const handle = await open(real, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  try {
    const stat = await handle.stat();
    if (stat.isDirectory()) return 'directory';
    if (!stat.isFile()) return 'data';
    const isCode = isRun || CODE_EXTENSIONS.has(extname(real).toLowerCase()) || (stat.mode & 0o111) !== 0;
    return isCode || (await beginsWithShebang(handle)) ? 'code' : 'data';
  } finally {
    await handle.close();
  }
}

async function beginsWithShebang(handle: FileHandle): Promise<boolean> {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(2), 0, 2, 0);
  return bytesRead === 2 && buffer.toString('latin1') === '#!';
}
