import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, onTestFinished, test, vi } from 'vitest';
import { hasDuplicateKey } from '../adapters/serve/duplicate-keys.js';
import { createProgressGate } from '../adapters/serve/progress-gate.js';
import { builtCommand } from './support/build.js';
import { httpClients, openHttp, served } from './support/serve-kit.js';
import { openPipes } from './support/serve-pipes.js';
import { temporaryDirectory } from './support/temporary-directory.js';

const message = (id: number, method: string, params: object = {}) => JSON.stringify({ jsonrpc: '2.0', id, method, params });
const greeting = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '1' } };

test('a signal ends the command although its client reads nothing of what was written', async () => {
  const home = await temporaryDirectory('mcp-sup-unread-');
  const child = spawn(process.execPath, [await builtCommand(), 'serve', '--workspace', home, '--state-dir', `${home}/state`], {
    env: { PATH: process.env['PATH'] ?? '', HOME: home },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  child.stdin.on('error', () => undefined);
  child.stdin.write(`${message(0, 'initialize', greeting)}\n`);
  await once(child.stdout, 'readable');
  for (let id = 1; id <= 3_000; id += 1) child.stdin.write(`${message(id, 'tools/list')}\n`);
  await vi.waitFor(() => expect(child.stdout.readableLength).toBeGreaterThan(1_024));
  child.kill('SIGTERM');
  expect(await once(child, 'exit')).toEqual([143, null]);
});

test('a client that does not read is not read from, and goes on when it reads again', async () => {
  const { surface } = await served();
  const { transport } = openPipes(surface);
  const { toServer, fromServer } = transport;
  toServer.write(`${message(0, 'initialize', greeting)}\n`);
  await vi.waitFor(() => expect(fromServer.readableLength).toBeGreaterThan(0));
  let asked = 0;
  const ask = (): void => {
    for (let more = 0; more < 100; more += 1) toServer.write(`${message((asked += 1), 'tools/list')}\n`);
  };
  // What comes at once is taken at once; a client that goes on asking finds that nobody listens.
  await vi.waitFor(
    () => {
      if (!toServer.isPaused()) ask();
      expect(toServer.isPaused()).toBe(true);
    },
    { interval: 1, timeout: 10_000 },
  );
  ask();
  expect(toServer.readableLength).toBeGreaterThan(0);
  await transport.start();
  await vi.waitFor(() => expect(transport.lines).toHaveLength(asked + 1));
});

test('a message that is too long ends the door with its code', async () => {
  const { surface } = await served();
  const { door, transport } = openPipes(surface);
  transport.toServer.write('x'.repeat(5_000_000));
  await expect(door.ended).rejects.toMatchObject({ code: 'MESSAGE_TOO_LARGE' });
});

test('of two requests with one id in one session the second is refused and the first is answered', async () => {
  const { surface, sim } = await served();
  const kit = await openHttp(surface);
  await httpClients(kit);
  const ask = (body: string, more: Record<string, string> = {}) =>
    fetch(kit.door.url, {
      method: 'POST',
      body,
      headers: {
        Authorization: `Bearer ${kit.token}`,
        'Content-Type': 'application/json',
        Accept: 'application/json, text/event-stream',
        ...more,
      },
    });
  const opened = await ask(message(0, 'initialize', greeting));
  const session = { 'Mcp-Session-Id': opened.headers.get('mcp-session-id') ?? '' };
  await opened.text();
  const call = message(7, 'tools/call', { name: 'mcp', arguments: { action: 'call', name: 'mcp__files__echo' } });
  const first = ask(call, session);
  await vi.waitFor(() => expect(sim.link('files').calls).toHaveLength(1));
  expect((await ask(call, session)).status).toBe(400);
  sim.link('files').answer(sim.link('files').calls[0]?.id ?? '', { content: [{ type: 'text', text: 'mine' }] });
  expect(await (await first).text()).toContain('mine');
  expect((await ask(message(7, 'tools/list'), session)).status).toBe(200);
  const twice = '{"jsonrpc":"2.0","id":8,"method":"tools/list","\\u006dethod":"tools/call","params":{}}';
  expect((await ask(twice, session)).status).toBe(400);
});

test('a key that stands twice is found at any depth and however it is written (S135)', () => {
  for (const text of ['{"a":1,"a":2}', '{"a":1,"\\u0061":2}', '[{"b":{"a":[],"x":"a","a":1}}]'])
    expect(hasDuplicateKey(text)).toBe(true);
  const long = JSON.stringify({ q: 'x'.repeat(4_000_000), e: '"\\'.repeat(500_000) });
  for (const text of ['{"a":{"a":1},"b":[{"a":1},{"a":"a"}]}', '["a","a"]', '3', long]) expect(hasDuplicateKey(text)).toBe(false);
});

test('however long and fast a server reports, a client has a bounded number of reports to come', () => {
  let nowMs = 0;
  let passed = 0;
  const gate = createProgressGate(
    () => nowMs,
    () => (passed += 1),
  );
  for (let progress = 1; nowMs < 600_000; progress += 1, nowMs += 1) gate.report({ progress, total: progress });
  expect(passed).toBeGreaterThan(100);
  expect(passed).toBeLessThan(1_000);
});
