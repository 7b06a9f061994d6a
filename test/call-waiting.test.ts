import { describe, expect, test } from 'vitest';
import type { CallOptions, SupervisorOptions } from '../actors/api.js';
import type { LayerReading, Question, ServerDefinition } from '../actors/ports.js';
import { outcomeOf } from './support/outcome.js';
import type { Behaviour } from './support/simulated-link.js';
import { layer, Simulation, server } from './support/simulated-ports.js';

const NAME = 'mcp__files__echo';

interface Setting {
  readonly options?: SupervisorOptions;
  readonly definition?: Partial<ServerDefinition>;
  readonly behaviour?: Partial<Behaviour>;
  readonly layers?: readonly LayerReading[];
  readonly enable?: readonly string[];
}

/** A lazy server that was never listed or started. */
async function start({ options, definition, behaviour = {}, layers, enable = [] }: Setting = {}) {
  const sim = new Simulation();
  sim.behaviours.set('files', { answers: true, ...behaviour });
  sim.layers = layers ?? [layer('user', [server('files', definition)])];
  const opened = await sim.open(options, { trusted: true, enable });
  const { workspace } = opened;
  const call = (options_: CallOptions = {}) => outcomeOf(workspace.call(NAME, {}, options_));
  const status = () => workspace.server('files').status();
  return { sim, ...opened, call, status };
}

const inWorkspace = [layer('workspace', [server('files', { layer: 'workspace', approveTools: [] })])];

describe('a call to a server that does not run', () => {
  test('starts it, lists it and is then sent', async () => {
    const { sim, call, status } = await start();
    expect(sim.links).toEqual([]);
    const outcome = call();
    await sim.settle();
    expect(outcome.state).toBe('ok');
    expect(status()).toMatchObject({ phase: 'ready', generation: 1 });
  });

  test('is NOT_READY when the server has not come up in its time', async () => {
    const { sim, call } = await start({ behaviour: { opens: false }, definition: { initTimeoutMs: 7_000 } });
    const outcome = call();
    await sim.run(6_999);
    expect(outcome.state).toBe('open');
    await sim.run(1);
    expect(outcome.state).toBe('NOT_READY');
    expect(sim.links.flatMap(({ calls }) => calls)).toEqual([]);
  });

  test('has its own time-out for all of it, the wait included', async () => {
    const { sim, call } = await start({ behaviour: { answers: false, shakes: false } });
    const outcome = call({ timeoutMs: 10_000 });
    await sim.run(8_000);
    sim.link('files').shake();
    await sim.run(1_999);
    expect(sim.link('files').calls).toHaveLength(1);
    expect(outcome.state).toBe('open');
    await sim.run(1);
    expect(outcome.state).toBe('CALL_TIMEOUT');
  });

  test('can be withdrawn while it waits, and the server is not called when it comes up', async () => {
    const { sim, call } = await start({ behaviour: { shakes: false } });
    const abort = new AbortController();
    const outcome = call({ signal: abort.signal });
    await sim.settle();
    abort.abort();
    await sim.settle();
    expect(outcome.state).toBe('CALL_CANCELLED');
    sim.link('files').shake();
    await sim.settle();
    expect(sim.link('files').calls).toEqual([]);
  });

  test('ends with its session, and another one’s goes on', async () => {
    const { sim, call, workspace } = await start({ behaviour: { shakes: false } });
    const mine = call({ session: 'one' });
    const theirs = call({ session: 'two' });
    await sim.settle();
    workspace.endSession('one');
    await sim.settle();
    expect([mine.state, theirs.state]).toEqual(['CALL_CANCELLED', 'open']);
    sim.link('files').shake();
    await sim.settle();
    expect(theirs.state).toBe('ok');
    expect(sim.link('files').calls).toHaveLength(1);
  });

  test('is told RESTART_INTENSITY at once by a server that has given up', async () => {
    const { sim, call, status } = await start({ behaviour: { opens: false } });
    const waits = call({ timeoutMs: 500_000 });
    for (let death = 0; death < 6; death += 1) {
      await sim.run(20_000);
      sim.link('files').die();
      await sim.settle();
    }
    expect(waits.state).toBe('RESTART_INTENSITY');
    expect(status()).toMatchObject({ phase: 'failed', restarts: 6, error: { code: 'RESTART_INTENSITY' } });
    const next = call();
    await sim.settle();
    expect(next.state).toBe('RESTART_INTENSITY');
  });
});

describe('a shut gate', () => {
  const gates: readonly (readonly [string, Setting, string])[] = [
    ['that a person shut', { layers: inWorkspace }, 'DISABLED'],
    [
      'of the configuration',
      { definition: { refusal: { code: 'REFUSED_ENV', stage: 'config', retryable: false, message: 'no' } } },
      'REFUSED_ENV',
    ],
    ['of remote servers', { definition: { isRemote: true, transport: 'http', url: 'https://a.example/mcp' } }, 'REMOTE_OFF'],
    ['of an approval nobody can give', { layers: inWorkspace, enable: ['files'] }, 'APPROVAL_NO_CHANNEL'],
  ];
  test.each(gates)('%s is told to a call at once', async (_what, setting, code) => {
    const { sim, call } = await start(setting);
    const outcomes = [call(), call({ byPerson: true })];
    await sim.settle();
    expect(outcomes.map(({ state }) => state)).toEqual([code, code]);
    expect(sim.links).toEqual([]);
  });

  test('of an untrusted workspace is told to a call at once', async () => {
    const sim = new Simulation();
    sim.layers = inWorkspace;
    const { workspace } = await sim.open({}, { trusted: false, enable: ['files'] });
    const outcome = outcomeOf(workspace.call(NAME));
    await sim.settle();
    expect(outcome.state).toBe('UNTRUSTED');
  });
});

describe('a server that waits for its approval', () => {
  const slow = () => {
    const asked: Question[] = [];
    const approve = (question: Question): unknown => {
      asked.push(question);
      return question.kind === 'call' ? 'approve' : new Promise(() => undefined);
    };
    return { asked, approve };
  };
  const waiting = (options: SupervisorOptions) => start({ options, layers: inWorkspace, enable: ['files'] });

  test('does not use up the time of the calls that wait for it', async () => {
    const { asked, approve } = slow();
    const { sim, call, workspace } = await waiting({ approve });
    const outcome = call({ timeoutMs: 10_000 });
    await sim.run(200_000);
    expect(outcome.state).toBe('open');
    workspace.answer(asked[0]?.nonce ?? '', 'approve');
    await sim.settle();
    expect(outcome.state).toBe('ok');
  });

  test('that was denied is not asked about again for a call, but for a person', async () => {
    const { asked, approve } = slow();
    const { sim, call, workspace, status } = await waiting({ approve });
    workspace.answer(asked[0]?.nonce ?? '', 'deny');
    await sim.settle();
    expect(status()).toMatchObject({ phase: 'idle', blockedBy: 'denied' });
    const outcome = call();
    await sim.settle();
    expect(outcome.state).toBe('APPROVAL_DENIED');
    expect(asked).toHaveLength(1);
    workspace.server('files').restart();
    await sim.settle();
    expect(asked).toHaveLength(2);
  });

  test('tells its calls when nobody answered in time', async () => {
    const { approve } = slow();
    const { sim, call } = await waiting({ approve });
    const outcome = call();
    await sim.run(300_000);
    expect(outcome.state).toBe('APPROVAL_TIMEOUT');
    expect(sim.links).toEqual([]);
  });
});

describe('a lazy server', () => {
  test('leaves after ten quiet minutes, and comes back for the next call', async () => {
    const { sim, call, status } = await start();
    call();
    await sim.run(599_000);
    call();
    await sim.run(599_000);
    expect(status()).toMatchObject({ phase: 'ready', generation: 1 });
    await sim.run(2_000);
    expect(status()).toMatchObject({ phase: 'idle', blockedBy: null, error: null });
    expect(sim.openLinks).toEqual([]);
    const next = call();
    await sim.settle();
    expect(next.state).toBe('ok');
    expect(status()).toMatchObject({ phase: 'ready', generation: 2 });
  });

  test('that is just leaving serves the call that comes then with its next life', async () => {
    const { sim, call, status } = await start({ behaviour: { closes: false } });
    call();
    await sim.run(601_000);
    expect(status()).toMatchObject({ stage: 'closing' });
    const outcome = call();
    await sim.settle();
    expect(sim.links).toHaveLength(1);
    sim.link('files').finishClose();
    await sim.settle();
    expect(outcome.state).toBe('ok');
    expect(sim.links).toHaveLength(2);
  });

  test('does not leave while a call is open', async () => {
    const { sim, call, status } = await start({ behaviour: { answers: false } });
    const outcome = call({ timeoutMs: 2_000_000 });
    for (let at = 0; at < 5; at += 1) {
      await sim.run(110_000);
      sim.link('files').progress(sim.link('files').calls[0]?.id ?? '');
    }
    expect(outcome.state).toBe('open');
    expect(status().phase).toBe('ready');
  });
});
