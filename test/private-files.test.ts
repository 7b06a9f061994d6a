import { mkdir, readdir, readFile, rename, stat, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { createPrivateFiles } from '../adapters/private-files.js';
import { temporaryDirectory } from './support/temporary-directory.js';

const coded = (code: string) => expect.objectContaining({ name: 'SupervisorError', code }) as Error;

test('a spilled output is a file that only its owner can read, in a directory of ours, under a name of ours (S111)', async () => {
  const dir = join(await temporaryDirectory('spill-'), 'state');
  const files = createPrivateFiles({ dir });
  const { path, uri } = await files.writeSpill('../../x\0y', 'text');
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  expect((await stat(dirname(path))).mode & 0o777).toBe(0o700);
  expect(dirname(dirname(path))).toBe(dir);
  expect(uri).toMatch(/^spill:\/\/[A-Za-z0-9-]+\.txt$/);
  expect(await readFile(path, 'utf8')).toBe('text');
  await files.close();
});

test('it is read page by page, and no page cuts a character', async () => {
  const files = createPrivateFiles({ dir: await temporaryDirectory('spill-') });
  const text = 'a\u00e9\u20ac\u{1f600}'.repeat(50);
  const { uri } = await files.writeSpill('x', text);
  for (const limit of [4, 5, 7, 10_000]) {
    let read = '';
    for (let offset: number | null = 0; offset !== null; ) {
      const page: { text: string; nextOffset: number | null } = await files.readSpill(uri, offset, limit);
      expect(page.text).not.toContain('\ufffd');
      expect(Buffer.byteLength(page.text)).toBeLessThanOrEqual(limit);
      read += page.text;
      offset = page.nextOffset;
    }
    expect(read).toBe(text);
  }
  expect(await files.readSpill(uri, 2, 6)).toEqual({ text: '\u20ac', nextOffset: 6 });
  expect(await files.readSpill(uri, 1_000_000, 10)).toEqual({ text: '', nextOffset: null });
  await files.close();
});

test('nothing is read that this process did not write, and no odd page', async () => {
  const dir = await temporaryDirectory('spill-');
  const [files, others] = [createPrivateFiles({ dir }), createPrivateFiles({ dir })];
  const { uri } = await others.writeSpill('x', 'text');
  const own = await files.writeSpill('x', 'text');
  for (const wrong of [uri, 'spill://../x', 'file:///etc/passwd', own.path]) {
    await expect(files.readSpill(wrong, 0, 10)).rejects.toEqual(coded('INVALID_ARGUMENTS'));
  }
  for (const [offset, limit] of [
    [-1, 10],
    [0.5, 10],
    [0, 0],
    [0, 3],
    [Number.NaN, 10],
  ] as const) {
    await expect(files.readSpill(own.uri, offset, limit)).rejects.toEqual(coded('INVALID_ARGUMENTS'));
  }
  await Promise.all([files.close(), others.close()]);
});

test('close removes what this process wrote, also what is being written, and nothing else', async () => {
  const dir = await temporaryDirectory('spill-');
  const [files, others] = [createPrivateFiles({ dir }), createPrivateFiles({ dir })];
  await others.writeSpill('x', 'text');
  await files.writeSpill('x', 'text');
  const late = files.writeSpill('y', 'text'.repeat(100_000));
  await files.close();
  await late;
  expect(await readdir(dir)).toHaveLength(1);
  await expect(files.writeSpill('z', 'text')).rejects.toEqual(coded('SPILL_FAILED'));
  await others.close();
  expect(await readdir(dir)).toEqual([]);
});

test('nothing is written once the directory was replaced (S112)', async () => {
  const dir = await temporaryDirectory('spill-');
  const files = createPrivateFiles({ dir });
  const { path } = await files.writeSpill('x', 'text');
  const target = join(dir, 'target');
  await mkdir(target);
  await rename(dirname(path), join(dir, 'moved'));
  await symlink(target, dirname(path));
  await expect(files.writeSpill('x', 'text')).rejects.toEqual(coded('SPILL_FAILED'));
  expect(await readdir(target)).toEqual([]);
});

test('a full quota and a directory that cannot be made fail with a code, and a later try may succeed (S113)', async () => {
  const dir = await temporaryDirectory('spill-');
  const small = createPrivateFiles({ dir, totalBytesMax: 10 });
  await expect(small.writeSpill('x', 'x'.repeat(11))).rejects.toEqual(coded('SPILL_FAILED'));
  await small.writeSpill('x', 'x'.repeat(10));
  await expect(small.writeSpill('x', 'x')).rejects.toEqual(coded('SPILL_FAILED'));
  await small.close();
  await expect(createPrivateFiles({ dir: '/dev/null/x' }).writeSpill('x', 'x')).rejects.toEqual(coded('SPILL_FAILED'));
});
