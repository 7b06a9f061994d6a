import Database from 'libsql';
import { expect, onTestFinished, test } from 'vitest';
import type { CatalogueItem, Metadata } from '../actors/ports.js';
import { coded, stateKit } from './support/state-kit.js';

const DAY_MS = 24 * 3_600_000;
const item = (key: string, text = ''): CatalogueItem => ({ key, definition: { name: key, text } });
const listing = (tools: readonly CatalogueItem[], more: Partial<Metadata> = {}): Metadata => ({
  savedAtMs: 1,
  ttlMs: null,
  fingerprint: null,
  lists: { tools },
  ...more,
});

const turn = (): Promise<false> => new Promise((resolve) => setImmediate(() => resolve(false)));

/** The file itself, for what the port does not show. */
function look(file: string): Database.Database {
  const database = new Database(file);
  onTestFinished(() => void database.close());
  return database;
}
const change = (file: string, sql: string): void => void look(file).exec(sql);
const countOf = (database: Database.Database, table: 'chunks' | 'listings' | 'eras'): unknown =>
  database.prepare(`SELECT count(*) AS n FROM ${table}`).all([])[0];

test('lists come back as they were saved: every kind, order, empty lists, any text', async () => {
  const { open } = await stateKit();
  const metadata: Metadata = {
    savedAtMs: 1_764_000_000_000.5,
    ttlMs: 60_000,
    fingerprint: 'print',
    lists: {
      tools: [
        item('b'),
        item('a\0\ud800'),
        { key: '__proto__', definition: JSON.parse('{"__proto__": {"a": [null, 1e300]}}') as object & Record<string, unknown> },
      ],
      resources: [],
      prompts: [item('', '\u{1f600}"\\')],
    },
  };
  await open().saveMetadata('key', metadata);
  expect(await open().metadata('key')).toEqual(metadata);
  expect(await open().metadata('another')).toBeNull();
});

test('10 000 tools are saved and read in slices: other work has its turn between them', async () => {
  const { open } = await stateKit();
  const db = open();
  const tools = Array.from({ length: 10_000 }, (_, at) => item(`tool-${at}`, 'x'.repeat(600)));
  let turns = 0;
  let isOver = false;
  const count = (): void => {
    turns += 1;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  await db.saveMetadata('key', listing(tools));
  // About 6.5 MB in slices of 64 KB.
  expect(turns).toBeGreaterThan(90);
  turns = 0;
  expect(await db.metadata('key')).toEqual(listing(tools));
  expect(turns).toBeGreaterThan(90);
  isOver = true;
});

test('a reader has the lists before or after, whole, while others are saved in their place', async () => {
  const { file, open } = await stateKit();
  const [writer, reader] = [open(), open()];
  const version = (at: number): Metadata =>
    listing(
      Array.from({ length: 300 }, (_, n) => item(`${at}-${n}`, 'x'.repeat(500))),
      { savedAtMs: at },
    );
  await writer.saveMetadata('key', version(0));
  const saves = Promise.all(Array.from({ length: 12 }, (_, at) => writer.saveMetadata('key', version(at + 1))));
  const over = saves.then(() => true);
  const seen = new Set<number>();
  while (!(await Promise.race([over, turn()]))) {
    const metadata = await reader.metadata('key');
    // `null` only where it was replaced over and over while it was read.
    if (metadata === null) continue;
    expect(metadata).toEqual(version(metadata.savedAtMs));
    seen.add(metadata.savedAtMs);
  }
  await saves;
  expect(seen.size).toBeGreaterThan(1);
  expect(await reader.metadata('key')).toEqual(version(12));
  // Nothing of the older ones is left.
  expect(countOf(look(file), 'listings')).toEqual({ n: 1 });
  expect(countOf(look(file), 'chunks')).toEqual({ n: 3 });
});

test.each([
  ['a chunk that is not JSON', 'UPDATE chunks SET data = \'["tools",{\''],
  ['an item without a definition', `UPDATE chunks SET data = '["tools",{"key":"a"}]'`],
  ['a list of a kind nobody knows', `UPDATE chunks SET data = '["spells"]'`],
  ['a head that is not ours', "UPDATE listings SET head = '{}'"],
  ['a missing chunk', 'DELETE FROM chunks'],
])('lists with %s are as good as absent, and dropped', async (_what, sql) => {
  const { file, log, open } = await stateKit();
  const db = open();
  await db.saveMetadata('key', listing([item('a')]));
  await db.saveMetadata('sound', listing([]));
  change(file, `${sql} ${sql.startsWith('UPDATE l') ? "WHERE key = 'key'" : ''}`);
  expect(await db.metadata('key')).toBeNull();
  expect(log).toEqual([expect.objectContaining({ event: 'state.dropped' })]);
  expect(countOf(look(file), 'listings')).toEqual({ n: 1 });
  await db.saveMetadata('key', listing([item('b')]));
  expect(await db.metadata('key')).toEqual(listing([item('b')]));
  expect(countOf(look(file), 'chunks')).toEqual({ n: 1 });
});

test.each<readonly [string, Metadata]>([
  ['a time that is none', listing([], { savedAtMs: Number.NaN })],
  ['an item that is not JSON', listing([{ key: 'a', definition: { size: 1n } }])],
  ['an item without any bound', listing([item('a', 'x'.repeat(3_000_000))])],
  ['more than all may have together', listing(Array.from({ length: 100 }, (_, at) => item(`${at}`, 'x'.repeat(2_000))))],
])('refuses lists with %s, and the ones before stay', async (_what, metadata) => {
  const { open } = await stateKit();
  const db = open({ listingCharsMax: 100_000 });
  await db.saveMetadata('key', listing([item('before')]));
  await expect(db.saveMetadata('key', metadata)).rejects.toEqual(coded('STORE_FAILED'));
  expect(await db.metadata('key')).toEqual(listing([item('before')]));
});

test('when all lists together are too long, the ones that were not used for longest go', async () => {
  const { clock, file, open } = await stateKit();
  const db = open({ listingCharsMax: 250_000 });
  const long = listing(Array.from({ length: 100 }, (_, at) => item(`${at}`, 'x'.repeat(1_000))));
  await db.saveMetadata('a', long);
  clock.aheadMs += 2 * DAY_MS;
  await db.saveMetadata('b', long);
  clock.aheadMs += 2 * DAY_MS;
  expect(await db.metadata('a')).not.toBeNull();
  await db.saveMetadata('c', long);
  expect(await Promise.all(['a', 'b', 'c'].map(async (key) => (await db.metadata(key)) !== null))).toEqual([true, false, true]);
  expect(countOf(look(file), 'chunks')).toEqual({ n: 4 });
});

test('lists that nobody used for 30 days, eras after 7 and what a killed process left unfinished are dropped', async () => {
  const { clock, file, open } = await stateKit();
  const db = open();
  await db.saveMetadata('old', listing([item('a')]));
  await db.saveEra('hash', 'modern');
  await db.saveEra('later', 'legacy');
  change(
    file,
    `INSERT INTO listings (key, used_at, head) VALUES ('x', ${clock.epoch()}, ''); INSERT INTO chunks VALUES (99, 0, '')`,
  );
  clock.aheadMs += 7 * DAY_MS - 60_000;
  expect(await db.era('hash')).toBe('modern');
  clock.aheadMs += 120_000;
  expect(await db.era('hash')).toBeNull();
  await db.saveMetadata('new', listing([item('b')]));
  expect(countOf(look(file), 'eras')).toEqual({ n: 0 });
  expect(countOf(look(file), 'listings')).toEqual({ n: 2 });
  expect(countOf(look(file), 'chunks')).toEqual({ n: 2 });
  clock.aheadMs += 24 * DAY_MS;
  await db.saveMetadata('new', listing([item('c')]));
  expect(await db.metadata('old')).toBeNull();
  expect(await db.metadata('new')).toEqual(listing([item('c')]));
});
