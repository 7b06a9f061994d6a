import { describe, expect, test } from 'vitest';
import type { Supervisor, SupervisorOptions, Workspace } from '../actors/api.js';
import type { LayerReading } from '../actors/ports.js';
import { type Outcome, outcomeOf } from './support/outcome.js';
import { layer, rejectedLayer, Simulation, server } from './support/simulated-ports.js';

const remote = { isRemote: true } as const;

interface Scene {
  readonly sim: Simulation;
  readonly supervisor: Supervisor;
  readonly workspace: Workspace;
}

/** The user's "mine" and "far", which is remote, and the workspace's "theirs": all on, trusted and approved. */
const layers: readonly LayerReading[] = [
  layer('user', [server('mine'), server('far', remote)], {
    remoteEnabled: true,
    toolPolicies: [{ server: 'theirs', tool: null, verdict: 'ask', layer: 'user' }],
  }),
  layer('workspace', [server('theirs', { layer: 'workspace' })]),
];

async function start(options: SupervisorOptions = {}): Promise<Scene> {
  const sim = new Simulation();
  sim.layers = layers;
  const approvedFingerprints = ['fingerprint of workspace-theirs-1'];
  const opened = await sim.open({ approvedFingerprints, ...options }, { trusted: true, enable: ['theirs'] });
  return { sim, ...opened };
}

/** Each way of stopping a server: which one, how, and what its calls are told. */
const stops: Record<string, readonly [id: string, code: string, stop: (scene: Scene) => unknown]> = {
  disabling: ['mine', 'DISABLED', ({ workspace }) => workspace.server('mine').disable()],
  untrusting: ['theirs', 'UNTRUSTED', ({ workspace }) => workspace.setTrusted(false)],
  'switching remote servers off': ['far', 'REMOTE_OFF', ({ supervisor }) => supervisor.setRemote(false)],
  'taking it out of the configuration': [
    'mine',
    'SERVER_REMOVED',
    ({ sim }) => sim.change([layer('user', [server('far', remote)], { remoteEnabled: true })]),
  ],
  'changing its configuration': [
    'mine',
    'LINK_LOST',
    ({ sim }) => sim.change([layer('user', [server('mine', { configHash: 'user-mine-2' })], { remoteEnabled: true })]),
  ],
  restarting: ['mine', 'LINK_LOST', ({ workspace }) => workspace.server('mine').restart()],
  'closing the workspace': ['mine', 'SUPERVISOR_CLOSED', ({ workspace }) => workspace.close()],
  'closing the supervisor': ['mine', 'SUPERVISOR_CLOSED', ({ supervisor }) => supervisor.close()],
  'switching remote servers off in a user file beside a broken layer': [
    'far',
    'REMOTE_OFF',
    ({ sim }) => sim.change([layer('user', [server('mine'), server('far', remote)]), rejectedLayer('workspace')]),
  ],
};

/** Where a call can be when that happens. */
const calls: Record<string, (scene: Scene, id: string) => Promise<readonly Outcome[]>> = {
  'calls in flight and in the queue': async ({ sim, workspace }, id) => {
    await workspace.server(id).test();
    const made = Array.from({ length: 70 }, () => outcomeOf(workspace.call(`mcp__${id}__echo`, {}, { byPerson: true })));
    await sim.settle();
    expect(sim.link(id).calls).toHaveLength(64);
    return made;
  },
  'calls that wait for its start': async ({ sim, workspace }, id) => {
    sim.behaviours.set(id, { shakes: false });
    const made = [outcomeOf(workspace.call(`mcp__${id}__echo`, {}, { byPerson: true }))];
    await sim.settle();
    expect(sim.openLinks).toHaveLength(1);
    return made;
  },
  'calls that wait for a slot': async ({ sim, workspace }, id) => {
    sim.pool.slots.request('another', 1, true, { granted: () => undefined, reclaimed: () => undefined });
    sim.pool.slots.resize(1);
    const made = [outcomeOf(workspace.call(`mcp__${id}__echo`, {}, { byPerson: true }))];
    await sim.settle();
    expect(workspace.server(id).status().stage).toBe('slot');
    return made;
  },
};

describe.each(Object.entries(stops))('%s', (_way, [id, code, stop]) => {
  test.each(Object.entries(calls))('settles %s within one turn, and sends nothing any more', async (_where, make) => {
    const scene = await start();
    const made = await make(scene, id);
    const sent = scene.sim.links.flatMap((link) => link.calls).length;
    void stop(scene);
    await scene.sim.settle();
    expect(new Set(made.map(({ state }) => state))).toEqual(new Set([code]));
    await scene.sim.run(200_000);
    expect(scene.sim.links.flatMap((link) => link.calls)).toHaveLength(sent);
  });
});

/** A restart bars no call: what is only being judged is bound to no connection. */
const barring = Object.entries(stops).filter(([, [, code]]) => code !== 'LINK_LOST');

describe.each(barring)('%s', (_way, [id, code, stop]) => {
  const judges: Record<string, SupervisorOptions> = {
    'a person is asked about': { approve: () => new Promise(() => undefined), authorizeCall: () => 'ask' },
    'the host has not had its word on': { authorizeCall: () => new Promise(() => undefined) },
  };
  test.each(Object.entries(judges))('settles a call that %s, and takes the question back', async (_who, options) => {
    const scene = await start(options);
    const { sim, workspace } = scene;
    await workspace.server(id).test();
    const made = outcomeOf(workspace.call(`mcp__${id}__echo`));
    await sim.settle();
    expect(made.state).toBe('open');
    void stop(scene);
    await sim.settle();
    expect(made.state).toBe(code);
    expect(workspace.questions()).toEqual([]);
    expect(sim.link(id).calls).toEqual([]);
  });
});

describe('a crash', () => {
  test('settles the calls of that server with LINK_LOST and leaves every other one alone', async () => {
    const { sim, workspace } = await start();
    for (const id of ['mine', 'far', 'theirs']) await workspace.server(id).test();
    const call = (id: string) => outcomeOf(workspace.call(`mcp__${id}__echo`, {}, { byPerson: true }));
    const lost = Array.from({ length: 20 }, () => call('mine'));
    const kept = [call('far'), call('theirs')];
    await sim.settle();
    sim.link('mine').die();
    await sim.settle();
    expect(new Set(lost.map(({ state }) => state))).toEqual(new Set(['LINK_LOST']));
    expect(kept.map(({ state }) => state)).toEqual(['open', 'open']);
    expect(workspace.server('mine').status()).toMatchObject({ phase: 'backoff', restarts: 1 });
    await sim.run(1_000);
    expect(workspace.server('mine').status()).toMatchObject({ phase: 'ready', generation: 2 });
    // Nothing of what was lost is sent again.
    expect(sim.link('mine').calls).toEqual([]);
    const others = ['far', 'theirs'].map((id) => workspace.server(id).status());
    expect(others.map(({ phase, generation }) => [phase, generation])).toEqual([
      ['ready', 1],
      ['ready', 1],
    ]);
  });
});
