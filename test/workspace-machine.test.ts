import { describe, expect, test } from 'vitest';
import { switchKey } from '../machines/candidates.js';
import { failure } from '../machines/vocabulary.js';
import { asks, project, root, startWorkspace, user } from './support/workspace-harness.js';

describe('a configuration', () => {
  test('starts what starts unasked, and nothing before it is there', async () => {
    const workspace = startWorkspace();
    expect(workspace.actor.getSnapshot().value).toMatchObject({ config: 'loading', trust: 'trusted', lifetime: 'open' });
    await workspace.take([user('a'), user('b', { lifecycle: 'lazy' })]);
    expect(workspace.phases()).toEqual({ 'user/a': 'ready', 'user/b': 'idle' });
    expect(workspace.heard()).toEqual(['server.added user/a', 'server.added user/b']);
    expect(workspace.actor.getSnapshot().value).toMatchObject({ config: 'valid' });
    expect(workspace.context().revision).toBe(1);
  });

  test('B181 taken again unchanged disturbs nobody, changed only the server that changed', async () => {
    const workspace = startWorkspace();
    await workspace.take([user('a'), user('b')]);
    await workspace.take([user('b'), user('a')]);
    expect([workspace.generation('user/a'), workspace.generation('user/b')]).toEqual([1, 1]);
    await workspace.take([user('a', { configHash: 'other' }), user('b')]);
    expect([workspace.generation('user/a'), workspace.generation('user/b')]).toEqual([2, 1]);
    expect(workspace.phases()).toEqual({ 'user/a': 'ready', 'user/b': 'ready' });
  });

  test('whose time-outs alone changed restarts nobody', async () => {
    const workspace = startWorkspace();
    await workspace.take([user('a')]);
    await workspace.take([user('a', { idleTimeoutMs: 5 })]);
    expect(workspace.generation('user/a')).toBe(1);
    await workspace.clock.run(5);
    expect(workspace.phases()).toEqual({ 'user/a': 'idle' });
  });

  test('whose numbers for all servers changed reaches those that run, and restarts none of them', async () => {
    const workspace = startWorkspace();
    await workspace.take([user('a')]);
    const options = { ...workspace.context().options, listDebounceMs: 7 };
    await workspace.send({ type: 'config.taken', state: 'valid', candidates: [user('a')], options });
    expect(workspace.context().servers['user/a']?.getSnapshot().context.options.listDebounceMs).toBe(7);
    expect(workspace.generation('user/a')).toBe(1);
  });

  test('S027 that is rejected changes nothing, and one that is taken in part says so', async () => {
    const workspace = startWorkspace();
    await workspace.take([user('a')], 'degraded');
    expect(workspace.actor.getSnapshot().value).toMatchObject({ config: 'degraded' });
    const before = workspace.context();
    await workspace.send({ type: 'config.rejected' });
    expect(workspace.actor.getSnapshot().value).toMatchObject({ config: 'rejected' });
    expect(workspace.context()).toEqual(before);
    expect(workspace.generation('user/a')).toBe(1);
    await workspace.take([user('a')]);
    expect(workspace.actor.getSnapshot().value).toMatchObject({ config: 'valid' });
    expect(workspace.generation('user/a')).toBe(1);
  });

  test('B182 that lacks a server ends it, and only it', async () => {
    const workspace = startWorkspace();
    await workspace.take([user('a'), user('b')]);
    workspace.heard();
    await workspace.take([user('b')]);
    expect(workspace.heard()).toEqual(['server.interrupted user/a', 'slot.released user/a', 'server.gone user/a']);
    expect(workspace.phases()).toEqual({ 'user/b': 'ready' });
    expect(Object.keys(workspace.actor.getSnapshot().children)).toEqual(['user/b']);
  });

  test('gives every server its own jitter', async () => {
    const workspace = startWorkspace();
    await workspace.take([user('a'), user('b')]);
    const seeds = ['user/a', 'user/b'].map((key) => workspace.refOf(key)?.getSnapshot().context.seed);
    expect(new Set(seeds).size).toBe(2);
  });
});

describe('gates', () => {
  test('S001 S002 an untrusted workspace contributes nothing that runs, a trusted one only what is on and approved', async () => {
    const candidate = project('p');
    const workspace = startWorkspace({ trusted: false, scripts: { 'workspace/p': asks } });
    await workspace.take([candidate]);
    expect(workspace.blockedBy('workspace/p')).toBe('untrusted');
    await workspace.send({ type: 'trust.changed', trusted: true });
    expect(workspace.blockedBy('workspace/p')).toBe('disabled');
    expect(workspace.actor.getSnapshot().value).toMatchObject({ trust: 'trusted' });
    await workspace.send({ type: 'switch.changed', key: switchKey(candidate, root), on: true });
    expect(workspace.phases()).toEqual({ 'workspace/p': 'approving' });
    workspace.refOf('workspace/p')?.send({ type: 'approval.granted', fingerprint: 'f1' });
    await workspace.clock.run(0);
    expect(workspace.phases()).toEqual({ 'workspace/p': 'ready' });
    await workspace.send({ type: 'trust.changed', trusted: false });
    expect(workspace.actor.getSnapshot().value).toMatchObject({ trust: 'untrusted' });
    expect(workspace.phases()).toEqual({ 'workspace/p': 'idle' });
    expect(workspace.blockedBy('workspace/p')).toBe('untrusted');
  });

  test('S030 remote servers run only while remote is on', async () => {
    const workspace = startWorkspace();
    await workspace.take([user('r', { transport: 'http', isRemote: true, origin: 'https://example.com' }), user('a')]);
    expect(workspace.blockedBy('user/r')).toBe('remoteOff');
    await workspace.send({ type: 'remote.changed', enabled: true });
    expect(workspace.phases()).toEqual({ 'user/r': 'ready', 'user/a': 'ready' });
    await workspace.send({ type: 'remote.changed', enabled: false });
    expect(workspace.phases()).toEqual({ 'user/r': 'idle', 'user/a': 'ready' });
    expect(workspace.generation('user/a')).toBe(1);
  });

  test("S032 the user's server serves an id until the workspace's is approved, then they are swapped", async () => {
    const candidate = project('x');
    const switches = new Map([[switchKey(candidate, root), true]]);
    const workspace = startWorkspace({ switches, scripts: { 'workspace/x': asks } });
    await workspace.take([user('x'), candidate]);
    expect(workspace.phases()).toEqual({ 'user/x': 'ready', 'workspace/x': 'approving' });
    workspace.refOf('workspace/x')?.send({ type: 'approval.granted', fingerprint: 'f1' });
    await workspace.clock.run(0);
    expect(workspace.phases()).toEqual({ 'user/x': 'idle', 'workspace/x': 'ready' });
    expect(workspace.blockedBy('user/x')).toBe('shadowed');
    await workspace.send({ type: 'switch.changed', key: switchKey(candidate, root), on: false });
    expect(workspace.phases()).toEqual({ 'user/x': 'ready', 'workspace/x': 'idle' });
  });

  test('a refusal of one server leaves its siblings alone', async () => {
    const workspace = startWorkspace();
    const refusal = failure('REFUSED_ENV', 'NODE_OPTIONS may not be set');
    await workspace.take([user('a', { refusal }), user('b')]);
    expect(workspace.blockedBy('user/a')).toBe('refused');
    await workspace.take([user('a'), user('b')]);
    expect(workspace.phases()).toEqual({ 'user/a': 'ready', 'user/b': 'ready' });
    expect(workspace.generation('user/b')).toBe(1);
  });
});
