import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import { runSchedule } from './kit/schedule.js';
import type { Failing, Share, Tally } from './simulate-worker.js';

/**
 * `simulate --schedules N --seed S [--workers 2] [--save DIR]`: that many schedules from that seed on. Says what broke, a line a
 * schedule, saves each as a scenario, and exits with 1 if there is any. `--trace SEED` prints one schedule, event by event.
 */
const { values } = parseArgs({
  options: {
    schedules: { type: 'string', default: '1000' },
    seed: { type: 'string' },
    workers: { type: 'string', default: '2' },
    save: { type: 'string' },
    trace: { type: 'string' },
  },
});

/** New objects are many and die young: room for them is time saved. */
const YOUNG_MB = 64;

function wholeNumber(name: string, text: string): number {
  const number = Number(text);
  if (!Number.isSafeInteger(number) || number < 0) throw new Error(`--${name} is no whole number from 0: ${text}`);
  return number;
}

/** Runs one share in a thread of its own. */
const run = (share: Share, onFailing: (failing: Failing) => void): Promise<Tally> =>
  new Promise((resolve, reject) => {
    const worker = new Worker(new URL('./simulate-worker.js', import.meta.url), {
      workerData: share,
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MB },
    });
    worker.on('message', (news: Failing | Tally) => ('schedules' in news ? resolve(news) : onFailing(news)));
    worker.once('error', reject);
    worker.once('exit', (code) => reject(new Error(`a worker ended with code ${code}`)));
  });

async function simulate(): Promise<void> {
  const count = wholeNumber('schedules', values.schedules);
  const seed = wholeNumber('seed', values.seed ?? String(Date.now() % 2 ** 31));
  const step = wholeNumber('workers', values.workers);
  const failing: Failing[] = [];
  const onFailing = (one: Failing): void => {
    failing.push(one);
    console.error(one.line);
  };
  const startedAt = performance.now();
  const shares = Array.from({ length: step }, (_, at) => ({ from: seed + at, to: seed + count, step }));
  const tallies = await Promise.all(shares.map((share) => run(share, onFailing)));
  const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
  // On a machine that others use too, this is the number that can be compared.
  const { user, system } = process.cpuUsage();
  const cpuSeconds = ((user + system) / 1_000_000).toFixed(1);
  if (values.save !== undefined) {
    await mkdir(values.save, { recursive: true });
    for (const one of failing) await writeFile(join(values.save, `seed-${one.seed}.json`), one.scenario);
  }
  const schedules = tallies.reduce((sum, tally) => sum + tally.schedules, 0);
  const events = tallies.reduce((sum, tally) => sum + tally.events, 0);
  console.log(`schedules: ${schedules}, events: ${events}, violations: ${failing.length}, seed: ${seed}`);
  console.log(
    `at least ${Math.min(...tallies.map(({ fewestEvents }) => fewestEvents))} events a schedule, ${seconds} s, ${cpuSeconds} s of CPU`,
  );
  if (failing.length > 0) process.exitCode = 1;
}

async function showTrace(seed: number): Promise<void> {
  const { lines, hash, violation } = await runSchedule({ seed, keepTrace: true });
  for (const line of lines) console.log(line);
  console.log(`seed: ${seed}, trace: ${hash}, ${violation?.detail ?? 'holds'}`);
}

if (values.trace === undefined) await simulate();
else await showTrace(wholeNumber('trace', values.trace));
