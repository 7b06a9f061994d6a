/**
 * `npm run check:citations [-- FILE…]`: first which ids are cited, as `list.mjs` tells it; then the proof that the citing
 * assertions are real: every test that cites an id of a complete group is run against a product that does nothing, and has to
 * fail there. One that passes asserts an absence that nothing at all would show just as well: it wants a positive control.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildHollow, RETURNS } from './hollow.mjs';
import { citingFiles, idsIn, readGroups } from './titles.mjs';

const root = join(import.meta.dirname, '../..');
const wanted = process.argv.slice(2);

await import('./list.mjs');
const complete = new Set(readGroups().flatMap(({ complete: is, ids }) => (is ? ids : [])));
const citing = [...citingFiles()].filter(([, ids]) => [...ids].some((id) => complete.has(id))).map(([file]) => file);
const files = wanted.length === 0 ? citing : citing.filter((file) => wanted.some((part) => file.includes(part)));

/** Every test of the files that cites an id of a complete group, as vitest reports it. */
async function runHollow(returns) {
  const folder = mkdtempSync(join(tmpdir(), 'mcp-sup-hollow-'));
  const report = join(folder, 'report.json');
  const flags = ['--testNamePattern', `\\b(${[...complete].join('|')})\\b`, '--reporter=json', `--outputFile=${report}`];
  const args = [
    join(root, 'node_modules/vitest/vitest.mjs'),
    'run',
    '--config',
    'test/citations/vitest.config.ts',
    ...flags,
    ...files,
  ];
  const env = { ...process.env, FC_SEED: process.env.FC_SEED ?? '1', MCP_SUPERVISOR_DIST: built, HOLLOW: returns };
  const child = spawn(process.execPath, args, { cwd: root, env, stdio: 'ignore' });
  await new Promise((resolve) => child.on('close', resolve));
  try {
    return JSON.parse(readFileSync(report, 'utf8')).testResults;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** What of one run proves nothing; the ids that it proves. */
function judge(results, returns) {
  const tests = results.flatMap(({ name, assertionResults }) =>
    assertionResults.map(({ fullName, status }) => ({ file: name.slice(root.length + 1), fullName, status })),
  );
  const judged = tests.filter(({ fullName }) => idsIn(fullName).some((id) => complete.has(id)));
  const failed = judged.filter(({ status }) => status === 'failed');
  for (const { file, fullName, status } of judged.filter((one) => !failed.includes(one)))
    console.log(`${status} against a product that gives ${returns}: ${file}: ${fullName}`);
  // A file that cannot even be loaded proves nothing of its tests.
  const unloaded = results.filter(({ assertionResults }) => assertionResults.length === 0);
  for (const { name, message } of unloaded)
    console.log(`not loaded: ${name.slice(root.length + 1)}: ${String(message).split('\n')[0]}`);
  const proven = new Set(failed.flatMap(({ fullName }) => idsIn(fullName)));
  const unproven = wanted.length === 0 ? [...complete].filter((id) => !proven.has(id)) : [];
  if (unproven.length > 0) console.log(`no test of these fails against it: ${unproven.join(' ')}`);
  console.log(`a product that gives ${returns}: ${failed.length} of ${judged.length} citing tests in ${files.length} files fail`);
  return judged.length > 0 && failed.length === judged.length && unloaded.length === 0 && unproven.length === 0;
}

const startedAtMs = Date.now();
const built = buildHollow();
for (const returns of RETURNS) if (!judge(await runHollow(returns), returns)) process.exitCode = 1;
console.log(`${Math.round((Date.now() - startedAtMs) / 1_000)} s`);
