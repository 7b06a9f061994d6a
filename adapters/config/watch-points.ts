import { lstatSync, readlinkSync } from 'node:fs';
import { dirname, join, parse, resolve, sep } from 'node:path';

/** As many links as Linux follows. */
const LINKS_MAX = 40;

/** A name in a directory whose change can change what a path leads to. The directory is real: no link on the way. */
export interface WatchPoint {
  readonly dir: string;
  readonly name: string;
}

/**
 * Walks a path as the system would and lists what to watch: every link on the way, and the file itself, or the first name
 * that does not exist yet in the nearest directory that does.
 */
export function watchPoints(file: string): readonly WatchPoint[] {
  const points: WatchPoint[] = [];
  const root = parse(resolve(file)).root;
  let dir = root;
  let names = namesOf(resolve(file));
  for (let links = 0; names.length > 0; ) {
    const [name = '', ...rest] = names;
    if (name === '..') {
      dir = dirname(dir);
      names = rest;
      continue;
    }
    const path = join(dir, name);
    const kind = kindOf(path);
    if (kind === 'link' && links < LINKS_MAX) {
      points.push({ dir, name });
      const target = targetOf(path);
      if (target === null) break;
      links += 1;
      names = [...namesOf(target), ...rest];
      if (target.startsWith(sep) || parse(target).root !== '') dir = parse(target).root;
      continue;
    }
    if (rest.length === 0 || kind !== 'directory') {
      points.push({ dir, name });
      break;
    }
    dir = path;
    names = rest;
  }
  return points;
}

const namesOf = (path: string): string[] =>
  path
    .slice(parse(path).root.length)
    .split(sep)
    .filter((name) => name !== '' && name !== '.');

/** `null` when there is no link any more: names change hands between two looks, and that change is told as one. */
function targetOf(path: string): string | null {
  try {
    return readlinkSync(path);
  } catch {
    return null;
  }
}

function kindOf(path: string): 'link' | 'directory' | 'other' {
  try {
    const stat = lstatSync(path, { throwIfNoEntry: false });
    if (stat === undefined) return 'other';
    return stat.isSymbolicLink() ? 'link' : stat.isDirectory() ? 'directory' : 'other';
  } catch {
    return 'other';
  }
}
