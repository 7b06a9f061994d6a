import { describe, expect, test } from 'vitest';
import { createActor, fromCallback } from 'xstate';
import { type Candidate, switchKey } from '../machines/candidates.js';
import { type ServerScript, scriptedServer } from '../machines/scripted-actors.js';
import type { TransportCommand, TransportInput } from '../machines/server-events.js';
import { defaultServerOptions } from '../machines/server-options.js';
import { phaseOf } from '../machines/server-view.js';
import { type CandidateKey, failure } from '../machines/vocabulary.js';
import { type WorkspaceNews, workspaceMachine } from '../machines/workspace-machine.js';
import { aHandshake, aProfile } from './support/server-harness.js';
import { VirtualClock } from './support/virtual-clock.js';

const root = '/repo';
const options = defaultServerOptions;
const user = (id: string, changes: Partial<Candidate> = {}): Candidate => ({ ...aProfile, id, lifecycle: 'eager', ...changes });
const project = (id: string, changes: Partial<Candidate> = {}): Candidate => user(id, { layer: 'workspace', ...changes });
const asks: ServerScript = { vettings: [{ verdict: 'ask', fingerprint: 'f1' }] };
const closed = failure('SUPERVISOR_CLOSED', 'closed');

type Start = {
  readonly trusted?: boolean;
  readonly switches?: ReadonlyMap<string, boolean>;
  readonly scripts?: Partial<Record<CandidateKey, ServerScript>>;
  /** An action of this server's machine that throws: a bug. */
  readonly bug?: string;
  /** Transports say that they are closed only once `letClose` lets them. */
  readonly slow?: boolean;
};

function start({ trusted = true, switches = new Map(), scripts = {}, bug, slow = false }: Start = {}) {
  const clock = new VirtualClock();
  const news: WorkspaceNews[] = [];
  const faults: unknown[] = [];
  const closings: (() => void)[] = [];
  const scripted = scriptedServer((key) => scripts[key] ?? {});
  const slowTransport = fromCallback<TransportCommand, TransportInput>(({ input: { generation }, sendBack, receive }) => {
    receive(() => closings.push(() => sendBack({ type: 'transport.closed', generation, outcome: 'clean', detail: 'at last' })));
    sendBack({ type: 'transport.opened', generation, pid: null });
    sendBack({ type: 'transport.initialized', generation, handshake: aHandshake });
  });
  const server = scripted.provide({
    ...(slow ? { actors: { transport: slowTransport } } : {}),
    actions: {
      noteStderr: ({ context }) => {
        if (context.profile.id === bug) throw new Error('a bug in the machine');
      },
    },
  });
  const actor = createActor(workspaceMachine.provide({ actors: { server } }), {
    clock,
    input: { root, trusted, remoteEnabled: false, switches, seed: 1, options },
  });
  for (const type of [
    'server.added',
    'server.gone',
    'server.broke',
    'server.interrupted',
    'workspace.closed',
    'slot.released',
  ] as const) {
    actor.on(type, (one) => news.push(one));
  }
  actor.on('slot.wanted', ({ key, ticket }) => refOf(key)?.send({ type: 'slot.granted', ticket }));
  actor.subscribe({ error: (error) => void faults.push(error) });
  actor.start();
  const context = () => actor.getSnapshot().context;
  const refOf = (key: string) => context().servers[key as CandidateKey];
  const phases = () =>
    Object.fromEntries(Object.entries(context().servers).map(([key, ref]) => [key, phaseOf(ref.getSnapshot())]));
  return {
    actor,
    clock,
    faults,
    news,
    context,
    refOf,
    phases,
    generation: (key: string) => refOf(key)?.getSnapshot().context.generation,
    blockedBy: (key: string) => refOf(key)?.getSnapshot().context.blockedBy,
    take: async (candidates: readonly Candidate[], state: 'valid' | 'degraded' = 'valid') => {
      actor.send({ type: 'config.taken', state, candidates, options });
      await clock.run(0);
    },
    send: async (event: Parameters<typeof actor.send>[0]) => {
      actor.send(event);
      await clock.run(0);
    },
    letClose: async () => {
      for (const close of closings.splice(0)) close();
      await clock.run(0);
    },
    heard: () => news.splice(0).map((one) => ('key' in one ? `${one.type} ${one.key}` : one.type)),
  };
}

describe('a configuration', () => {
  test('starts what starts unasked, and nothing before it is there', async () => {
    const workspace = start();
    expect(workspace.actor.getSnapshot().value).toMatchObject({ config: 'loading', trust: 'trusted', lifetime: 'open' });
    await workspace.take([user('a'), user('b', { lifecycle: 'lazy' })]);
    expect(workspace.phases()).toEqual({ 'user/a': 'ready', 'user/b': 'idle' });
    expect(workspace.heard()).toEqual(['server.added user/a', 'server.added user/b']);
    expect(workspace.actor.getSnapshot().value).toMatchObject({ config: 'valid' });
    expect(workspace.context().revision).toBe(1);
  });

  test('B181 taken again unchanged disturbs nobody, changed only the server that changed', async () => {
    const workspace = start();
    await workspace.take([user('a'), user('b')]);
    await workspace.take([user('b'), user('a')]);
    expect([workspace.generation('user/a'), workspace.generation('user/b')]).toEqual([1, 1]);
    await workspace.take([user('a', { configHash: 'other' }), user('b')]);
    expect([workspace.generation('user/a'), workspace.generation('user/b')]).toEqual([2, 1]);
    expect(workspace.phases()).toEqual({ 'user/a': 'ready', 'user/b': 'ready' });
  });

  test('whose time-outs alone changed restarts nobody', async () => {
    const workspace = start();
    await workspace.take([user('a')]);
    await workspace.take([user('a', { idleTimeoutMs: 5 })]);
    expect(workspace.generation('user/a')).toBe(1);
    await workspace.clock.run(5);
    expect(workspace.phases()).toEqual({ 'user/a': 'idle' });
  });

  test('S027 that is rejected changes nothing, and one that is taken in part says so', async () => {
    const workspace = start();
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
    const workspace = start();
    await workspace.take([user('a'), user('b')]);
    workspace.heard();
    await workspace.take([user('b')]);
    expect(workspace.heard()).toEqual(['server.interrupted user/a', 'slot.released user/a', 'server.gone user/a']);
    expect(workspace.phases()).toEqual({ 'user/b': 'ready' });
    expect(Object.keys(workspace.actor.getSnapshot().children)).toEqual(['user/b']);
  });

  test('gives every server its own jitter', async () => {
    const workspace = start();
    await workspace.take([user('a'), user('b')]);
    const seeds = ['user/a', 'user/b'].map((key) => workspace.refOf(key)?.getSnapshot().context.seed);
    expect(new Set(seeds).size).toBe(2);
  });
});

describe('a server that comes back while its old actor still closes', () => {
  const slow = async () => {
    const workspace = start({ slow: true });
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

describe('gates', () => {
  test('S001 S002 an untrusted workspace contributes nothing that runs, a trusted one only what is on and approved', async () => {
    const candidate = project('p');
    const workspace = start({ trusted: false, scripts: { 'workspace/p': asks } });
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
    const workspace = start();
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
    const workspace = start({ switches, scripts: { 'workspace/x': asks } });
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
    const workspace = start();
    const refusal = failure('REFUSED_ENV', 'NODE_OPTIONS may not be set');
    await workspace.take([user('a', { refusal }), user('b')]);
    expect(workspace.blockedBy('user/a')).toBe('refused');
    await workspace.take([user('a'), user('b')]);
    expect(workspace.phases()).toEqual({ 'user/a': 'ready', 'user/b': 'ready' });
    expect(workspace.generation('user/b')).toBe(1);
  });
});

describe('an actor that fails', () => {
  const broken = async () => {
    const workspace = start({ bug: 'a' });
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
    const workspace = start({ scripts: { 'workspace/p': asks } });
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
    const workspace = start();
    await workspace.send({ type: 'workspace.close', failure: closed });
    expect(workspace.heard()).toEqual(['workspace.closed']);
  });

  test('nothing starts any more once it has begun', async () => {
    const workspace = start();
    await workspace.take([user('a')]);
    workspace.actor.send({ type: 'workspace.close', failure: closed });
    await workspace.take([user('a'), user('b')]);
    await workspace.send({ type: 'remote.changed', enabled: true });
    expect(workspace.phases()).toEqual({});
    expect(workspace.actor.getSnapshot().value).toMatchObject({ lifetime: 'closed' });
  });
});
