import { openPipe } from './legs.js';
import { openOurs, stdioEchoes, usableBesideHung } from './ours.js';
import { collectGarbage, median } from './stats.js';

/** Milliseconds until all of `servers` are initialised and listed, in a process that is warm; median of the rounds. */
export interface ColdRow {
  readonly servers: number;
  readonly floorMs: number;
  readonly oursMs: number;
}

/** Milliseconds until 15 servers are usable, without another one and beside one that hangs in its handshake. */
export interface HungRow {
  readonly withoutMs: number;
  readonly besideMs: number;
}

/** How long one server that never answers keeps the 15 others of 16 from being usable, in turn with 15 alone. */
export async function benchHung(rounds: number): Promise<HungRow> {
  const took = [[], []] as [number[], number[]];
  for (let round = 0; round < rounds; round += 1) {
    for (const hung of round % 2 === 0 ? ([0, 1] as const) : ([1, 0] as const)) {
      collectGarbage();
      const before = performance.now();
      const workspace = await usableBesideHung(15, hung);
      took[hung].push(performance.now() - before);
      await workspace.close();
    }
  }
  return { withoutMs: median(took[0]), besideMs: median(took[1]) };
}

/** From nothing to usable, in a process that has started servers before: ours against spawning and initialising the same servers by hand, all at once, in turn. */
export async function benchCold(servers: number, rounds: number): Promise<ColdRow> {
  const floor: number[] = [];
  const ours: number[] = [];
  await startFloor(servers);
  for (let round = 0; round < rounds; round += 1) {
    const order = round % 2 === 0 ? [startFloor, startOurs] : [startOurs, startFloor];
    for (const start of order) {
      collectGarbage();
      (start === startFloor ? floor : ours).push(await start(servers));
    }
  }
  return { servers, floorMs: median(floor), oursMs: median(ours) };
}

async function startFloor(servers: number): Promise<number> {
  const before = performance.now();
  const pipes = Array.from({ length: servers }, openPipe);
  await Promise.all(pipes.map((pipe) => pipe.initialize()));
  const took = performance.now() - before;
  await Promise.all(pipes.map((pipe) => pipe.close()));
  return took;
}

async function startOurs(servers: number): Promise<number> {
  const before = performance.now();
  const workspace = await openOurs(stdioEchoes(servers));
  const took = performance.now() - before;
  await workspace.close();
  return took;
}
