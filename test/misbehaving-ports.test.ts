import { describe, expect, test } from 'vitest';
import type { SupervisorOptions } from '../actors/api.js';
import type { Ports } from '../actors/ports.js';
import { failure } from '../machines/vocabulary.js';
import { outcomeOf } from './support/outcome.js';
import type { Behaviour } from './support/simulated-link.js';
import { layer, Simulation, server } from './support/simulated-ports.js';

/** "bad" misbehaves; "good" stands beside it. */
async function start(behaviour: Partial<Behaviour>, options: SupervisorOptions = {}) {
  const sim = new Simulation();
  sim.layers = [layer('user', [server('bad'), server('good')])];
  sim.behaviours.set('bad', behaviour);
  sim.behaviours.set('good', { answers: true });
  const opened = await sim.open(options);
  const { workspace } = opened;
  const call = (id = 'bad') => outcomeOf(workspace.call(`mcp__${id}__echo`));
  const status = () => workspace.server('bad').status();
  const goodStillServes = async (): Promise<void> => {
    const outcome = call('good');
    await sim.settle();
    expect(outcome.state).toBe('ok');
  };
  return { sim, ...opened, call, status, goodStillServes };
}

describe('a link', () => {
  test('whose opening throws is a server that cannot be started, and nothing more', async () => {
    const { sim, call, status, supervisor, goodStillServes } = await start({ atOpen: 'throws' });
    const outcome = call();
    await sim.settle();
    expect(status()).toMatchObject({ phase: 'backoff', restarts: 1, error: { code: 'SPAWN_FAILED' } });
    expect(outcome.state).toBe('open');
    await goodStillServes();
    await sim.run(60_000);
    expect(outcome.state).toMatch(/NOT_READY|RESTART_INTENSITY/);
    await supervisor.close();
    expect(sim.remains()).toEqual([]);
  });

  test('that is lost before its opening has returned is closed all the same', async () => {
    const sim = new Simulation();
    // Looked at anew right before its start, so that its opening is no part of a step of the machine.
    sim.layers = [layer('workspace', [server('bad', { layer: 'workspace' })])];
    sim.behaviours.set('bad', { atOpen: 'lost' });
    const approvedFingerprints = ['fingerprint of workspace-bad-1'];
    const { workspace, supervisor } = await sim.open({ approvedFingerprints }, { trusted: true, enable: ['bad'] });
    outcomeOf(workspace.call('mcp__bad__echo'));
    await sim.settle();
    const status = workspace.server('bad').status();
    expect(status).toMatchObject({ phase: 'backoff', restarts: 1, error: { code: 'SPAWN_FAILED' } });
    expect(sim.openLinks).toEqual([]);
    await supervisor.close();
    expect(sim.remains()).toEqual([]);
  });

  test('that never shakes hands is given up after the time its server has for it', async () => {
    const { sim, call, status, workspace } = await start({ shakes: false });
    const outcome = call();
    await sim.run(60_000);
    expect(outcome.state).toBe('NOT_READY');
    expect(status().error?.code).toBe('INITIALIZE_TIMEOUT');
    expect(sim.link('bad').isClosed).toBe(true);
    expect(workspace.status().servers).toHaveLength(2);
  });

  test('whose handshake fails with anything at all is a typed failure', async () => {
    const { sim, call, status } = await start({ shakes: false });
    call();
    await sim.settle();
    sim.link('bad').refuse('no reason');
    await sim.settle();
    expect(status()).toMatchObject({ phase: 'backoff', error: { code: 'INITIALIZE_FAILED', message: 'no reason' } });
  });

  test.each(['fails', 'throws'] as const)('whose closing %s does not keep its server closing for ever', async (closes) => {
    const { sim, workspace, status, supervisor } = await start({ closes });
    await workspace.connectAll();
    workspace.server('bad').restart();
    await sim.settle();
    expect(status()).toMatchObject({ phase: 'ready', generation: 2, lastClose: { generation: 1, outcome: 'unknown' } });
    const closing = outcomeOf(supervisor.close());
    await sim.settle();
    expect(closing.state).toBe('ok');
  });

  test('whose closing never ends holds its own server and slot only, and its calls are settled at once', async () => {
    const { sim, workspace, call, status, goodStillServes } = await start({ closes: false });
    await workspace.connectAll();
    const open = call();
    workspace.server('bad').restart();
    await sim.settle();
    expect(open.state).toBe('LINK_LOST');
    expect(status()).toMatchObject({ stage: 'closing' });
    const waits = call();
    await goodStillServes();
    await sim.run(60_000);
    expect(waits.state).toBe('NOT_READY');
    expect(sim.links.filter(({ server: id }) => id === 'bad')).toHaveLength(1);
  });

  test('that goes on talking after its end is not heard', async () => {
    const { sim, workspace, status, call } = await start({});
    await workspace.connectAll();
    const old = sim.link('bad');
    const { reply } = (call(), old.calls[0] ?? { reply: null });
    workspace.server('bad').restart();
    await sim.settle();
    const before = JSON.stringify(status());
    reply?.result({ content: [] });
    old.announce('tools');
    old.isClosing = false;
    old.die();
    await sim.settle();
    expect(JSON.stringify(status())).toBe(before);
    expect(status()).toMatchObject({ phase: 'ready', generation: 2, restarts: 0 });
  });

  test('that dies while it is being listed is tried again', async () => {
    const { sim, call, status } = await start({ lists: false });
    const outcome = call();
    await sim.settle();
    sim.behaviours.set('bad', { answers: true });
    sim.link('bad').die();
    await sim.run(1_000);
    expect(outcome.state).toBe('ok');
    expect(status()).toMatchObject({ phase: 'ready', generation: 2, restarts: 1 });
  });
});

describe('vetting', () => {
  test('that fails in its own way is a refusal with a reason, and is looked at again for the next call', async () => {
    const { sim, call, status } = await start({ answers: true });
    sim.vetting = new Error('permission denied');
    const refused = call();
    await sim.settle();
    expect(refused.state).toBe('REFUSED_COMMAND');
    expect(status()).toMatchObject({ phase: 'idle', blockedBy: 'refused', error: { message: 'permission denied' } });
    sim.vetting = 'works';
    const next = call();
    await sim.settle();
    expect(next.state).toBe('ok');
  });

  test('that never ends is a refusal after a while', async () => {
    const { sim, call } = await start({});
    sim.vetting = 'hangs';
    const outcome = call();
    await sim.run(60_000);
    expect(outcome.state).toMatch(/NOT_READY|REFUSED_COMMAND/);
    expect(sim.links).toEqual([]);
  });

  test('that comes too late is of what the server no longer is, and is not started', async () => {
    const sim = new Simulation();
    const user = (configHash: string) => layer('user', [server('files', { configHash })], { limits: { live: 1 } });
    sim.layers = [user('old')];
    const late: (() => void)[] = [];
    const vet: Ports['vet'] = {
      vet: async ({ configHash }) => {
        if (configHash === 'old') await new Promise<void>((resolve) => late.push(resolve));
        return {
          launch: { transport: 'stdio', command: 'files', args: [configHash], cwd: '/', env: {} },
          fingerprint: null,
          card: null,
        };
      },
    };
    const { workspace } = await sim.open({}, {}, { vet });
    sim.pool.slots.request('another', 1, true, { granted: () => undefined, reclaimed: () => undefined });
    outcomeOf(workspace.call('mcp__files__echo'));
    await sim.settle();
    sim.change([user('new')]);
    await sim.settle();
    outcomeOf(workspace.call('mcp__files__echo'));
    await sim.settle();
    expect(workspace.server('files').status().stage).toBe('slot');
    late.forEach((finish) => finish());
    await sim.settle();
    sim.pool.slots.release('another', 1);
    await sim.settle();
    expect(sim.links.map(({ launch }) => launch)).toMatchObject([{ args: ['new'] }]);
  });

  test('of a workspace server that finds nothing to approve does not run it', async () => {
    const sim = new Simulation();
    sim.layers = [layer('workspace', [server('theirs', { layer: 'workspace' })])];
    const launch = { transport: 'stdio', command: 'theirs', args: [], cwd: '/', env: {} } as const;
    const vet = { vet: () => Promise.resolve({ launch, fingerprint: null, card: null }) };
    const { workspace } = await sim.open({}, { trusted: true, enable: ['theirs'] }, { vet });
    await expect(workspace.call('mcp__theirs__echo')).rejects.toMatchObject({ code: 'REFUSED_COMMAND' });
    expect(sim.links).toEqual([]);
  });
});

describe('what only looks on', () => {
  test('may throw: a log, an inspector, a listener for progress', async () => {
    const bug = (): never => {
      throw new Error('a bug of the host');
    };
    const sim = new Simulation();
    sim.layers = [layer('user', [server('good')])];
    const db = { ...sim.db, saveMetadata: () => Promise.reject(new Error('disk')) };
    const { workspace, supervisor } = await sim.open({ inspect: bug }, {}, { log: { write: bug }, db });
    await workspace.connectAll();
    const call = outcomeOf(workspace.call('mcp__good__echo', {}, { onProgress: bug }));
    await sim.settle();
    const [request] = sim.link('good').calls;
    sim.link('good').progress(request?.id ?? '');
    sim.link('good').answer(request?.id ?? '');
    await sim.settle();
    expect(call.state).toBe('ok');
    await supervisor.close();
    expect(sim.remains()).toEqual([]);
  });
});

describe('a test of a server', () => {
  test('ends with the server’s removal, with the close, with its signal, and does not crash the host', async () => {
    const { sim, workspace, supervisor } = await start({ shakes: false });
    const removed = workspace.server('bad').test();
    await sim.settle();
    sim.change([layer('user', [server('good')])]);
    await sim.settle();
    await expect(removed).resolves.toMatchObject({ ok: false, error: { code: 'SERVER_REMOVED' }, status: { id: 'bad' } });
    sim.behaviours.set('good', { shakes: false });
    const abort = new AbortController();
    const withdrawn = workspace.server('good').test({ signal: abort.signal });
    const closed = workspace.server('good').test();
    abort.abort();
    await expect(withdrawn).resolves.toMatchObject({ ok: false, error: { code: 'CALL_CANCELLED' } });
    void supervisor.close();
    await expect(closed).resolves.toMatchObject({ ok: false, error: { code: 'SUPERVISOR_CLOSED' } });
  });

  test('tells each stage it passed, and ends nobody’s calls without being told to', async () => {
    const { sim, workspace, call } = await start({ shakes: false });
    const report = workspace.server('bad').test();
    await sim.run(300);
    sim.link('bad').shake();
    const { stages, ok } = await report;
    expect(ok).toBe(true);
    expect(stages.map(({ stage, ok: passed }) => [stage, passed])).toEqual([
      ['approval', true],
      ['slot', true],
      ['transport', true],
      ['initialize', true],
      ['list', true],
    ]);
    expect(stages.find(({ stage }) => stage === 'initialize')?.tookMs).toBe(300);
    const open = call();
    await expect(workspace.server('bad').test()).rejects.toMatchObject({ code: 'INVALID_ARGUMENTS' });
    expect(open.state).toBe('open');
    const forced = workspace.server('bad').test({ force: true });
    await sim.settle();
    expect(open.state).toBe('LINK_LOST');
    sim.link('bad').refuse(Object.assign(new Error('no'), failure('INITIALIZE_FAILED', 'no')));
    await expect(forced).resolves.toMatchObject({ ok: false, error: { code: 'INITIALIZE_FAILED' } });
  });
});
