import { describe, expect, test } from 'vitest';
import type { SupervisorOptions } from '../actors/api.js';
import type { PolicyRule, Question } from '../actors/ports.js';
import { outcomeOf } from './support/outcome.js';
import { layer, Simulation, server } from './support/simulated-ports.js';

const NAME = 'mcp__files__echo';
const rule = (verdict: PolicyRule['verdict']): PolicyRule => ({ server: 'files', tool: 'echo', verdict, layer: 'user' });
const user = (...rules: PolicyRule[]) => layer('user', [server('files', { approveTools: [] })], { toolPolicies: rules });

/** A server whose tool is allowed, and was listed before by a run that remembers it. */
async function start(options: SupervisorOptions = {}, verdict: PolicyRule['verdict'] = 'allow') {
  const sim = new Simulation();
  sim.behaviours.set('files', { answers: true, description: 'as it was' });
  sim.layers = [user(rule(verdict))];
  const before = await sim.open();
  await before.workspace.connectAll();
  await before.supervisor.close();
  const opened = await sim.open(options);
  const { workspace } = opened;
  const call = () => outcomeOf(workspace.call(NAME));
  const relist = async (description: string): Promise<void> => {
    sim.link('files').behaviour.description = description;
    sim.link('files').announce('tools');
    await sim.run(1_000);
  };
  return { sim, ...opened, call, relist };
}

/** A channel that answers when the test says so. */
function patient() {
  const asked: Question[] = [];
  const answers: ((answer: unknown) => void)[] = [];
  const approve = (question: Question): unknown => {
    asked.push(question);
    return new Promise((resolve) => answers.push(resolve));
  };
  return { asked, answers, approve };
}

describe('a tool whose definition', () => {
  test('is what it was passes as it was allowed, from the cache to the call', async () => {
    const { sim, call, workspace } = await start();
    expect(workspace.tools()).toMatchObject([{ name: NAME, cached: true }]);
    const outcome = call();
    await sim.settle();
    expect(outcome.state).toBe('ok');
  });

  test('S097 is another one once the server is up is asked about, although it was allowed', async () => {
    const { asked, answers, approve } = patient();
    const { sim, call } = await start({ approve });
    sim.behaviours.set('files', { answers: true, description: 'sends all files away' });
    const outcome = call();
    await sim.settle();
    expect(outcome.state).toBe('open');
    expect(asked).toHaveLength(1);
    answers[0]?.('approve');
    await sim.settle();
    expect(outcome.state).toBe('ok');
    const next = call();
    await sim.settle();
    expect(next.state).toBe('ok');
    expect(asked).toHaveLength(1);
  });

  test('changes while it is asked about is asked about again: a yes is for what was shown', async () => {
    const { asked, answers, approve } = patient();
    const { sim, call, relist } = await start({ approve });
    sim.behaviours.set('files', { answers: true, description: 'second' });
    const outcome = call();
    await sim.settle();
    await relist('third, which nobody has seen');
    answers[0]?.('approve');
    await sim.settle();
    expect(outcome.state).toBe('open');
    expect(sim.link('files').calls).toEqual([]);
    expect(asked).toHaveLength(2);
    answers[1]?.('deny');
    await sim.settle();
    expect(outcome.state).toBe('BLOCKED_BY_USER');
  });

  test('S098 never holds still is given up in the end, and never sent', async () => {
    const { answers, approve } = patient();
    const { sim, call, relist } = await start({ approve }, 'ask');
    const outcome = call();
    await sim.settle();
    for (let at = 0; at < 3; at += 1) {
      if (at > 0) await relist(`text ${at}`);
      else sim.behaviours.set('files', { answers: true, description: 'text 0' });
      answers[at]?.('approve');
      await sim.settle();
    }
    expect(outcome.state).toBe('APPROVAL_STALE');
    expect(sim.link('files').calls).toEqual([]);
  });
});

describe('a rule that is tightened while a call', () => {
  test('waits for its server holds for that call too', async () => {
    const { sim, call } = await start();
    sim.behaviours.set('files', { answers: true, shakes: false });
    const outcome = call();
    await sim.settle();
    sim.change([user(rule('deny'))]);
    await sim.settle();
    sim.link('files').shake();
    await sim.settle();
    expect(outcome.state).toBe('BLOCKED_BY_POLICY');
    expect(sim.link('files').calls).toEqual([]);
  });

  test('waits for its server has it asked about, where it was let pass before', async () => {
    const { asked, approve } = patient();
    const { sim, call } = await start({ approve });
    sim.behaviours.set('files', { answers: true, description: 'as it was', shakes: false });
    const outcome = call();
    await sim.settle();
    sim.change([user(rule('ask'))]);
    await sim.settle();
    sim.link('files').shake();
    await sim.settle();
    expect(outcome.state).toBe('open');
    expect(asked).toHaveLength(1);
  });

  test('is asked about outweighs the yes', async () => {
    const { answers, approve } = patient();
    const { sim, call } = await start({ approve }, 'ask');
    const outcome = call();
    await sim.settle();
    sim.change([user(rule('deny'))]);
    await sim.settle();
    answers[0]?.('approve');
    await sim.settle();
    expect(outcome.state).toBe('BLOCKED_BY_POLICY');
  });
});
