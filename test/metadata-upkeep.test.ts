import { expect, test } from 'vitest';
import type { Metadata } from '../actors/ports.js';
import { toolItem } from './support/catalogue-kit.js';
import { outcomeOf } from './support/outcome.js';
import { layer, Simulation, server } from './support/simulated-ports.js';

const HASH = 'user-files-1';

test('a server that runs on is listed anew once for each span of its time, without a restart', async () => {
  const sim = new Simulation();
  sim.layers = [layer('user', [server('files', { lifecycle: 'keep-alive' })])];
  sim.behaviours.set('files', { page: { ttlMs: 60_000 } });
  const { workspace, supervisor } = await sim.open({ discover: true });
  const [link] = sim.links;
  if (link === undefined) throw new Error('a link was expected');
  const listings = () => link.sent.filter(({ method }) => method === 'tools/list').length;
  const savedAtMs = async () => ((await sim.db.metadata(HASH)) as Metadata).savedAtMs;
  const before = { listings: listings(), savedAtMs: await savedAtMs() };
  await sim.run(59_999);
  expect(listings()).toBe(before.listings);
  await sim.run(1_001);
  expect(listings()).toBe(before.listings + 1);
  expect(await savedAtMs()).toBe(before.savedAtMs + 61_000);
  await sim.run(61_000);
  expect(listings()).toBe(before.listings + 2);
  expect(workspace.server('files').status()).toMatchObject({ phase: 'ready', generation: 1, callsInFlight: 0 });
  await supervisor.close();
  expect(sim.remains()).toEqual([]);
});

test('a close while kept lists are being checked leaves nothing of that behind', async () => {
  const sim = new Simulation();
  sim.layers = [layer('user', [server('files')])];
  const tools = Array.from({ length: 5_000 }, (_, at) => toolItem(`tool-${at}`));
  await sim.db.saveMetadata(HASH, { savedAtMs: sim.clock.epoch(), ttlMs: null, fingerprint: null, lists: { tools } });
  const supervisor = sim.supervisor({});
  const workspace = await supervisor.openWorkspace('/repo');
  const loaded = outcomeOf(workspace.loaded);
  for (let turn = 0; turn < 1_000 && sim.clock.nextMs !== 0; turn += 1) await Promise.resolve();
  // One slice was checked, and the next one waits for its turn.
  expect([sim.clock.nextMs, loaded.state]).toEqual([0, 'open']);
  const closing = outcomeOf(supervisor.close());
  await sim.settle();
  expect([closing.state, sim.remains()]).toEqual(['ok', []]);
  expect(workspace.tools()).toEqual([]);
});
