import { rm, writeFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import type { Workspace } from '../actors/api.js';
import { configFolder } from './support/config-files.js';
import { outcomeOf } from './support/outcome.js';
import { layer, rejectedLayer, Simulation, server } from './support/simulated-ports.js';

const url = 'https://tools.example/mcp';
const own = [server('near', { approveTools: ['*'] }), server('far', { transport: 'http', url, isRemote: true })];
const settings = { remoteEnabled: true };
const broken = rejectedLayer('workspace');

/** Two servers of the user's and one of the workspace's, all ready; then the workspace's file is broken. */
async function brokenElsewhere(): Promise<{
  readonly sim: Simulation;
  readonly workspace: Workspace;
  readonly end: () => Promise<void>;
}> {
  const sim = new Simulation();
  sim.layers = [
    layer('user', own, { ...settings, toolPolicies: [{ server: 'near', tool: null, verdict: 'allow', layer: 'user' }] }),
    layer('workspace', [server('theirs')]),
  ];
  const { workspace, supervisor } = await sim.open({ approve: () => 'approve' }, { trusted: true, enable: ['theirs'] });
  await workspace.connectAll();
  await sim.settle();
  expect(phases(workspace)).toEqual({ near: 'ready', far: 'ready', theirs: 'ready' });
  return { sim, workspace, end: () => supervisor.close() };
}

const phases = (workspace: Workspace): Readonly<Record<string, string>> =>
  Object.fromEntries(workspace.status().servers.map(({ id, phase }) => [id, phase]));
const stateOf = (workspace: Workspace): string => workspace.status().workspace.config.state;

describe('while another layer is rejected', () => {
  test('the user’s file turns remote servers off at once, and their calls end', async () => {
    const { sim, workspace, end } = await brokenElsewhere();
    const call = outcomeOf(workspace.call('mcp__far__echo', {}, { byPerson: true }));
    await sim.settle();
    sim.change([layer('user', own, { remoteEnabled: false }), broken]);
    await sim.settle();
    expect([stateOf(workspace), call.state, sim.link(url).isClosed]).toEqual(['rejected', 'REMOTE_OFF', true]);
    expect(phases(workspace)).toEqual({ near: 'ready', far: 'idle', theirs: 'ready' });
    await end();
  });

  test('a user file that is gone turns them off too, one that is broken does not', async () => {
    const { sim, workspace, end } = await brokenElsewhere();
    sim.change([rejectedLayer('user'), broken]);
    await sim.settle();
    expect(phases(workspace)).toMatchObject({ near: 'ready', far: 'ready' });
    sim.change([{ ...layer('user', []), state: 'absent', settings: null }, broken]);
    await sim.settle();
    expect([stateOf(workspace), phases(workspace)]).toEqual(['rejected', { near: 'ready', far: 'idle', theirs: 'ready' }]);
    await end();
  });

  test('turning them on waits for a configuration that is whole', async () => {
    const { sim, workspace, end } = await brokenElsewhere();
    sim.change([layer('user', own, { remoteEnabled: false }), broken]);
    await sim.settle();
    sim.change([layer('user', own, { remoteEnabled: true }), broken]);
    await sim.settle();
    expect(workspace.status().workspace.remoteEnabled).toBe(false);
    await end();
  });

  test.each([
    ['deny', 'BLOCKED_BY_POLICY'],
    ['ask', 'APPROVAL_NO_CHANNEL'],
  ] as const)('a new %s of the user’s file counts at once, over an older allow', async (verdict, code) => {
    const sim = new Simulation();
    const rule = { server: 'near', tool: null, layer: 'user' } as const;
    sim.layers = [layer('user', own, { toolPolicies: [{ ...rule, verdict: 'allow' }] })];
    const { workspace, supervisor } = await sim.open({}, { trusted: true });
    await workspace.server('near').test();
    sim.link('near').behaviour.answers = true;
    await expect(workspace.call('mcp__near__echo')).resolves.toBeDefined();
    sim.change([layer('user', own, { toolPolicies: [{ ...rule, tool: 'echo', verdict }] }), broken]);
    await sim.settle();
    expect(stateOf(workspace)).toBe('rejected');
    await expect(workspace.call('mcp__near__echo')).rejects.toMatchObject({ code });
    expect(workspace.server('near').status()).toMatchObject({ phase: 'ready', generation: 1 });
    await supervisor.close();
  });

  test('a switch turns a server off at once', async () => {
    const { sim, workspace, end } = await brokenElsewhere();
    sim.change([layer('user', own, settings), broken]);
    await sim.settle();
    const call = outcomeOf(workspace.call('mcp__near__echo'));
    await sim.settle();
    await workspace.server('near').disable();
    await sim.settle();
    expect([stateOf(workspace), call.state]).toEqual(['rejected', 'DISABLED']);
    expect(phases(workspace)).toEqual({ near: 'idle', far: 'ready', theirs: 'ready' });
    await end();
  });

  test('a switch that another process turned counts at once', async () => {
    const { sim, workspace, end } = await brokenElsewhere();
    sim.change([layer('user', own, settings), broken]);
    await sim.settle();
    await sim.elsewhere((db) => db.setSwitch('mcp.disabled.user.near', false));
    expect([stateOf(workspace), phases(workspace)]).toEqual(['rejected', { near: 'idle', far: 'ready', theirs: 'ready' }]);
    await end();
  });

  test('trust that is withdrawn ends the servers of the workspace at once, its broken file or the user’s besides', async () => {
    const { sim, workspace, end } = await brokenElsewhere();
    sim.change([rejectedLayer('user'), layer('workspace', [server('theirs')])]);
    await sim.settle();
    const call = outcomeOf(workspace.call('mcp__theirs__echo', {}, { byPerson: true }));
    await sim.settle();
    void workspace.setTrusted(false);
    await sim.settle();
    expect([stateOf(workspace), call.state, sim.link('theirs').isClosed]).toEqual(['rejected', 'UNTRUSTED', true]);
    expect(phases(workspace)).toEqual({ near: 'ready', far: 'ready', theirs: 'idle' });
    await end();
  });
});

test('a storm of a thousand events, half of them of broken files, is one reading: the last that is valid, once (S172)', async () => {
  await using folder = await configFolder();
  const text = (version: number): string =>
    JSON.stringify({ mcpServers: { kept: { command: 'kept' }, changing: { command: 'changing', args: [String(version)] } } });
  await folder.read({ user: text(-1) });
  const sim = new Simulation();
  const config = folder.configWith(sim.clock);
  let readings = 0;
  const supervisor = sim.supervisor({}, { config: { ...config, read: (scope) => ((readings += 1), config.read(scope)) } });
  const workspace = await supervisor.openWorkspace(folder.root);
  await workspace.loaded;
  await workspace.connectAll();
  expect(readings).toBe(1);
  const idle = sim.clock.pending;

  for (let version = 0; version < 1_000; version += 1) {
    await writeFile(folder.userFile, version % 2 === 0 ? text(version).slice(0, 30) : text(version));
  }
  // The events have come; time stands still, so nothing has been read.
  await expect.poll(() => sim.clock.pending).toBeGreaterThan(idle);
  expect([readings, workspace.status().workspace.config.revision]).toEqual([1, 1]);
  sim.clock.advance(150);
  await expect.poll(() => workspace.status().workspace.config).toMatchObject({ state: 'valid', revision: 2, errors: [] });
  await workspace.connectAll();
  await sim.settle();
  expect(readings).toBe(2);
  expect(workspace.server('kept').status()).toMatchObject({ phase: 'ready', generation: 1 });
  expect(workspace.server('changing').status()).toMatchObject({ phase: 'ready', generation: 2 });
  expect(sim.openLinks).toHaveLength(2);
  await supervisor.close();
  await rm(folder.userFile);
  expect([sim.openLinks, sim.remains()]).toEqual([[], []]);
});
