import { appendFile, open, truncate, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createContentDigest } from '../adapters/vet/content-digest.js';
import { temporaryDirectory } from './support/temporary-directory.js';
import { executable, vetPlace } from './support/vet-place.js';

const GIB = 1024 ** 3;

/** An executable of so many bytes that takes no room on disk. */
async function sparse(path: string, bytes: number): Promise<string> {
  await executable(path, '#!');
  await truncate(path, bytes);
  return path;
}

/**
 * What the process computed between two turns of the event loop while `work` was done: the most, and all of it, in
 * microseconds of the processor. Unlike the clock this does not count what other programs do on a busy machine.
 */
async function turnsOf(
  work: () => Promise<unknown>,
): Promise<{ readonly turns: number; readonly most: number; readonly all: number }> {
  const spent = (): number => {
    const { user, system } = process.cpuUsage();
    return user + system;
  };
  const begun = spent();
  let turns = 0;
  let most = 0;
  let before = begun;
  let isDone = false;
  const turn = (): void => {
    const now = spent();
    turns += 1;
    most = Math.max(most, now - before);
    before = now;
    if (!isDone) setImmediate(turn);
  };
  setImmediate(turn);
  await work();
  isDone = true;
  return { turns, most, all: spent() - begun };
}

describe('the content of what would run', () => {
  test('of 1 GiB is digested in small pieces with turns of the loop in between, and outside the workspace once', async () => {
    const { bin, run } = await vetPlace();
    await sparse(join(bin, 'large'), GIB);
    let fingerprint: string | null = null;
    const first = await turnsOf(async () => {
      ({ fingerprint } = await run({ command: 'large' }));
    });
    expect(fingerprint).toMatch(/^[0-9a-f]{64}$/);
    // Digested in one go it would be one turn, and all of the work in it.
    expect(first.turns).toBeGreaterThan(1_000);
    expect(first.most).toBeLessThan(first.all / 10);
    const again = await turnsOf(async () => expect((await run({ command: 'large' })).fingerprint).toBe(fingerprint));
    expect(again.turns).toBeLessThan(first.turns / 10);
  }, 120_000);

  test('is read anew when the file was rewritten, and set back in time', async () => {
    const { bin, run } = await vetPlace();
    const path = await executable(join(bin, 'other'), '#!1');
    const time = new Date(1_000_000);
    await utimes(path, time, time);
    const { fingerprint } = await run({ command: 'other' });
    await writeFile(path, '#!2');
    await utimes(path, time, time);
    expect((await run({ command: 'other' })).fingerprint).not.toBe(fingerprint);
  });

  test('is refused when it is too large, no file, or another one by the time it was read (S018)', async () => {
    const home = await temporaryDirectory('digest-');
    const digest = createContentDigest();
    const large = await sparse(join(home, 'large'), GIB + 1);
    await expect(digest.of(large, { fresh: true })).rejects.toThrow('too large');
    await expect(digest.of(home, { fresh: true })).rejects.toThrow('not a regular file');
    const growing = await sparse(join(home, 'growing'), 64 * 1024 * 1024);
    const reading = digest.of(growing, { fresh: true });
    const writer = await open(growing, 'r+');
    await writer.write('x', 0);
    await writer.close();
    await appendFile(growing, 'more');
    await expect(reading).rejects.toThrow('changed while it was read');
  });
});
