import { describe, expect, test } from 'vitest';
import type { Workspace } from '../actors/api.js';
import type { LayerReading } from '../actors/ports.js';
import { outcomeOf } from './support/outcome.js';
import { layer, rejectedLayer, Simulation, server } from './support/simulated-ports.js';

const layers: readonly LayerReading[] = [
  layer('user', [server('a'), server('b'), server('far', { isRemote: true })], { remoteEnabled: true }),
];

async function start(first: readonly LayerReading[] = layers) {
  const sim = new Simulation();
  sim.layers = first;
  const opened = await sim.open({}, { trusted: true });
  await opened.workspace.connectAll();
  return { sim, ...opened };
}

const lives = (workspace: Workspace): unknown =>
  workspace.status().servers.map(({ id, phase, generation, pid }) => [id, phase, generation, pid]);

describe('a configuration that is rejected', () => {
  test('changes nothing that runs, says where the fault is, and is as if nothing had been once it is mended', async () => {
    const { sim, workspace } = await start();
    const before = lives(workspace);
    const call = outcomeOf(workspace.call('mcp__a__echo'));
    sim.change([rejectedLayer('user')]);
    await sim.settle();
    const { config } = workspace.status().workspace;
    expect(config).toMatchObject({ state: 'rejected', revision: 1, errors: [{ file: 'user.json', line: 3, column: 5 }] });
    expect(lives(workspace)).toEqual(before);
    sim.change(layers);
    await sim.settle();
    expect(workspace.status().workspace.config).toMatchObject({ state: 'valid', revision: 2, errors: [] });
    expect(lives(workspace)).toEqual(before);
    expect(sim.links).toHaveLength(3);
    expect(call.state).toBe('open');
  });

  test('holds up no denial and no ask of a valid user file, each told once however often it is read', async () => {
    const { sim, workspace } = await start();
    const deny = { server: 'a', tool: null, verdict: 'deny', layer: 'user' } as const;
    const tight = layer('user', [server('a'), server('b', { policies: [{ ...deny, server: 'b' }] })], {
      remoteEnabled: true,
      toolPolicies: [deny, { ...deny, server: 'far', verdict: 'allow' }],
    });
    for (let at = 0; at < 3; at += 1) {
      sim.change([tight, rejectedLayer('workspace')]);
      await sim.settle();
    }
    for (const id of ['a', 'b']) {
      await expect(workspace.call(`mcp__${id}__echo`)).rejects.toMatchObject({ code: 'BLOCKED_BY_POLICY' });
    }
    const shared = await sim.pool.running.get('/repo')?.shared;
    expect(shared?.runtime.config.rules).toHaveLength(2);
    sim.change(layers);
    await sim.settle();
    sim.link('a').behaviour.answers = true;
    await expect(workspace.call('mcp__a__echo')).resolves.toBeDefined();
  });

  test('the first time is taken as far as it is valid, and the rest contributes nothing', async () => {
    const { workspace } = await start([layer('user', [server('a')]), rejectedLayer('workspace')]);
    expect(workspace.status().workspace.config).toMatchObject({ state: 'degraded', errors: [{ file: 'workspace.json' }] });
    expect(lives(workspace)).toEqual([['a', 'ready', 1, 1_000]]);
  });

  test.each([
    ['the limits are impossible', { limits: { live: 0.5 } }],
    ['a restart option is impossible', { restart: { intensity: -1 } }],
    ['a restart option is unknown', { restart: { itensity: 1 } }],
  ])('because %s is rejected whole', async (_why, settings) => {
    const { sim, workspace } = await start();
    const before = lives(workspace);
    sim.change([layer('user', [server('new')], settings)]);
    await sim.settle();
    expect(workspace.status().workspace.config).toMatchObject({ state: 'rejected', revision: 1 });
    expect(lives(workspace)).toEqual(before);
    sim.change([...layers]);
    await sim.settle();
    expect(workspace.status().workspace.config).toMatchObject({ state: 'valid', revision: 2 });
  });
});

describe('a configuration that is taken', () => {
  test('starts anew what was changed, ends what was removed, and touches nothing else', async () => {
    const { sim, workspace } = await start();
    const kept = outcomeOf(workspace.call('mcp__a__echo'));
    sim.change([layer('user', [server('a'), server('b', { configHash: 'user-b-2' }), server('new')], { remoteEnabled: true })]);
    await sim.settle();
    expect(lives(workspace)).toEqual([
      ['a', 'ready', 1, 1_000],
      ['b', 'ready', 2, 1_003],
      ['new', 'idle', 0, null],
    ]);
    expect(kept.state).toBe('open');
    expect(sim.link('far').isClosed).toBe(true);
    expect(workspace.tools().map(({ server: id }) => id)).toEqual(['a', 'b']);
  });

  test('that changes only a time-out closes nothing, and the next call has the new one', async () => {
    const { sim, workspace } = await start();
    sim.change([layer('user', [server('a', { timeoutMs: 5_000 }), server('b')], { remoteEnabled: true })]);
    await sim.settle();
    const call = outcomeOf(workspace.call('mcp__a__echo'));
    await sim.run(5_000);
    expect(call.state).toBe('CALL_TIMEOUT');
    expect(sim.links.filter(({ server: id }) => id === 'a')).toHaveLength(1);
  });

  test('waits for the old server to be gone when it is taken away and put back at once', async () => {
    const { sim, workspace } = await start();
    sim.link('a').behaviour.closes = false;
    sim.change([layer('user', [server('b')])]);
    await sim.settle();
    sim.change([layer('user', [server('a', { configHash: 'user-a-2' }), server('b')])]);
    await sim.settle();
    expect(sim.openLinks.map(({ server: id }) => id)).toEqual(['a', 'b']);
    sim.link('a').finishClose();
    await sim.settle();
    await workspace.connectAll();
    expect(workspace.server('a').status()).toMatchObject({ phase: 'ready', generation: 1 });
    expect(sim.link('a').options.configHash).toBe('user-a-2');
  });

  test('shows no tool of the definition before it', async () => {
    const { sim, workspace } = await start();
    sim.behaviours.set('a', { shakes: false, tools: ['other'] });
    sim.change([layer('user', [server('a', { configHash: 'user-a-2' })])]);
    await sim.settle();
    expect(workspace.tools()).toEqual([]);
    sim.link('a').shake();
    await sim.settle();
    expect(workspace.tools().map(({ name }) => name)).toEqual(['mcp__a__other']);
  });
});

describe('a reading that fails', () => {
  test('the first time leaves a workspace that can still be mended, and loaded does not reject', async () => {
    const sim = new Simulation();
    sim.layers = layers;
    sim.readError = new Error('the disk is on fire');
    const { workspace } = await sim.open();
    expect(workspace.status().workspace.config).toMatchObject({ state: 'rejected', errors: [{ code: 'CONFIG_UNREADABLE' }] });
    expect(workspace.status().servers).toEqual([]);
    expect((await workspace.reload()).workspace.config).toMatchObject({ state: 'valid', revision: 1, errors: [] });
  });

  test('later keeps what runs, and does not keep the next one from being made', async () => {
    const { sim, workspace } = await start();
    const before = lives(workspace);
    sim.readError = new Error('the disk is on fire');
    sim.change(layers);
    await sim.settle();
    expect(workspace.status().workspace.config.state).toBe('rejected');
    expect(lives(workspace)).toEqual(before);
    sim.change(layers);
    await sim.settle();
    expect(workspace.status().workspace.config.state).toBe('valid');
    expect(lives(workspace)).toEqual(before);
  });
});

describe('a server that is switched on for one run', () => {
  test('can be switched off again, and a reload does not undo that', async () => {
    const sim = new Simulation();
    sim.layers = [layer('workspace', [server('theirs', { layer: 'workspace' })])];
    const { workspace } = await sim.open({}, { trusted: true, enable: ['theirs'] });
    expect(workspace.server('theirs').status()).toMatchObject({ enabled: true, phase: 'approving' });
    await workspace.server('theirs').disable();
    sim.change(sim.layers);
    await sim.settle();
    expect(workspace.server('theirs').status()).toMatchObject({ enabled: false, blockedBy: 'disabled' });
  });
});
