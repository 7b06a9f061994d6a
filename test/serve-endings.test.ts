import { readFileSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { StreamableHTTPClientTransport as ModernHttp } from '@modelcontextprotocol/client';
import { StdioClientTransport as LegacyStdio } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as LegacyHttp } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { expect, onTestFinished, test, vi } from 'vitest';
import { builtCommand } from './support/build.js';
import { startCommand } from './support/run-command.js';
import { type CallSettings, legacyClient, modernClient, type TestClient, textOf } from './support/serve-kit.js';
import { temporaryDirectory } from './support/temporary-directory.js';

const fixtures = join(import.meta.dirname, 'fixtures');

/** A user with servers of one kind; everything is allowed. */
async function place(script: string, ...ids: readonly string[]) {
  const home = await temporaryDirectory('mcp-sup-endings-');
  await mkdir(join(home, 'repo'));
  const userConfig = join(home, 'user.json');
  const write = (names: readonly string[]) => {
    const entry = { command: process.execPath, args: [join(fixtures, script), `--marker=${home}`], approveTools: ['*'] };
    return writeFile(userConfig, JSON.stringify({ mcpServers: Object.fromEntries(names.map((id) => [id, entry])) }));
  };
  await write(ids);
  const argv = ['--workspace', join(home, 'repo'), '--user-config', userConfig, '--state-dir', join(home, 'state')];
  return { argv, write, env: { PATH: process.env['PATH'] ?? '', HOME: home } };
}

test('serve --direct offers the tools of the command’s servers, and tells its client when the configuration changes them', async () => {
  const { argv, env, write } = await place('echo-server.mjs', 'one');
  const args = [await builtCommand(), 'serve', '--direct', ...argv];
  const client = await legacyClient(new LegacyStdio({ command: process.execPath, args, env, stderr: 'ignore' }));
  onTestFinished(() => client.close());
  const names = async (): Promise<readonly string[]> => (await client.list()).tools.map(({ name }) => name).sort();
  const toolsOf = (id: string): readonly string[] => ['echo', 'pid', 'sleep'].map((tool) => `mcp__${id}__${tool}`);
  await vi.waitFor(async () => expect(await names()).toEqual(toolsOf('one')), { timeout: 20_000 });
  expect(textOf(await client.call('mcp__one__echo', { text: 'direct' }))).toBe('direct');

  const told = client.changes();
  await write(['two']);
  await vi.waitFor(() => expect(client.changes()).toBeGreaterThan(told), { timeout: 20_000 });
  await vi.waitFor(async () => expect(await names()).toEqual(toolsOf('two')), { timeout: 20_000 });
  expect(await client.call('mcp__one__echo', { text: 'gone' })).toMatchObject({ isError: true });
});

test('over HTTP it listens on the loopback address alone, and a server that dies fails each waiting call once (S139 S140)', async () => {
  const { argv, env } = await place('modern-server.mjs', 'one');
  const served = await startCommand(['serve', '--http', '0', ...argv], env);
  await vi.waitFor(() => expect(served.err()).toContain('Serving MCP at'), { timeout: 20_000 });
  const [, url = '', file = ''] = /at (\S+); the bearer token is in (\S+)/.exec(served.err()) ?? [];
  expect(listening(Number(new URL(url).port))).toEqual(['127.0.0.1']);

  const token = (await readFile(file, 'utf8')).trim();
  const init = { requestInit: { headers: { Authorization: `Bearer ${token}` } } };
  const clients = [
    await legacyClient(new LegacyHttp(new URL(url), init)),
    await modernClient(new ModernHttp(new URL(url), init)),
  ];
  const call = (client: TestClient, tool: string, args: object, settings: CallSettings = {}) =>
    client.call('mcp', { action: 'call', name: `mcp__one__${tool}`, args }, settings);
  const [first = clients[0]] = clients;
  if (first === undefined) throw new Error('there is no client');
  const pid = Number(textOf(await call(first, 'pid', {})));
  const underWay = new Set<TestClient>();
  const answers: string[] = [];
  const waiting = clients.map(async (client) => {
    const onprogress = (): void => void underWay.add(client);
    const { isError, ...result } = await call(client, 'slow', { steps: 3_000, stepMs: 20 }, { onprogress });
    answers.push(`${String(isError)} ${textOf(result)}`);
  });
  await vi.waitFor(() => expect(underWay.size).toBe(2), { timeout: 20_000 });
  process.kill(pid, 'SIGKILL');
  await Promise.all(waiting);
  expect(answers).toHaveLength(2);
  for (const answer of answers) expect(answer).toMatch(/^true [\s\S]*LINK_LOST/);
  // The next call starts it anew; nothing was asked a second time, so nothing more is answered.
  const next = Number(textOf(await call(first, 'pid', {})));
  expect(next).not.toBe(pid);
  await Promise.all(clients.map((client) => client.close()));
  served.child.kill('SIGTERM');
  expect((await served.ended).exit).toBe(143);
});

/** The addresses on which somebody listens at this port, over both families. */
function listening(port: number): readonly string[] {
  const wanted = port.toString(16).toUpperCase().padStart(4, '0');
  const rows = ['tcp', 'tcp6'].flatMap((family) => readFileSync(`/proc/net/${family}`, 'utf8').split('\n').slice(1));
  return rows.flatMap((row) => {
    const [, local = '', , state] = row.trim().split(/\s+/);
    const [address = '', at] = local.split(':');
    return state === '0A' && at === wanted ? [address === '0100007F' ? '127.0.0.1' : address] : [];
  });
}
