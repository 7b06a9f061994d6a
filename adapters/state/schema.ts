import { supervisorError } from '../../actors/errors.js';
import type { Connection } from './libsql-connection.js';

/** "McpS": says that a database is ours (https://www.sqlite.org/pragma.html#pragma_application_id). */
const APPLICATION_ID = 0x4d637053;

/**
 * What leads from schema n to n + 1, at index n. A step that was released is never changed.
 *
 * Decisions (trust, switches) count up `revision`, so that other processes see that there is a new one. A listing is written
 * in chunks under an id of its own and read only when it is complete; ids are never used again.
 */
export const MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE facts (name TEXT PRIMARY KEY, value ANY NOT NULL) STRICT, WITHOUT ROWID;
  INSERT INTO facts VALUES ('revision', 0);
  CREATE TABLE trust (root TEXT PRIMARY KEY, trusted INTEGER NOT NULL CHECK (trusted IN (0, 1))) STRICT, WITHOUT ROWID;
  CREATE TABLE switches (key TEXT PRIMARY KEY, is_on INTEGER NOT NULL CHECK (is_on IN (0, 1))) STRICT, WITHOUT ROWID;
  CREATE TABLE eras (
    config_hash TEXT PRIMARY KEY, era TEXT NOT NULL CHECK (era IN ('legacy', 'modern')), saved_at REAL NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE approvals (fingerprint TEXT PRIMARY KEY, approved_at REAL NOT NULL) STRICT;
  CREATE TABLE credentials (
    owner TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL, endpoint TEXT NOT NULL, PRIMARY KEY (owner, name)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE listings (
    id INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL, is_complete INTEGER NOT NULL DEFAULT 0,
    chunks INTEGER NOT NULL DEFAULT 0, chars INTEGER NOT NULL DEFAULT 0, used_at REAL NOT NULL, head TEXT NOT NULL
  ) STRICT;
  CREATE UNIQUE INDEX current_listing ON listings (key) WHERE is_complete = 1;
  CREATE TABLE chunks (listing INTEGER NOT NULL, at INTEGER NOT NULL, data TEXT NOT NULL) STRICT;
  CREATE UNIQUE INDEX chunk_place ON chunks (listing, at);
  `,
  `
  CREATE TABLE grants (
    root TEXT NOT NULL, tool TEXT NOT NULL, digest TEXT NOT NULL, granted_at REAL NOT NULL, PRIMARY KEY (root, tool, digest)
  ) STRICT, WITHOUT ROWID;
  `,
];

/**
 * The schema a database is of, 0 for an empty one. Refuses with `STORE_FAILED` when it is newer than what is known, or
 * another program's; nothing is written.
 */
export function schemaOf(connection: Connection, path: string, known: number): number {
  const version = numberOf(connection, 'user_version');
  const isOurs = numberOf(connection, 'application_id') === APPLICATION_ID;
  if (!isOurs && (version !== 0 || connection.get('SELECT 1 FROM sqlite_schema LIMIT 1') !== undefined)) {
    throw supervisorError('STORE_FAILED', `"${path}" is a database of another program`, {
      hint: 'move it away, or choose another state directory',
    });
  }
  if (version > known) {
    throw supervisorError('STORE_FAILED', `"${path}" was written by a newer version (schema ${version}; known is ${known})`, {
      hint: 'use that version, or choose another state directory',
    });
  }
  return version;
}

/** Brings a database to the schema of the last migration: all of it or nothing, whoever else tries at the same time. */
export function migrate(connection: Connection, path: string, migrations: readonly string[]): void {
  transact(connection, () => {
    // Read again: another process may have done it while the lock was waited for.
    takeSteps(connection, migrations, schemaOf(connection, path, migrations.length));
  });
}

/** The same for a file that nobody else knows of. */
export function migrateEmpty(connection: Connection, migrations: readonly string[]): void {
  transact(connection, () => {
    takeSteps(connection, migrations, 0);
  });
}

function takeSteps(connection: Connection, migrations: readonly string[], from: number): void {
  for (const step of migrations.slice(from)) connection.execute(step);
  connection.execute(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${migrations.length}`);
}

/** Runs `work` in one transaction that holds the write lock from the start; undone when it throws. */
export function transact<T>(connection: Connection, work: () => T): T {
  connection.execute('BEGIN IMMEDIATE');
  try {
    const result = work();
    connection.execute('COMMIT');
    return result;
  } catch (error) {
    rollBack(connection);
    throw error;
  }
}

/** SQLite may have ended the transaction by itself, and then there is none to end. */
function rollBack(connection: Connection): void {
  try {
    connection.execute('ROLLBACK');
  } catch {
    return;
  }
}

function numberOf(connection: Connection, pragma: 'user_version' | 'application_id'): number {
  const value = connection.get(`PRAGMA ${pragma}`)?.[pragma];
  return typeof value === 'number' ? value : 0;
}
