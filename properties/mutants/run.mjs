/**
 * `npm run test:mutants [-- ID…]`: first every property against the source as it is, then each planted bug against the
 * properties that have to notice it. A bug counts as killed only by a property that found a counterexample: not by an import
 * that fails, nor by time. Exits with 1 when one survives, and when the properties leave out too much of the charts.
 * Each is also given to the simulator, which knows no bug beforehand: what it finds within a fixed number of schedules is told.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { judgeTransitions } from './transitions.mjs';

const here = import.meta.dirname;
const root = join(here, '../..');
const vitest = join(root, 'node_modules/vitest/vitest.mjs');
const WORKERS = 2;
/** Cases that a property tries before a bug has survived it. */
const RUNS = process.env['MUTANT_RUNS'] ?? '1000';
/** Schedules that the simulator plays against each bug. */
const SCHEDULES = process.env['MUTANT_SCHEDULES'] ?? '100';
const SIMULATOR = 'properties/simulated-world.property.ts';
const TIME_MS_MAX = 300_000;
const seed = process.env['FC_SEED'] ?? String(Date.now() | 0);

const directory = join(here, 'bugs');
const mutants = readdirSync(directory).flatMap((name) => JSON.parse(readFileSync(join(directory, name), 'utf8')));
const wanted = process.argv.slice(2);
const chosen = wanted.length === 0 ? mutants : mutants.filter(({ id }) => wanted.includes(id));

/** Runs properties in a process of their own; resolves with what failed of them. One that came to no result is run again. */
async function run(...args) {
  let report = await runOnce(...args);
  // On a crowded machine vitest may give up before its worker has begun: that says nothing of any property.
  for (let again = 0; again < 2 && report.success !== true && messages(report).length === 0; again += 1)
    report = await runOnce(...args);
  return report;
}

function runOnce(files, env, pattern = '^(?!would notice)') {
  const folder = mkdtempSync(join(tmpdir(), 'mcp-sup-mutant-'));
  const report = join(folder, 'report.json');
  // The bugs that the property files plant themselves would only be found once more.
  const flags = ['--testNamePattern', pattern, '--reporter=json', `--outputFile=${report}`];
  const args = [vitest, 'run', '--config', 'properties/mutants/vitest.config.ts', ...flags, ...files];
  const child = spawn(process.execPath, args, {
    cwd: root,
    env: { ...process.env, FC_SEED: seed, ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
    timeout: TIME_MS_MAX,
  });
  let stderr = '';
  child.stderr.on('data', (bytes) => {
    stderr = (stderr + String(bytes)).slice(-4_096);
  });
  return new Promise((resolve) => {
    child.on('close', () => {
      try {
        resolve(JSON.parse(readFileSync(report, 'utf8')));
      } catch {
        resolve({ testResults: [], success: false, stderr });
      }
      rmSync(folder, { recursive: true, force: true });
    });
  });
}

const messages = ({ testResults }) =>
  testResults.flatMap(({ name, message, assertionResults }) => [
    ...assertionResults.flatMap(({ failureMessages }) =>
      failureMessages.map((text) => ({ file: name.slice(root.length + 1), text })),
    ),
    ...(message ? [{ file: name, text: message }] : []),
  ]);

/** The counterexample that a property found, if that is what ended it. */
function kill(report) {
  const found = messages(report).flatMap(({ file, text }) => {
    // An exploration looks at every state in one run.
    const counted = /Property failed after (\d+) tests|after (\d+) schedules: /.exec(text);
    const runs = counted?.[1] ?? counted?.[2] ?? (text.startsWith('AssertionError') ? 1 : undefined);
    const isBroken = /\b(SyntaxError|ReferenceError)\b|does not apply/.test(text);
    return runs === undefined || isBroken ? [] : [{ file, runs: Number(runs) }];
  });
  return found.sort((a, b) => a.runs - b.runs)[0];
}

async function baseline() {
  const transitions = mkdtempSync(join(tmpdir(), 'mcp-sup-transitions-'));
  const report = await run([], { TRANSITIONS: transitions });
  const isCovered = judgeTransitions(transitions);
  rmSync(transitions, { recursive: true, force: true });
  if (report.success === true) console.log(`as it is: ${report.numPassedTests} properties hold`);
  else
    console.log(
      `as it is: ${
        report.stderr ??
        messages(report)
          .map(({ file, text }) => `${file}: ${text}`)
          .join('\n')
      }`,
    );
  return report.success === true && isCovered;
}

async function judge({ id, what, killers }) {
  const report = await run(killers, { MUTANT: id, FC_RUNS: RUNS });
  const killed = kill(report);
  const simulated = await simulate(id);
  const also = simulated === undefined ? `not seen in ${SCHEDULES} schedules` : `seen after ${simulated} schedules`;
  if (killed !== undefined) console.log(`mutant ${id}: killed by ${killed.file} after ${killed.runs} runs; ${also}`);
  else {
    const why = messages(report).map(({ text }) => text.split('\n')[0])[0] ?? report.stderr ?? '';
    console.log(`mutant ${id}: SURVIVED; ${also}. ${what} ${why}`);
  }
  return { isKilled: killed !== undefined, isSimulated: simulated !== undefined };
}

/** After how many schedules an invariant was broken; undefined when none was. */
async function simulate(id) {
  const report = await run([SIMULATOR], { MUTANT: id, FC_RUNS: SCHEDULES }, 'keeps every invariant');
  const seen = messages(report).flatMap(({ text }) => /after (\d+) schedules: /.exec(text)?.[1] ?? []);
  return seen[0];
}

console.log(`properties: FC_SEED=${seed}`);
const isSound = wanted.length > 0 || (await baseline());
const queue = [...chosen];
const verdicts = [];
await Promise.all(
  Array.from({ length: WORKERS }, async () => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) verdicts.push(await judge(next));
  }),
);
const count = (name) => verdicts.filter((verdict) => verdict[name]).length;
console.log(
  `mutants: ${chosen.length}, killed: ${count('isKilled')}, seen by the simulator in ${SCHEDULES} schedules: ${count('isSimulated')}`,
);
process.exitCode = isSound && chosen.length > 0 && count('isKilled') === chosen.length ? 0 : 1;
