import { type FSWatcher, watch } from 'node:fs';
import { basename, dirname } from 'node:path';
import type { ClockPort } from '../../actors/ports.js';
import { letGo } from '../shared/let-go.js';
import type { Connection } from './libsql-connection.js';
import type { Store } from './store.js';

/** A transaction is several events on the file. */
const QUIET_MS = 25;
/** For what no event tells: a directory that is replaced or made, a network disk, a lack of watches. */
const POLL_MS = 2_000;

export interface DecisionWatch {
  /** What is decided from now on counts as a change; to be called before decisions are first read. */
  begin(): Promise<void>;
  /** Keeps a decision of our own, durably; it is told to nobody here. */
  decide(work: (connection: Connection) => void): Promise<void>;
  /** Calls back after somebody else decided something. */
  watch(changed: () => void): { close(): Promise<void> };
  stop(): void;
}

/** Decisions count up a revision in the same transaction, so that one small read tells whether there are new ones. */
export function createDecisionWatch(store: Store, clock: ClockPort): DecisionWatch {
  const callbacks = new Set<() => void>();
  let eyes: { close(): void } | null = null;
  /** What our readers know of; `null` before anybody read. */
  let known: { readonly revision: number; readonly replacements: number } | null = null;

  const revisionOf = (connection: Connection): number =>
    Number(connection.get("SELECT value FROM facts WHERE name = 'revision'")?.['value']);
  const tell = (): void => {
    for (const changed of [...callbacks]) changed();
  };
  /** Whether the revision is not the one our readers know of. From now on they know `next`. */
  const note = (revision: number, next = revision): boolean => {
    const { replacements } = store;
    const isNew = known !== null && (known.revision !== revision || known.replacements !== replacements);
    known = { revision: next, replacements };
    return isNew;
  };

  /** What was noted may have been undone, and then the next one to decide takes the same number. */
  const doubt = (): void => {
    if (known !== null) known = { ...known, revision: Number.NaN };
  };

  const isUnread = (): boolean => known === null;

  const look = async (): Promise<void> => {
    // Noted in the turn it is read in: a decision of our own may come before this goes on.
    const isNew = await store.read(null, (connection) => note(revisionOf(connection)));
    if (isNew ?? note(0)) tell();
  };
  const lookQuietly = (): void => {
    // A store that cannot be read now is looked at again; whoever reads it himself is told what is wrong.
    look().catch(() => undefined);
  };

  return {
    async begin() {
      if (!isUnread()) return;
      const revision = await store.read(0, revisionOf);
      // Whoever was here first knows less, and is told of more.
      if (isUnread()) note(revision);
    },
    async decide(work) {
      const write = (connection: Connection): boolean => {
        work(connection);
        const revision = revisionOf(connection);
        connection.run("UPDATE facts SET value = value + 1 WHERE name = 'revision'");
        return note(revision, revision + 1);
      };
      const isNew = await store.write(write, { durable: true }).catch((error: unknown) => {
        doubt();
        throw error;
      });
      if (isNew) tell();
    },
    watch(changed) {
      // Its own function each time, so that one that is given twice is called twice and closed one by one.
      const callback = (): void => {
        changed();
      };
      callbacks.add(callback);
      eyes ??= keepLooking(store.path, lookQuietly, clock);
      lookQuietly();
      return {
        close() {
          callbacks.delete(callback);
          if (callbacks.size === 0) {
            eyes?.close();
            eyes = null;
          }
          return Promise.resolve();
        },
      };
    },
    stop() {
      callbacks.clear();
      eyes?.close();
      eyes = null;
    },
  };
}

/** Calls `look` after the file or its log may have changed, and every 2 s besides. Holds no process open. */
function keepLooking(path: string, look: () => void, clock: ClockPort): { close(): void } {
  const names = [basename(path), `${basename(path)}-wal`];
  let watcher: FSWatcher | null = null;
  let quiet: unknown = null;
  const arm = (): void => {
    try {
      watcher ??= watch(dirname(path), { persistent: false }, (_event, name) => {
        if (name !== null && !names.includes(name)) return;
        quiet ??= letGo(
          clock.setTimeout(() => {
            quiet = null;
            look();
          }, QUIET_MS),
        );
      }).on('error', disarm);
    } catch {
      // Not there yet, or no watches left.
      return;
    }
  };
  const disarm = (): void => {
    watcher?.close();
    watcher = null;
  };
  const poll = (): void => {
    polling = letGo(clock.setTimeout(poll, POLL_MS));
    arm();
    look();
  };
  arm();
  let polling = letGo(clock.setTimeout(poll, POLL_MS));
  return {
    close() {
      disarm();
      clock.clearTimeout(polling);
      if (quiet !== null) clock.clearTimeout(quiet);
    },
  };
}
