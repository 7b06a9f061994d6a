import { describe, expect, test } from 'vitest';
import type { SupervisorOptions } from '../actors/api.js';
import { outcomeOf } from './support/outcome.js';
import { layer, Simulation, server } from './support/simulated-ports.js';

const NAME = 'mcp__files__echo';

/** One ready server that answers by itself. */
async function start({ options = {}, approveTools = [] }: { options?: SupervisorOptions; approveTools?: readonly string[] }) {
  const sim = new Simulation();
  sim.behaviours.set('files', { answers: true });
  sim.layers = [layer('user', [server('files', { approveTools })])];
  const { workspace } = await sim.open(options);
  await workspace.connectAll();
  const call = (...args: Parameters<typeof workspace.call>) => outcomeOf(workspace.call(...args));
  return { sim, call };
}

describe('the host’s own word on a call', () => {
  const cases: readonly (readonly [string, unknown, string])[] = [
    ['denies it', 'deny', 'BLOCKED_BY_POLICY'],
    ['has it asked about', 'ask', 'APPROVAL_NO_CHANNEL'],
    ['lets it pass by saying allow', 'allow', 'ok'],
    ['lets it pass by saying nothing it knows', 17, 'ok'],
    ['denies it in its own time', Promise.resolve('deny'), 'BLOCKED_BY_POLICY'],
  ];
  test.each(cases)('%s', async (_what, word, end) => {
    const { call, sim } = await start({ options: { authorizeCall: () => word }, approveTools: ['*'] });
    const outcome = call(NAME);
    await sim.settle();
    expect(outcome.state).toBe(end);
  });

  test('denies it by throwing, and by rejecting', async () => {
    for (const authorizeCall of [
      () => {
        throw new Error('roles cannot be read');
      },
      () => Promise.reject(new Error('roles cannot be read')),
    ]) {
      const { call, sim } = await start({ options: { authorizeCall }, approveTools: ['*'] });
      const outcome = call(NAME);
      await sim.settle();
      expect(outcome.state).toBe('BLOCKED_BY_POLICY');
    }
  });

  test('denies it by never coming, in the time that an approval has, and at once where its server goes away', async () => {
    const never = (): Promise<never> => new Promise(() => undefined);
    const { call, sim } = await start({ options: { authorizeCall: never, approvalTimeoutMs: 5_000 }, approveTools: ['*'] });
    const [bounded, unbounded] = [call(NAME, {}, { timeoutMs: 1_000 }), call(NAME)];
    await sim.run(1_000);
    expect([bounded.state, unbounded.state]).toEqual(['BLOCKED_BY_POLICY', 'open']);
    await sim.run(4_000);
    expect(unbounded.state).toBe('BLOCKED_BY_POLICY');
    const waiting = call(NAME);
    sim.change([layer('user', [])]);
    await sim.settle();
    expect(waiting.state).toBe('SERVER_REMOVED');
    expect(sim.link('files').calls).toEqual([]);
  });

  test.each([['allow'], ['approve'], [true]])('never loosens a policy: an ask stays one after %j', async (word) => {
    const { call, sim } = await start({ options: { authorizeCall: () => word } });
    const outcome = call(NAME);
    await sim.settle();
    expect(outcome.state).toBe('APPROVAL_NO_CHANNEL');
  });

  test('is told the tool, the server, the arguments and the session', async () => {
    const heard: unknown[] = [];
    const authorizeCall = (call: unknown): unknown => heard.push(call);
    const { call, sim } = await start({ options: { authorizeCall }, approveTools: ['*'] });
    call(NAME, { a: 1 }, { session: 'one' });
    await sim.settle();
    expect(heard).toEqual([{ tool: NAME, server: 'files', arguments: { a: 1 }, session: 'one' }]);
  });
});
