import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { StreamableHTTPClientTransport as ModernHttp } from '@modelcontextprotocol/client';
import { StdioClientTransport as ModernStdio } from '@modelcontextprotocol/client/stdio';
import { StdioClientTransport as LegacyStdio } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as LegacyHttp } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { expect, onTestFinished, test, vi } from 'vitest';
import { builtCommand } from './support/build.js';
import { isAlive, startCommand } from './support/run-command.js';
import { legacyClient, modernClient, type TestClient, textOf } from './support/serve-kit.js';
import { temporaryDirectory } from './support/temporary-directory.js';

const fixture = join(import.meta.dirname, 'fixtures/modern-server.mjs');
const approve = { answer: () => ({ action: 'accept', content: { decision: 'approve' } }) };

interface Place {
  readonly home: string;
  readonly argv: readonly string[];
  readonly env: Record<string, string>;
}

/** A user whose one server is real; only `pid` is allowed without a question. */
async function place(): Promise<Place> {
  const home = await temporaryDirectory('mcp-sup-serve-');
  const workspace = join(home, 'repo');
  await mkdir(workspace);
  const userConfig = join(home, 'user.json');
  const entry = { command: process.execPath, args: [fixture, `--marker=${home}`], approveTools: ['pid', 'hang', 'slow'] };
  await writeFile(userConfig, JSON.stringify({ mcpServers: { modern: entry } }));
  const argv = ['--workspace', workspace, '--user-config', userConfig, '--state-dir', join(home, 'state')];
  return { home, argv, env: { PATH: process.env['PATH'] ?? '', HOME: home } };
}

const run = (client: TestClient, tool: string, args: object = {}) =>
  client.call('mcp', { action: 'call', name: `mcp__modern__${tool}`, args });

/** All that a client does with what it is served, on a real server. */
async function useAll(client: TestClient): Promise<number> {
  expect((await client.list()).tools.map(({ name }) => name)).toEqual(['mcp']);
  // Who calls before the server was ever listed waits for it.
  const pid = Number(textOf(await run(client, 'pid')));
  expect(textOf(await run(client, 'pid'))).toBe(String(pid));
  expect(textOf(await client.call('mcp', { action: 'search', query: 'echo' }))).toContain('mcp__modern__echo');
  expect(textOf(await client.call('mcp', { action: 'describe', name: 'mcp__modern__echo' }))).toContain('Input schema');
  expect(textOf(await run(client, 'echo', { text: `from ${client.era}` }))).toBe(`from ${client.era}`);
  expect(client.forms).toHaveLength(1);
  const heard: number[] = [];
  const slow = { action: 'call', name: 'mcp__modern__slow', args: { steps: 3, stepMs: 50 } };
  await client.call('mcp', slow, { onprogress: ({ progress }) => void heard.push(progress) });
  // The last report may come with the result, and then this SDK has forgotten its token.
  expect(heard[0]).toBeGreaterThan(0);
  const abort = new AbortController();
  const hanging = client
    .call('mcp', { action: 'call', name: 'mcp__modern__hang' }, { signal: abort.signal })
    .catch(() => 'withdrawn');
  abort.abort();
  expect(await hanging).toBe('withdrawn');
  return pid;
}

test('over stdio a client of each SDK has the whole gateway at once, and ends it with its input (S126)', async () => {
  const command = await builtCommand();
  const pids: number[] = [];
  const one = async (Transport: typeof LegacyStdio | typeof ModernStdio): Promise<void> => {
    const { argv, env } = await place();
    const transport = new Transport({ command: process.execPath, args: [command, 'serve', ...argv], env, stderr: 'pipe' });
    const noise: Error[] = [];
    const client = await (Transport === LegacyStdio ? legacyClient : modernClient)(transport, approve);
    onTestFinished(() => client.close());
    // Set by the SDK; a line that is no message would be told here.
    const { onerror } = transport;
    transport.onerror = (error) => {
      noise.push(error);
      onerror?.(error);
    };
    pids.push(await useAll(client), transport.pid ?? -1);
    await client.close();
    expect(noise).toEqual([]);
  };
  await Promise.all([one(LegacyStdio), one(ModernStdio)]);
  await vi.waitFor(() => expect(pids.filter(isAlive)).toEqual([]), { timeout: 10_000 });
});

test('over HTTP clients of both SDKs share one server at once; the token is in a file of its own, and gone at the end', async () => {
  const { home, argv, env } = await place();
  const served = await startCommand(['serve', '--http', '0', ...argv], env);
  await vi.waitFor(() => expect(served.err()).toContain('Serving MCP at'), { timeout: 20_000 });
  const [, url = '', file = ''] = /at (\S+); the bearer token is in (\S+)/.exec(served.err()) ?? [];
  expect(file.startsWith(join(home, 'state'))).toBe(true);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  const token = (await readFile(file, 'utf8')).trim();
  expect(token).toMatch(/^[A-Za-z0-9_-]{43}$/);
  const init = { requestInit: { headers: { Authorization: `Bearer ${token}` } } };
  const clients = [
    await legacyClient(new LegacyHttp(new URL(url), init), approve),
    await modernClient(new ModernHttp(new URL(url), init), approve),
  ];
  const [pid, other] = await Promise.all(clients.map(useAll));
  expect(pid).toBe(other);
  await Promise.all(clients.map((client) => client.close()));
  served.child.kill('SIGTERM');
  const { exit, out, err } = await served.ended;
  expect([exit, out]).toEqual([143, '']);
  expect(err).not.toContain(token);
  expect(existsSync(file)).toBe(false);
  await vi.waitFor(() => expect(isAlive(pid ?? -1)).toBe(false));
});

test('a token of the environment is used and written nowhere; one that is too short is refused (S125)', async () => {
  const { home, argv, env } = await place();
  const token = 'a-token-of-the-environment-0123456789';
  const served = await startCommand(['serve', '--http', '0', ...argv], { ...env, MCP_SUPERVISOR_TOKEN: token });
  await vi.waitFor(() => expect(served.err()).toContain('is the value of MCP_SUPERVISOR_TOKEN'), { timeout: 20_000 });
  expect(await readFile(`/proc/${served.child.pid}/cmdline`, 'utf8')).not.toContain(token);
  expect(served.err()).not.toContain(token);
  const kept = await readdir(join(home, 'state')).catch(() => []);
  expect(kept.filter((name) => name.endsWith('.token'))).toEqual([]);
  served.child.kill('SIGINT');
  expect((await served.ended).exit).toBe(130);
  const refused = await startCommand(['serve', '--http', '0', ...argv], { ...env, MCP_SUPERVISOR_TOKEN: 'short' });
  expect((await refused.ended).exit).toBe(2);
});

test('a server that waits for an approval is told on stderr once, with what lets it start; its card goes to no client', async () => {
  const { home, argv, env } = await place();
  const entry = { command: process.execPath, args: [fixture, `--marker=${home}`] };
  await writeFile(join(home, 'repo', '.mcp.json'), JSON.stringify({ mcpServers: { project: entry } }));
  const served = await startCommand(['serve', '--http', '0', '--trust', '--enable', 'project', ...argv], env);
  await vi.waitFor(() => expect(served.err()).toMatch(/"project" waits for an approval.*--approve [0-9a-f]{64}/), {
    timeout: 20_000,
  });
  await vi.waitFor(() => expect(served.err()).toContain('Serving MCP at'));
  const [, url = '', file = ''] = /at (\S+); the bearer token is in (\S+)/.exec(served.err()) ?? [];
  const init = { requestInit: { headers: { Authorization: `Bearer ${(await readFile(file, 'utf8')).trim()}` } } };
  const client = await modernClient(new ModernHttp(new URL(url), init), approve);
  const result = await client.call('mcp', { action: 'call', name: 'mcp__project__pid' });
  expect(result.structuredContent).toMatchObject({ blocked: true, code: 'APPROVAL_NO_CHANNEL' });
  expect(client.forms).toEqual([]);
  await client.close();
  served.child.kill('SIGTERM');
  const { err } = await served.ended;
  expect(err.match(/waits for an approval/g)).toHaveLength(1);
});
