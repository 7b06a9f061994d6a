import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { HttpLimits } from '../adapters/serve/http-limits.js';
import { type HttpKit, httpClients, openHttp, served } from './support/serve-kit.js';
import { VirtualClock } from './support/virtual-clock.js';

interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly text: string;
}

interface Ask {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: string;
}

/** One request, exactly as given: nothing is added but the length of the body. */
function ask({ door }: HttpKit, { method = 'POST', path = '/mcp', headers = {}, body = '' }: Ask): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const flat = Object.entries(headers).flatMap(([name, value]) => [value].flat().flatMap((one) => [name, one]));
    const sent = httpRequest({ host: '127.0.0.1', port: door.port, method, path, headers: flat, agent: false }, (answer) => {
      let text = '';
      answer.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text }));
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

const jsonType = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' };
const initialize = (id: number | string = 1): string =>
  JSON.stringify({
    jsonrpc: '2.0',
    id,
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '1' } },
  });
const message = (method: string, params: object = {}, id = 2): string => JSON.stringify({ jsonrpc: '2.0', id, method, params });

const hostOf = ({ door }: HttpKit) => `127.0.0.1:${door.port}`;
const bearer = (kit: HttpKit, host = hostOf(kit)) => ({ Host: host, Authorization: `Bearer ${kit.token}`, ...jsonType });

async function kitWith(limits: Partial<HttpLimits> = {}): Promise<HttpKit> {
  const { surface } = await served();
  return openHttp(surface, { limits });
}

/** A session made by hand. */
async function session(kit: HttpKit): Promise<string> {
  const { status, headers } = await ask(kit, { headers: bearer(kit), body: initialize() });
  expect(status).toBe(200);
  return String(headers['mcp-session-id']);
}

test('a request is served under the exact names of this address only, whatever token it brings (S141, S142)', async () => {
  const kit = await kitWith();
  const { port } = kit.door;
  for (const host of [`127.0.0.1:${port}`, `localhost:${port}`])
    expect((await ask(kit, { headers: bearer(kit, host), body: initialize() })).status, host).toBe(200);
  const others = ['evil.com', `evil.com:${port}`, '127.0.0.1', `localhost.:${port}`, `0.0.0.0:${port}`, `127.0.0.1:${port + 1}`];
  for (const host of [...others, `127.0.0.1:${port}.evil.com`, 'a/?x='])
    expect((await ask(kit, { headers: bearer(kit, host), body: initialize() })).status, host).toBe(403);
  const twice = { ...bearer(kit), Host: [hostOf(kit), 'evil.com'] };
  expect([400, 403]).toContain((await ask(kit, { headers: twice, body: initialize() })).status);
  const absolute = `http://evil.com:${port}/mcp`;
  expect((await ask(kit, { headers: bearer(kit), path: absolute, body: initialize() })).status).toBe(404);
});

test('only a message has a body: what else brings one is refused unread, and its connection ends', async () => {
  const kit = await kitWith();
  for (const method of ['GET', 'DELETE']) {
    const { status, headers } = await ask(kit, { method, headers: { ...bearer(kit), 'Content-Length': '2' }, body: '{}' });
    expect([status, headers.connection], method).toEqual([413, 'close']);
  }
});

test('no web page is served, and no preflight is answered with leave (S143, S144)', async () => {
  const kit = await kitWith();
  const origins = ['null', 'https://evil.com', `http://127.0.0.1:${kit.door.port}`, `http://localhost:${kit.door.port}.evil.com`];
  for (const origin of origins)
    expect((await ask(kit, { headers: { ...bearer(kit), Origin: origin }, body: initialize() })).status, origin).toBe(403);
  for (const site of ['cross-site', 'same-site', 'same-origin'])
    expect((await ask(kit, { headers: { ...bearer(kit), 'Sec-Fetch-Site': site }, body: initialize() })).status, site).toBe(403);
  const preflight = await ask(kit, {
    method: 'OPTIONS',
    headers: { ...bearer(kit), Origin: 'https://evil.com', 'Access-Control-Request-Private-Network': 'true' },
  });
  expect(preflight.status).toBe(403);
  expect(Object.keys(preflight.headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
});

test('without the token every request has the same answer, whatever it was for (S134, S148, S150)', async () => {
  const kit = await kitWith();
  const id = await session(kit);
  const Host = hostOf(kit);
  const wrong = [
    undefined,
    'Bearer',
    'Bearer x',
    `Bearer ${kit.token}x`,
    `Bearer ${kit.token.slice(1)}`,
    `Basic ${kit.token}`,
    kit.token,
  ];
  const asks: Ask[] = [
    ...wrong.map((token) => ({ headers: token === undefined ? {} : { Authorization: token }, body: initialize() })),
    { headers: { Authorization: [`Bearer ${kit.token}`, `Bearer ${kit.token}`] }, body: initialize() },
    { headers: { 'Mcp-Session-Id': id }, body: message('tools/list') },
    { headers: { 'Mcp-Session-Id': 'unknown' }, body: message('tools/list') },
    { path: `/mcp?token=${kit.token}`, body: initialize() },
    ...['GET', 'DELETE', 'OPTIONS', 'PUT', 'HEAD'].map((method) => ({ method, headers: { 'Mcp-Session-Id': id } })),
    ...['/', '//mcp', '/%6dcp', '/mcp/', '/nothing'].map((path) => ({ path, body: initialize() })),
  ];
  const answers = [];
  for (const one of asks) answers.push(await ask(kit, { ...one, headers: { Host, ...jsonType, ...one.headers } }));
  expect(answers.map(({ status }) => status)).toEqual(asks.map(() => 401));
  expect(new Set(answers.map(({ text }) => text).filter((text) => text !== '')).size).toBe(1);
  expect(answers[0]?.headers['www-authenticate']).toBe('Bearer');
});

test('with the token there is one path, three methods and one type of body (S149)', async () => {
  const kit = await kitWith();
  const headers = bearer(kit);
  for (const path of ['/', '//mcp', '/%6dcp', '/mcp/', '/mcp?x=1'])
    expect((await ask(kit, { path, headers, body: initialize() })).status, path).toBe(404);
  for (const method of ['PUT', 'PATCH', 'HEAD', 'OPTIONS'])
    expect((await ask(kit, { method, headers })).status, method).toBe(405);
  for (const type of ['text/plain', 'multipart/form-data', 'application/x-www-form-urlencoded', 'application/jsonp'])
    expect((await ask(kit, { headers: { ...headers, 'Content-Type': type }, body: initialize() })).status, type).toBe(415);
});

test('a message that is none is refused with a code, and says nothing of the inside (S135)', async () => {
  const kit = await kitWith({ bodyBytesMax: 200_000 });
  const refused = async (body: string) => {
    const { status, text } = await ask(kit, { headers: bearer(kit), body });
    expect(text).not.toMatch(/\n\s+at |node:|\.ts:|\.js:/);
    return [status, (JSON.parse(text) as { error: { code: number } }).error.code];
  };
  expect(await refused('{')).toEqual([400, -32_700]);
  expect(await refused(`${initialize()}x`)).toEqual([400, -32_700]);
  expect(await refused('\ufeff[]')).toEqual([400, -32_600]);
  expect(await refused(`[${initialize()}]`)).toEqual([400, -32_600]);
  expect(await refused('3')).toEqual([400, -32_600]);
  expect(await refused('['.repeat(1_000))).toEqual([400, -32_600]);
  expect(await refused(JSON.stringify({ jsonrpc: '2.0', id: 1, Method: 'initialize' }))).toEqual([400, -32_600]);
  expect(await refused(JSON.stringify({ pad: 'x'.repeat(200_000) }))).toEqual([413, -32_000]);
});

test('a header that names another tool than the body is refused in the newer era (S135)', async () => {
  const kit = await kitWith();
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const body = message('tools/call', { name: 'mcp', arguments: { action: 'status' }, _meta: meta });
  const headers = { ...bearer(kit), 'MCP-Protocol-Version': '2026-07-28', 'Mcp-Method': 'tools/call' };
  expect((await ask(kit, { headers: { ...headers, 'Mcp-Name': 'mcp' }, body })).status).toBe(200);
  const other = await ask(kit, { headers: { ...headers, 'Mcp-Name': 'other' }, body });
  expect([other.status, JSON.parse(other.text)]).toMatchObject([400, { error: { code: -32_020 } }]);
});

test('an unauthenticated upload is answered before it is read, and ended (S136)', async () => {
  const kit = await kitWith();
  let seen: Socket | undefined;
  const watch = (event: unknown): void => {
    seen = (event as { socket: Socket }).socket;
  };
  subscribe('http.server.request.start', watch);
  onTestFinished(() => void unsubscribe('http.server.request.start', watch));
  const socket = connect(kit.door.port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  let text = '';
  const closed = new Promise((resolve) => socket.on('close', resolve));
  socket.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
  socket.on('error', () => undefined);
  socket.write(
    `POST /mcp HTTP/1.1\r\nHost: ${hostOf(kit)}\r\nContent-Type: application/json\r\nContent-Length: ${2 ** 30}\r\n\r\n`,
  );
  const pour = (): void => {
    while (!socket.destroyed && socket.write('x'.repeat(16_384)));
  };
  socket.on('drain', pour);
  await vi.waitFor(() => expect(text).toContain(' 401 '));
  pour();
  await closed;
  expect(seen?.bytesRead).toBeLessThan(1_048_576);
});

test('a body that trickles is given up (S136)', async () => {
  const kit = await kitWith({ requestTimeoutMs: 50, headersTimeoutMs: 50 });
  const socket = connect(kit.door.port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  let text = '';
  socket.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
  const head = [
    `POST /mcp HTTP/1.1`,
    `Host: ${hostOf(kit)}`,
    `Authorization: Bearer ${kit.token}`,
    'Content-Type: application/json',
  ];
  socket.write(`${[...head, 'Content-Length: 1000'].join('\r\n')}\r\n\r\n{`);
  await new Promise((resolve) => socket.on('close', resolve));
  expect(text).toContain(' 408 ');
});

describe('sessions of the older era', () => {
  test('an id that a client brings along makes no session, and one it was not given finds none (S133)', async () => {
    const kit = await kitWith();
    const own = { ...bearer(kit), 'Mcp-Session-Id': 'mine' };
    expect((await ask(kit, { headers: own, body: initialize() })).status).toBe(404);
    expect((await ask(kit, { headers: own, body: message('tools/list') })).status).toBe(404);
    expect((await ask(kit, { headers: bearer(kit), body: message('tools/list') })).status).toBe(400);
    const ids = [await session(kit), await session(kit)];
    expect(ids[0]).not.toBe(ids[1]);
    for (const id of ids) expect(id).toMatch(/^[A-Za-z0-9_-]{43}$/);
    expect((await ask(kit, { headers: { ...bearer(kit), 'Mcp-Session-Id': ids[0] ?? '' }, body: initialize() })).status).toBe(
      400,
    );
  });

  test('a full house lets go of the one that was quiet for longest, and serves on (S137)', async () => {
    const kit = await kitWith({ sessionsMax: 3 });
    const ids = [await session(kit), await session(kit), await session(kit)];
    const list = (id = '') => ask(kit, { headers: { ...bearer(kit), 'Mcp-Session-Id': id }, body: message('tools/list') });
    expect((await list(ids[0])).status).toBe(200);
    for (let more = 0; more < 30; more += 1) await session(kit);
    expect((await list(ids[0])).status).toBe(404);
    const last = await session(kit);
    expect((await list(last)).status).toBe(200);
  });

  test('it refuses a new one while all have a call open', async () => {
    const { surface, sim } = await served();
    const kit = await openHttp(surface, { limits: { sessionsMax: 1 } });
    const [legacy] = await httpClients(kit);
    const open = legacy.call('mcp', { action: 'call', name: 'mcp__files__echo' });
    await vi.waitFor(() => expect(sim.link('files').calls).toHaveLength(1));
    const refused = await ask(kit, { headers: bearer(kit), body: initialize() });
    expect([refused.status, refused.headers['retry-after']]).toEqual([503, '5']);
    sim.link('files').answer(sim.link('files').calls[0]?.id ?? '');
    await open;
    await session(kit);
  });

  test('one that nobody uses ends by itself; one with its stream open does not', async () => {
    const { surface } = await served();
    const clock = new VirtualClock();
    const kit = await openHttp(surface, { clock, limits: { sessionIdleMs: 1_000 } });
    const [withStream] = await httpClients(kit);
    // What ends beside the stream does not make its session one that nobody uses.
    await withStream.list();
    const id = await session(kit);
    const list = () => ask(kit, { headers: { ...bearer(kit), 'Mcp-Session-Id': id }, body: message('tools/list') });
    await clock.run(900);
    expect((await list()).status).toBe(200);
    await clock.run(900);
    expect((await list()).status).toBe(200);
    await clock.run(1_100);
    expect((await list()).status).toBe(404);
    expect((await withStream.list()).tools).toHaveLength(1);
  });

  test('DELETE ends it, with what it has open', async () => {
    const { surface, sim } = await served();
    const kit = await openHttp(surface);
    const id = await session(kit);
    const headers = { ...bearer(kit), 'Mcp-Session-Id': id };
    const params = { name: 'mcp', arguments: { action: 'call', name: 'mcp__files__echo' } };
    const open = ask(kit, { headers, body: message('tools/call', params) }).catch(() => null);
    await vi.waitFor(() => expect(sim.link('files').calls).toHaveLength(1));
    expect((await ask(kit, { method: 'DELETE', headers })).status).toBe(200);
    await vi.waitFor(() => expect(sim.link('files').cancelled).toHaveLength(1));
    await open;
    expect((await ask(kit, { headers, body: message('tools/list') })).status).toBe(404);
  });

  test('more calls than a session may have open are refused as results, and the others go on', async () => {
    const { surface, sim } = await served();
    const kit = await openHttp(surface, { limits: { sessionCallsMax: 2, callsMax: 2 } });
    for (const client of await httpClients(kit)) {
      const before = sim.link('files').calls.length;
      const one = () => client.call('mcp', { action: 'call', name: 'mcp__files__echo' });
      const open = [one(), one()];
      await vi.waitFor(() => expect(sim.link('files').calls).toHaveLength(before + 2));
      expect((await one()).structuredContent).toMatchObject({ code: 'OVERLOADED' });
      for (const { id } of sim.link('files').calls.slice(before)) sim.link('files').answer(id);
      expect((await Promise.all(open)).map(({ isError }) => isError)).toEqual([undefined, undefined]);
    }
  });
});
