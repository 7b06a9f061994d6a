import { expect, test, vi } from 'vitest';
import { type ClientSettings, legacyClient, modernClient, served, type TestClient, textOf } from './support/serve-kit.js';
import { openPipes, type PipeTransport } from './support/serve-pipes.js';
import { server } from './support/simulated-ports.js';

const TOOL = 'mcp__files__echo';
const call = { action: 'call', name: TOOL };
const eras = [
  ['2025-11-25', legacyClient],
  ['2026-07-28', modernClient],
] as const satisfies readonly [string, (transport: PipeTransport, settings: ClientSettings) => Promise<TestClient>][];

test.each(eras)('a client of %s lists, searches, calls, hears of progress and withdraws', async (_era, clientOn) => {
  const { sim, workspace, surface } = await served();
  const { transport } = openPipes(surface);
  const client = await clientOn(transport, {});
  expect(client.instructions()).toBe(workspace.gateway.instructions);
  await client.list();
  expect(transport.lines.at(-1)).toContain(`"tools":[${JSON.stringify(workspace.gateway.tool)}]`);
  expect(textOf(await client.call('mcp', { action: 'search', query: 'echo' }))).toContain(TOOL);

  const heard: number[] = [];
  const called = client.call('mcp', call, { onprogress: ({ progress }) => void heard.push(progress) });
  await vi.waitFor(() => expect(sim.link('files').calls).toHaveLength(1));
  sim.link('files').progress(sim.link('files').calls[0]?.id ?? '', 3);
  await vi.waitFor(() => expect(heard).toEqual([3]));
  sim.link('files').answer(sim.link('files').calls[0]?.id ?? '', { content: [{ type: 'text', text: 'here' }] });
  expect(textOf(await called)).toBe('here');

  const abort = new AbortController();
  const withdrawn = client.call('mcp', call, { signal: abort.signal }).catch(() => 'withdrawn');
  await vi.waitFor(() => expect(sim.link('files').calls).toHaveLength(2));
  abort.abort();
  expect(await withdrawn).toBe('withdrawn');
  await vi.waitFor(() => expect(sim.link('files').cancelled).toHaveLength(1));
});

test.each(eras)('a client of %s is asked before a call that has to be approved', async (_era, clientOn) => {
  const { sim, surface } = await served([server('files', { approveTools: [] })]);
  const answers = ['approve', 'deny'];
  const client = await clientOn(openPipes(surface).transport, {
    answer: () => ({ action: 'accept', content: { decision: answers.shift() } }),
  });
  sim.link('files').behaviour.answers = true;
  expect((await client.call('mcp', call)).isError).toBeUndefined();
  expect((await client.call('mcp', call)).structuredContent).toMatchObject({ code: 'BLOCKED_BY_USER' });
  expect(client.forms).toHaveLength(2);
});

test('the end of the input ends the door, and what was open is withdrawn', async () => {
  const { sim, surface } = await served();
  const { door, transport } = openPipes(surface);
  const client = await legacyClient(transport);
  const open = client.call('mcp', call).catch(() => 'ended');
  await vi.waitFor(() => expect(sim.link('files').calls).toHaveLength(1));
  transport.toServer.end();
  await door.ended;
  await vi.waitFor(() => expect(sim.link('files').cancelled).toHaveLength(1));
  await client.close();
  expect(await open).toBe('ended');
});

test('lines that are no messages, methods that are none and replies nobody asked for end nothing (S126, S138)', async () => {
  const { surface } = await served();
  const { transport } = openPipes(surface);
  const client = await legacyClient(transport);
  for (const line of [
    '',
    'hello',
    '{',
    '[]',
    '{"jsonrpc":"2.0","id":77,"result":{}}',
    '{"jsonrpc":"2.0","method":"notifications/nothing"}',
  ])
    transport.toServer.write(`${line}\n`);
  await transport.send({ jsonrpc: '2.0', id: 'x', method: 'no/such' });
  await vi.waitFor(() => expect(transport.lines.at(-1)).toContain('"code":-32601'));
  await expect(client.call('other', {})).rejects.toThrow('the only tool is "mcp"');
  expect((await client.list()).tools).toHaveLength(1);
  for (const line of transport.lines) expect(JSON.parse(line)).toMatchObject({ jsonrpc: '2.0' });
});

test('a failure that nobody foresaw says nothing of its cause', async () => {
  const { surface } = await served();
  const run = () => Promise.reject(new Error('secret at /home/me'));
  const broken = { ...surface, workspace: { ...surface.workspace, gateway: { ...surface.workspace.gateway, run } } };
  const { transport } = openPipes(broken);
  const client = await legacyClient(transport);
  await expect(client.call('mcp', { action: 'status' })).rejects.toThrow('Internal error');
  expect(transport.lines.join()).not.toContain('secret');
});
