import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

/** A directory for the running test, by its real path; removed with all it holds when the test ends. */
export async function temporaryDirectory(prefix: string): Promise<string> {
  const path = await realpath(await mkdtemp(join(tmpdir(), prefix)));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  return path;
}
