import { type FSWatcher, statSync, watch } from 'node:fs';
import { basename } from 'node:path';
import type { ClockPort } from '../../actors/ports.js';
import { letGo } from '../shared/let-go.js';
import { createDebounce } from './debounce.js';
import { watchPoints } from './watch-points.js';

/**
 * How often files are looked at beside the watches: an ancestor that is replaced, a mount, a network disk or a lack of
 * watches are told by no event.
 */
const POLL_MS = 2_000;
/** Links may move while they are walked; the walk is repeated until it comes out the same. */
const WALKS_MAX = 5;

/**
 * Tells, debounced, when any of the files may have changed: written, replaced, removed, created, or reached by another
 * link. Watches directories, not files, for a file that is replaced takes its watch with it, and looks at the files every
 * 2 s for what no watch tells. Holds no process open. `close` leaves nothing behind.
 */
export function watchFiles(files: readonly string[], changed: () => void, clock: ClockPort): { close(): Promise<void> } {
  let points = new Map<string, Set<string>>();
  // Once a burst, not once an event: a thousand events may come in one turn of the loop. Before the files are read, so that
  // nothing that happens after the reading is missed.
  const debounce = createDebounce(() => {
    rearm();
    polling.refresh();
    changed();
  }, clock);

  const directories = createDirectoryWatches((dir, name) => {
    // A directory that goes away is told under its own name, and its watch is dead even if another takes its place.
    const isItself = name === basename(dir);
    if (name !== null && !isItself && points.get(dir)?.has(name) !== true) return;
    if (isItself) directories.drop(dir);
    debounce.touch();
  });

  const arm = (): void => {
    let before = '';
    for (let walk = 0; walk < WALKS_MAX; walk += 1) {
      points = pointsByDirectory(files);
      const now = JSON.stringify([...points].map(([dir, names]) => [dir, ...names]));
      if (now === before) return;
      before = now;
      directories.keepOnly([...points.keys()]);
    }
  };

  // Called by a timer, where nobody could catch: a walk that fails leaves it to the looks.
  const rearm = (): void => {
    try {
      arm();
    } catch {
      return;
    }
  };
  const polling = createPolling(files, debounce.touch, clock);

  rearm();
  return {
    close() {
      directories.keepOnly([]);
      debounce.stop();
      polling.stop();
      return Promise.resolve();
    },
  };
}

function pointsByDirectory(files: readonly string[]): Map<string, Set<string>> {
  const byDirectory = new Map<string, Set<string>>();
  for (const { dir, name } of files.flatMap(watchPoints)) {
    const names = byDirectory.get(dir) ?? new Set();
    byDirectory.set(dir, names.add(name));
  }
  return byDirectory;
}

interface DirectoryWatches {
  drop(dir: string): void;
  /** Opens what is missing and closes the rest. */
  keepOnly(dirs: readonly string[]): void;
}

/** What cannot be watched is left out; polling sees it. */
function createDirectoryWatches(onEvent: (dir: string, name: string | null) => void): DirectoryWatches {
  const open = new Map<string, { readonly watcher: FSWatcher; readonly inode: string }>();

  const drop = (dir: string): void => {
    open.get(dir)?.watcher.close();
    open.delete(dir);
  };
  const add = (dir: string, inode: string): void => {
    try {
      const watcher = watch(dir, { persistent: false }, (_event, name) => {
        if (open.get(dir)?.watcher === watcher) onEvent(dir, name);
      });
      watcher.on('error', () => {
        if (open.get(dir)?.watcher === watcher) drop(dir);
      });
      open.set(dir, { watcher, inode });
    } catch {
      return;
    }
  };
  return {
    drop,
    keepOnly(dirs) {
      for (const dir of [...open.keys()].filter((known) => !dirs.includes(known))) drop(dir);
      for (const dir of dirs) {
        const inode = identity(dir);
        if (open.get(dir)?.inode === inode) continue;
        drop(dir);
        add(dir, inode);
      }
    },
  };
}

interface Polling {
  /** Takes what is there now as known: it is about to be read. */
  refresh(): void;
  stop(): void;
}

/** Looks at the files themselves, from now on until it is stopped. */
function createPolling(files: readonly string[], changed: () => void, clock: ClockPort): Polling {
  const signature = (): string => files.map(identity).join();
  let before = signature();
  const wait = (): unknown => letGo(clock.setTimeout(look, POLL_MS));
  const look = (): void => {
    const now = signature();
    timer = wait();
    if (now !== before) changed();
    before = now;
  };
  let timer = wait();
  return {
    refresh() {
      before = signature();
    },
    stop() {
      clock.clearTimeout(timer);
    },
  };
}

/** Tells one state of one file from another; of a directory, only which one it is. */
function identity(path: string): string {
  try {
    const stat = statSync(path, { bigint: true, throwIfNoEntry: false });
    if (stat === undefined) return 'absent';
    const { dev, ino, size, mtimeNs, ctimeNs } = stat;
    // Whoever sets back the time of a file cannot set back that of its inode.
    return stat.isDirectory() ? `${dev}:${ino}` : `${dev}:${ino}:${size}:${mtimeNs}:${ctimeNs}`;
  } catch {
    return 'unreadable';
  }
}
