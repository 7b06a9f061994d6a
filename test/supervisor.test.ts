import { Subject } from 'rxjs';
import { describe, expect, test, vi } from 'vitest';
import type { WorkspaceStatus } from '../actors/api.js';
import { outcomeOf } from './support/outcome.js';
import { layer, Simulation, server } from './support/simulated-ports.js';

const user = layer('user', [server('files'), server('notes', { lifecycle: 'keep-alive' })]);

function simulation(): Simulation {
  const sim = new Simulation();
  sim.layers = [user];
  return sim;
}

describe('a root that is opened twice', () => {
  test('is one running workspace, which stays until its last handle is given up', async () => {
    const sim = simulation();
    const { supervisor, workspace: first } = await sim.open();
    const second = await supervisor.openWorkspace('/repo');
    await first.connectAll();
    expect(second.server('files').status()).toEqual(first.server('files').status());
    expect(sim.links).toHaveLength(2);
    await first.close();
    expect(outcomeOf(first.call('mcp__files__echo')).state).toBe('open');
    sim.link('files').behaviour.answers = true;
    await expect(second.call('mcp__files__echo')).resolves.toEqual({ content: [] });
    await expect(first.call('mcp__files__echo')).rejects.toMatchObject({ code: 'SUPERVISOR_CLOSED' });
    await second.close();
    expect(sim.remains()).toEqual([]);
  });

  test('is one even while it is still being opened', async () => {
    const sim = simulation();
    const supervisor = sim.supervisor();
    const [first, second] = await Promise.all([supervisor.openWorkspace('/repo'), supervisor.openWorkspace('/repo')]);
    await Promise.all([first.loaded, second.loaded]);
    expect(sim.reads).toBe(1);
    await supervisor.close();
    expect(sim.remains()).toEqual([]);
  });

  test('with other options is a conflict, whichever supervisor asks', async () => {
    const sim = simulation();
    const { supervisor } = await sim.open({}, { trusted: true, enable: ['files'] });
    const conflict = { code: 'WORKSPACE_CONFLICT' };
    await expect(supervisor.openWorkspace('/repo', { trusted: false })).rejects.toMatchObject(conflict);
    await expect(supervisor.openWorkspace('/repo')).rejects.toMatchObject(conflict);
    const other = sim.supervisor();
    await expect(other.openWorkspace('/repo', { trusted: true, enable: ['files'] })).rejects.toMatchObject(conflict);
    // The order in which options are written makes no other options.
    await expect(supervisor.openWorkspace('/repo', { enable: ['files'], trusted: true })).resolves.toBeDefined();
    await Promise.all([supervisor.close(), other.close()]);
    expect(sim.remains()).toEqual([]);
  });

  test('while it is being closed is waited for and then started anew', async () => {
    const sim = simulation();
    sim.behaviours.set('files', { closes: false });
    const { supervisor, workspace } = await sim.open();
    await workspace.connectAll();
    const closed = workspace.close();
    const reopened = supervisor.openWorkspace('/repo', { trusted: true });
    await sim.settle();
    expect(outcomeOf(reopened).state).toBe('open');
    sim.link('files').finishClose();
    await closed;
    const again = await reopened;
    await again.loaded;
    sim.behaviours.clear();
    expect((await again.connectAll()).servers.map(({ phase }) => phase)).toEqual(['ready', 'ready']);
    await supervisor.close();
    expect(sim.remains()).toEqual([]);
  });

  test('gives its handles no listeners that outlive them', async () => {
    const sim = simulation();
    const { supervisor } = await sim.open();
    const shared = await sim.pool.running.get('/repo')?.shared;
    const subscribed = vi.spyOn(shared?.runtime.changes ?? new Subject(), 'subscribe');
    for (let at = 0; at < 5; at += 1) await (await supervisor.openWorkspace('/repo')).close();
    expect(subscribed).not.toHaveBeenCalled();
    await supervisor.close();
  });
});

describe('state that cannot be read', () => {
  test('keeps a workspace from being opened, with a typed error, and not for ever', async () => {
    const sim = simulation();
    let isBroken = true;
    const db = { ...sim.db, switches: () => (isBroken ? Promise.reject(new Error('disk')) : sim.db.switches()) };
    const supervisor = sim.supervisor({}, { db });
    const opening = [supervisor.openWorkspace('/repo'), supervisor.openWorkspace('/repo')];
    for (const one of opening) await expect(one).rejects.toMatchObject({ name: 'SupervisorError', code: 'STORE_FAILED' });
    isBroken = false;
    await expect(supervisor.openWorkspace('/repo')).resolves.toBeDefined();
    await supervisor.close();
    expect(sim.remains()).toEqual([]);
  });

  test('or written costs neither the switch nor the host', async () => {
    const sim = simulation();
    const broken = () => Promise.reject(new Error('disk'));
    const { workspace, supervisor } = await sim.open(
      {},
      {},
      { db: { ...sim.db, setSwitch: broken, setTrusted: broken, metadata: broken, saveMetadata: broken } },
    );
    await workspace.connectAll();
    await expect(workspace.server('files').disable()).rejects.toMatchObject({ code: 'STORE_FAILED' });
    void workspace.setTrusted(true);
    await sim.settle();
    expect(workspace.server('files').status()).toMatchObject({ phase: 'idle', blockedBy: 'disabled', enabled: false });
    expect(workspace.status().workspace.trusted).toBe(true);
    expect(sim.log.map(({ event }) => event)).toContain('store.failed');
    await supervisor.close();
  });
});

describe('closing', () => {
  test('leaves nothing: no link, slot, timer, watcher or workspace, and every call settled', async () => {
    const sim = simulation();
    sim.behaviours.set('slow', { shakes: false });
    sim.layers = [layer('user', [...user.servers, server('slow'), server('other')])];
    sim.behaviours.set('other', { opens: false });
    const { supervisor, workspace } = await sim.open({ approve: () => new Promise(() => undefined), authorizeCall: () => 'ask' });
    await workspace.server('files').test();
    const open = [
      workspace.call('mcp__files__echo', {}, { byPerson: true }),
      workspace.call('mcp__slow__echo', {}, { byPerson: true }),
      workspace.call('mcp__files__echo'),
      workspace.server('other').test(),
      workspace.loaded,
    ].map(outcomeOf);
    const statuses: WorkspaceStatus[] = [];
    let isComplete = false;
    workspace.status$.subscribe({ next: (status) => statuses.push(status), complete: () => void (isComplete = true) });
    await sim.settle();
    const closing = supervisor.close();
    await sim.settle();
    await closing;
    expect(sim.remains()).toEqual([]);
    expect(open.map(({ state }) => state)).toEqual(['SUPERVISOR_CLOSED', 'SUPERVISOR_CLOSED', 'SUPERVISOR_CLOSED', 'ok', 'ok']);
    expect(isComplete).toBe(true);
  });

  test('twice is closing once, and afterwards everything is SUPERVISOR_CLOSED', async () => {
    const sim = simulation();
    const { supervisor, workspace } = await sim.open();
    const files = workspace.server('files');
    expect(supervisor.close()).toBe(supervisor.close());
    await supervisor.close();
    expect(workspace.close()).toBe(workspace.close());
    await workspace.close();
    const closed = { code: 'SUPERVISOR_CLOSED' };
    await expect(supervisor.openWorkspace('/repo')).rejects.toMatchObject(closed);
    await expect(workspace.call('mcp__files__echo')).rejects.toMatchObject(closed);
    await expect(workspace.reload()).rejects.toMatchObject(closed);
    await expect(files.test()).rejects.toMatchObject(closed);
    expect(() => files.restart()).toThrow(expect.objectContaining(closed));
    expect(await workspace.gateway.run({ action: 'call', name: 'mcp__files__echo' })).toMatchObject({ isError: true });
    expect(workspace.status().servers).toEqual([]);
    expect(() => workspace.setTrusted(true)).toThrow(expect.objectContaining(closed));
    workspace.endSession('one');
    void supervisor.setRemote(true);
    sim.change([user]);
    await sim.run(1_000);
    expect(sim.remains()).toEqual([]);
  });

  test('waits for what is being opened at that moment, and for what is being closed', async () => {
    const sim = simulation();
    sim.behaviours.set('notes', { closes: false });
    const ended: string[] = [];
    const fs = { ...sim.ports.fs, close: () => Promise.resolve(void ended.push('files')) };
    const { supervisor, workspace } = await sim.open({}, {}, { fs });
    await workspace.connectAll();
    void workspace.close();
    const opening = outcomeOf(supervisor.openWorkspace('/other'));
    const closing = outcomeOf(supervisor.close());
    await sim.settle();
    expect({ closing: closing.state, ended }).toEqual({ closing: 'open', ended: [] });
    sim.link('notes').finishClose();
    await sim.settle();
    expect([opening.state, closing.state]).toEqual(['SUPERVISOR_CLOSED', 'ok']);
    expect(ended).toEqual(['files']);
    expect(sim.remains()).toEqual([]);
  });

  test('can give calls in flight a while to end', async () => {
    const sim = simulation();
    const { supervisor, workspace } = await sim.open();
    await workspace.server('files').test();
    const quick = outcomeOf(workspace.call('mcp__files__echo'));
    const slow = outcomeOf(workspace.call('mcp__files__echo'));
    const closing = outcomeOf(supervisor.close({ drainMs: 5_000 }));
    await sim.run(1_000);
    sim.link('files').answer(sim.link('files').calls[0]?.id ?? '');
    await sim.run(3_999);
    expect([quick.state, slow.state, closing.state]).toEqual(['ok', 'open', 'open']);
    await sim.run(1);
    expect([slow.state, closing.state]).toEqual(['SUPERVISOR_CLOSED', 'ok']);
    expect(sim.remains()).toEqual([]);
  });

  test('does not wait any longer for calls than there are any', async () => {
    const sim = simulation();
    const { supervisor, workspace } = await sim.open();
    await workspace.server('files').test();
    const call = outcomeOf(workspace.call('mcp__files__echo'));
    const closing = outcomeOf(supervisor.close({ drainMs: 60_000 }));
    sim.link('files').answer(sim.link('files').calls[0]?.id ?? '');
    await sim.run(200);
    expect([call.state, closing.state]).toEqual(['ok', 'ok']);
  });
});

describe('the status of a workspace', () => {
  test('is replayed to whoever comes, tells every change once, and completes with the close', async () => {
    const sim = simulation();
    const { supervisor, workspace } = await sim.open();
    const heard: string[] = [];
    let completed = 0;
    const texts: string[] = [];
    workspace.status$.subscribe({
      next: (status) => {
        texts.push(JSON.stringify(status));
        heard.push(status.servers.find(({ id }) => id === 'files')?.phase ?? '');
      },
      complete: () => void (completed += 1),
    });
    expect(heard).toEqual(['idle']);
    await workspace.server('files').test();
    await sim.settle();
    expect(heard.at(-1)).toBe('ready');
    expect(texts.every((text, at) => text !== texts[at - 1])).toBe(true);
    await supervisor.close();
    expect(completed).toBe(1);
    workspace.status$.subscribe({ complete: () => void (completed += 1) });
    expect(completed).toBe(2);
  });
});
