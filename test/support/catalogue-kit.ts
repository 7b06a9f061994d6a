import { Catalogue } from '../../actors/catalogue.js';
import { supervisorError } from '../../actors/errors.js';
import type { ListOutcome } from '../../actors/known-list.js';
import type { Outputs } from '../../actors/outputs.js';
import { createOutputs } from '../../actors/outputs.js';
import type { FsPort } from '../../actors/ports.js';
import { createNodeDigest } from '../../adapters/node-digest.js';
import type { ListedItem } from '../../machines/list-walk.js';

export const newCatalogue = (): Catalogue => new Catalogue({ digest: createNodeDigest() });

export const toolItem = (name: string, more: object = {}): ListedItem => ({
  key: name,
  definition: { name, inputSchema: { type: 'object' }, ...more },
});

/** A complete, live walk of these items, unless told otherwise. */
export const walk = (items: readonly ListedItem[], change: Partial<ListOutcome> = {}): ListOutcome => ({
  items,
  state: 'complete',
  reason: null,
  skipped: [],
  live: true,
  toolLimit: 64,
  ...change,
});

/** A catalogue of one running server, `s`, with these tools. */
export function catalogueOf(...names: string[]): Catalogue {
  const catalogue = newCatalogue();
  catalogue.put('s', 'tools', walk(names.map((name) => toolItem(name))));
  return catalogue;
}

export interface MemoryFs extends FsPort {
  readonly files: Map<string, string>;
}

/** Spills kept in a Map; `fail` makes every write fail from now on. */
export function memoryFs(): MemoryFs & { fail: boolean } {
  const files = new Map<string, string>();
  const fs: MemoryFs & { fail: boolean } = {
    files,
    fail: false,
    async writeSpill(name, text) {
      if (fs.fail) throw supervisorError('SPILL_FAILED', 'no space left');
      const file = `${name}-${files.size + 1}.txt`;
      files.set(`spill://${file}`, text);
      return { path: `/spills/${file}`, uri: `spill://${file}` };
    },
    async readSpill(uri, offset, limit) {
      const text = files.get(uri);
      if (text === undefined) throw supervisorError('INVALID_ARGUMENTS', '"uri" is no spill of ours');
      const end = offset + limit;
      return { text: text.slice(offset, end), nextOffset: end < text.length ? end : null };
    },
    close: async () => files.clear(),
  };
  return fs;
}

export const newOutputs = (fs: FsPort = memoryFs()): Outputs => createOutputs({ fs });
