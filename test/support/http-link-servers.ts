import { type ChildProcess, spawn } from 'node:child_process';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { text as readText } from 'node:stream/consumers';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, fromJsonSchema, McpServer } from '@modelcontextprotocol/server';
import { afterEach } from 'vitest';
import type { ClockPort, HttpLaunch } from '../../actors/ports.js';
import { systemClock } from '../../adapters/system-clock.js';
import { marker } from './stdio-harness.js';

/** One request as an endpoint got it. */
export interface Seen {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly rpc: { readonly id?: string | number; readonly method?: string; readonly params?: Record<string, unknown> };
}

export type Answer = (seen: Seen, response: ServerResponse) => unknown;

export interface Endpoint {
  readonly url: string;
  readonly seen: readonly Seen[];
  /** What was asked for by this method of JSON-RPC. */
  asked(method: string): readonly Seen[];
  /** What was asked for by this method of HTTP. */
  sent(method: string): readonly Seen[];
  close(): Promise<void>;
}

const running = new Set<() => Promise<void>>();

afterEach(async () => {
  await Promise.all([...running].map((close) => close()));
  running.clear();
});

/** A server on loopback that answers as it is told; closed after the test whatever happens. */
export async function startEndpoint(answer: Answer): Promise<Endpoint> {
  const seen: Seen[] = [];
  const server = createServer((request, response) => {
    void readText(request).then(
      (body) => {
        const { method = '', url = '', headers } = request;
        const one = { method, path: url, headers, rpc: (body === '' ? {} : JSON.parse(body)) as Seen['rpc'] };
        seen.push(one);
        answer(one, response);
      },
      () => undefined,
    );
  });
  const url = await listen(server);
  const close = (): Promise<void> => closed(server);
  running.add(close);
  return {
    url: `${url}/mcp`,
    seen,
    asked: (method) => seen.filter(({ rpc }) => rpc.method === method),
    sent: (method) => seen.filter((one) => one.method === method),
    close,
  };
}

export const json = (response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void =>
  void response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));

/** Begins a stream of events. */
export function stream(response: ServerResponse, ...events: string[]): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const event of events) response.write(event);
}

export const eventOf = (message: unknown, id?: string): string =>
  `${id === undefined ? '' : `id: ${id}\n`}data: ${JSON.stringify(message)}\n\n`;

export const resultOf = ({ rpc }: Seen, result: object = {}): object => ({ jsonrpc: '2.0', id: rpc.id, result });

export const said = (text: string): object => ({ content: [{ type: 'text', text }] });

/** A server of the older era as it should be; where `odd` answers true, it has done so itself. */
export const older =
  (odd: (seen: Seen, response: ServerResponse) => unknown = () => false, session?: string): Answer =>
  (seen, response) => {
    if (odd(seen, response) === true) return;
    const { method, rpc } = seen;
    if (method === 'GET') return void response.writeHead(405).end();
    if (method === 'DELETE') return void response.writeHead(200).end();
    if (rpc.method === 'server/discover') return void response.writeHead(400).end();
    if (rpc.method === 'initialize') {
      const serverInfo = { name: 'older', version: '1.0.0' };
      const result = { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo };
      json(response, 200, resultOf(seen, result), session === undefined ? {} : { 'mcp-session-id': session });
      return;
    }
    if (rpc.id === undefined) return void response.writeHead(202).end();
    json(response, 200, resultOf(seen, said('done')));
  };

/** The same of the newer era. */
export const newer =
  (odd: (seen: Seen, response: ServerResponse) => unknown = () => false): Answer =>
  (seen, response) => {
    if (odd(seen, response) === true) return;
    const common = { resultType: 'complete', ttlMs: 0, cacheScope: 'private' };
    const capabilities = { tools: { listChanged: true } };
    const found = { ...common, supportedVersions: ['2026-07-28'], capabilities };
    json(response, 200, resultOf(seen, seen.rpc.method === 'server/discover' ? found : { ...common, ...said('done') }));
  };

/** What an endpoint does with calls; everything else is as it should be. */
export const onCall =
  (answer: (seen: Seen, response: ServerResponse) => unknown) =>
  (seen: Seen, response: ServerResponse): boolean => {
    if (seen.rpc.method !== 'tools/call') return false;
    void answer(seen, response);
    return true;
  };

/** The system's clock, on which nobody waits longer than 20 ms, and what was asked of it. */
export function hastyClock(): { clock: ClockPort; delays: number[] } {
  const delays: number[] = [];
  const setTimeout: ClockPort['setTimeout'] = (fire, delayMs) => {
    delays.push(delayMs);
    return systemClock.setTimeout(fire, Math.min(delayMs, 20));
  };
  return { clock: { ...systemClock, setTimeout }, delays };
}

/** The system's clock, on which one delay is over when that is said, and not before. */
export function heldClock(heldMs: number): { clock: ClockPort; expire: () => void } {
  const held = new Set<unknown>();
  const setTimeout: ClockPort['setTimeout'] = (fire, delayMs) => {
    if (delayMs !== heldMs) return systemClock.setTimeout(fire, delayMs);
    held.add(fire);
    return fire;
  };
  const clearTimeout: ClockPort['clearTimeout'] = (timer) => {
    if (!held.delete(timer)) systemClock.clearTimeout(timer);
  };
  const expire = (): void => {
    for (const fire of held) (fire as () => void)();
  };
  return { clock: { ...systemClock, setTimeout, clearTimeout }, expire };
}

export const launchAt = (url: string, transport: 'http' | 'sse' = 'http', headers = {}): HttpLaunch => ({
  transport,
  url,
  headers,
  isPlaintextAllowed: false,
});

export interface ModernServer {
  readonly url: string;
  /** Tools that were told to stop. */
  readonly aborted: readonly string[];
  announce(): void;
}

/** A server on the official SDK: of the newer era, and of the older one too when that is served without a session. */
export async function startModern(legacy: 'stateless' | 'reject'): Promise<ModernServer> {
  const aborted: string[] = [];
  const handler = createMcpHandler(() => modernServer(aborted), { legacy });
  const handle = toNodeHandler(handler);
  // Of an incoming request the adapter's types know less than Node's, which matters to nothing it does.
  const server = createServer((request, response) => void handle(request as Parameters<typeof handle>[0], response));
  running.add(() => closed(server));
  return { url: `${await listen(server)}/mcp`, aborted, announce: () => handler.notify.toolsChanged() };
}

/** A server of the newer era. Tools: echo, slow with progress, hang until it is told to stop, which it says in `aborted`. */
export function modernServer(aborted: string[]): McpServer {
  const server = new McpServer({ name: 'modern', version: '2.0.0' }, { capabilities: { tools: { listChanged: true } } });
  // The schema's type knows no extensions.
  const mirrored: object = { type: 'string', 'x-mcp-header': 'Text' };
  const echo = fromJsonSchema<{ text: string }>({ type: 'object', properties: { text: mirrored } });
  server.registerTool('echo', { inputSchema: echo }, ({ text: words }) => ({ content: [{ type: 'text', text: words }] }));
  const steps = fromJsonSchema<{ steps: number }>({ type: 'object', properties: { steps: { type: 'number' } } });
  server.registerTool('slow', { inputSchema: steps }, async ({ steps: total }, { mcpReq }) => {
    const { progressToken } = mcpReq._meta ?? {};
    if (progressToken === undefined) throw new Error('no progress token');
    for (let progress = 1; progress <= total; progress += 1) {
      await mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress, total } });
    }
    return { content: [{ type: 'text', text: 'done' }] };
  });
  server.registerTool('hang', { inputSchema: fromJsonSchema({ type: 'object' }) }, async (_input, { mcpReq }) => {
    await new Promise((resolve) => mcpReq.signal.addEventListener('abort', resolve));
    aborted.push('hang');
    return { content: [] };
  });
  return server;
}

/** The published server, on a port of its own. */
export async function startEverything(transport: 'streamableHttp' | 'sse'): Promise<string> {
  const entry = dirname(createRequire(import.meta.url).resolve('@modelcontextprotocol/server-everything/package.json'));
  const port = await freePort();
  const child = spawn(process.execPath, [join(entry, 'dist/index.js'), transport, `--marker=${marker}`], {
    env: { PORT: String(port) },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  running.add(() => killed(child));
  await new Promise<void>((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`the server ended with ${code}`)));
    child.stderr.on('data', (chunk: Buffer) => {
      if (/port \d+/.test(chunk.toString())) resolve();
    });
  });
  return `http://127.0.0.1:${port}/${transport === 'sse' ? 'sse' : 'mcp'}`;
}

/** A port nobody listens on. */
export async function freePort(): Promise<number> {
  const server = createServer();
  const url = await listen(server);
  await closed(server);
  return Number(new URL(url).port);
}

async function listen(server: ReturnType<typeof createServer>): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function closed(server: ReturnType<typeof createServer>): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

function killed(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) return resolve();
    child.once('exit', () => resolve());
    child.kill('SIGKILL');
  });
}
