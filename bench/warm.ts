import type { Leg } from './legs.js';
import { collectGarbage, median, quantile } from './stats.js';

/** Medians over the rounds: milliseconds a call, one after the other, and calls a second with 64 under way. */
export interface WarmRow {
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly callsPerSecond: number;
}

const slices = 5;
const callsPerSlice = 400;
const concurrentCalls = 3_000;
const concurrency = 64;

/**
 * Calls the same server through every leg in turn. A round goes round the legs several times, from another one each time, so
 * that a slow moment of the machine falls on all of them; a p99 is one round's, and the median of the rounds is reported.
 */
export async function benchLegs<LegName extends string>(
  legs: Readonly<Record<LegName, () => Promise<Leg>>>,
  rounds: number,
): Promise<Record<LegName, WarmRow>> {
  const names = Object.keys(legs) as LegName[];
  const open = new Map<LegName, Leg>();
  for (const name of names) open.set(name, await legs[name]());
  try {
    await everyLeg(open, 0, (leg) => concurrently(leg, concurrentCalls));
    const taken = new Map(names.map((name) => [name, { p50: [] as number[], p99: [] as number[], rate: [] as number[] }]));
    for (let round = 0; round < rounds; round += 1) {
      const samples = new Map(names.map((name) => [name, [] as number[]]));
      for (let slice = 0; slice < slices; slice += 1) {
        await everyLeg(open, round + slice, (leg, name) => sequentially(leg, callsPerSlice, samples.get(name) ?? []));
      }
      for (const [name, { p50, p99 }] of taken) {
        p50.push(quantile(samples.get(name) ?? [], 0.5));
        p99.push(quantile(samples.get(name) ?? [], 0.99));
      }
      await everyLeg(open, round, async (leg, name) => taken.get(name)?.rate.push(await concurrently(leg, concurrentCalls)));
    }
    const rows = [...taken].map(([name, { p50, p99, rate }]) => [
      name,
      { p50Ms: median(p50), p99Ms: median(p99), callsPerSecond: median(rate) },
    ]);
    return Object.fromEntries(rows) as Record<LegName, WarmRow>;
  } finally {
    await Promise.all([...open.values()].map((leg) => leg.close()));
  }
}

async function everyLeg<LegName extends string>(
  open: ReadonlyMap<LegName, Leg>,
  first: number,
  run: (leg: Leg, name: LegName) => Promise<unknown>,
): Promise<void> {
  const all = [...open];
  for (let step = 0; step < all.length; step += 1) {
    const next = all[(first + step) % all.length];
    if (next === undefined) continue;
    collectGarbage();
    await run(next[1], next[0]);
  }
}

async function sequentially(leg: Leg, calls: number, samples: number[]): Promise<void> {
  for (let call = 0; call < calls; call += 1) {
    const before = performance.now();
    await leg.call();
    samples.push(performance.now() - before);
  }
}

/** Keeps 64 calls under way; calls a second. */
async function concurrently(leg: Leg, calls: number): Promise<number> {
  let left = calls;
  const caller = async () => {
    while (left > 0) {
      left -= 1;
      await leg.call();
    }
  };
  const before = performance.now();
  await Promise.all(Array.from({ length: concurrency }, caller));
  return (calls / (performance.now() - before)) * 1_000;
}
