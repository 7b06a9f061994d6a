import { describe, expect, test } from 'vitest';
import { switchKey } from '../machines/candidates.js';
import { asks, closed, project, root, startWorkspace, user } from './support/workspace-harness.js';

describe('a server that comes back while its old actor still closes', () => {
  const slow = async () => {
    const workspace = startWorkspace({ slow: true });
    await workspace.take([user('a'), user('b')]);
    workspace.heard();
    await workspace.take([user('b')]);
    expect(workspace.heard()).toEqual(['server.interrupted user/a']);
    expect(workspace.context().leaving).toEqual(['user/a']);
    return workspace;
  };

  test('waits for the old one to be gone, and starts from what is taken by then', async () => {
    const workspace = await slow();
    await workspace.take([user('a', { configHash: 'two', idleTimeoutMs: 2 }), user('b')]);
    await workspace.take([user('a', { configHash: 'two', idleTimeoutMs: 3 }), user('b')]);
    await workspace.take([user('a', { configHash: 'three' }), user('b')]);
    expect(workspace.refOf('user/a')?.getSnapshot().context.profile.configHash).toBe('hash-1');
    expect(workspace.heard()).toEqual([]);
    await workspace.letClose();
    expect(workspace.heard()).toEqual(['slot.released user/a', 'server.gone user/a', 'server.added user/a']);
    expect(workspace.phases()).toEqual({ 'user/b': 'ready', 'user/a': 'ready' });
    expect(workspace.refOf('user/a')?.getSnapshot().context.profile.configHash).toBe('three');
    expect(workspace.context().leaving).toEqual([]);
    expect(workspace.generation('user/b')).toBe(1);
  });

  test('finds the gates as they are then', async () => {
    const workspace = await slow();
    await workspace.take([user('a', { isRemote: true, transport: 'http' }), user('b')]);
    await workspace.send({ type: 'remote.changed', enabled: true });
    await workspace.letClose();
    expect(workspace.phases()).toEqual({ 'user/b': 'ready', 'user/a': 'ready' });
  });

  test('and is removed again is gone for good', async () => {
    const workspace = await slow();
    await workspace.take([user('a'), user('b')]);
    await workspace.take([user('b')]);
    expect(workspace.context().leaving).toEqual(['user/a']);
    await workspace.letClose();
    expect(workspace.phases()).toEqual({ 'user/b': 'ready' });
    expect(workspace.context().leaving).toEqual([]);
  });

  test('and the workspace closes meanwhile, keeps it from closing until it is gone', async () => {
    const workspace = await slow();
    await workspace.send({ type: 'workspace.close', failure: closed });
    expect(workspace.heard()).not.toContain('workspace.closed');
    expect(workspace.actor.getSnapshot().value).toMatchObject({ lifetime: 'closing' });
    await workspace.letClose();
    expect(workspace.heard().at(-1)).toBe('workspace.closed');
  });
});

describe('an actor that fails', () => {
  const broken = async () => {
    const workspace = startWorkspace({ bug: 'a' });
    await workspace.take([user('a'), user('b')]);
    workspace.heard();
    workspace.refOf('user/a')?.send({ type: 'transport.stderr', generation: 1 });
    await workspace.clock.run(0);
    return workspace;
  };

  test('is told and dropped, its siblings go on, and the workspace too', async () => {
    const workspace = await broken();
    expect(workspace.heard()).toEqual(['server.broke user/a']);
    expect(workspace.phases()).toEqual({ 'user/b': 'ready' });
    expect(workspace.faults).toEqual([]);
    expect(workspace.actor.getSnapshot().status).toBe('active');
  });

  test('is started again by the next configuration that has it', async () => {
    const workspace = await broken();
    await workspace.take([user('a', { configHash: 'other' }), user('b')]);
    expect(workspace.phases()).toEqual({ 'user/b': 'ready', 'user/a': 'ready' });
  });

  test('and left the configuration leaves no trace: when it comes back its gates are told to it', async () => {
    const workspace = await broken();
    await workspace.take([user('b')]);
    expect(workspace.context().leaving).toEqual([]);
    await workspace.take([user('a', { isRemote: true, transport: 'http' }), user('b')]);
    await workspace.send({ type: 'remote.changed', enabled: true });
    expect(workspace.phases()).toEqual({ 'user/b': 'ready', 'user/a': 'ready' });
  });

  test('does not keep the workspace from closing', async () => {
    const workspace = await broken();
    await workspace.send({ type: 'workspace.close', failure: closed });
    expect(workspace.heard().at(-1)).toBe('workspace.closed');
  });
});

describe('closing', () => {
  test('ends every server, whatever it is doing, and then says so once', async () => {
    const workspace = startWorkspace({ scripts: { 'workspace/p': asks } });
    const candidate = project('p');
    await workspace.take([user('a'), user('b', { lifecycle: 'lazy' }), candidate]);
    await workspace.send({ type: 'switch.changed', key: switchKey(candidate, root), on: true });
    expect(workspace.phases()).toEqual({ 'user/a': 'ready', 'user/b': 'idle', 'workspace/p': 'approving' });
    workspace.heard();
    await workspace.send({ type: 'workspace.close', failure: closed });
    const heard = workspace.heard();
    expect(heard.filter((one) => one.startsWith('server.gone')).sort()).toEqual([
      'server.gone user/a',
      'server.gone user/b',
      'server.gone workspace/p',
    ]);
    expect(heard.filter((one) => one === 'workspace.closed')).toEqual(['workspace.closed']);
    expect(workspace.context().servers).toEqual({});
    expect(workspace.clock.pending).toBe(0);
    expect(Object.keys(workspace.actor.getSnapshot().children)).toEqual([]);
  });

  test('an empty workspace is done at once', async () => {
    const workspace = startWorkspace();
    await workspace.send({ type: 'workspace.close', failure: closed });
    expect(workspace.heard()).toEqual(['workspace.closed']);
  });

  test('nothing starts any more once it has begun', async () => {
    const workspace = startWorkspace();
    await workspace.take([user('a')]);
    workspace.actor.send({ type: 'workspace.close', failure: closed });
    await workspace.take([user('a'), user('b')]);
    await workspace.send({ type: 'remote.changed', enabled: true });
    expect(workspace.phases()).toEqual({});
    expect(workspace.actor.getSnapshot().value).toMatchObject({ lifetime: 'closed' });
  });
});
