import { dirname } from 'node:path';
import type { ClockPort, LogPort } from '../../actors/ports.js';
import { type Connection, openConnection, SIDE_FILES, troubleOf } from './libsql-connection.js';
import { withLock } from './lock.js';
import {
  flushFile,
  identityOf,
  isSafeFile,
  makeEmptyFile,
  makeSafeDirectory,
  moveAside,
  putInPlace,
  removeFiles,
  removeStarting,
} from './safe-place.js';
import { migrate, migrateEmpty, schemaOf } from './schema.js';

/** Where the database is, and what may be done about it. */
export interface Place {
  readonly path: string;
  readonly clock: ClockPort;
  readonly log: LogPort | undefined;
  readonly migrations: readonly string[];
}

export interface Opened {
  readonly connection: Connection;
  /** Of the file when it was opened. */
  readonly identity: string;
}

const ASIDES_KEPT = 3;
/**
 * A commit waits for no disk on the event loop: what has to be durable is flushed on another thread before it is told as
 * done, and so is the log moved into the file. A crash of the process loses nothing that was committed, a power cut nothing
 * that was told as done.
 */
const PRAGMAS = `
  PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; PRAGMA journal_size_limit = 4194304;
  PRAGMA cell_size_check = ON; PRAGMA trusted_schema = OFF;
`;

/**
 * Opens the file, and makes it when it `isWanted`. `absent`: there is none, and none was made. `replaced`: the name changed
 * hands on the way; to be tried again. Throws as libsql does, and `STORE_UNSAFE`, `STORE_FAILED`; a broken file is moved away
 * before that.
 */
export async function openPlace(place: Place, isWanted: boolean): Promise<Opened | 'absent' | 'replaced'> {
  const { path, migrations } = place;
  if (!(await isSafeFile(path))) {
    if (!isWanted) return 'absent';
    await makeSafeDirectory(dirname(path));
    await withLock(lockOf(path), () => makePlace(place));
    return 'replaced';
  }
  const identity = identityOf(path);
  if (identity === null) return 'replaced';
  const connection = await openConnection(path).catch((error: unknown) => {
    if (identityOf(path) === identity) throw error;
    return null;
  });
  if (connection === null) return 'replaced';
  try {
    const version = schemaOf(connection, path, migrations.length);
    connection.execute(`PRAGMA synchronous = NORMAL; ${PRAGMAS}`);
    if (version !== migrations.length) migrate(connection, path, migrations);
  } catch (error) {
    connection.close();
    if (troubleOf(error) === 'corrupt') await setAside(place, identity);
    throw error;
  }
  // The log was opened by its own name, after the file: if the name changed hands since, the two do not belong together.
  if (identityOf(path) === identity) return { connection, identity };
  connection.close();
  return 'replaced';
}

/**
 * Makes the database under another name and puts it in place when it is whole and the disk has it, so that nobody ever meets
 * half of one. Runs under the lock: nobody else makes one, or is in the midst of moving away what belonged to a broken one.
 */
async function makePlace({ path, migrations }: Place): Promise<void> {
  if (identityOf(path) !== null) return;
  const draft = `${path}.new`;
  await removeStarting(draft);
  makeEmptyFile(draft);
  const connection = await openConnection(draft);
  try {
    connection.execute(`PRAGMA synchronous = OFF; ${PRAGMAS}`);
    migrateEmpty(connection, migrations);
  } finally {
    connection.close();
  }
  await flushFile(draft);
  // A log that a removed database left behind would be played into the new one: what it decided must not come back.
  await removeFiles(SIDE_FILES.map((suffix) => path + suffix));
  await putInPlace(draft, path);
}

/** Moves a broken file away and leaves none, unless another process did so already. All that was kept is gone. */
export async function setAside({ path, clock, log }: Place, broken: string): Promise<void> {
  await withLock(lockOf(path), async () => {
    if (identityOf(path) !== broken) return;
    const aside = await moveAside(path, SIDE_FILES, clock.epoch(), ASIDES_KEPT);
    log?.write({
      level: 'error',
      event: 'state.rebuilt',
      code: 'STORE_FAILED',
      message: `"${path}" was damaged and is kept as "${aside}"; trust and switches have to be decided again`,
    });
  });
}

/** Held while the name of the database begins to stand for another file. */
const lockOf = (path: string): string => `${path}.lock`;
