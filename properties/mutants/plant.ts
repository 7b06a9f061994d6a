import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Plugin } from 'vitest/config';
import { readMutants, root, withBug } from './mutants.js';

/** Loads the file of one mutant with the bug in it; the working tree stays as it is. Without an id it does nothing. */
export function plantMutant(id: string | undefined): Plugin {
  const mutant = readMutants().find((one) => one.id === id);
  if (id !== undefined && mutant === undefined) throw new Error(`no mutant has the id "${id}"`);
  const file = mutant === undefined ? undefined : join(root, mutant.file);
  return {
    name: 'plant-mutant',
    enforce: 'pre',
    load(path) {
      if (mutant === undefined || file === undefined || path.split('?')[0] !== file) return null;
      return withBug(mutant, readFileSync(file, 'utf8'));
    },
  };
}
