import { describe, expect, test } from 'vitest';
import { layer, Simulation, server } from './support/simulated-ports.js';

/** A test of the one server under way, and its stages as `name: passed` once it has ended. */
async function startTest() {
  const sim = new Simulation();
  sim.layers = [layer('user', [server('bad')])];
  sim.behaviours.set('bad', { shakes: false });
  const { workspace } = await sim.open();
  const report = workspace.server('bad').test();
  await sim.settle();
  const stages = async () => (await report).stages.map(({ stage, ok }) => `${stage}: ${ok}`);
  return { sim, report, stages };
}

describe('the report of a test names the stage that was not passed', () => {
  test('when the server refuses the handshake', async () => {
    const { sim, report, stages } = await startTest();
    sim.link('bad').refuse('no reason');
    await sim.settle();
    expect(await report).toMatchObject({ ok: false, error: { code: 'INITIALIZE_FAILED' } });
    expect((await stages()).at(-1)).toBe('initialize: false');
  });

  test('when the server ends before the handshake', async () => {
    const { sim, report, stages } = await startTest();
    sim.link('bad').die('EXITED_EARLY');
    await sim.settle();
    expect(await report).toMatchObject({ ok: false, error: { code: 'EXITED_EARLY' } });
    expect((await stages()).at(-1)).toBe('initialize: false');
  });

  test('when the handshake takes longer than it may', async () => {
    const { sim, report, stages } = await startTest();
    await sim.run(60_000);
    expect(await report).toMatchObject({ ok: false, error: { code: 'INITIALIZE_TIMEOUT' } });
    expect(await stages()).toEqual(['approval: true', 'slot: true', 'transport: true', 'initialize: false']);
  });
});
