import { writeFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import type { VetPort } from '../actors/ports.js';
import { configFolder } from './support/config-files.js';
import { outcomeOf } from './support/outcome.js';
import { layer, Simulation, server } from './support/simulated-ports.js';

const url = 'https://tools.example/mcp';
const far = server('far', { transport: 'http', url, isRemote: true, lifecycle: 'keep-alive' });

function simulation(remoteEnabled = false): Simulation {
  const sim = new Simulation();
  sim.layers = [layer('user', [server('near'), far], { remoteEnabled })];
  return sim;
}

describe('with remote servers off, a configured one', () => {
  test('is not looked at, not resolved and not connected, whoever asks for it', async () => {
    const sim = simulation();
    const { workspace, supervisor } = await sim.open({ discover: true });
    await workspace.connectAll();
    await expect(workspace.server('far').test()).resolves.toMatchObject({ ok: false, error: { code: 'REMOTE_OFF' } });
    workspace.server('far').restart();
    await sim.run(600_000);
    // Whatever would ask the network for a name comes after vetting, and even that has not begun.
    expect(sim.vetted).not.toContain('far');
    expect(sim.links.map(({ server: id }) => id)).not.toContain(url);
    expect(workspace.server('far').status()).toMatchObject({
      phase: 'idle',
      blockedBy: 'remoteOff',
      origin: 'https://tools.example',
      error: { code: 'REMOTE_OFF', hint: expect.stringContaining('mcp-supervisor remote on') as string },
    });
    await supervisor.close();
    expect(sim.remains()).toEqual([]);
  });

  test('opens as the switch is turned, and closes as it is turned back, with its call settled in the same turn', async () => {
    const sim = simulation();
    const { workspace, supervisor } = await sim.open();
    void supervisor.setRemote(true);
    await sim.settle();
    await workspace.connectAll();
    expect(workspace.server('far').status()).toMatchObject({ phase: 'ready' });
    const call = outcomeOf(workspace.call('mcp__far__echo', {}, { byPerson: true }));
    await sim.settle();
    expect([call.state, sim.link(url).calls.length]).toEqual(['open', 1]);
    void supervisor.setRemote(false);
    await Promise.resolve();
    for (let turn = 0; turn < 20 && call.state === 'open'; turn += 1) await Promise.resolve();
    expect(call.state).toBe('REMOTE_OFF');
    await sim.settle();
    expect([sim.link(url).isClosed, workspace.server('far').status().blockedBy]).toEqual([true, 'remoteOff']);
    expect(workspace.server('near').status().phase).toBe('ready');
    await supervisor.close();
  });
});

describe('remote servers of two workspaces with one slot between them', () => {
  test('are all shut out before anybody gets the slot that one of them gives up', async () => {
    const sim = simulation(true);
    const other = server('other', { transport: 'http', url, isRemote: true });
    const mine = server('mine', { transport: 'http', url, isRemote: true });
    sim.layers = [layer('user', [other], { remoteEnabled: true, limits: { live: 1 } }), layer('workspace', [mine])];
    const { vet: port } = sim.ports;
    let looks = 0;
    // What was approved and is called is looked at once more as it starts; that third look does not end: it holds the slot and has no link.
    const held = (...of: Parameters<VetPort['vet']>) =>
      of[0].id === 'mine' && (looks += 1) > 2 ? new Promise<never>(() => undefined) : port.vet(...of);
    const supervisor = sim.supervisor({ approve: () => Promise.resolve('approve') }, { vet: { vet: held } });
    const one = await supervisor.openWorkspace('/one', { trusted: true, enable: ['mine'] });
    const two = await supervisor.openWorkspace('/two', { trusted: false });
    await Promise.all([one.loaded, two.loaded]);
    const first = outcomeOf(one.call('mcp__mine__echo', {}, { byPerson: true }));
    await sim.settle();
    const second = outcomeOf(two.call('mcp__other__echo', {}, { byPerson: true }));
    await sim.settle();
    expect([one.server('mine').status().stage, two.server('other').status().stage]).toEqual(['transport', 'slot']);
    void supervisor.setRemote(false);
    await sim.settle();
    expect([first.state, second.state]).toEqual(['REMOTE_OFF', 'REMOTE_OFF']);
    expect(sim.links).toEqual([]);
    await supervisor.close();
    expect(sim.remains()).toEqual([]);
  });
});

describe('the host’s word', () => {
  test('outranks the file for this run, in workspaces that are opened later too', async () => {
    const sim = simulation();
    const { workspace, supervisor } = await sim.open();
    await supervisor.setRemote(true);
    sim.change([...sim.layers]);
    const later = await supervisor.openWorkspace('/later');
    await later.loaded;
    await sim.settle();
    expect([workspace, later].map((one) => one.status().workspace.remoteEnabled)).toEqual([true, true]);
    await supervisor.close();
  });

  test('once it is written is the file’s, and what the file says afterwards counts', async () => {
    const sim = simulation();
    const written: boolean[] = [];
    sim.writeRemote = (enabled) => {
      written.push(enabled);
      sim.layers = [layer('user', [far], { remoteEnabled: enabled })];
      return Promise.resolve({ file: 'user.json' });
    };
    const { workspace, supervisor } = await sim.open();
    await supervisor.setRemote(true, { persist: true });
    expect([workspace.status().workspace.remoteEnabled, written]).toEqual([true, [true]]);
    sim.change([layer('user', [far], { remoteEnabled: false })]);
    await sim.settle();
    expect(workspace.status().workspace.remoteEnabled).toBe(false);
    // The last word is the one that stays, in the file and here.
    await Promise.all([true, false, true, false].map((on) => supervisor.setRemote(on, { persist: true })));
    expect([workspace.status().workspace.remoteEnabled, written]).toEqual([false, [true, true, false, true, false]]);
    await supervisor.close();
  });

  test('that cannot be written holds all the same, and says so to whoever wants to know', async () => {
    const sim = simulation();
    const { workspace, supervisor } = await sim.open();
    void supervisor.setRemote(true, { persist: true });
    await sim.settle();
    await expect(supervisor.setRemote(true, { persist: true })).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
    sim.writeRemote = () => Promise.reject(new Error('disk full'));
    await expect(supervisor.setRemote(true, { persist: true })).rejects.toMatchObject({ code: 'CONFIG_UNREADABLE' });
    sim.change([...sim.layers]);
    await sim.settle();
    expect(workspace.status().workspace.remoteEnabled).toBe(true);
    await supervisor.close();
    await expect(supervisor.setRemote(false)).rejects.toMatchObject({ code: 'SUPERVISOR_CLOSED' });
  });
});

test('plain http to a host that is no longer listed is refused at the next reading, and what runs is closed', async () => {
  await using folder = await configFolder();
  const config = (plaintextHosts: readonly string[]) =>
    JSON.stringify({ remote: { enabled: true, plaintextHosts }, mcpServers: { plain: { url: 'http://box.lan/mcp' } } });
  await folder.read({ user: config(['box.lan']) });
  const sim = new Simulation();
  const supervisor = sim.supervisor({}, { config: folder.config });
  const workspace = await supervisor.openWorkspace(folder.root);
  await workspace.loaded;
  await workspace.connectAll();
  await sim.settle();
  const call = outcomeOf(workspace.call('mcp__plain__echo', {}, { byPerson: true }));
  await sim.settle();
  expect([workspace.server('plain').status().phase, call.state]).toEqual(['ready', 'open']);
  await writeFile(folder.userFile, config([]));
  await workspace.reload();
  await sim.settle();
  expect(call.state).toBe('LINK_LOST');
  expect(workspace.server('plain').status()).toMatchObject({ blockedBy: 'refused', error: { code: 'REFUSED_URL' } });
  expect(sim.openLinks).toEqual([]);
  await supervisor.close();
  expect(sim.remains()).toEqual([]);
});
