import dns from 'node:dns/promises';
import { mkdir, writeFile } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { createMcpHandler } from '@modelcontextprotocol/server';
import { expect, onTestFinished, test, vi } from 'vitest';
import { builtCommand } from './support/build.js';
import { authority, httpsServer } from './support/http-certificates.js';
import { httpServer } from './support/http-fixtures.js';
import { modernServer } from './support/http-link-servers.js';
import { proxyServer } from './support/http-proxy.js';
import { outcomeOf } from './support/outcome.js';
import { realWorkspace, textOf, untilReady, untilServer } from './support/real-workspace.js';
import { startCommand } from './support/run-command.js';
import { legacyClient, textOf as servedText } from './support/serve-kit.js';
import { temporaryDirectory } from './support/temporary-directory.js';

const NAME = 'tools.example';
const far = { url: `https://${NAME}/mcp`, lifecycle: 'keep-alive', approveTools: ['*'] };
const NOTICE = /far +user +https:\/\/tools\.example[\s\S]*Check for each who operates it, how long it keeps what it is sent/;

/** A real server beyond this machine as far as anybody can tell: at a name of its own, which only the user's proxy knows. */
async function farServer() {
  const ca = await authority();
  const aborted: string[] = [];
  const handle = toNodeHandler(createMcpHandler(() => modernServer(aborted)));
  const tls = await httpsServer(ca, NAME);
  tls.on('request', (request, response) => void handle(request as Parameters<typeof handle>[0], response));
  const server = await httpServer(() => undefined, { server: tls });
  const proxy = await proxyServer(server);
  const env = { HTTPS_PROXY: `http://127.0.0.1:${proxy.port}`, NODE_EXTRA_CA_CERTS: ca.file };
  return { aborted, server, proxy, env };
}

/** Whatever this process asks the resolver of the system, and whatever it connects to. Nobody else is asked. */
function watchNetwork() {
  const resolved: string[] = [];
  const answer = (name: string): Promise<never> => {
    resolved.push(name);
    return Promise.resolve([{ address: '127.0.0.1', family: 4 }] as never);
  };
  vi.spyOn(dns, 'lookup').mockImplementation(answer);
  syncBuiltinESMExports();
  onTestFinished(() => {
    vi.restoreAllMocks();
    syncBuiltinESMExports();
  });
  const connect = vi.spyOn(Socket.prototype, 'connect');
  return { resolved, connections: () => connect.mock.calls.length };
}

test('with remote servers off a configured one is not resolved and not connected, whatever is asked of it; on, its name is', async () => {
  await using here = await realWorkspace();
  const network = watchNetwork();
  const workspace = await here.open({ user: { mcpServers: { far } as never } });
  await workspace.connectAll();
  await expect(workspace.call('mcp__far__echo', {}, { byPerson: true })).rejects.toMatchObject({ code: 'REMOTE_OFF' });
  await workspace.gateway.run({ action: 'search', query: 'echo' });
  await workspace.gateway.run({ action: 'read', server: 'far', uri: 'x://y' });
  workspace.server('far').restart();
  expect(await workspace.server('far').test()).toMatchObject({ ok: false, error: { code: 'REMOTE_OFF' } });
  expect([network.resolved, network.connections()]).toEqual([[], 0]);
  expect(workspace.server('far').status()).toMatchObject({ phase: 'idle', blockedBy: 'remoteOff', generation: 0 });

  // The same eyes do see: on, the resolver is asked, and what it says of that name, which is this machine, is refused.
  await here.supervisor.setRemote(true);
  await untilServer(workspace, 'far', ({ error }) => error?.code === 'REFUSED_URL');
  expect(new Set(network.resolved)).toEqual(new Set([NAME]));
  expect(network.connections()).toBe(0);
});

test('off again while a call is in flight settles that call at once, typed, and leaves no connection', async () => {
  const { aborted, server, proxy, env } = await farServer();
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
  await using here = await realWorkspace();
  const workspace = await here.open({ user: { mcpServers: { far } as never } });
  await workspace.connectAll();
  expect(proxy.sockets).toEqual([]);

  await here.supervisor.setRemote(true);
  await untilReady(workspace, 'far');
  expect(new Set(proxy.tunnels.map((tunnel) => tunnel.authority))).toEqual(new Set([`${NAME}:443`]));
  expect(textOf(await workspace.call('mcp__far__echo', { text: 'far away' }))).toBe('far away');

  const call = outcomeOf(workspace.call('mcp__far__hang'));
  await vi.waitFor(() => expect(workspace.server('far').status().callsInFlight).toBe(1));
  void here.supervisor.setRemote(false);
  await new Promise((resolve) => setImmediate(resolve));
  expect(call.state).toBe('REMOTE_OFF');
  await untilServer(
    workspace,
    'far',
    ({ phase, blockedBy, stage }) => phase === 'idle' && blockedBy === 'remoteOff' && stage === null,
  );
  await vi.waitFor(() => expect([proxy.open(), server.open()]).toEqual([0, 0]));
  expect(aborted.length).toBeLessThanOrEqual(1);

  // Kept alive, and yet it stays away.
  const before = proxy.sockets.length;
  expect(await workspace.server('far').test()).toMatchObject({ ok: false, error: { code: 'REMOTE_OFF' } });
  expect(proxy.sockets).toHaveLength(before);
});

// Several runs of the command, each a process of its own.
test('by the command: on lists the places and the notice, off in another process settles the call of a served client', async () => {
  const { server, proxy, env } = await farServer();
  const home = await temporaryDirectory('mcp-sup-remote-');
  await mkdir(join(home, 'repo'));
  const userConfig = join(home, 'user.json');
  await writeFile(userConfig, JSON.stringify({ mcpServers: { far: { ...far, lifecycle: 'lazy' } } }));
  const common = ['--workspace', join(home, 'repo'), '--user-config', userConfig, '--state-dir', join(home, 'state')];
  const shell = { PATH: process.env['PATH'] ?? '', HOME: home, ...env };
  const run = async (...argv: string[]) => (await startCommand([...argv, ...common], shell)).ended;

  const refused = await run('call', 'mcp__far__echo', '{"text":"hi"}', '--json');
  expect(refused.exit).toBe(4);
  expect(refused.out).toContain('remote on');
  expect((await run('test', 'far', '--json')).out).toContain('REMOTE_OFF');
  expect((await run('status', '--connect')).out).toContain('remote off');
  expect(proxy.sockets).toEqual([]);

  const on = await run('remote', 'on');
  expect(on).toMatchObject({ exit: 0, err: '' });
  expect(on.out).toMatch(NOTICE);
  expect(proxy.sockets).toEqual([]);
  expect(await run('call', 'mcp__far__echo', '{"text":"hi"}')).toMatchObject({ exit: 0, out: 'hi\n' });

  const argv = [await builtCommand(), 'serve', ...common];
  const client = await legacyClient(
    new StdioClientTransport({ command: process.execPath, args: argv, env: shell, stderr: 'pipe' }),
  );
  onTestFinished(() => client.close());
  const ask = (name: string) => client.call('mcp', { action: 'call', name: `mcp__far__${name}`, args: { text: 'served' } });
  expect(servedText(await ask('echo'))).toBe('served');
  const calls = (): number => server.seen.filter(({ headers }) => headers['mcp-name'] === 'hang').length;
  const hanging = ask('hang');
  await vi.waitFor(() => expect(calls()).toBe(1), { timeout: 10_000 });
  expect(await run('remote', 'off')).toMatchObject({ exit: 0, err: '' });
  expect(await hanging).toMatchObject({ isError: true, structuredContent: { code: 'REMOTE_OFF' } });
  await vi.waitFor(() => expect([proxy.open(), server.open()]).toEqual([0, 0]));
  const before = proxy.sockets.length;
  expect(await ask('echo')).toMatchObject({ isError: true, structuredContent: { code: 'REMOTE_OFF' } });
  expect(proxy.sockets).toHaveLength(before);
}, 120_000);
