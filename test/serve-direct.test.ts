import { expect, test, vi } from 'vitest';
import type { Surface } from '../adapters/serve/served-workspace.js';
import { toolPage } from '../adapters/serve/tool-pages.js';
import { httpClients, openHttp, served, textOf } from './support/serve-kit.js';
import { layer, server } from './support/simulated-ports.js';
import { VirtualClock } from './support/virtual-clock.js';

const deny = (tool: string) => ({ server: 'files', tool, verdict: 'deny', layer: 'user' }) as const;

test('the tools themselves are listed under their full names, without those that a policy denies', async () => {
  const { surface, sim } = await served([server('files')], { direct: true, settings: { toolPolicies: [deny('rm*')] } });
  sim.link('files').behaviour.tools = ['read', 'rm', 'write'];
  sim.link('files').announce('tools');
  await sim.run(5_000);
  for (const client of await httpClients(await openHttp(surface))) {
    expect((await client.list()).tools).toEqual([
      { name: 'mcp__files__read', description: 'says it again', inputSchema: { type: 'object' } },
      { name: 'mcp__files__write', description: 'says it again', inputSchema: { type: 'object' } },
    ]);
    expect((await client.call('mcp__files__rm', {})).structuredContent).toMatchObject({
      blocked: true,
      code: 'BLOCKED_BY_POLICY',
    });
    expect((await client.call('mcp__files__gone', {})).structuredContent).toMatchObject({ code: 'UNKNOWN_TOOL' });
    const called = client.call('mcp__files__read', { path: 'a' });
    await vi.waitFor(() => expect(sim.link('files').calls.at(-1)?.params).toEqual({ name: 'read', arguments: { path: 'a' } }));
    sim
      .link('files')
      .answer(sim.link('files').calls.at(-1)?.id ?? '', { content: [{ type: 'text', text: 'x'.repeat(200_000) }] });
    const text = textOf(await called);
    expect(text.length).toBeLessThan(50_000);
    expect(text).toContain('[Output cut: the whole has 200000 bytes');
    sim.link('files').sent.length = 0;
  }
});

test('a long list comes in pages of a hundred, each tool once', async () => {
  const { surface, sim } = await served([server('files', { maxTools: null })], {
    direct: true,
    settings: { limits: { tools: 1_000 } },
  });
  sim.link('files').behaviour.tools = Array.from({ length: 250 }, (_, at) => `tool${at}`);
  sim.link('files').announce('tools');
  await sim.run(5_000);
  for (const client of await httpClients(await openHttp(surface))) {
    const names: string[] = [];
    const sizes: number[] = [];
    let cursor: string | undefined;
    do {
      const { tools, nextCursor } = await client.list(cursor);
      names.push(...tools.map(({ name }) => name));
      sizes.push(tools.length);
      cursor = nextCursor;
    } while (cursor !== undefined);
    expect(sizes).toEqual([100, 100, 50]);
    expect(new Set(names).size).toBe(250);
    await expect(client.list('elsewhere')).rejects.toThrow(/cursor/);
  }
});

test('a page of long descriptions ends before it is too long for a client, and holds one tool at least', () => {
  const tools = ['a', 'b', 'c', 'd'].map((name) => ({
    name,
    description: '',
    inputSchema: { type: 'object' as const, description: 'x'.repeat(name === 'c' ? 2_000_000 : 600_000) },
  }));
  const gateway: Partial<Surface['workspace']['gateway']> = { tools: () => tools };
  const workspace = { gateway } as Surface['workspace'];
  const surface: Surface = { workspace, info: { name: 'served', version: '1' }, isDirect: true };
  const pages: string[] = [];
  let cursor: string | undefined;
  do {
    const page = toolPage(surface, cursor);
    pages.push(page?.tools.map(({ name }) => name).join('') ?? 'none');
    cursor = page?.nextCursor;
  } while (cursor !== undefined);
  expect(pages).toEqual(['a', 'b', 'c', 'd']);
});

test('clients of both eras are told once when the tools have really changed, and not when they were only read again', async () => {
  const { surface, sim } = await served([server('files')], { direct: true });
  const clock = new VirtualClock();
  const clients = await httpClients(await openHttp(surface, { clock }));
  const changes = () => clients.map((client) => client.changes());
  // The notice needs the stream that a client opens after it was greeted.
  const change = async (tools: readonly string[]): Promise<void> => {
    sim.link('files').behaviour.tools = tools;
    sim.link('files').announce('tools');
    await sim.run(5_000);
    await clock.run(1_000);
  };
  await vi.waitFor(async () => {
    await change([`tool${Math.floor(sim.clock.now())}`]);
    expect(Math.min(...changes())).toBeGreaterThan(0);
  });
  const before = changes();
  const [tool = ''] = sim.link('files').behaviour.tools;
  await change([tool]);
  await change([tool, 'more']);
  await vi.waitFor(() => expect(changes()).toEqual(before.map((count) => count + 1)));
  sim.change([layer('user', [server('files')], { toolPolicies: [deny('more')] })]);
  await sim.run(5_000);
  await clock.run(1_000);
  await vi.waitFor(() => expect(changes()).toEqual(before.map((count) => count + 2)));
  for (const client of clients) expect((await client.list()).tools.map(({ name }) => name)).toEqual([`mcp__files__${tool}`]);
});
