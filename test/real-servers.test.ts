import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { GatewayResult, Progress, Workspace } from '../actors/api.js';
import {
  type Entry,
  type RealWorkspace,
  realWorkspace,
  textOf,
  until,
  untilAllReady,
  untilReady,
} from './support/real-workspace.js';

/** What a server lists to the official SDK alone, without anything of ours. */
async function namesListedBySdk({ command, args, env }: Entry, cwd: string): Promise<readonly string[]> {
  const client = new Client({ name: 'lister', version: '1.0.0' }, { versionNegotiation: { mode: 'auto' } });
  const own = { PATH: process.env['PATH'] ?? '', ...(env as Record<string, string> | undefined) };
  await client.connect(new StdioClientTransport({ command, args: [...args], cwd, env: own, stderr: 'ignore' }));
  try {
    return (await client.listTools()).tools.map(({ name }) => name).sort();
  } finally {
    await client.close();
  }
}

describe('the published servers', () => {
  let here: RealWorkspace;
  let workspace: Workspace;
  let entries: Record<'everything' | 'filesystem' | 'memory', Entry>;

  beforeAll(async () => {
    here = await realWorkspace();
    const files = join(here.home, 'files');
    await mkdir(files);
    await writeFile(join(files, 'note.txt'), 'a note on disk');
    entries = {
      everything: here.published('server-everything', 'stdio'),
      // It takes every argument for a directory, so the marker is the directory's own path.
      filesystem: {
        ...here.published('server-filesystem'),
        args: [...here.published('server-filesystem').args.slice(0, 1), files],
      },
      memory: { ...here.published('server-memory'), env: { MEMORY_FILE_PATH: join(here.home, 'memory.jsonl') } },
    };
    workspace = await here.open({ user: { mcpServers: entries } });
    await untilAllReady(workspace, 'everything', 'filesystem', 'memory');
  });

  afterAll(() => here[Symbol.asyncDispose]());

  test.each(['everything', 'filesystem', 'memory'] as const)(
    '%s is ready with exactly the tools that the official client lists',
    async (id) => {
      const listed = await namesListedBySdk(entries[id], here.root);
      const ours = workspace.tools().filter(({ server }) => server === id);
      expect(ours.map(({ tool }) => tool).sort()).toEqual(listed);
      expect(workspace.server(id).status()).toMatchObject({
        phase: 'ready',
        generation: 1,
        error: null,
        tools: { state: 'complete', count: listed.length, reason: null, skipped: [] },
      });
      expect(listed.length).toBeGreaterThan(0);
    },
  );

  test('speak the older era, and say who they are', () => {
    for (const { era, serverInfo } of workspace.status().servers)
      expect({ era, named: serverInfo?.name }).toEqual({ era: 'legacy', named: expect.any(String) as string });
  });

  test('answer calls by full name', async () => {
    expect(textOf(await workspace.call('mcp__everything__get-sum', { a: 2, b: 40 }))).toContain('42');
    const path = join(here.home, 'files', 'note.txt');
    expect(textOf(await workspace.call('mcp__filesystem__read_text_file', { path }))).toBe('a note on disk');
    const entities = [{ name: 'supervisor', entityType: 'program', observations: ['holds servers'] }];
    await workspace.call('mcp__memory__create_entities', { entities });
    expect(textOf(await workspace.call('mcp__memory__read_graph'))).toContain('holds servers');
  });

  test('what a tool says of its own failure is a result; what no server has is a rejection', async () => {
    const path = join(here.home, 'files', 'absent.txt');
    expect(await workspace.call('mcp__filesystem__read_text_file', { path })).toMatchObject({ isError: true });
    await expect(workspace.call('mcp__filesystem__read')).rejects.toMatchObject({ code: 'UNKNOWN_TOOL' });
    await expect(workspace.call('read_text_file', { path })).rejects.toMatchObject({ code: 'UNKNOWN_TOOL' });
  });

  test('are found, described and called through the gateway', async () => {
    const run = (request: object): Promise<GatewayResult> => workspace.gateway.run(request);
    const found = await run({ action: 'search', query: 'read text file' });
    expect(found.structuredContent).toMatchObject({ tools: [{ name: 'mcp__filesystem__read_text_file' }, {}], total: 2 });
    const described = await run({ action: 'describe', name: 'mcp__filesystem__read_text_file' });
    expect(described.structuredContent).toMatchObject({ server: 'filesystem', inputSchema: { properties: { path: {} } } });
    const args = JSON.stringify({ path: join(here.home, 'files', 'note.txt') });
    expect(textOf({ ...(await run({ action: 'call', name: 'mcp__filesystem__read_text_file', args })) })).toBe('a note on disk');
    const status = await run({ action: 'status' });
    expect(status.structuredContent).toMatchObject({
      servers: ['everything', 'filesystem', 'memory'].map((id) => ({ id, phase: 'ready' })),
    });
    expect(await run({ action: 'call', name: 'mcp__everything__ech' })).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('mcp__everything__echo') as string }],
    });
  });

  test('offer their resources and prompts through the gateway', async () => {
    const run = (request: object): Promise<GatewayResult> => workspace.gateway.run(request);
    await until(workspace, ({ servers }) => servers.some(({ prompts }) => prompts.state === 'complete' && prompts.count > 0));
    const resources = await run({ action: 'resources', server: 'everything' });
    const listed = resources.structuredContent?.['resources'] as readonly { readonly uri?: string }[];
    const uri = listed.find((one) => one.uri !== undefined)?.uri;
    const read = await run({ action: 'read', server: 'everything', uri });
    expect(read.isError).toBeUndefined();
    expect(JSON.stringify(read)).toContain(uri);

    const prompts = await run({ action: 'prompts', server: 'everything' });
    expect(JSON.stringify(prompts.structuredContent)).toContain('args-prompt');
    const prompt = await run({ action: 'prompt', server: 'everything', name: 'args-prompt', args: { city: 'Lisbon' } });
    expect(textOf({ ...prompt })).toContain('Lisbon');
    expect(await run({ action: 'prompt', server: 'everything', name: 'args-prompt' })).toMatchObject({ isError: true });
  });

  test('report progress to the caller', async () => {
    const reports: Progress[] = [];
    const result = await workspace.call(
      'mcp__everything__trigger-long-running-operation',
      { duration: 0.3, steps: 3 },
      { onProgress: (report) => void reports.push(report) },
    );
    expect(textOf(result)).toContain('completed');
    expect(reports.map(({ progress, total }) => [progress, total])).toEqual([
      [1, 3],
      [2, 3],
      [3, 3],
    ]);
  });

  test('B044: a call that is withdrawn settles at once, and what becomes of it is counted', async () => {
    const withdrawal = new AbortController();
    const call = workspace.call(
      'mcp__everything__trigger-long-running-operation',
      { duration: 0.5, steps: 1 },
      { signal: withdrawal.signal },
    );
    await until(workspace, ({ servers }) => servers.some(({ callsInFlight }) => callsInFlight === 1));
    withdrawal.abort();
    await expect(call).rejects.toMatchObject({ code: 'CALL_CANCELLED', retryable: false });
    expect(workspace.server('everything').status().callsInFlight).toBe(0);
    expect(textOf(await workspace.call('mcp__everything__echo', { message: 'still here' }))).toContain('still here');
  });
});

describe('a server of the modern era', () => {
  test('negotiates it, while one of the older era beside it keeps to its own', async () => {
    await using here = await realWorkspace();
    const modern = here.fixture('modern-server.mjs');
    const both = here.fixture('modern-server.mjs', '--legacy=serve');
    const workspace = await here.open({ user: { mcpServers: { modern, both, legacy: here.fixture('echo-server.mjs') } } });
    await untilAllReady(workspace, 'modern', 'both', 'legacy');
    const eras = workspace.status().servers.map(({ id, era, protocolVersion }) => [id, era, protocolVersion]);
    expect(eras).toEqual([
      ['both', 'modern', '2026-07-28'],
      ['legacy', 'legacy', expect.stringMatching(/^202[45]-/)],
      ['modern', 'modern', '2026-07-28'],
    ]);
    expect(textOf(await workspace.call('mcp__modern__echo', { text: 'hello' }))).toBe('hello');
    expect(
      workspace
        .tools()
        .filter(({ server }) => server === 'modern')
        .map(({ tool }) => tool)
        .sort(),
    ).toEqual(await namesListedBySdk(modern, here.root));
  });

  test('reports progress, and is told of a call that was withdrawn', async () => {
    await using here = await realWorkspace();
    const workspace = await here.open({ user: { mcpServers: { modern: here.fixture('modern-server.mjs') } } });
    await untilReady(workspace, 'modern');
    const reports: Progress[] = [];
    await workspace.call('mcp__modern__slow', { steps: 2, stepMs: 20 }, { onProgress: (report) => void reports.push(report) });
    expect(reports.map(({ progress, total }) => [progress, total])).toEqual([
      [1, 2],
      [2, 2],
    ]);

    const withdrawal = new AbortController();
    const call = workspace.call('mcp__modern__hang', {}, { signal: withdrawal.signal });
    await until(workspace, ({ servers }) => servers.some(({ callsInFlight }) => callsInFlight === 1));
    withdrawal.abort();
    await expect(call).rejects.toMatchObject({ code: 'CALL_CANCELLED' });
    await vi.waitFor(() => expect(workspace.server('modern').logs()).toContain('hang was cancelled'), { timeout: 10_000 });
  });
});

describe('a list that changes', () => {
  test.each([
    ['modern', 'modern-server.mjs', [], 'mcp__it__addTool', { name: 'fresh' }, 'mcp__it__fresh'],
    ['older', 'hostile-server.mjs', ['--mode=list-changed'], 'mcp__it__t0', {}, 'mcp__it__t1'],
  ] as const)(
    'is listed anew when a server of the %s era announces it, with no new start',
    async (_era, file, flags, call, args, added) => {
      await using here = await realWorkspace();
      const workspace = await here.open({ user: { mcpServers: { it: here.fixture(file, ...flags) } } });
      await untilReady(workspace, 'it');
      const before = workspace.tools().length;
      await expect(workspace.call(added)).rejects.toMatchObject({ code: 'UNKNOWN_TOOL' });
      await workspace.call(call, args);
      await until(workspace, ({ servers }) => servers[0]?.tools.count === before + 1);
      expect(workspace.server('it').status()).toMatchObject({ phase: 'ready', generation: 1, tools: { state: 'complete' } });
      await workspace.call(added);
    },
  );

  test('is listed once for a burst of announcements', async () => {
    await using here = await realWorkspace();
    const log = join(here.home, 'log');
    await writeFile(log, '');
    const it = here.hostile('list-changed', `--log=${log}`);
    const workspace = await here.open({ user: { mcpServers: { it } } });
    await untilReady(workspace, 'it');
    await Promise.all(Array.from({ length: 30 }, () => workspace.call('mcp__it__t0')));
    await until(workspace, ({ servers }) => servers[0]?.tools.count === 31);
    const lists = (await readFile(log, 'utf8')).split('\n').filter((line) => line.endsWith(' tools/list'));
    expect(lists).toHaveLength(2);
  });
});
