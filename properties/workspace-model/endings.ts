import { expect } from 'vitest';
import { outcomeOf } from '../../test/support/outcome.js';
import { checkAlways, checkSent } from './checks.js';
import { IDS, type Model } from './model.js';
import type { World } from './world.js';

/** No server has to wait longer than this for its turn, its backoff and its start. */
const ROUNDS_MAX = 60;
const ROUND_MS = 3_000;

/** The world helps from now on, and nothing more goes wrong: whoever is called is started, whoever holds its place, and answers. */
export async function comesToLife(model: Model, world: World): Promise<void> {
  model.rules = 'none';
  for (const id of IDS) {
    model.present.add(id);
    world.behave(id, { closes: true });
  }
  world.write(model);
  await welcome(model, world);
  // A person's restart is what brings back one that has failed, or that was denied.
  for (const id of IDS) world.restart(model, id);
  await help(model, world);
  const calls = IDS.map((id) => world.call({ id, tool: 'echo', session: 'last' }, ROUNDS_MAX * ROUND_MS));
  for (let round = 0; round < ROUNDS_MAX && calls.some(({ outcome }) => outcome.state === 'open'); round += 1) {
    await world.sim.run(ROUND_MS);
    await help(model, world);
    checkAlways(model, world);
    checkSent(model, world);
  }
  expect(calls.map(({ id, outcome }) => `${id} ${outcome.state}`)).toEqual(IDS.map((id) => `${id} ok`));
}

/** Every gate is opened and every question answered with yes. */
export async function welcome(model: Model, world: World): Promise<void> {
  model.trusted = true;
  model.remote = true;
  await world.workspace.setTrusted(true);
  await world.supervisor.setRemote(true);
  await help(model, world);
  for (const id of IDS) await world.turn(model, id, true);
  await help(model, world);
}

/** Questions are answered with yes, calls are answered, starts and stops go on to their ends. */
async function help(model: Model, world: World): Promise<void> {
  await world.sim.settle();
  for (let each = world.workspace.questions().length; each > 0; each -= 1) world.decide(model, 0, true);
  await world.sim.settle();
  for (const link of world.sim.openLinks) {
    if (link.isClosing) link.finishClose();
    else if (!link.behaviour.opens) link.die();
    else if (!link.behaviour.shakes) link.shake();
  }
  for (const id of IDS) {
    const { calls = [] } = world.link(id) ?? {};
    for (const nth of calls.keys()) world.serve(id, 'answers', nth);
  }
  await world.sim.settle();
}

/** The close settles once every link has ended, and nothing is left: no call, link, slot, timer or watcher. */
export async function closes(world: World): Promise<void> {
  const closing = outcomeOf(world.supervisor.close());
  for (let round = 0; round < IDS.length && closing.state === 'open'; round += 1) {
    await world.sim.settle();
    for (const link of world.sim.openLinks) if (link.isClosing) link.finishClose();
  }
  await world.sim.settle();
  expect(closing.state, 'the close').toBe('ok');
  expect(world.openCalls, 'calls that are open after the close').toEqual([]);
  expect(world.sim.remains(), 'what is left').toEqual([]);
}
