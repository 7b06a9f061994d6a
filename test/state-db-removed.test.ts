import { readdir, rm, stat } from 'node:fs/promises';
import Database from 'libsql';
import { expect, test } from 'vitest';
import { createDecisionWatch } from '../adapters/state/decision-watch.js';
import { Store } from '../adapters/state/store.js';
import { type StateKit, stateKit } from './support/state-kit.js';

const names = ['state.db', 'state.db-wal', 'state.db-shm'] as const;

/** A file in use, with everything that was decided still in its log. */
async function inUse() {
  const kit = await stateKit();
  const db = kit.open();
  await db.setTrusted('/repo', true);
  await db.setSwitch('workspace/files', true);
  return { kit, db };
}

const modes = async ({ dir }: StateKit): Promise<readonly number[]> =>
  Promise.all((await readdir(dir)).map(async (name) => (await stat(`${dir}/${name}`)).mode & 0o777));

test('a file that was removed under a running host is not made anew by its close, open to everybody', async () => {
  const { kit, db } = await inUse();
  for (const name of names) await rm(`${kit.dir}/${name}`);
  await db.close();
  expect(await readdir(kit.dir)).toEqual(['state.db.lock']);
  const next = kit.open();
  expect(await next.trusted('/repo')).toBeNull();
  await next.setTrusted('/repo', true);
  expect(new Set(await modes(kit))).toEqual(new Set([0o600]));
});

test('who removes the file alone takes back every decision: the log beside it is not played into a new one', async () => {
  const { kit } = await inUse();
  await rm(kit.file);
  const next = kit.open();
  await next.setTrusted('/else', true);
  expect([await next.trusted('/repo'), await next.trusted('/else'), await next.switches()]).toEqual([null, true, new Map()]);
});

test('lists that turn out too long to be kept leave nothing of themselves', async () => {
  const kit = await stateKit();
  const db = kit.open({ listingCharsMax: 1_000_000 });
  const lists = (count: number) => ({
    tools: Array.from({ length: count }, (_, at) => ({ key: `${at}`, definition: { name: 'x'.repeat(10_000) } })),
  });
  const save = (count: number) => db.saveMetadata('key', { savedAtMs: 1, ttlMs: null, fingerprint: null, lists: lists(count) });
  await save(2);
  await expect(save(200)).rejects.toMatchObject({ code: 'STORE_FAILED' });
  expect((await db.metadata('key'))?.lists.tools).toHaveLength(2);
  await db.close();
  const raw = new Database(kit.file);
  const count = (table: string) => raw.prepare(`SELECT count(*) AS n FROM ${table}`).get([]) as { n: number };
  expect([count('listings').n, count('chunks').n]).toEqual([1, 1]);
  raw.close();
});

test('a decision that was undone does not hide the next one of another process', async () => {
  const kit = await stateKit();
  const store = new Store({ dir: kit.dir, clock: kit.clock });
  // The disk is full when it comes to the commit: what was written is rolled back.
  const isFull = { now: false };
  const write: Store['write'] = (work, options) =>
    Store.prototype.write.call(
      store,
      (connection) => {
        const value = work(connection);
        if (isFull.now) throw new Error('the disk is full');
        return value;
      },
      options,
    ) as ReturnType<typeof Store.prototype.write<ReturnType<typeof work>>>;
  store.write = write;
  const decisions = createDecisionWatch(store, kit.clock);
  const decide = () => decisions.decide((db) => void db.run('INSERT OR REPLACE INTO trust VALUES (?, 1)', '/repo'));
  await decide();
  await decisions.begin();
  isFull.now = true;
  await expect(decide()).rejects.toMatchObject({ code: 'STORE_FAILED' });
  await kit.open().setTrusted('/repo', false);
  const told = new Promise<void>((resolve) => void decisions.watch(resolve));
  await told;
  decisions.stop();
  await store.close();
});
