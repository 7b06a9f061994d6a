import { open as openFile, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import Database from 'libsql';
import { expect, test } from 'vitest';
import { coded, otherProcess, type StateKit, stateKit } from './support/state-kit.js';

const asides = async ({ dir }: StateKit): Promise<string[]> =>
  (await readdir(dir)).filter((name) => /^state\.db\.corrupt-\d+$/.test(name));

/** A file with decisions and lists in it, all of it in the file itself. */
async function usedState(): Promise<StateKit> {
  const kit = await stateKit();
  const db = kit.open();
  await db.setTrusted('/repo', true);
  await db.setSwitch('workspace/files', true);
  const tools = Array.from({ length: 200 }, (_, at) => ({ key: `tool-${at}`, definition: { name: 'x'.repeat(1_000) } }));
  await db.saveMetadata('key', { savedAtMs: 1, ttlMs: null, fingerprint: null, lists: { tools } });
  await db.close();
  await rm(`${kit.file}-wal`, { force: true });
  await rm(`${kit.file}-shm`, { force: true });
  return kit;
}

const overwrite = async (file: string, at: number, bytes: Uint8Array): Promise<void> => {
  const handle = await openFile(file, 'r+');
  await handle.write(bytes, 0, bytes.length, at);
  await handle.close();
};

test.each<readonly [string, (file: string) => Promise<unknown>]>([
  ['is no database', (file) => writeFile(file, 'garbage '.repeat(1_000))],
  ['begins with garbage', (file) => overwrite(file, 0, Buffer.alloc(64, 0xaa))],
  ['was cut after its first page', (file) => truncate(file, 4_096)],
  ['was cut within a page', (file) => truncate(file, 5_000)],
  ['was cut within its header', (file) => truncate(file, 50)],
  ['is zeros past its header', async (file) => overwrite(file, 100, Buffer.alloc((await stat(file)).size - 100))],
])('a file that %s is set aside and begun anew; decisions are gone, which means no (S088)', async (_what, damage) => {
  const kit = await usedState();
  await damage(kit.file);
  const before = await readFile(kit.file);
  const db = kit.open();
  expect(await db.trusted('/repo')).toBeNull();
  expect(await db.switches()).toEqual(new Map());
  await db.setTrusted('/repo', false);
  expect(await db.trusted('/repo')).toBe(false);
  const [aside = ''] = await asides(kit);
  const kept = await readFile(`${kit.dir}/${aside}`);
  expect(kept.subarray(200).equals(before.subarray(200))).toBe(true);
  expect((await stat(`${kit.dir}/${aside}`)).mode & 0o777).toBe(0o600);
  expect(kit.log).toEqual([
    expect.objectContaining({ level: 'error', event: 'state.rebuilt', message: expect.stringContaining(aside) as string }),
  ]);
});

test('an emptied file is begun anew', async () => {
  const kit = await usedState();
  await truncate(kit.file, 0);
  const db = kit.open();
  expect(await db.trusted('/repo')).toBeNull();
  await db.setTrusted('/repo', true);
  expect(await db.trusted('/repo')).toBe(true);
});

test('damage that only a later statement meets is set aside as well', async () => {
  const kit = await usedState();
  const db = kit.open();
  expect(await db.trusted('/repo')).toBe(true);
  // Every page but the first: what this connection has not read yet is broken.
  await overwrite(kit.file, 4_096, Buffer.alloc((await stat(kit.file)).size - 4_096, 0xaa));
  expect(await db.metadata('key')).toBeNull();
  expect(await asides(kit)).toHaveLength(1);
  expect(await db.trusted('/repo')).toBeNull();
});

test('several ports that see the damage at once begin one new file and lose nothing kept in it', async () => {
  const kit = await usedState();
  const early = kit.open();
  expect(await early.trusted('/repo')).toBe(true);
  await overwrite(kit.file, 0, Buffer.alloc((await stat(kit.file)).size, 0xaa));
  const others = ['a', 'b', 'c'].map((name) => otherProcess('state-user.mjs', [kit.dir, 'switches', name]));
  await Promise.all([early, kit.open(), kit.open()].map((db, at) => db.setSwitch(`port-${at}`, true)));
  for (const other of others) expect(await other.ended).toBe(0);
  expect((await kit.open().switches()).size).toBe(63);
  expect(await asides(kit)).toHaveLength(1);
});

test('of files set aside the last three are kept, with what belongs to them', async () => {
  const kit = await usedState();
  const aside: string[] = [];
  for (let round = 0; round < 5; round += 1) {
    await writeFile(kit.file, 'garbage '.repeat(1_000));
    await writeFile(`${kit.file}-wal`, 'of it');
    kit.clock.aheadMs += 1_000;
    const db = kit.open();
    await db.setTrusted('/repo', true);
    await db.close();
    aside.push(...(await asides(kit)).filter((name) => !aside.includes(name)));
  }
  expect(aside).toHaveLength(5);
  expect((await asides(kit)).sort()).toEqual(aside.slice(2).sort());
  const names = await readdir(kit.dir);
  expect(names.filter((name) => name.includes('corrupt') && !aside.slice(2).some((kept) => name.startsWith(kept)))).toEqual([]);
});

test('a file that was taken away while it was open is made again', async () => {
  const kit = await usedState();
  const db = kit.open();
  expect(await db.trusted('/repo')).toBe(true);
  await rm(kit.dir, { recursive: true });
  expect(await db.trusted('/repo')).toBeNull();
  await db.setTrusted('/repo', true);
  expect(await kit.open().trusted('/repo')).toBe(true);
});

test.each([
  ['a newer version', 'PRAGMA user_version = 99', 'newer version'],
  ['another program', 'PRAGMA application_id = 1', 'another program'],
])('a file of %s is refused and left as it is', async (_whose, sql, words) => {
  const kit = await usedState();
  const database = new Database(kit.file);
  for (const statement of [sql, 'PRAGMA wal_checkpoint(TRUNCATE)']) database.exec(statement);
  database.close();
  const before = await readFile(kit.file);
  const db = kit.open();
  await expect(db.trusted('/repo')).rejects.toEqual(coded('STORE_FAILED', words));
  await expect(db.setTrusted('/repo', true)).rejects.toEqual(coded('STORE_FAILED', kit.file));
  await db.close();
  expect((await readFile(kit.file)).equals(before)).toBe(true);
  expect(await asides(kit)).toEqual([]);
});

test('killed with kill -9 in the midst of writing, the state is whole and nothing said to be kept is lost (S086)', async () => {
  const kit = await stateKit();
  for (let life = 0; life < 5; life += 1) {
    const writer = otherProcess('state-user.mjs', [kit.dir, 'endless']);
    let said = -1;
    while (said < 5 + life * 7) said = Number(await writer.line());
    writer.child.kill('SIGKILL');
    await writer.ended;
    const db = kit.open();
    const switches = await db.switches();
    for (let at = 0; at <= said; at += 1) expect(switches.get(`switch-${at}`)).toBe(true);
    const metadata = await db.metadata('lists');
    if (metadata !== null) expect(metadata.lists.tools).toHaveLength(500);
    await db.close();
    const database = new Database(kit.file);
    expect(database.prepare('PRAGMA integrity_check').all([])).toEqual([{ integrity_check: 'ok' }]);
    database.close();
  }
  expect(kit.log).toEqual([]);
}, 60_000);

test('without room on the disk a write fails with a code, what was kept stays, and the process goes on (S089)', async () => {
  const kit = await stateKit();
  // A file may grow to 400 blocks of 512 or 1 024 bytes.
  const user = otherProcess('state-user.mjs', [kit.dir, 'fill'], ['sh', '-c', 'ulimit -f 400; exec "$0" "$@"', process.execPath]);
  expect(JSON.parse(await user.line())).toEqual({ outcome: 'STORE_FAILED', switches: [['before', true]], lists: null });
  expect(await user.ended).toBe(0);
  const db = kit.open();
  expect(await db.switches()).toEqual(new Map([['before', true]]));
  await db.setSwitch('after', true);
  expect((await db.switches()).size).toBe(2);
});
