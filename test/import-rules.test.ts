import { execFile } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';

const repository = join(import.meta.dirname, '..');

/** A file of the tree, what it imports, and the rule that refuses that; `null` where the import is allowed. */
const plants: readonly (readonly [file: string, imports: string, refusedBy: string | null])[] = [
  ['machines/reads-a-file.ts', 'node:fs', 'machines-are-pure'],
  ['machines/knows-actors.ts', '../actors/errors.js', 'machines-are-pure'],
  ['machines/uses-rxjs.ts', 'rxjs', 'machines-are-pure'],
  ['machines/uses-xstate.ts', 'xstate', null],
  ['machines/uses-words.ts', './vocabulary.js', null],
  ['actors/reads-a-file.ts', 'node:fs', 'actors-know-no-vendor'],
  ['actors/knows-an-adapter.ts', '../adapters/clock.js', 'actors-know-no-vendor'],
  ['actors/knows-the-root.ts', '../index.js', 'one-composition-root'],
  ['actors/uses-the-sdk.ts', '@modelcontextprotocol/client', 'actors-know-no-vendor'],
  ['actors/uses-p-queue.ts', 'p-queue', null],
  ['actors/uses-machines.ts', '../machines/vocabulary.js', null],
  ['adapters/knows-actors.ts', '../actors/secret.js', 'adapters-know-only-the-contracts'],
  ['adapters/knows-machines.ts', '../machines/chart.js', 'adapters-know-only-the-contracts'],
  ['adapters/knows-the-root.ts', '../index.js', 'one-composition-root'],
  ['adapters/knows-a-neighbour.ts', './clock.js', 'adapters-do-not-know-each-other'],
  ['adapters/config/knows-links.ts', '../links/link.js', 'adapters-keep-to-their-folder'],
  ['adapters/spawns.ts', 'node:child_process', 'one-home-for-child-process'],
  ['adapters/speaks-mcp.ts', '@modelcontextprotocol/client', 'one-home-for-modelcontextprotocol-client'],
  ['adapters/parses-jsonc.ts', 'jsonc-parser', 'one-home-for-jsonc-parser'],
  ['adapters/canonicalizes.ts', 'canonicalize', 'one-home-for-canonicalize'],
  ['adapters/matches.ts', 're2js', 'one-home-for-re2js'],
  ['adapters/steps-charts.ts', 'xstate', 'one-home-for-xstate'],
  ['adapters/dials.ts', 'node:net', 'one-home-for-http-https-http2-net-tls-dns-dgram'],
  ['adapters/uses-a-test-tool.ts', 'vitest', 'shipped-code-imports-dependencies'],
  ['adapters/uses-what-is-not-there.ts', 'left-pad', 'no-unresolvable'],
  ['adapters/knows-tests.ts', '../test/tool.js', 'shipped-code-imports-no-tests'],
  ['adapters/cli/knows-actors.ts', '../../actors/secret.js', 'the-command-knows-the-library'],
  ['adapters/cli/uses-the-library.ts', '../../index.js', null],
  ['adapters/links/link.ts', '@modelcontextprotocol/client', null],
  ['adapters/node-process.ts', 'node:child_process', null],
  ['adapters/uses-contracts.ts', '../actors/ports.js', null],
  ['adapters/config/uses-shared.ts', '../shared/redact.js', null],
  ['adapters/config/parses.ts', 'jsonc-parser', null],
  ['test/goes-round-a.ts', './goes-round-b.js', 'no-cycles'],
];

const targets = [
  'index.ts',
  'machines/vocabulary.ts',
  'machines/chart.ts',
  'actors/errors.ts',
  'actors/ports.ts',
  'actors/secret.ts',
  'adapters/clock.ts',
  'adapters/shared/redact.ts',
  'test/tool.ts',
];
const packages = ['xstate', 'rxjs', 'p-queue', 'jsonc-parser', 'canonicalize', 're2js', 'vitest', '@modelcontextprotocol/client'];

let tree: string;
let violations: ReadonlySet<string>;

beforeAll(async () => {
  tree = await mkdtemp(join(tmpdir(), 'import-rules-'));
  await copyFile(join(repository, 'package.json'), join(tree, 'package.json'));
  await copyFile(join(repository, 'tsconfig.json'), join(tree, 'tsconfig.json'));
  for (const name of packages) {
    await plant(`node_modules/${name}/package.json`, JSON.stringify({ name, version: '1.0.0', exports: './index.js' }));
    await plant(`node_modules/${name}/index.js`, 'export const it = 1;\n');
  }
  for (const file of targets) await plant(file, 'export const it = 1;\n');
  for (const [file, imports] of plants) await plant(file, `import { it } from '${imports}';\nexport const that = it;\n`);
  await plant('test/goes-round-b.ts', `import { that } from './goes-round-a.js';\nexport const it = that;\n`);
  violations = await cruise(tree);
});

afterAll(() => rm(tree, { recursive: true, force: true }));

test.each(plants.filter(([, , rule]) => rule !== null))('%s may not import %s', (file, _imports, rule) => {
  expect(violations).toContain(`${rule} ${file}`);
});

test.each(plants.filter(([, , rule]) => rule === null))('%s may import %s', (file) => {
  expect([...violations].filter((violation) => violation.endsWith(` ${file}`))).toEqual([]);
});

async function plant(file: string, text: string): Promise<void> {
  await mkdir(dirname(join(tree, file)), { recursive: true });
  await writeFile(join(tree, file), text);
}

async function cruise(cwd: string): Promise<Set<string>> {
  const command = join(repository, 'node_modules/dependency-cruiser/bin/dependency-cruise.mjs');
  const rules = join(repository, '.dependency-cruiser.mjs');
  const folders = ['index.ts', 'machines', 'actors', 'adapters', 'test'];
  const run = promisify(execFile)(process.execPath, [command, '--config', rules, '--output-type', 'json', ...folders], {
    cwd,
    maxBuffer: 64 * 1024 * 1024,
  });
  const { stdout } = await run;
  const report = JSON.parse(stdout) as { summary: { violations: { from: string; rule: { name: string } }[] } };
  return new Set(report.summary.violations.map(({ from, rule }) => `${rule.name} ${from}`));
}
