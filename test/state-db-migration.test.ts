import { readdir } from 'node:fs/promises';
import Database from 'libsql';
import { expect, test } from 'vitest';
import { MIGRATIONS } from '../adapters/state/schema.js';
import { coded, stateKit } from './support/state-kit.js';

const notes = 'CREATE TABLE notes (text TEXT NOT NULL) STRICT; ALTER TABLE trust ADD COLUMN note TEXT';
const renamed = "ALTER TABLE notes RENAME COLUMN text TO words; INSERT INTO notes (words) VALUES ('once')";

test('an older file is brought up to date, step by step, once, and what it holds stays', async () => {
  const { file, open } = await stateKit();
  const older = open();
  await older.setTrusted('/repo', true);
  await older.close();
  const newer = Array.from({ length: 4 }, () => open({ migrations: [...MIGRATIONS, notes, renamed] }));
  expect(await Promise.all(newer.map((db) => db.trusted('/repo')))).toEqual([true, true, true, true]);
  await newer[0]?.setSwitch('a', true);
  const database = new Database(file);
  expect(database.prepare('SELECT words FROM notes').all([])).toEqual([{ words: 'once' }]);
  expect(database.prepare('PRAGMA user_version').all([])).toEqual([{ user_version: MIGRATIONS.length + 2 }]);
  database.close();
  // The older program refuses it from then on.
  await expect(open().trusted('/repo')).rejects.toEqual(coded('STORE_FAILED', 'newer version'));
});

test('a step that fails leaves the file as it was', async () => {
  const { dir, open } = await stateKit();
  const older = open();
  await older.setTrusted('/repo', true);
  await older.close();
  const broken = open({ migrations: [...MIGRATIONS, notes, 'CREATE TABLE trust (x)'] });
  await expect(broken.trusted('/repo')).rejects.toEqual(coded('STORE_FAILED'));
  expect(await open().trusted('/repo')).toBe(true);
  const repaired = open({ migrations: [...MIGRATIONS, notes, renamed] });
  expect(await repaired.trusted('/repo')).toBe(true);
  expect((await readdir(dir)).filter((name) => name.includes('corrupt'))).toEqual([]);
});
