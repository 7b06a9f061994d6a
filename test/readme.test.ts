import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { firstExample, withGeneratedParts } from './support/readme.js';
import { temporaryDirectory } from './support/temporary-directory.js';

const repository = join(import.meta.dirname, '..');
const readmeFile = join(repository, 'README.md');

test('the code table, the state picture and the example in the README are those of the code (npm run docs mends them)', async () => {
  const readme = await readFile(readmeFile, 'utf8');
  const fresh = await withGeneratedParts(readme);
  if (process.env['UPDATE_README'] === '1') await writeFile(readmeFile, fresh);
  expect(await readFile(readmeFile, 'utf8')).toBe(fresh);
});

test('the first example of the README runs as it stands, in about twenty lines', async () => {
  const example = firstExample(await readFile(readmeFile, 'utf8'));
  expect(example).toBe(await readFile(join(repository, 'examples/embedding.ts'), 'utf8'));
  expect(example.trimEnd().split('\n').length).toBeLessThanOrEqual(25);

  // The example must not read what the person who runs the tests has configured.
  const home = await temporaryDirectory('readme-');
  for (const name of ['HOME', 'XDG_CONFIG_HOME', 'XDG_STATE_HOME']) vi.stubEnv(name, home);
  const said = vi.spyOn(console, 'log').mockImplementation(() => undefined);
  await import('../examples/embedding.js');
  expect(said).toHaveBeenCalled();
});
