import { mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { writeAtomically } from '../adapters/shared/atomic-write.js';
import { Disk, type Fault, type Fs } from './atomic-write/disk.js';

vi.mock('node:fs/promises', async (importOriginal) => {
  const { faultyFs } = await import('./atomic-write/disk.js');
  return faultyFs(await importOriginal<Fs>());
});

/** More than any write takes. */
const OPERATIONS_MAX = 24;
const NAME = 'mcp.json';
const faults: fc.Arbitrary<Fault> = fc.record({
  at: fc.integer({ min: 1, max: OPERATIONS_MAX }),
  how: fc.constantFrom('ENOSPC', 'EIO', 'EMFILE', 'crash'),
});
const contents = fc.string({ minLength: 1, maxLength: 200, unit: 'grapheme' });

describe('a file that is replaced whole', () => {
  let dir = '';

  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'mcp-sup-atomic-'));
  });

  afterEach(async () => {
    Disk.heal();
    await rm(dir, { recursive: true, force: true });
  });

  /** Writes with the disk as it is, then looks at what is there with a sound one. */
  async function written(old: string | null, content: string, fault: Fault | null) {
    const file = join(dir, NAME);
    await rm(file, { force: true });
    if (old !== null) await writeFile(file, old);
    const outcome = await Disk.during(fault, () => writeAtomically({ file, content, expected: old }));
    const now = await readFile(file, 'utf8').catch(() => null);
    return { outcome, now, left: (await readdir(dir)).filter((name) => name !== NAME) };
  }

  test('is the old one or the new one, wherever the disk fails or the process dies, before or after the rename', async () => {
    await fc.assert(
      fc.asyncProperty(fc.option(contents), contents, faults, async (old, content, fault) => {
        fc.pre(old !== content);
        const { outcome, now, left } = await written(old, content, fault);
        expect([old, content]).toContain(now);
        if (outcome === 'written') expect(now).toBe(content);
        if (outcome === 'failed') expect(now).toBe(old);
        // Only a process that is gone can leave anything, and the next one takes it away once nobody can be writing there.
        if (outcome !== 'crashed') expect(left).toEqual([]);
        for (const name of left) await utimes(join(dir, name), 0, 0);
        const next = await written(now, `${content}!`, null);
        expect(next).toEqual({ outcome: 'written', now: `${content}!`, left: [] });
      }),
    );
  });

  test('has its content on the disk before it has its name, however slow the disk is', async () => {
    for (const old of [null, 'old']) {
      Disk.slow();
      const { outcome } = await written(old, 'new', null);
      expect(outcome).toBe('written');
      const { log } = Disk;
      expect(log.indexOf('sync ends')).toBeGreaterThanOrEqual(0);
      expect(log.indexOf('sync ends')).toBeLessThan(log.indexOf('rename'));
      expect(log.lastIndexOf('sync ends')).toBeGreaterThan(log.indexOf('rename'));
    }
  });

  test('keeps what another process may be writing at this moment', async () => {
    const other = await mkdtemp(join(dir, `.${NAME}-`));
    const { outcome, left } = await written('old', 'new', null);
    expect(outcome).toBe('written');
    expect(left.map((name) => join(dir, name))).toEqual([other]);
  });
});
