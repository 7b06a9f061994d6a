import { execFile } from 'node:child_process';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const repository = join(import.meta.dirname, '../..');
/** Another build in the place of `dist`; it is taken as it is. */
const givenBuild = process.env['MCP_SUPERVISOR_DIST'];
const built = join(givenBuild ?? join(repository, 'dist'), 'adapters/cli/main.js');
const sources = ['index.ts', 'machines', 'actors', 'adapters', 'tsconfig.json', 'tsconfig.build.json'];

/**
 * Vitest's global set-up: builds `dist` once, before any test file, when a source is newer. Types are `npm run check`'s to
 * judge; the compiler writes its output all the same, and only the tests of the command need it.
 */
export default async function build(): Promise<void> {
  if (!(await isStale())) return;
  const tsc = join(repository, 'node_modules/typescript/bin/tsc');
  await promisify(execFile)(process.execPath, [tsc, '-p', 'tsconfig.build.json'], { cwd: repository }).catch(() => undefined);
}

let checked: Promise<boolean> | undefined;

/** The command as it is shipped. Rejects rather than let a test file judge a stale build. */
export async function builtCommand(): Promise<string> {
  checked ??= isStale();
  if (await checked) throw new Error('dist is older than the sources: npm run build');
  return built;
}

async function isStale(): Promise<boolean> {
  if (givenBuild !== undefined) return false;
  const builtAtMs = (await stat(built).catch(() => null))?.mtimeMs ?? 0;
  const ages = await Promise.all(sources.map((name) => newestMs(join(repository, name))));
  return Math.max(...ages) > builtAtMs;
}

async function newestMs(path: string): Promise<number> {
  const found = await stat(path);
  if (!found.isDirectory()) return found.mtimeMs;
  const entries = await readdir(path, { withFileTypes: true });
  const ages = await Promise.all(entries.map((entry) => newestMs(join(path, entry.name))));
  return Math.max(0, ...ages);
}
