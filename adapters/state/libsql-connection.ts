import { pathToFileURL } from 'node:url';
import type Libsql from 'libsql';

export type Value = string | number | null;
export type Row = Readonly<Record<string, unknown>>;

/** One open database; every call is synchronous, short, and never waits for a lock. */
export interface Connection {
  /** Statements without values. */
  execute(sql: string): void;
  /** How many rows were changed. */
  run(sql: string, ...values: readonly Value[]): number;
  get(sql: string, ...values: readonly Value[]): Row | undefined;
  all(sql: string, ...values: readonly Value[]): Row[];
  /** Idempotent. The files are let go of once the collector has taken the prepared statements. */
  close(): void;
}

/** Opens a file that exists; throws where there is none. libsql is loaded by the first call, some 40 ms. */
export async function openConnection(path: string): Promise<Connection> {
  const { default: Database } = await import('libsql');
  return wrap(new Database(existing(path), { timeout: 0 }));
}

/** A plain path would make a file that others may read where somebody has removed ours (https://www.sqlite.org/uri.html). */
const existing = (path: string): string => `${pathToFileURL(path).href}?mode=rw`;

function wrap(database: Libsql.Database): Connection {
  const prepared = new Map<string, Libsql.Statement>();
  const prepare = (sql: string): Libsql.Statement => {
    const statement = prepared.get(sql) ?? database.prepare(sql);
    prepared.set(sql, statement);
    return statement;
  };
  return {
    execute: (sql) => void database.exec(sql),
    // Values go as one array: a lone `null` would be taken for a set of named ones.
    run: (sql, ...values) => prepare(sql).run(values).changes,
    get: (sql, ...values) => prepare(sql).get(values) as Row | undefined,
    all: (sql, ...values) => prepare(sql).all(values) as Row[],
    close() {
      prepared.clear();
      database.close();
    },
  };
}

const CHECKPOINT = 'PRAGMA wal_checkpoint(PASSIVE)';

/**
 * Moves what the log holds into the database file, on a thread of libsql: it writes and waits for the disk. Takes as much as
 * readers and writers leave free and never holds them up.
 */
export async function checkpoint(path: string): Promise<void> {
  const { default: Database } = await import('libsql/promise');
  const database = new Database(existing(path), { timeout: 0 });
  try {
    await (database.exec(CHECKPOINT) as Promise<void>);
  } finally {
    database.close();
  }
}

/** `busy`: somebody else holds a lock. `corrupt`: the file is no database, or a broken one. */
export type Trouble = 'busy' | 'corrupt' | 'other';

const troubles: ReadonlyMap<number, Trouble> = new Map([
  [5, 'busy'], // SQLITE_BUSY
  [6, 'busy'], // SQLITE_LOCKED
  [11, 'corrupt'], // SQLITE_CORRUPT
  [26, 'corrupt'], // SQLITE_NOTADB
]);

/** The low byte of an SQLite result code is its kind (https://www.sqlite.org/rescode.html). */
export function troubleOf(error: unknown): Trouble {
  if (!(error instanceof Error) || !('rawCode' in error) || typeof error.rawCode !== 'number') return 'other';
  // A file that was cut or zeroed can still be a database, only not ours any more.
  if (/^no such (table|column)/.test(error.message)) return 'corrupt';
  return troubles.get(error.rawCode & 0xff) ?? 'other';
}

/** What stands beside a database's file while it is in use. */
export const SIDE_FILES = ['-wal', '-shm', '-journal'] as const;
