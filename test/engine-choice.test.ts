import { expect, test } from 'vitest';
import { supervisorError } from '../actors/errors.js';
import { sdkV1Engine } from '../adapters/links/sdk-v1.js';
import { createSupervisor } from '../index.js';
import { realWorkspace, textOf, untilReady, untilServer } from './support/real-workspace.js';
import { layer, Simulation, server } from './support/simulated-ports.js';

test.each(['Client', 'toString', '', null, {}])('an engine that is none, %j, is refused before anything is opened', (engine) => {
  expect(() => createSupervisor({ engine: engine as never })).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENTS' }));
});

test.each([
  ['by its name', 'sdk'],
  ['as it is exported', sdkV1Engine],
] as const)('the older engine, chosen %s, greets a server of both eras in the older one', async (_how, engine) => {
  await using here = await realWorkspace();
  const both = here.fixture('modern-server.mjs', '--legacy=serve');
  const modern = here.fixture('modern-server.mjs');
  const workspace = await here.open({ user: { mcpServers: { both, modern } }, supervisor: { engine } });
  expect(await untilReady(workspace, 'both')).toMatchObject({ era: 'legacy', protocolVersion: '2025-11-25' });
  expect(textOf(await workspace.call('mcp__both__echo', { text: 'older' }))).toBe('older');
  const refused = await untilServer(workspace, 'modern', ({ error }) => error !== null);
  expect(refused.error).toMatchObject({
    code: 'ERA_NEGOTIATION_FAILED',
    hint: expect.stringContaining("leave out `engine: 'sdk'`") as string,
  });
});

test('an engine whose package is missing fails the server at once: no try would go better, and the call is told what to install', async () => {
  const sim = new Simulation();
  sim.layers = [layer('user', [server('files')])];
  sim.behaviours.set('files', { shakes: false });
  const { workspace, supervisor } = await sim.open();
  const call = workspace.call('mcp__files__echo');
  const rejected = expect(call).rejects.toMatchObject({ code: 'ENGINE_MISSING', hint: 'npm install it' });
  await sim.settle();
  sim.link('files').refuse(supervisorError('ENGINE_MISSING', 'it is not there', { hint: 'npm install it' }));
  await sim.settle();
  await rejected;
  expect(workspace.server('files').status()).toMatchObject({ phase: 'failed', restarts: 1, error: { code: 'ENGINE_MISSING' } });
  await sim.run(60_000);
  expect(sim.links).toHaveLength(1);
  await supervisor.close();
});
