import { writeFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import { parseArgs } from 'node:util';
import { inFreshProcess } from './child.js';
import { benchCold, benchHung, type ColdRow } from './cold.js';
import { benchHttp } from './http.js';
import { legs } from './legs.js';
import { benchSearch } from './search.js';
import { benchSearchStart } from './search-start.js';
import { median, rounded } from './stats.js';
import { benchLegs, type WarmRow } from './warm.js';

/**
 * Compares with a raw pipe and with the bare SDKs in one process start, in turn: `npm run bench -- [--json FILE]
 * [--rounds N] [--only warm,http,search,cold,rss,simulated]`. The ratios are what counts; milliseconds are of this machine, now.
 */
const { values } = parseArgs({
  options: {
    json: { type: 'string' },
    rounds: { type: 'string', default: '11' },
    only: { type: 'string', default: 'warm,http,search,cold,rss,simulated' },
  },
});
const rounds = Number(values.rounds);
if (!Number.isSafeInteger(rounds) || rounds < 1) throw new Error(`--rounds must be a whole number from 1, not ${values.rounds}`);

const sections = { warm, http, search, cold, rss, simulated };
type Section = keyof typeof sections;

const chosen = values.only.split(',').map((name) => {
  if (!(name in sections)) throw new Error(`--only knows ${Object.keys(sections).join(', ')}, not ${name}`);
  return name as Section;
});

console.log(`node ${process.version}, ${cpus().length} × ${cpus()[0]?.model ?? 'unknown CPU'}, ${rounds} rounds`);
const report: Partial<Record<Section, object>> = {};
for (const section of chosen) report[section] = await sections[section]();
console.log(`\n${JSON.stringify(report, null, 2)}`);
if (values.json !== undefined) await writeFile(values.json, `${JSON.stringify(report, null, 2)}\n`);

async function warm() {
  const rows = await benchLegs(legs, rounds);
  printCalls('One call of the echo server, medians of the rounds', rows);
  const { raw, rawBatched, sdk1, sdk2, ours } = rows;
  return {
    p50xRaw: rounded(ours.p50Ms / raw.p50Ms),
    p99xBestSdk: rounded(ours.p99Ms / Math.min(sdk1.p99Ms, sdk2.p99Ms)),
    c64xRaw: rounded(ours.callsPerSecond / raw.callsPerSecond),
    // The same pipe with our way of writing: what batching alone is worth.
    c64xRawBatched: rounded(ours.callsPerSecond / rawBatched.callsPerSecond),
    p50xRawBatched: rounded(ours.p50Ms / rawBatched.p50Ms),
  };
}

async function http() {
  const rows = await benchHttp(rounds);
  printCalls('One call over Streamable HTTP, medians of the rounds', rows);
  const { sdk1, sdk2, ours } = rows;
  return {
    p50xBestSdk: rounded(ours.p50Ms / Math.min(sdk1.p50Ms, sdk2.p50Ms)),
    p99xBestSdk: rounded(ours.p99Ms / Math.min(sdk1.p99Ms, sdk2.p99Ms)),
    c64xBestSdk: rounded(ours.callsPerSecond / Math.max(sdk1.callsPerSecond, sdk2.callsPerSecond)),
  };
}

async function search() {
  const rows = [10_000, 100_000].map((tools) => benchSearch(tools, 30));
  print(
    'One search of the catalogue, over queries of every kind',
    rows.map(({ tools, p50Ms, p99Ms, firstMs }) => ({
      tools,
      'p50 ms': rounded(p50Ms, 2),
      'p99 ms': rounded(p99Ms, 2),
      'first after a listing, ms': rounded(firstMs, 1),
    })),
  );
  const starts = [await benchSearchStart(64, rounds), await benchSearchStart(10_000, rounds)];
  print(
    'The command "search", from the start of its process to the end, with every server gone',
    starts.map(({ tools, nodeMs, searchMs }) => ({
      tools,
      'node -e 0, ms': Math.round(nodeMs),
      'search, ms': Math.round(searchMs),
    })),
  );
  const [small, large] = rows;
  return {
    p99Ms10k: rounded(small?.p99Ms ?? Number.NaN, 2),
    p99Ms100k: rounded(large?.p99Ms ?? Number.NaN, 2),
    startXNode: rounded(starts[0]?.ratio ?? Number.NaN),
    start10kXNode: rounded(starts[1]?.ratio ?? Number.NaN),
  };
}

async function cold() {
  const rows: ColdRow[] = [];
  const coldRounds = Math.max(5, Math.ceil(rounds / 2));
  for (const servers of [1, 16, 32]) rows.push(await benchCold(servers, coldRounds));
  const { withoutMs, besideMs } = await benchHung(coldRounds);
  print(
    'From nothing to all listed, in a warm process, medians',
    rows.map(({ servers, floorMs, oursMs }) => ({ servers, 'floor ms': Math.round(floorMs), 'ours ms': Math.round(oursMs) })),
  );
  print('15 servers usable, in a warm process, medians', [
    { 'alone ms': Math.round(withoutMs), 'beside one hung in initialize ms': Math.round(besideMs) },
  ]);
  const ratios = rows.map(({ servers, floorMs, oursMs }) => [`n${servers}xFloor`, rounded(oursMs / floorMs)] as const);
  return { ...Object.fromEntries(ratios), n16HungX: rounded(besideMs / withoutMs) };
}

async function rss() {
  const mb = { ours: [] as number[], sdk2: [] as number[] };
  for (let round = 0; round < 5; round += 1) {
    for (const who of ['ours', 'sdk2'] as const) {
      const { rssBytes } = await inFreshProcess('rss-process', who, '16');
      mb[who].push((rssBytes ?? Number.NaN) / 1_048_576);
    }
  }
  const [ours, sdk2] = [median(mb.ours), median(mb.sdk2)];
  print('Resident with 16 idle servers, each in a fresh process', [
    { 'ours MB': rounded(ours, 1), 'bare SDK 2 MB': rounded(sdk2, 1) },
  ]);
  return { overSdk2Mb: rounded(ours - sdk2, 2) };
}

async function simulated() {
  const cases = [
    [1, 32],
    [1, 1_000],
    [313, 32],
  ] as const;
  const rows = [];
  for (const [workspaces, servers] of cases) {
    const runs: Readonly<Record<string, number>>[] = [];
    for (let run = 0; run < 3; run += 1) runs.push(await inFreshProcess('simulated-process', `${workspaces}`, `${servers}`));
    const middle = (key: string) => median(runs.map((run) => run[key] ?? Number.NaN));
    rows.push({ workspaces, servers, bytes: middle('bytesPerServer'), stopMs: middle('stopMs'), readyMs: middle('readyMs') });
  }
  print(
    'Simulated servers, all ready; medians of 3 fresh processes',
    rows.map(({ workspaces, servers, bytes, stopMs, readyMs }) => ({
      'workspaces × servers': `${workspaces} × ${servers}`,
      'bytes a server': Math.round(bytes),
      'ready ms': Math.round(readyMs),
      'stop ms': Math.round(stopMs),
    })),
  );
  const [, thousand, many] = rows;
  return {
    readyBytes: Math.round(thousand?.bytes ?? Number.NaN),
    stop313x32Ms: rounded(many?.stopMs ?? Number.NaN, 1),
    stop1000Ms: rounded(thousand?.stopMs ?? Number.NaN, 1),
  };
}

function printCalls(title: string, rows: Readonly<Record<string, WarmRow>>): void {
  print(
    title,
    Object.entries(rows).map(([client, { p50Ms, p99Ms, callsPerSecond }]) => ({
      client,
      'p50 µs': Math.round(p50Ms * 1_000),
      'p99 µs': Math.round(p99Ms * 1_000),
      'calls/s, 64 at once': Math.round(callsPerSecond),
    })),
  );
}

function print(title: string, rows: readonly object[]): void {
  console.log(`\n${title}`);
  console.table(rows);
}
