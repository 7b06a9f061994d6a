import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { ChaosRun } from './chaos-run.js';
import { reloadRun } from './reload.js';

/** `npm run test:chaos -- NAME [--times N]`: one run by its name. Prints what it counted, and exits with 1 unless all held. */
const RUNS: ReadonlyMap<string, { readonly run: ChaosRun; readonly times: number }> = new Map([
  ['reload', { run: reloadRun, times: 1_000 }],
]);
const USAGE = 2;

const { values, positionals } = parseArgs({ options: { times: { type: 'string' } }, allowPositionals: true });
const [name = '', ...rest] = positionals;
const chosen = RUNS.get(name);
const times = Number(values.times ?? chosen?.times);

if (chosen === undefined || rest.length > 0 || !Number.isSafeInteger(times) || times < 1) {
  console.error(`test:chaos NAME [--times N], with a name out of: ${[...RUNS.keys()].join(', ')}`);
  process.exitCode = USAGE;
} else {
  const home = await realpath(await mkdtemp(join(tmpdir(), 'mcp-sup-chaos-')));
  const startedAt = performance.now();
  try {
    const server = join(import.meta.dirname, '../../../test/fixtures/echo-server.mjs');
    const { line, faults } = await chosen.run({ home, times, server });
    for (const fault of faults) console.error(fault);
    console.log(`${name}: ${line}, ${((performance.now() - startedAt) / 1_000).toFixed(1)} s`);
    if (faults.length > 0) process.exitCode = 1;
  } finally {
    await rm(home, { recursive: true, force: true });
  }
}
