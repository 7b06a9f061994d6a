import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** One bug, as the text it replaces. */
export interface Mutant {
  readonly id: string;
  /** What is wrong with it, in a sentence. */
  readonly what: string;
  /** From the root of the repository. */
  readonly file: string;
  /** Stands exactly once in `file`. */
  readonly find: string;
  readonly replace: string;
  /** Properties of which at least one has to fail. */
  readonly killers: readonly string[];
}

export const root = join(import.meta.dirname, '../..');

/** Every planted bug; the files beside this one hold them, by what they are bugs of. */
export function readMutants(): readonly Mutant[] {
  const files = readdirSync(join(import.meta.dirname, 'bugs')).filter((name) => name.endsWith('.json'));
  return files.flatMap((name) => JSON.parse(readFileSync(join(import.meta.dirname, 'bugs', name), 'utf8')) as Mutant[]);
}

/** The source with the bug in it. Throws unless what is to be replaced stands there exactly once. */
export function withBug({ id, file, find, replace }: Mutant, source: string): string {
  const [before, after, ...more] = source.split(find);
  if (before === undefined || after === undefined || more.length > 0 || find === replace) {
    throw new Error(`the mutant "${id}" does not apply: what it replaces has to stand exactly once in ${file}`);
  }
  return before + replace + after;
}
