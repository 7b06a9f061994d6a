import { constants, type FileHandle, open, realpath } from 'node:fs/promises';
import { extname, resolve } from 'node:path';
import type { ServerDefinition } from '../../actors/ports.js';
import { errorCode, isInside, refusal } from './paths.js';

const CODE_EXTENSIONS = new Set(
  (
    '.js .mjs .cjs .jsx .ts .mts .cts .tsx .py .pyw .pyz .rb .pl .pm .sh .bash .zsh .fish .ksh .ps1 .psm1 .bat .cmd .php .lua .r .jl .jar .class ' +
    '.wasm .so .dll .dylib .node .ex .exs .erl .escript .go .rs .swift .kt .kts .groovy .scala .clj .tcl .awk .exe .com'
  ).split(' '),
);

/** What these say of a path: that no file is there. Anything else is a file we cannot look at. */
const NO_FILE = new Set(['ENOENT', 'ENOTDIR', 'ENAMETOOLONG']);

/**
 * Real paths of the code files of the workspace that arguments name, `--require=./a.js` included: executable, beginning with
 * `#!`, or with an extension of code. Rejects with `REFUSED_COMMAND` when one cannot be looked at.
 */
export async function codeFiles(definition: ServerDefinition, root: string, cwd: string): Promise<readonly string[]> {
  const files = new Set<string>();
  for (const [index, arg] of definition.args.entries()) {
    for (const written of pathsIn(arg)) {
      const path = resolve(cwd, written);
      try {
        const real = await realpath(path);
        if ((isInside(path, root) || isInside(real, root)) && (await isCode(real))) files.add(real);
      } catch (error) {
        const code = errorCode(error);
        if (NO_FILE.has(code) || !isInside(path, root)) continue;
        throw refusal('REFUSED_COMMAND', definition, `args[${index}]`, `names a file that cannot be looked at (${code})`);
      }
    }
  }
  return [...files].sort();
}

function pathsIn(arg: string): readonly string[] {
  if (arg === '' || arg.includes('\0')) return [];
  const equals = arg.indexOf('=');
  return equals > 0 && equals < arg.length - 1 ? [arg, arg.slice(equals + 1)] : [arg];
}

async function isCode(real: string): Promise<boolean> {
  const handle = await open(real, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  try {
    const stat = await handle.stat();
    if (!stat.isFile()) return false;
    return CODE_EXTENSIONS.has(extname(real).toLowerCase()) || (stat.mode & 0o111) !== 0 || (await beginsWithShebang(handle));
  } finally {
    await handle.close();
  }
}

async function beginsWithShebang(handle: FileHandle): Promise<boolean> {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(2), 0, 2, 0);
  return bytesRead === 2 && buffer.toString('latin1') === '#!';
}
