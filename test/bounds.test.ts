import { describe, expect, test } from 'vitest';
import type { SupervisorOptions } from '../actors/api.js';
import type { ServerDefinition, UserSettings } from '../actors/ports.js';
import { type Outcome, outcomeOf } from './support/outcome.js';
import { layer, Simulation, server } from './support/simulated-ports.js';

const NAME = 'mcp__files__echo';

/** One ready server; it answers nothing by itself. */
async function start(options: SupervisorOptions = {}, definition: Partial<ServerDefinition> = {}) {
  const sim = new Simulation();
  sim.layers = [layer('user', [server('files', definition)])];
  const opened = await sim.open(options);
  await opened.workspace.connectAll();
  return { sim, ...opened };
}

/** How often each state occurs. */
const counted = (outcomes: readonly Outcome[]): Readonly<Record<string, number>> => {
  const counts: Record<string, number> = {};
  for (const { state } of outcomes) counts[state] = (counts[state] ?? 0) + 1;
  return counts;
};

describe('with every live slot held by a server that is kept alive', () => {
  async function crowd() {
    const sim = new Simulation();
    const kept = server('kept', { lifecycle: 'keep-alive' });
    sim.layers = [layer('user', [kept, server('files', { initTimeoutMs: 1_000 })], { limits: { live: 1 } })];
    const opened = await sim.open({ discover: true });
    await sim.run(100);
    expect(sim.openLinks.map(({ server: id }) => id)).toEqual(['kept']);
    return { sim, ...opened };
  }

  test('a test of another one is NOT_READY once its time to start is over', async () => {
    const { sim, workspace } = await crowd();
    let report: Awaited<ReturnType<ReturnType<typeof workspace.server>['test']>> | undefined;
    void workspace
      .server('files')
      .test()
      .then((end) => {
        report = end;
      });
    await sim.run(999);
    expect(report).toBeUndefined();
    await sim.run(1);
    expect(report).toMatchObject({
      ok: false,
      error: { code: 'NOT_READY' },
      stages: [{ stage: 'approval' }, { stage: 'slot', ok: false }],
    });
  });

  test('connecting all ends, and says of the one without a slot that it is NOT_READY', async () => {
    const { sim, workspace } = await crowd();
    const connecting = workspace.connectAll();
    const outcome = outcomeOf(connecting);
    await sim.run(1_000);
    expect(outcome.state).toBe('ok');
    const { servers } = await connecting;
    expect(servers.map(({ id, phase, error }) => [id, phase, error?.code ?? null])).toEqual([
      ['files', 'idle', 'NOT_READY'],
      ['kept', 'ready', null],
    ]);
  });
});

describe('with every live slot held, and one more server that is kept alive', () => {
  async function queue() {
    const sim = new Simulation();
    const [first, second] = ['first', 'second'].map((id) => server(id, { lifecycle: 'keep-alive', initTimeoutMs: 1_000 }));
    sim.layers = [layer('user', [first, second] as ServerDefinition[], { limits: { live: 1 } })];
    const opened = await sim.open({ discover: true });
    await sim.run(100);
    expect(sim.openLinks.map(({ server: id }) => id)).toEqual(['first']);
    return { sim, ...opened };
  }

  test('connecting all and a test of it end once its time to start is over: it says NOT_READY and stays in the queue', async () => {
    const { sim, workspace } = await queue();
    const connecting = outcomeOf(workspace.connectAll());
    await sim.run(899);
    expect(connecting.state).toBe('open');
    await sim.run(1);
    expect(connecting.state).toBe('ok');
    const { servers } = workspace.status();
    expect(servers.map(({ phase, stage, error }) => [phase, stage, error?.code ?? null])).toEqual([
      ['ready', null, null],
      ['connecting', 'slot', 'NOT_READY'],
    ]);
    const testing = workspace.server('second').test();
    await sim.run(1_000);
    await expect(testing).resolves.toMatchObject({ ok: false, error: { code: 'NOT_READY' } });
  });

  test('it takes the slot whenever there is one, also for a call that waits in a longer time of its own', async () => {
    const { sim, workspace } = await queue();
    const call = outcomeOf(workspace.call('mcp__second__echo', {}, { timeoutMs: 10_000 }));
    await sim.run(5_000);
    expect(call.state).toBe('open');
    await workspace.server('first').disable();
    await sim.run(100);
    expect(sim.openLinks.map(({ server: id }) => id)).toEqual(['second']);
    expect(workspace.status().servers.map(({ phase, error }) => [phase, error?.code ?? null])).toEqual([
      ['idle', 'DISABLED'],
      ['ready', null],
    ]);
  });
});

describe('a server that logs ten thousand lines to stderr', () => {
  test('is heard once by its machine, and once more in its next life: what it says costs nothing', async () => {
    let heard = 0;
    const inspect = (event: unknown): void => {
      const { type, event: news } = event as { readonly type: string; readonly event?: { readonly type: string } };
      if (type === '@xstate.event' && news?.type === 'transport.stderr') heard += 1;
    };
    const { sim, workspace } = await start({ inspect });
    for (let lines = 0; lines < 10_000; lines += 1) sim.link('files').stderr();
    expect(heard).toBe(1);
    workspace.server('files').restart();
    await sim.settle();
    expect(workspace.server('files').status()).toMatchObject({ phase: 'ready', generation: 2 });
    for (let lines = 0; lines < 10; lines += 1) sim.link('files').stderr();
    expect(heard).toBe(2);
  });
});

describe('a host that does not say whether a call may pass', () => {
  const never: SupervisorOptions = { authorizeCall: () => new Promise(() => undefined) };
  test.each([
    ['the call’s own time', never, 1_000, 1_000],
    ['the time of a question, where the call has longer', { ...never, approvalTimeoutMs: 5_000 }, 60_000, 5_000],
    ['the time of a question, where the call has no time of its own', never, undefined, 300_000],
  ])('has denied it after %s', async (_what, options, timeoutMs, endMs) => {
    const { sim, workspace } = await start(options);
    const outcome = outcomeOf(workspace.call(NAME, {}, timeoutMs === undefined ? {} : { timeoutMs }));
    await sim.run(endMs - 1);
    expect(outcome.state).toBe('open');
    await sim.run(1);
    expect(outcome.state).toBe('BLOCKED_BY_POLICY');
    expect(sim.link('files').calls).toEqual([]);
  });

  test('leaves no timer behind once it has said it', async () => {
    const { sim, workspace, supervisor } = await start({ authorizeCall: () => 'deny' });
    const outcome = outcomeOf(workspace.call(NAME));
    await sim.settle();
    expect(outcome.state).toBe('BLOCKED_BY_POLICY');
    await supervisor.close();
    expect(sim.remains()).toEqual([]);
  });
});

describe('a time that is none', () => {
  test.each([[Number.NaN], [-1], [Number.POSITIVE_INFINITY], ['5000' as never], [null as never]])(
    '%s ends a call with INVALID_ARGUMENTS, free or asked about, and sends nothing',
    async (timeoutMs) => {
      for (const options of [{}, { authorizeCall: () => 'allow' }] satisfies SupervisorOptions[]) {
        const { sim, workspace } = await start(options);
        const outcome = outcomeOf(workspace.call(NAME, {}, { timeoutMs }));
        await sim.settle();
        expect(outcome.state).toBe('INVALID_ARGUMENTS');
        expect(sim.link('files').calls).toEqual([]);
      }
    },
  );

  test.each([[0], [-1], [1.5], [Number.NaN], [Number.POSITIVE_INFINITY], [2 ** 31], ['5000' as never], [null as never]])(
    'is no bound of a supervisor either: %s is refused before anything is started',
    (value) => {
      const sim = new Simulation();
      for (const options of [{ approvalTimeoutMs: value }, { hardDeadlineMs: value }])
        expect(() => sim.supervisor(options)).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENTS' }));
      expect(() => sim.supervisor({ approvalTimeoutMs: 1, hardDeadlineMs: 2 ** 31 - 1 })).not.toThrow();
    },
  );
});

describe('more than 1 024 calls', () => {
  const calls = (workspace: Awaited<ReturnType<typeof start>>['workspace']): readonly Outcome[] =>
    Array.from({ length: 1_030 }, (_, at) => outcomeOf(workspace.call(NAME, { at })));

  test('that wait for one server to be ready are OVERLOADED, and the others are served', async () => {
    const { sim, workspace } = await start();
    sim.behaviours.set('files', { shakes: false, answers: true });
    workspace.server('files').restart();
    await sim.settle();
    const outcomes = calls(workspace);
    await sim.settle();
    expect(counted(outcomes)).toEqual({ open: 1_024, OVERLOADED: 6 });
    sim.link('files').shake();
    await sim.run(50);
    expect(counted(outcomes)).toEqual({ ok: 1_024, OVERLOADED: 6 });
  });

  test('to one server that are judged are OVERLOADED, and their answers make room', async () => {
    const { sim, workspace } = await start({ approve: () => new Promise(() => undefined) }, { approveTools: [] });
    const outcomes = calls(workspace);
    await sim.settle();
    expect(counted(outcomes)).toEqual({ open: 1_024, OVERLOADED: 6 });
    const questions = workspace.questions();
    expect(questions).toHaveLength(1_024);
    workspace.answer(questions[0]?.nonce ?? '', 'deny');
    await sim.settle();
    const next = outcomeOf(workspace.call(NAME));
    await sim.settle();
    expect([outcomes[0]?.state, next.state]).toEqual(['BLOCKED_BY_USER', 'open']);
  });
});

describe('as many kept servers as there are live slots', () => {
  const warnings = async (count: number, settings: Partial<UserSettings> = {}) => {
    const sim = new Simulation();
    const kept = Array.from({ length: count }, (_, at) => server(`k${at}`, { lifecycle: 'keep-alive' }));
    sim.layers = [layer('user', [...kept, server('files')], settings)];
    const { workspace, supervisor } = await sim.open();
    const { config } = workspace.status().workspace;
    await supervisor.close();
    return config.warnings.map(({ code, key }) => [code, key]);
  };

  test.each([
    [16, {}],
    [17, {}],
    [2, { limits: { live: 2 } }],
  ])('are a warning, as the others may never get one: %i with %j', async (count, settings) => {
    expect(await warnings(count, settings)).toEqual([['CONFIG_LIMIT', 'limits.live']]);
  });

  test.each([
    [15, {}],
    [1, { limits: { live: 2 } }],
  ])('are none where one is left: %i with %j', async (count, settings) => {
    expect(await warnings(count, settings)).toEqual([]);
  });
});

test.each([[[]], [[{ content: [] }]], [null], ['text'], [7]])(
  'an answer that is no object, as %j, is RESULT_INVALID',
  async (value) => {
    const { sim, workspace } = await start();
    const outcome = outcomeOf(workspace.call(NAME));
    const link = sim.link('files');
    link.answer(link.calls[0]?.id ?? '', value);
    await sim.settle();
    expect(outcome.state).toBe('RESULT_INVALID');
  },
);
