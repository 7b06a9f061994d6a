import { supervisorError } from '../../actors/errors.js';
import type { CatalogueItem, ClockPort, LogPort, Metadata } from '../../actors/ports.js';
import { type ListKind } from '../../machines/vocabulary.js';
import { chunksOf, headOf, readChunk, readHead } from './listing-text.js';
import type { Store } from './store.js';
import { tidy } from './tidy.js';

export interface ListingsOptions {
  readonly clock: ClockPort;
  readonly log?: LogPort;
  readonly listingCharsMax?: number;
}

export interface Listings {
  /** `null` as well for what is there and cannot be understood: it is dropped. */
  read(key: string): Promise<Metadata | null>;
  save(key: string, metadata: Metadata): Promise<void>;
}

interface Found {
  readonly id: number;
  readonly chunks: number;
  readonly head: string;
  readonly usedAtMs: number;
}

const CHARS_MAX = 64 * 1024 * 1024;
/** How exactly it is known when a listing was last read. */
const USED_MS = 24 * 3_600_000;
/** Another process may put a new listing in the place of the one that is being read. */
const READS_MAX = 3;

/**
 * The lists of servers. One is written in chunks under an id of its own, with turns of the event loop between them, and takes
 * the place of the one before in one small transaction: a reader sees the old one or the new one, whole.
 */
export function createListings(store: Store, { clock, log, listingCharsMax = CHARS_MAX }: ListingsOptions): Listings {
  let lastSave: Promise<void> = Promise.resolve();

  const write = async (key: string, metadata: Metadata): Promise<void> => {
    const head = headOf(metadata);
    const id = await store.write((db) =>
      Number(db.get('INSERT INTO listings (key, used_at, head) VALUES (?, ?, ?) RETURNING id', key, clock.epoch(), head)?.['id']),
    );
    try {
      await fill(key, id, metadata);
    } catch (error) {
      // A server could otherwise fill the disk with lists that are too long to be kept.
      await store.write((db) => db.run('DELETE FROM listings WHERE id = ?', id)).catch(() => undefined);
      throw error;
    } finally {
      // Whether or not there is room to be made, the lists are kept now, or are not.
      await tidy(store, clock.epoch(), listingCharsMax).catch(() => undefined);
    }
  };

  const fill = async (key: string, id: number, metadata: Metadata): Promise<void> => {
    let [chars, at] = [0, 0];
    for (const chunk of chunksOf(metadata)) {
      chars += chunk.length;
      if (chars > listingCharsMax) {
        throw supervisorError(
          'STORE_FAILED',
          `the lists of this server are longer than ${listingCharsMax} characters; they are not kept`,
        );
      }
      const place = at;
      await store.write((db) => db.run('INSERT INTO chunks (listing, at, data) VALUES (?, ?, ?)', id, place, chunk));
      await turn();
      at += 1;
    }
    await store.write((db) => {
      db.run('DELETE FROM listings WHERE key = ? AND is_complete = 1', key);
      const sql = 'UPDATE listings SET is_complete = 1, chunks = ?, chars = ?, used_at = ? WHERE id = ?';
      if (db.run(sql, at, chars, clock.epoch(), id) === 0) throw new Error('the lists took too long to write');
    });
  };

  const find = (key: string): Promise<Found | null> =>
    store.read(null, (db) => {
      const sql = 'SELECT id, chunks, head, used_at FROM listings WHERE key = ? AND is_complete = 1';
      const row = db.get(sql, key);
      if (row === undefined) return null;
      return {
        id: Number(row['id']),
        chunks: Number(row['chunks']),
        head: String(row['head']),
        usedAtMs: Number(row['used_at']),
      };
    });

  /** `gone`: a part of it is no longer there. `null`: it is not what was ever written. */
  const load = async (key: string, { id, chunks, head }: Found): Promise<Metadata | 'gone' | null> => {
    const known = readHead(head);
    if (known === null) return null;
    const lists: Partial<Record<ListKind, CatalogueItem[]>> = {};
    for (const kind of known.kinds) lists[kind] = [];
    const sql =
      'SELECT data FROM chunks JOIN listings ON listings.id = listing WHERE listing = ? AND at = ? AND key = ? AND is_complete = 1';
    for (let at = 0; at < chunks; at += 1) {
      await turn();
      const row = await store.read(undefined, (db) => db.get(sql, id, at, key));
      if (row === undefined) return 'gone';
      const chunk = readChunk(row['data'], known.kinds);
      if (chunk === null) return null;
      for (const item of chunk.items) lists[chunk.kind]?.push(item);
    }
    const { savedAtMs, ttlMs, fingerprint } = known;
    return { savedAtMs, ttlMs, fingerprint, lists };
  };

  const drop = async (key: string, id: number): Promise<void> => {
    log?.write({
      level: 'warn',
      event: 'state.dropped',
      code: 'STORE_FAILED',
      message: 'lists that cannot be understood are dropped',
    });
    await store.write((db) => db.run('DELETE FROM listings WHERE id = ? AND key = ?', id, key));
  };
  /** Whether it works or not, the lists were read. */
  const use = ({ id, usedAtMs }: Found): void => {
    const now = clock.epoch();
    if (Math.abs(now - usedAtMs) < USED_MS) return;
    store.write((db) => db.run('UPDATE listings SET used_at = ? WHERE id = ?', now, id)).catch(() => undefined);
  };

  return {
    async read(key) {
      let lastGone = -1;
      for (let reads = 0; reads < READS_MAX; reads += 1) {
        const found = await find(key);
        if (found === null) return null;
        const metadata = found.id === lastGone ? null : await load(key, found);
        if (metadata === null) {
          await drop(key, found.id);
          return null;
        }
        if (metadata !== 'gone') {
          use(found);
          return metadata;
        }
        lastGone = found.id;
      }
      return null;
    },
    save(key, metadata) {
      // One after the other: of two saves under one key the later one stays.
      const save = lastSave.then(() => write(key, metadata));
      lastSave = save.catch(() => undefined);
      return save;
    },
  };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
