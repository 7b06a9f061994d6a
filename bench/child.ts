import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { compiled } from './paths.js';

/** Runs a compiled bench file in a fresh process; it prints one line of JSON. */
export async function inFreshProcess(file: string, ...args: readonly string[]): Promise<Readonly<Record<string, number>>> {
  const run = promisify(execFile)(process.execPath, ['--expose-gc', compiled(file), ...args], { timeout: 600_000 });
  const { stdout } = await run;
  return JSON.parse(stdout) as Record<string, number>;
}
