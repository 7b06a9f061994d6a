import { expect } from 'vitest';
import type { ServerStatus } from '../../actors/api.js';
import { PHASES } from '../../machines/vocabulary.js';
import { rejectedLayer } from '../../test/support/simulated-ports.js';
import { CAPACITY, IDS, Model, type ServerId } from './model.js';
import { CALL_MS, idOf, layersOf, type Made, textOf, type World } from './world.js';

const GATES = ['REMOTE_OFF', 'UNTRUSTED', 'DISABLED'];

/** Holds after every command, whatever it was. */
export function checkAlways(model: Model, world: World): void {
  const { servers, sim } = world;
  const { leases, waiting } = sim.pool.slots.pool;
  expect(leases.length, 'live connections').toBeLessThanOrEqual(CAPACITY);
  if (waiting.length > 0) expect(leases.length, 'slots while somebody waits').toBe(CAPACITY);
  const holders = leases.map(({ holder }) => holder.slice(holder.lastIndexOf('/') + 1));
  expect(holders.sort(), 'who holds a slot').toEqual(sim.openLinks.map(idOf).sort());
  for (const link of sim.openLinks) {
    const id = idOf(link);
    expect(sim.openLinks.filter((one) => idOf(one) === id).length, `generations of ${id}`).toBe(1);
    if (!link.isClosing) expect(model.mayRun(id, link.options.configHash), `whether ${id} may run`).toBe(true);
  }
  // What has run may go on when its files are rewritten; what starts is what was approved.
  for (const link of sim.links.slice(model.links))
    expect(model.mayStart(idOf(link)), `whether ${idOf(link)} may start`).toBe(true);
  model.links = sim.links.length;
  for (const one of servers) checkServer(model, one);
  for (const one of world.made) checkCall(world, one);
  checkCancelled(world);
  checkTools(model, world);
}

function checkServer(model: Model, { id, phase, stage, blockedBy, error }: ServerStatus): void {
  expect(PHASES).toContain(phase);
  if (phase === 'failed' || phase === 'backoff' || blockedBy !== null) expect(error, `why ${id} is not ready`).not.toBeNull();
  // What is on its way out says what it was before.
  if (!model.present.has(id as ServerId) || stage === 'closing') return;
  const gate = model.gate(id as ServerId);
  if (gate !== null) expect([phase, error?.code], `${id} behind a gate`).toEqual(['idle', gate]);
  else expect(GATES, `${id} behind no gate`).not.toContain(error?.code);
}

function checkCall({ sim }: World, { outcome, answer, text, id, madeMs }: Made): void {
  expect(outcome.state, 'how a call ended').not.toMatch(/^untyped/);
  if (answer !== null) expect(answer, 'what a call was answered').toBe(text);
  // Only what the workspace brings along has to wait for a person.
  if (outcome.state === 'open' && id !== 'own') expect(sim.clock.now() - madeMs, 'how long a call is open').toBeLessThan(CALL_MS);
}

function checkCancelled({ sim }: World): void {
  for (const { cancelled, calls } of sim.links) {
    expect(new Set(cancelled).size, 'calls that were cancelled once').toBe(cancelled.length);
    expect(calls.map((one) => one.id)).toEqual(expect.arrayContaining(cancelled));
  }
}

/** What was once listed to its end is known while its definition stands and its gates are open; of what the workspace brings along nothing before a person's yes. */
function checkTools(model: Model, { workspace }: World): void {
  const tools = workspace.tools();
  for (const id of IDS) {
    const mine = tools.filter((one) => one.server === id);
    const standing = model.present.has(id) && model.gate(id) === null ? model.hash(id) : null;
    if (model.listed.get(id) !== standing) model.listed.delete(id);
    if (mine.length === 2 && standing !== null) model.listed.set(id, standing);
    if (model.listed.has(id))
      expect(
        mine.map((one) => one.tool),
        `what is known of ${id}`,
      ).toEqual(['echo', 'rm']);
    if (id === 'own' && !model.wasApproved) expect(mine, 'what is shown before anybody approved anything').toEqual([]);
  }
}

/** What was sent since the last look was sent once, to whom it was meant, and with every leave it needs. */
export function checkSent(model: Model, world: World): void {
  const sent = world.sentCalls;
  const texts = sent.map(({ request }) => textOf(request));
  expect(new Set(texts).size, 'calls that were sent once').toBe(texts.length);
  for (const { link, request } of sent) {
    const text = textOf(request);
    if (model.sent.has(text)) continue;
    model.sent.add(text);
    const made = world.made.find((one) => one.text === text);
    expect(made?.id, `who was sent ${text}`).toBe(idOf(link));
    expect(model.isDenied(made?.tool ?? ''), `whether ${text} is denied`).toBe(false);
    if (made?.id === 'own') expect(model.approvedCalls, 'calls that were agreed to').toContain(text);
  }
}

/** A call through a gate that is shut, or to nobody, is told so at once. */
export function checkRefusal(model: Model, { id, tool, outcome }: Made): void {
  const gate = model.gate(id);
  if (!model.present.has(id)) expect(outcome.state, 'a call to nobody').toMatch(/^(UNKNOWN_|SERVER_REMOVED)/);
  else if (gate !== null)
    expect([gate, model.isDenied(tool) ? 'BLOCKED_BY_POLICY' : gate], `through ${gate}`).toContain(outcome.state);
}

/** Runs a change and sees that servers it does not name go on as they were: what is ready is not started anew. */
export async function sparing(world: World, named: readonly ServerId[], change: () => unknown): Promise<void> {
  const before = world.ready;
  const isFull = world.sim.pool.slots.pool.leases.length === CAPACITY;
  await change();
  await world.sim.settle();
  for (const [id, generation] of before) {
    // A server that comes up may take the place of one that nobody uses.
    if (named.includes(id as ServerId) || (named.length > 0 && isFull)) continue;
    expect(world.ready.get(id), `${id}, which was not concerned`).toBe(generation);
  }
}

/** A reading that is rejected, or brings nothing new, has no effect at all. */
export async function reloadInVain(model: Model, world: World, what: string): Promise<void> {
  const { sim, workspace } = world;
  const standing = () =>
    world.servers.map(({ id, phase, generation, fingerprint, blockedBy }) => [id, phase, generation, fingerprint, blockedBy]);
  const before = standing();
  const links = sim.links.length;
  const other = Object.assign(new Model(), { versions: { lazy: 99, kept: 99, far: 99, own: 99 }, rules: 'none' });
  if (what === 'unreadable') sim.readError = new Error('the disk is gone');
  if (what === 'rejected') sim.layers = [rejectedLayer('user'), ...layersOf(other).slice(1)];
  if (what === 'mixed') sim.layers = [...layersOf(other).slice(0, 1), { ...rejectedLayer('plugin:broken'), settings: null }];
  await sparing(world, [], () => workspace.reload());
  expect(standing(), `what a reload changed (${what})`).toEqual(before);
  expect(sim.links.length, `links that a reload opened (${what})`).toBe(links);
  sim.layers = layersOf(model);
}

/** Time alone ends what nobody uses, and never what somebody does. */
export async function waitAndSee(world: World, ms: number): Promise<void> {
  const { sim } = world;
  const before = world.ready;
  const calls = world.openCalls;
  const sent = calls.filter((one) => world.isSent(one));
  await sim.run(ms);
  for (const [id, generation] of before) {
    const mine = sent.filter((one) => one.id === id && one.madeMs + CALL_MS > sim.clock.now());
    expect(
      mine.map(({ outcome }) => outcome.state),
      `calls of ${id} that have time`,
    ).toEqual(mine.map(() => 'open'));
    if (mine.length > 0) expect(world.ready.get(id), `${id}, which is in use`).toBe(generation);
    const isWanted = calls.some((one) => one.id === id) || id === 'kept';
    if (ms >= 30_000 && !isWanted) expect(world.ready.get(id), `${id}, which nobody uses`).not.toBe(generation);
  }
}
