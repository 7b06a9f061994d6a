import { openPipe } from './legs.js';
import { openOurs } from './ours.js';
import { collectGarbage, median } from './stats.js';

/** Milliseconds until all of `servers` are initialised and listed; median of the rounds. */
export interface ColdRow {
  readonly servers: number;
  readonly floorMs: number;
  readonly oursMs: number;
}

/** From nothing to usable: ours against spawning and initialising the same servers by hand, all at once, in turn. */
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
  const workspace = await openOurs(servers);
  const took = performance.now() - before;
  await workspace.close();
  return took;
}
