import { execFile } from 'node:child_process';
import { cp, mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createHttpPort } from '../adapters/http/guarded-http.js';
import { createLinkPort } from '../adapters/links/link-port.js';
import { EraMemory } from '../adapters/links/negotiation.js';
import { clientEngine } from '../adapters/links/sdk-session.js';
import { sdkV1Engine } from '../adapters/links/sdk-v1.js';
import type { Engine, Session } from '../adapters/links/session.js';
import { WireTransport } from '../adapters/links/wire-transport.js';
import { createNodeProcessPort } from '../adapters/node-process.js';
import { systemClock } from '../adapters/system-clock.js';
import { builtCommand } from './support/build.js';
import { startServer } from './support/link-contract-servers.js';
import { temporaryDirectory } from './support/temporary-directory.js';

const clientInfo = { name: 'test', version: '1.0.0' };
const answer = (id: string | number, outcome: object) =>
  ({ kind: 'answer', id, body: { jsonrpc: '2.0', id, ...outcome } }) as const;

/** A session of the older line before a server that gives every request this outcome. */
function openSession(outcome: object): { session: Session; pushed: string[] } {
  const pushed: string[] = [];
  const session = sdkV1Engine.open({
    clientInfo,
    pid: null,
    push(frame) {
      pushed.push(frame);
      const { id } = JSON.parse(frame) as { id?: number };
      if (id !== undefined) queueMicrotask(() => session.receive(answer(id, outcome)));
      return null;
    },
  });
  return { session, pushed };
}

test.each([
  ['refuses the revision', { error: { code: -32_022, message: 'Unsupported', data: { supported: ['2026-07-28'] } } }],
  ['does not know initialise', { error: { code: -32_601, message: 'Method not found' } }],
  ['answers with a revision of the current era', { result: { ...initialized(), protocolVersion: '2026-07-28' } }],
])('a server that %s fails with the engine to use instead', async (_what, outcome) => {
  const { session } = openSession(outcome);
  await expect(session.connect(false)).rejects.toMatchObject({
    code: 'ERA_NEGOTIATION_FAILED',
    hint: expect.stringContaining("leave out `engine: 'sdk'`") as string,
  });
});

test('a server that refuses us for another reason is not taken for one of another era', async () => {
  const { session } = openSession({ error: { code: -32_000, message: 'no room' } });
  await expect(session.connect(false)).rejects.toMatchObject({ code: 'INITIALIZE_FAILED', message: /no room/ });
});

test('the first request, whose id is 0, is answered, and nothing of the current era is sent', async () => {
  const { session, pushed } = openSession({ result: initialized() });
  await session.connect(false);
  expect(pushed.map((frame) => (JSON.parse(frame) as { method: string }).method)).toEqual([
    'initialize',
    'notifications/initialized',
  ]);
  expect(JSON.parse(pushed[0] ?? '')).toMatchObject({ id: 0, params: { capabilities: {}, clientInfo } });
  expect(session.handshake()).toMatchObject({ era: 'legacy', protocolVersion: '2025-06-18', announces: false });
  expect(session.receive(answer(0, { result: {} }))).toBe(false);
});

test('initialise is never cancelled, although the older line of the SDK would (basic/utilities/cancellation)', async () => {
  const push = vi.fn((_frame: string) => null);
  const transport = new WireTransport(null, push);
  const client = new Client(clientInfo);
  const giveUp = new AbortController();
  const connecting = client.connect(transport, { signal: giveUp.signal });
  await vi.waitFor(() => expect(push).toHaveBeenCalledOnce());
  giveUp.abort('enough');
  await expect(connecting).rejects.toThrow('enough');
  expect(push.mock.calls.map(([frame]) => (JSON.parse(frame) as { method: string }).method)).toEqual(['initialize']);
});

test('a request other than initialise can be cancelled', async () => {
  const push = vi.fn((_frame: string) => null);
  const transport = new WireTransport(null, push);
  await transport.send({ jsonrpc: '2.0', id: 0, method: 'initialize' });
  await transport.send({ jsonrpc: '2.0', id: 1, method: 'ping' });
  await transport.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } });
  expect(push).toHaveBeenCalledTimes(3);
});

test('closing a session settles a handshake that waits', async () => {
  const session = sdkV1Engine.open({ clientInfo, pid: null, push: () => null });
  const connecting = session.connect(false);
  const rejected = expect(connecting).rejects.toMatchObject({ code: 'INITIALIZE_FAILED' });
  await vi.waitFor(() => expect(session.hasInitialized).toBe(true));
  session.close();
  await rejected;
});

test('a host without the package is told what to install, at every handshake', async () => {
  const root = await temporaryDirectory('no-peer-');
  await cp(join(dirname(await builtCommand()), '../..'), root, { recursive: true });
  await writeFile(join(root, 'package.json'), '{ "type": "module" }');
  // An empty package hides one that may be installed further up.
  await mkdir(join(root, 'node_modules/@modelcontextprotocol/sdk'), { recursive: true });
  await writeFile(
    join(root, 'try.js'),
    `import { sdkV1Engine } from './adapters/links/sdk-v1.js';
     sdkV1Engine.preload();
     const open = () => sdkV1Engine.open({ clientInfo: { name: 'test', version: '1' }, pid: null, push: () => ({ message: 'sent all the same' }) });
     for (let turn = 0; turn < 2; turn += 1) await open().connect(false).catch((error) => console.log(JSON.stringify(error)));`,
  );
  const { stdout } = await promisify(execFile)(process.execPath, [join(root, 'try.js')]);
  const told = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as object);
  const expected = {
    code: 'ENGINE_MISSING',
    hint: expect.stringContaining('npm install @modelcontextprotocol/sdk@^1.32.0') as string,
  };
  expect(told).toMatchObject([expected, expected]);
});

test('a server met through the older line is still asked for its era by the current one', async () => {
  const processes = createNodeProcessPort();
  const http = createHttpPort({ env: {} });
  onTestFinished(() => Promise.all([processes.closeAll(), http.close()]).then(() => undefined));
  const eras = new EraMemory();
  const { launch } = await startServer('stdio', 'dual', 'own');
  const events = { opened: () => undefined, lost: () => undefined, listChanged: () => undefined, stderr: () => undefined };
  const eraBy = async (engine: Engine): Promise<string> => {
    const port = createLinkPort({ process: processes, http, clock: systemClock, eras, engine });
    const link = port.open(launch, events, { clientInfo, configHash: 'the same' });
    await vi.waitFor(() => expect(link.diagnosis().stderrTail).toContain('ready'), { timeout: 10_000 });
    const { era } = await link.handshake();
    await link.close();
    return era;
  };
  expect([await eraBy(sdkV1Engine), await eraBy(clientEngine)]).toEqual(['legacy', 'modern']);
});

test('the two engines have names of their own', () => {
  expect([clientEngine.name, sdkV1Engine.name]).toEqual(['client', 'sdk']);
});

function initialized(): object {
  return { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'older', version: '1' } };
}
