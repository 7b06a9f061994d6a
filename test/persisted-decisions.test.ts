import { describe, expect, test } from 'vitest';
import type { DbPort } from '../actors/ports.js';
import { layer, Simulation, server } from './support/simulated-ports.js';

const SWITCH = 'mcp.disabled.user.files';
const THEIRS = 'mcp.disabled.workspace.theirs#stdio#/repo';

function simulation(): Simulation {
  const sim = new Simulation();
  sim.layers = [
    layer('user', [server('files', { lifecycle: 'keep-alive' })]),
    layer('workspace', [server('theirs', { layer: 'workspace' })]),
  ];
  return sim;
}

describe('what was decided in one run', () => {
  test('holds in the next: trust by its real path, and the switches', async () => {
    const sim = simulation();
    const ports = { realPath: (path: string) => Promise.resolve(path === '/link' ? '/repo' : path) };
    const first = sim.supervisor({}, ports);
    const workspace = await first.openWorkspace('/link');
    await workspace.loaded;
    await workspace.setTrusted(true);
    await workspace.server('theirs').enable();
    await workspace.server('files').disable();
    await first.close();
    const { workspace: again, supervisor } = await sim.open();
    expect(again.status()).toMatchObject({
      workspace: { root: '/repo', trusted: true },
      servers: [
        { id: 'files', blockedBy: 'disabled' },
        { id: 'theirs', phase: 'approving' },
      ],
    });
    const elsewhere = await supervisor.openWorkspace('/copy');
    await elsewhere.loaded;
    expect(elsewhere.status()).toMatchObject({
      workspace: { trusted: false },
      servers: [{ enabled: false }, { enabled: false }],
    });
    await supervisor.close();
    expect(sim.remains()).toEqual([]);
  });

  test('yields to the host’s no', async () => {
    const sim = simulation();
    await sim.db.setTrusted('/repo', true);
    const { workspace, supervisor } = await sim.open({}, { trusted: false });
    expect(workspace.status().workspace.trusted).toBe(false);
    await supervisor.close();
  });
});

describe('what another process decides', () => {
  test('is followed at once by a running workspace', async () => {
    const sim = simulation();
    const { workspace, supervisor } = await sim.open();
    await workspace.connectAll();
    await sim.elsewhere((db) => db.setTrusted('/repo', true));
    await sim.elsewhere((db) => db.setSwitch(THEIRS, true));
    expect(workspace.server('theirs').status()).toMatchObject({ phase: 'approving', enabled: true });
    await sim.elsewhere((db) => db.setTrusted('/repo', false));
    expect(workspace.server('theirs').status().blockedBy).toBe('untrusted');
    expect(workspace.questions()).toEqual([]);
    await sim.elsewhere((db) => db.setSwitch(SWITCH, false));
    expect(workspace.server('files').status()).toMatchObject({ phase: 'idle', blockedBy: 'disabled' });
    expect(sim.openLinks).toEqual([]);
    await supervisor.close();
    expect(sim.remains()).toEqual([]);
  });

  test('a trust that is lost with the store holds no longer', async () => {
    const sim = simulation();
    await sim.db.setTrusted('/repo', true);
    const lost = { now: false };
    const db: DbPort = { ...sim.db, trusted: (root) => (lost.now ? Promise.resolve(null) : sim.db.trusted(root)) };
    const { workspace, supervisor } = await sim.open({}, {}, { db });
    expect(workspace.status().workspace.trusted).toBe(true);
    lost.now = true;
    await sim.elsewhere((other) => other.setSwitch('another', true));
    expect(workspace.status().workspace.trusted).toBe(false);
    await supervisor.close();
  });

  test('does not outrank the host’s own word on trust', async () => {
    const sim = simulation();
    for (const trusted of [true, false]) {
      const { workspace, supervisor } = await sim.open({}, { trusted });
      await sim.elsewhere((db) => db.setTrusted('/repo', !trusted));
      expect(workspace.status().workspace.trusted).toBe(trusted);
      await supervisor.close();
    }
  });

  test('about something else does not turn back what was switched on for this run', async () => {
    const sim = simulation();
    const { workspace, supervisor } = await sim.open({}, { trusted: true, enable: ['theirs'] });
    await sim.elsewhere((db) => db.setSwitch('mcp.disabled.user.other', false));
    expect(workspace.server('theirs').status()).toMatchObject({ enabled: true });
    await sim.elsewhere((db) => db.setSwitch(THEIRS, false));
    expect(workspace.server('theirs').status()).toMatchObject({ enabled: false });
    await supervisor.close();
  });

  test('before a decision of this run that is still being written does not undo it', async () => {
    const sim = simulation();
    let write: (() => void) | undefined;
    const slow: DbPort = {
      ...sim.db,
      setTrusted: async (root, trusted) => {
        await new Promise<void>((resolve) => void (write = resolve));
        await sim.db.setTrusted(root, trusted);
      },
    };
    const { workspace, supervisor } = await sim.open({}, {}, { db: slow });
    const written = workspace.setTrusted(false);
    await sim.elsewhere((db) => db.setTrusted('/repo', true));
    expect(workspace.status().workspace.trusted).toBe(false);
    write?.();
    await written;
    await sim.settle();
    expect([workspace.status().workspace.trusted, await sim.db.trusted('/repo')]).toEqual([false, false]);
    await supervisor.close();
  });

  test('while the workspace is opened is not missed', async () => {
    const sim = simulation();
    const opening = sim.supervisor().openWorkspace('/repo');
    await sim.elsewhere((db) => db.setTrusted('/repo', true));
    const workspace = await opening;
    await workspace.loaded;
    await sim.settle();
    expect(workspace.status().workspace.trusted).toBe(true);
    await workspace.close();
    expect(sim.remains()).toEqual([]);
  });
});

describe('a fingerprint that a person approved', () => {
  const fingerprint = 'fingerprint of workspace-theirs-1';
  const opened = { trusted: true, enable: ['theirs'] };

  test('is remembered as approved once, and starts nothing in the next run', async () => {
    const sim = simulation();
    const saved: string[] = [];
    const db = { ...sim.db, saveApproved: async (one: string) => void saved.push(one) };
    const first = await sim.open({ approve: () => 'approve' }, opened, { db });
    await first.workspace.connectAll();
    await first.workspace.server('theirs').test();
    expect(saved).toEqual([fingerprint]);
    await first.supervisor.close();
    const next = new Simulation();
    next.layers = sim.layers;
    await next.db.saveApproved(fingerprint);
    const second = await next.open({}, opened);
    expect(second.workspace.server('theirs').status().phase).toBe('approving');
    await second.supervisor.close();
  });

  test('is remembered too when it was given for the run, as soon as it is used', async () => {
    const sim = simulation();
    const { supervisor } = await sim.open({ approvedFingerprints: [fingerprint, 'never used'] }, opened);
    expect(await Promise.all([fingerprint, 'never used'].map((one) => sim.db.wasApproved(one)))).toEqual([true, false]);
    await supervisor.close();
  });

  test('is not remembered when it was denied', async () => {
    const sim = simulation();
    const { supervisor } = await sim.open({ approve: () => 'deny' }, opened);
    expect(await sim.db.wasApproved(fingerprint)).toBe(false);
    await supervisor.close();
  });
});

test('a store that fails at everything costs no decision of this run, no start and no host', async () => {
  const sim = simulation();
  const broken = () => Promise.reject(new Error('disk'));
  const db: DbPort = {
    ...sim.db,
    setTrusted: broken,
    setSwitch: broken,
    saveApproved: broken,
    wasApproved: broken,
    era: broken,
    saveEra: broken,
  };
  const { workspace, supervisor } = await sim.open({ approve: () => 'approve' }, {}, { db });
  // Left alone, as many hosts do: none of them becomes an unhandled rejection.
  void workspace.setTrusted(true);
  void workspace.server('theirs').enable();
  void workspace.server('files').disable();
  await sim.settle();
  await workspace.server('theirs').test();
  expect(workspace.status()).toMatchObject({
    workspace: { trusted: true },
    servers: [{ blockedBy: 'disabled' }, { id: 'theirs', phase: 'ready' }],
  });
  for (const failing of [workspace.setTrusted(true), workspace.server('theirs').enable()])
    await expect(failing).rejects.toMatchObject({ code: 'STORE_FAILED' });
  expect(sim.log.filter(({ event }) => event === 'store.failed').length).toBeGreaterThan(3);
  await supervisor.close();
  expect(sim.remains()).toEqual([]);
});
