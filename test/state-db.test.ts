import { chmod, chown, link, mkdir, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, test, vi } from 'vitest';
import type { DbPort } from '../actors/ports.js';
import { createMemoryDb } from '../adapters/memory-db.js';
import { coded, otherProcess, stateKit } from './support/state-kit.js';

const lists = { savedAtMs: 1, ttlMs: null, fingerprint: null, lists: { tools: [] } };

test('nothing is made before something is kept: readers of an empty place leave it empty', async () => {
  const { dir, open } = await stateKit();
  const db = open();
  expect(await db.trusted('/repo')).toBeNull();
  expect(await db.switches()).toEqual(new Map());
  expect(await db.metadata('key')).toBeNull();
  expect(await db.era('hash')).toBeNull();
  expect(await db.wasApproved('print')).toBe(false);
  expect(await db.credentials('owner')).toEqual(new Map());
  expect(await db.grants('/repo')).toEqual(new Map());
  await db.forgetGrants('/repo', []);
  await db.close();
  await expect(stat(dir)).rejects.toThrow('ENOENT');
});

test('what is kept is there in the next life, and in another port on the same file at once', async () => {
  const { open } = await stateKit();
  const [one, two] = [open(), open()];
  const headers = new Map([['Authorization', { value: 'digest', endpoint: 'digest of url' }]]);
  await one.setTrusted('/repo', true);
  await one.setTrusted('/other', false);
  await two.setSwitch('user/files', false);
  await two.setSwitch('user/files', true);
  await one.saveEra('hash', 'modern');
  await one.saveEra('gone', 'legacy');
  await one.saveEra('gone', null);
  await two.saveApproved('print');
  await one.saveCredentials('user/files', new Map([['Cookie', { value: 'a', endpoint: 'b' }]]));
  await one.saveCredentials('user/files', headers);
  const salt = await two.salt();
  await Promise.all([one.close(), two.close()]);
  for (const db of [open(), open()]) {
    expect(await db.trusted('/repo')).toBe(true);
    expect(await db.trusted('/other')).toBe(false);
    expect(await db.switches()).toEqual(new Map([['user/files', true]]));
    expect(await db.era('hash')).toBe('modern');
    expect(await db.era('gone')).toBeNull();
    expect(await db.wasApproved('print')).toBe(true);
    expect(await db.wasApproved('another')).toBe(false);
    expect(await db.credentials('user/files')).toEqual(headers);
    expect(await db.salt()).toBe(salt);
  }
  expect(salt).toMatch(/^[0-9a-f]{64}$/);
});

test('two processes that make the file at the same time lose nothing of each other (B067, B187)', async () => {
  const { dir, open } = await stateKit();
  const users = ['a', 'b', 'c', 'd'].map((name) => otherProcess('state-user.mjs', [dir, 'switches', name]));
  for (const user of users) expect(await user.line()).toBe('"done"');
  expect((await open().switches()).size).toBe(80);
  // No draft of the file is left.
  expect((await readdir(dir)).filter((name) => !/^state\.db(-wal|-shm|\.lock)?$/.test(name))).toEqual([]);
});

test('its directory and its files can be read by their owner only, whatever the umask (S080)', async () => {
  const { dir, open } = await stateKit();
  const before = process.umask(0);
  try {
    await open().setTrusted('/repo', true);
  } finally {
    process.umask(before);
  }
  expect((await stat(dir)).mode & 0o777).toBe(0o700);
  for (const name of await readdir(dir)) expect([name, (await stat(join(dir, name))).mode & 0o777]).toEqual([name, 0o600]);
});

const isRoot = process.geteuid?.() === 0;

test.each<readonly [string, (file: string) => Promise<unknown>]>([
  ['a directory that others can enter', (file) => chmod(dirname(file), 0o755)],
  ['a file that others can read (S081)', (file) => chmod(file, 0o644)],
  ['a file that is a link (S082)', async (file) => rm(file).then(() => symlink('/etc/hostname', file))],
  ['a file with a second name (S082)', (file) => link(file, `${file}.second`)],
  ['a directory in the place of the file (S082)', async (file) => rm(file).then(() => mkdir(file))],
  ['a directory in one that everybody can change (S083)', (file) => chmod(dirname(dirname(file)), 0o777)],
  // Only root can give a file away; anybody else meets one that is not his.
  ['a file of somebody else (S081)', (file) => (isRoot ? chown(file, 12_345, 12_345) : chmod(file, 0o640))],
])('refuses %s, and neither reads nor changes it', async (_what, spoil) => {
  const { file, open } = await stateKit();
  const first = open();
  await first.setTrusted('/repo', true);
  await first.close();
  await spoil(file);
  const db = open();
  await expect(db.trusted('/repo')).rejects.toEqual(coded('STORE_UNSAFE', dirname(file).slice(0, -'/state'.length)));
  await expect(db.setTrusted('/repo', true)).rejects.toEqual(coded('STORE_UNSAFE'));
});

test('refuses a directory that is a link', async () => {
  const { dir, open } = await stateKit();
  await mkdir(`${dir}-real`, { mode: 0o700 });
  await symlink(`${dir}-real`, dir);
  await expect(open().setTrusted('/repo', true)).rejects.toEqual(coded('STORE_UNSAFE', dir));
  expect(await readdir(`${dir}-real`)).toEqual([]);
});

test('a place that cannot be used fails with a code, and the process goes on (S089)', async () => {
  const { dir, open } = await stateKit();
  await writeFile(dir, 'a file');
  await expect(open().setTrusted('/repo', true)).rejects.toEqual(coded('STORE_UNSAFE', dir));
  await expect(open({ dir: `${dir}/below` }).setTrusted('/repo', true)).rejects.toEqual(coded('STORE_FAILED', dir));
  await expect(open({ dir: '/dev/null/state' }).trusted('/repo')).rejects.toEqual(coded('STORE_FAILED'));
  await expect(open({ dir: '/proc/state' }).salt()).rejects.toEqual(coded('STORE_FAILED'));
});

const uses: readonly (readonly [string, (db: DbPort, key: string) => Promise<unknown>])[] = [
  ['trusted', (db, key) => db.trusted(key)],
  ['setTrusted', (db, key) => db.setTrusted(key, true)],
  ['setSwitch', (db, key) => db.setSwitch(key, true)],
  ['metadata', (db, key) => db.metadata(key)],
  ['saveMetadata', (db, key) => db.saveMetadata(key, lists)],
  ['era', (db, key) => db.era(key)],
  ['saveEra', (db, key) => db.saveEra(key, 'modern')],
  ['wasApproved', (db, key) => db.wasApproved(key)],
  ['saveApproved', (db, key) => db.saveApproved(key)],
  ['grants', (db, key) => db.grants(key)],
  ['saveGrant', (db, key) => db.saveGrant('/repo', key, 'digest')],
  ['forgetGrants', (db, key) => db.forgetGrants(key, ['tool'])],
  ['credentials', (db, key) => db.credentials(key)],
  ['saveCredentials', (db, key) => db.saveCredentials(key, new Map())],
];

test.each(uses)('%s refuses a key that could not be told from another one, or that has no bound', async (_name, use) => {
  const db = (await stateKit()).open();
  for (const key of ['x'.repeat(4_097), '\u00e9'.repeat(2_049), 'a\0b', 'half \ud800 of one']) {
    await expect(use(db, key)).rejects.toEqual(coded('STORE_FAILED'));
  }
  await expect(use(db, 'x'.repeat(4_096))).resolves.not.toThrow();
});

test.each([...uses, ['switches', (db: DbPort) => db.switches()] as const, ['salt', (db: DbPort) => db.salt()] as const])(
  '%s after close is refused; closing twice is closing once',
  async (_name, use) => {
    const db = (await stateKit()).open();
    await db.setTrusted('/repo', true);
    await Promise.all([db.close(), db.close()]);
    await expect(use(db, 'key')).rejects.toEqual(coded('STORE_FAILED', 'closed'));
  },
);

test('a decision that was asked for before close is kept', async () => {
  const { open } = await stateKit();
  const db = open();
  const decisions = Array.from({ length: 50 }, (_, at) => db.setSwitch(`switch-${at}`, true));
  await db.close();
  await Promise.all(decisions);
  expect((await open().switches()).size).toBe(50);
});

test('of decisions on one thing the last one asked for stays', async () => {
  const { open } = await stateKit();
  const db = open();
  await Promise.all(Array.from({ length: 21 }, (_, at) => db.setTrusted('/repo', at % 2 === 0)));
  expect(await db.trusted('/repo')).toBe(true);
});

test('twenty lives in one process leave no file open', async () => {
  const { dir } = await stateKit();
  const user = otherProcess('state-user.mjs', [dir, 'handles'], [process.execPath, '--expose-gc']);
  expect(JSON.parse(await user.line())).toEqual({ open: 0 });
  expect(await user.ended).toBe(0);
});

test('the stand-in without a disk answers as the real one does', async () => {
  const { open } = await stateKit();
  for (const db of [open(), createMemoryDb()]) {
    await db.setSwitch('a', true);
    await db.saveMetadata('key', lists);
    expect(await db.switches()).toEqual(new Map([['a', true]]));
    expect(await db.metadata('key')).toEqual(lists);
    await db.saveCredentials('owner', new Map());
    expect(await db.credentials('owner')).toEqual(new Map());
  }
});

test('grants are kept by root, tool and definition, the newest sixteen of a tool, and other processes hear of them', async () => {
  const { open, clock } = await stateKit();
  const [one, two] = [open(), open()];
  let heard = 0;
  await two.grants('/repo');
  const watching = two.watch(() => (heard += 1));
  for (let at = 0; at < 20; at += 1) {
    clock.aheadMs = at;
    await one.saveGrant('/repo', 'mcp__a__b', `digest-${at}`);
  }
  await one.saveGrant('/other', 'mcp__a__b', 'digest-0');
  await vi.waitFor(() => expect(heard).toBeGreaterThan(0), { timeout: 20_000 });
  await watching.close();
  const kept = (await two.grants('/repo')).get('mcp__a__b') ?? new Set();
  expect([kept.size, kept.has('digest-4'), kept.has('digest-3')]).toEqual([16, true, false]);
  await two.forgetGrants('/repo', ['mcp__a__b', 'never']);
  await Promise.all([one.close(), two.close()]);
  const next = open();
  expect([(await next.grants('/repo')).size, [...(await next.grants('/other')).keys()]]).toEqual([0, ['mcp__a__b']]);
});
