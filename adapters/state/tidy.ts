import type { Connection } from './libsql-connection.js';
import type { Store } from './store.js';

const DAY_MS = 24 * 3_600_000;
const ERA_MS_MAX = 7 * DAY_MS;
const UNUSED_MS_MAX = 30 * DAY_MS;
/** A listing that is still not complete then was begun by a process that is gone. */
const UNFINISHED_MS_MAX = 3_600_000;
const APPROVALS_MAX = 10_000;
const ROWS_A_STEP = 16;

/**
 * Keeps the file bounded: drops what is too old, listings that nobody used for 30 days, and the longest unused ones when all
 * together are too long. In small steps, each a transaction of its own, so that nobody waits for it. Decisions are never dropped.
 */
export async function tidy(store: Store, nowMs: number, charsMax: number): Promise<void> {
  const steps: readonly ((db: Connection) => number)[] = [
    (db) => db.run('DELETE FROM eras WHERE saved_at < ?', nowMs - ERA_MS_MAX),
    (db) =>
      db.run(
        'DELETE FROM listings WHERE used_at < CASE is_complete WHEN 1 THEN ? ELSE ? END',
        nowMs - UNUSED_MS_MAX,
        nowMs - UNFINISHED_MS_MAX,
      ),
    (db) => dropOverflow(db, charsMax),
    (db) =>
      db.run(
        'DELETE FROM approvals WHERE fingerprint IN (SELECT fingerprint FROM approvals ORDER BY approved_at DESC LIMIT -1 OFFSET ?)',
        APPROVALS_MAX,
      ),
  ];
  for (const step of steps) await store.write(step);
  const dropChunks = (db: Connection): number =>
    db.run(
      'DELETE FROM chunks WHERE rowid IN (SELECT rowid FROM chunks WHERE listing NOT IN (SELECT id FROM listings) LIMIT ?)',
      ROWS_A_STEP,
    );
  while ((await store.write(dropChunks)) > 0) await new Promise((resolve) => setImmediate(resolve));
}

/** Keeps the listings used last, as many as fit; the newest one in any case. */
function dropOverflow(db: Connection, charsMax: number): number {
  return db.run(
    `DELETE FROM listings WHERE is_complete = 1 AND id IN (
       SELECT id FROM (
         SELECT id, sum(chars) OVER (ORDER BY used_at DESC, id DESC) AS chars_so_far FROM listings WHERE is_complete = 1
       ) WHERE chars_so_far > ?
     )`,
    charsMax,
  );
}
