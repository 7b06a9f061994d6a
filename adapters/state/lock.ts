import { openConnection } from './libsql-connection.js';
import { makeEmptyFile } from './safe-place.js';

/**
 * Runs `work` while no other process does so under the same lock; throws "busy" as a database does when one is at it. The lock
 * is an empty database of its own, which the system gives back whenever its holder ends, however that comes.
 */
export async function withLock<T>(path: string, work: () => Promise<T>): Promise<T> {
  makeEmptyFile(path);
  const connection = await openConnection(path);
  try {
    connection.execute('BEGIN EXCLUSIVE');
    const result = await work();
    connection.execute('ROLLBACK');
    return result;
  } finally {
    connection.close();
  }
}
