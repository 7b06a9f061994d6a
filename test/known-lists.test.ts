import { describe, expect, test } from 'vitest';
import type { SupervisorOptions } from '../actors/api.js';
import type { ServerDefinition } from '../actors/ports.js';
import { outcomeOf } from './support/outcome.js';
import { layer, Simulation, server } from './support/simulated-ports.js';

const NAME = 'mcp__files__echo';

/** One server that was listed and is ready. */
async function start(options: SupervisorOptions = {}, definition: Partial<ServerDefinition> = {}) {
  const sim = new Simulation();
  sim.layers = [layer('user', [server('files', definition)])];
  const opened = await sim.open(options);
  const { workspace } = opened;
  await workspace.connectAll();
  const status = () => workspace.server('files').status();
  return { sim, ...opened, status };
}

describe('what is known of a server whose new life', () => {
  test('has no tools at all is none: nothing is offered or called', async () => {
    const { sim, workspace, status } = await start();
    sim.behaviours.set('files', { handshake: { lists: [] } });
    workspace.server('files').restart();
    await sim.run(10);
    expect(status()).toMatchObject({ phase: 'ready', generation: 2, tools: { state: 'unsupported', count: 0 } });
    expect(workspace.tools()).toEqual([]);
    const call = outcomeOf(workspace.call(NAME));
    await sim.settle();
    expect(call.state).toBe('UNKNOWN_TOOL');
    expect(sim.link('files').calls).toEqual([]);
  });

  test('has tools again is all of it', async () => {
    const { sim, workspace } = await start();
    for (const behaviour of [{ handshake: { lists: [] } }, { answers: true }]) {
      sim.behaviours.set('files', behaviour);
      workspace.server('files').restart();
      await sim.run(10);
    }
    expect(workspace.tools()).toMatchObject([{ name: NAME, cached: false }]);
    await expect(workspace.call(NAME)).resolves.toEqual({ content: [] });
  });

  test('does not read its list out in time is what was known before, marked as such', async () => {
    const { sim, workspace, status } = await start({}, { initTimeoutMs: 5_000 });
    expect(workspace.tools()).toMatchObject([{ name: NAME, cached: false }]);
    sim.behaviours.set('files', { lists: false });
    workspace.server('files').restart();
    await sim.run(5_000);
    expect(status()).toMatchObject({ phase: 'ready', generation: 2, tools: { state: 'failed' } });
    expect(workspace.tools()).toMatchObject([{ name: NAME, cached: true, callable: true }]);
  });

  test('is stored only where a list was read to its end', async () => {
    const { sim, workspace } = await start({}, { initTimeoutMs: 5_000 });
    const stored = async () => Object.keys((await sim.db.metadata('user-files-1'))?.lists ?? {});
    expect(await stored()).toContain('tools');
    sim.behaviours.set('files', { lists: false });
    workspace.server('files').restart();
    await sim.run(5_000);
    expect(await stored()).toContain('tools');
  });
});

describe('a server that is removed and added again', () => {
  test('while it closes serves the calls that began to wait meanwhile with its new life', async () => {
    const { sim, workspace, status } = await start();
    const old = sim.link('files');
    old.behaviour.closes = false;
    const { layers } = sim;
    sim.change([layer('user', [])]);
    await sim.settle();
    sim.behaviours.set('files', { answers: true });
    sim.change(layers);
    await sim.settle();
    const calls = [outcomeOf(workspace.call(NAME)), outcomeOf(workspace.call(NAME))];
    await sim.settle();
    expect(calls.map(({ state }) => state)).toEqual(['open', 'open']);
    expect(sim.links).toHaveLength(1);
    old.finishClose();
    await sim.run(10);
    expect(calls.map(({ state }) => state)).toEqual(['ok', 'ok']);
    expect(status()).toMatchObject({ phase: 'ready' });
    expect(sim.links).toHaveLength(2);
    expect(old.calls).toEqual([]);
  });
});

describe('a server that waits for its approval', () => {
  async function waiting(options: SupervisorOptions) {
    const sim = new Simulation();
    sim.layers = [layer('workspace', [server('theirs', { layer: 'workspace' })])];
    const { workspace } = await sim.open(options, { trusted: true, enable: ['theirs'] });
    await sim.settle();
    expect(workspace.server('theirs').status()).toMatchObject({ phase: 'approving', blockedBy: null });
    return workspace.server('theirs');
  }

  test('where nobody can be asked says so, and which gate is shut', async () => {
    const theirs = await waiting({});
    expect(theirs.status().error).toMatchObject({ code: 'APPROVAL_NO_CHANNEL' });
    const { gates, error } = theirs.explain();
    expect(gates.map(({ gate, state, failure }) => [gate, state, failure?.code ?? null])).toEqual([
      ['remote', 'open', null],
      ['trust', 'open', null],
      ['enabled', 'open', null],
      ['refusals', 'open', null],
      ['approval', 'shut', 'APPROVAL_NO_CHANNEL'],
    ]);
    expect(error).toMatchObject({ code: 'APPROVAL_NO_CHANNEL' });
  });

  test('where somebody is being asked names the shut gate and why', async () => {
    const theirs = await waiting({ approve: () => new Promise(() => undefined) });
    const shut = theirs.explain().gates.at(-1);
    expect(shut).toMatchObject({ gate: 'approval', state: 'shut', failure: { code: 'NOT_READY' } });
  });
});

describe('calls in flight that are cut off', () => {
  const counts = async (act: (context: Awaited<ReturnType<typeof start>>) => unknown) => {
    const context = await start();
    const { sim, workspace } = context;
    const calls = [outcomeOf(workspace.call(NAME)), outcomeOf(workspace.call(NAME))];
    await act(context);
    await sim.settle();
    expect(calls.map(({ state }) => state)).not.toContain('open');
    return context.status().cancellations;
  };
  const none = { confirmed: 0, lateAnswer: 0, unconfirmed: 0 };

  test('by a restart count as cancellations nobody confirmed', async () => {
    expect(await counts(({ workspace }) => workspace.server('files').restart())).toEqual({ ...none, unconfirmed: 2 });
  });

  test('by a switch count as cancellations nobody confirmed', async () => {
    expect(await counts(({ workspace }) => workspace.server('files').disable())).toEqual({ ...none, unconfirmed: 2 });
  });

  test('by another configuration of their server count as cancellations nobody confirmed', async () => {
    const change = ({ sim }: { readonly sim: Simulation }): void =>
      sim.change([layer('user', [server('files', { configHash: 'other' })])]);
    expect(await counts(change)).toEqual({ ...none, unconfirmed: 2 });
  });

  test('by a crash count as none: they were lost', async () => {
    expect(await counts(({ sim }) => sim.link('files').die())).toEqual(none);
  });

  test('by the close count as cancellations nobody confirmed', async () => {
    let last: unknown;
    const inspect = (event: unknown): void => {
      last = cancellationsIn(event) ?? last;
    };
    const { workspace, supervisor } = await start({ inspect });
    const calls = [outcomeOf(workspace.call(NAME)), outcomeOf(workspace.call(NAME))];
    await supervisor.close();
    expect(calls.map(({ state }) => state)).toEqual(['SUPERVISOR_CLOSED', 'SUPERVISOR_CLOSED']);
    expect(last).toEqual({ ...none, unconfirmed: 2 });
  });
});

/** A closed workspace shows no server any more; its machines are seen to their end by the inspector alone. */
function cancellationsIn(event: unknown): unknown {
  const { snapshot } = event as { readonly snapshot?: { readonly context?: { readonly cancellations?: unknown } } };
  return snapshot?.context?.cancellations;
}
