import { expect, onTestFinished, test, vi } from 'vitest';
import { createHttpPort } from '../adapters/http/guarded-http.js';
import { GET, guarded, httpServer, POST, tcpServer } from './support/http-fixtures.js';
import { followTimers } from './support/own-timers.js';

test('a request goes out as it is and its answer comes back', async () => {
  const server = await httpServer((_request, response) => response.writeHead(201, { 'x-a': ['1', '2'] }).end('done'));
  const { guard } = guarded(server.origin);
  const response = await guard.request(`${server.origin}/mcp?a=1`, POST);
  expect(response.status).toBe(201);
  expect(response.url).toBe(`${server.origin}/mcp?a=1`);
  expect(response.header('x-a')).toBe('1, 2');
  expect(response.header('x-b')).toBeNull();
  expect(await response.text()).toBe('done');
  expect(server.seen).toMatchObject([{ method: 'POST', url: '/mcp?a=1', body: '{"id":1}' }]);
});

test('localhost is tried at both of its addresses (B144)', async () => {
  for (const host of ['127.0.0.1', '::1']) {
    const server = await httpServer((_request, response) => response.end('here'), { host });
    const url = `http://localhost:${server.port}/`;
    const response = await guarded(url).guard.request(url, GET);
    expect(await response.text()).toBe('here');
    expect(server.seen[0]?.headers.host).toBe(`localhost:${server.port}`);
  }
});

test('configured headers go with every request, and neither side speaks for the other', async () => {
  const server = await httpServer((_request, response) => response.end());
  const configured = {
    ...{ Authorization: 'Bearer configured', 'X-Api-Key': 'k', Cookie: 'a=b', 'User-Agent': 'mine' },
    ...{
      Host: 'evil.test',
      'Content-Length': '0',
      'Transfer-Encoding': 'chunked',
      Connection: 'close',
      'Proxy-Authorization': 'x',
    },
    ...{
      Accept: 'text/html',
      'Content-Type': 'text/plain',
      'Accept-Encoding': 'zstd',
      Expect: '100-continue',
      'Last-Event-Id': '7',
    },
    ...{ 'MCP-Session-Id': 'configured', 'mcp-protocol-version': '1999-01-01', 'Mcp-Method': 'x' },
  };
  const { guard } = guarded(server.origin, { endpoint: { headers: configured } });
  const own = { 'content-type': 'application/json', 'Mcp-Session-Id': 's1', authorization: 'Bearer own', Host: 'evil.test' };
  (await guard.request(server.origin, { ...POST, headers: own })).discard();
  expect(server.seen[0]?.headers).toEqual({
    ...{ host: `127.0.0.1:${server.port}`, connection: 'keep-alive', 'content-length': String(POST.body?.length) },
    ...{ 'accept-encoding': 'identity', 'content-type': 'application/json', 'mcp-session-id': 's1' },
    ...{ authorization: 'Bearer configured', 'x-api-key': 'k', cookie: 'a=b', 'user-agent': 'mine' },
  });
});

test.each([{ 'x-a': 'a\r\nx-b: SENTINEL' }, { 'x a': 'SENTINEL' }, { 'x-a': 'SENTINEL\u2603' }, { 'x-a': 'SENTINEL\0' }])(
  'a header that cannot be sent (%j) is refused by name, and nothing is sent',
  async (headers) => {
    const server = await httpServer((_request, response) => response.end());
    const refused = guarded(server.origin, { endpoint: { headers } }).guard.request(server.origin, POST);
    await expect(refused).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
    await expect(refused).rejects.not.toMatchObject({ message: expect.stringContaining('SENTINEL') as string });
    expect(server.sockets).toEqual([]);
  },
);

test('requests one after the other share a connection; nothing is opened before the first', async () => {
  const server = await httpServer((_request, response) => response.end('x'.repeat(1_000)));
  const { guard } = guarded(server.origin);
  expect(server.sockets).toHaveLength(0);
  for (let turn = 0; turn < 5; turn += 1) await (await guard.request(server.origin, POST)).text();
  (await guard.request(server.origin, POST)).discard();
  await (await guard.request(server.origin, POST)).text();
  expect(server.sockets.length).toBeLessThanOrEqual(2);
});

test('many requests at a time each get their own answer', async () => {
  const server = await httpServer(({ body }, response) => response.end(body));
  const { guard } = guarded(server.origin);
  const bodies = Array.from({ length: 64 }, (_, at) => `body ${at}`);
  const answers = bodies.map(async (body) => (await guard.request(server.origin, { method: 'POST', body })).text());
  expect(await Promise.all(answers)).toEqual(bodies);
});

test('a request whose connection breaks before the answer is lost, and not sent again', async () => {
  for (const method of ['GET', 'POST', 'DELETE'] as const) {
    const server = await httpServer((_request, response) => response.destroy());
    const lost = guarded(server.origin).guard.request(server.origin, { method });
    await expect(lost).rejects.toMatchObject({ code: 'LINK_LOST', retryable: true });
    expect(server.seen).toHaveLength(1);
  }
});

test('an endpoint that nobody serves cannot be reached', async () => {
  const url = 'http://127.0.0.1:1/mcp?key=SENTINEL';
  await expect(guarded(url).guard.request(url, POST)).rejects.toMatchObject({
    code: 'CONNECT_FAILED',
    message: 'http://127.0.0.1:1 cannot be reached: ECONNREFUSED.',
  });
});

test('a request is withdrawn at once: before it starts, on its way, at the headers, in the body', async () => {
  const server = await httpServer(({ url }, response) => {
    if (url === '/body') response.write('a');
  });
  const { guard } = guarded(server.origin);
  const cancelled = { code: 'CALL_CANCELLED' };
  await expect(guard.request(server.origin, { ...POST, signal: AbortSignal.abort() })).rejects.toMatchObject(cancelled);
  expect(server.seen).toEqual([]);

  const resolving = new AbortController();
  const lookup = (): Promise<never> => {
    queueMicrotask(() => resolving.abort());
    return new Promise(() => undefined);
  };
  const waiting = guarded('https://name.test/', { lookup }).guard.request('https://name.test/', {
    ...POST,
    signal: resolving.signal,
  });
  await expect(waiting).rejects.toMatchObject(cancelled);

  const silent = new AbortController();
  const unanswered = guard.request(server.origin, { ...POST, signal: silent.signal });
  await vi.waitFor(() => expect(server.seen).toHaveLength(1));
  silent.abort();
  await expect(unanswered).rejects.toMatchObject(cancelled);

  const reading = new AbortController();
  const response = await guard.request(`${server.origin}/body`, { ...POST, signal: reading.signal });
  const text = response.text();
  reading.abort();
  await expect(text).rejects.toMatchObject(cancelled);
  // One that was opened for the next request may stay for the one after.
  await vi.waitFor(() => expect(server.open()).toBeLessThanOrEqual(1));
  expect(server.seen).toHaveLength(2);
});

test('what a signal is asked to tell is taken back when the request is over', async () => {
  const server = await httpServer((_request, response) => response.end('x'));
  const { guard } = guarded(server.origin);
  const { signal } = new AbortController();
  const [added, removed] = [vi.spyOn(signal, 'addEventListener'), vi.spyOn(signal, 'removeEventListener')];
  for (let turn = 0; turn < 3; turn += 1) await (await guard.request(server.origin, { ...POST, signal })).text();
  await vi.waitFor(() => expect(removed).toHaveBeenCalledTimes(3));
  expect(added).toHaveBeenCalledTimes(3);
});

test.each(['guard', 'port'])('closing the %s ends what is open at once and leaves no socket (S173)', async (what) => {
  const server = await httpServer(({ url }, response) => {
    if (url === '/body') response.write('a');
  });
  const { guard, close } = guarded(server.origin);
  const response = await guard.request(`${server.origin}/body`, { ...GET, idleTimeoutMs: null });
  const [text, unanswered] = [response.text(), guard.request(server.origin, POST)];
  const lost = [text, unanswered].map((promise) => expect(promise).rejects.toMatchObject({ code: 'LINK_LOST' }));
  await vi.waitFor(() => expect(server.seen).toHaveLength(2));
  await (what === 'guard' ? guard.close() : close());
  await Promise.all(lost);
  await vi.waitFor(() => expect(server.open()).toBe(0));
  await expect(guard.request(server.origin, POST)).rejects.toMatchObject({ code: 'LINK_LOST' });
  expect(server.seen).toHaveLength(2);
  await guard.close();
});

test('closing does not wait for a connection, a handshake or a resolver that never comes to an end (S173)', async () => {
  const mute = await tcpServer(() => undefined);
  const timers = followTimers();
  onTestFinished(() => timers.stop());
  const cases = [
    guarded(`https://localhost:${mute.port}/`),
    guarded('https://name.test/', { lookup: () => new Promise<never>(() => undefined) }),
    guarded('https://name.test/', { env: { https_proxy: mute.origin } }),
  ];
  const urls = [`https://localhost:${mute.port}/`, 'https://name.test/', 'https://name.test/'];
  const lost = cases.map(({ guard }, at) =>
    expect(guard.request(urls[at] ?? '', POST)).rejects.toMatchObject({ code: 'LINK_LOST' }),
  );
  await vi.waitFor(() => expect(mute.open()).toBe(2));
  await Promise.all(cases.map(({ close }) => close()));
  await Promise.all(lost);
  await vi.waitFor(() => expect(mute.open()).toBe(0));
  expect(timers.running()).toEqual([]);
});

test.each(['close', 'time-out'])('a resolver that answers after the %s leads to no connection (S173)', async (what) => {
  const server = await tcpServer(() => undefined);
  const answers: ((addresses: readonly string[]) => void)[] = [];
  // The addresses of a proxy are the user's own business.
  const env = { https_proxy: `http://proxy.test:${server.port}` };
  const lookup = (): Promise<readonly string[]> => new Promise((resolve) => void answers.push(resolve));
  const { guard, close } = guarded('https://name.test/', { env, lookup, ...(what === 'time-out' && { connectTimeoutMs: 20 }) });
  const code = what === 'close' ? 'LINK_LOST' : 'CONNECT_TIMEOUT';
  const lost = expect(guard.request('https://name.test/', POST)).rejects.toMatchObject({ code });
  await vi.waitFor(() => expect(answers).toHaveLength(1));
  if (what === 'close') await close();
  await lost;
  const before = process.getActiveResourcesInfo().filter((kind) => kind.startsWith('TCP')).length;
  answers[0]?.(['127.0.0.1']);
  // As far as it would have got.
  await new Promise((resolve) => setImmediate(resolve));
  expect(process.getActiveResourcesInfo().filter((kind) => kind.startsWith('TCP'))).toHaveLength(before);
  expect(server.sockets).toEqual([]);
});

test('a port that is closed connects nothing any more', async () => {
  const server = await httpServer((_request, response) => response.end());
  const port = createHttpPort({ env: {} });
  await port.close();
  const guard = port.guard({ url: server.origin, headers: {}, isPlaintextAllowed: false });
  await expect(guard.request(server.origin, GET)).rejects.toMatchObject({ code: 'LINK_LOST' });
  expect(server.sockets).toEqual([]);
});

test('no timer and no connection is left after the close, however many there were (S174)', async () => {
  const server = await httpServer((_request, response) => response.end('x'));
  const timers = followTimers();
  try {
    for (let round = 0; round < 4; round += 1) {
      const { guard, close } = guarded(server.origin);
      const answers = Array.from({ length: 16 }, async () => (await guard.request(server.origin, POST)).text());
      await Promise.all(answers);
      (await guard.request(server.origin, POST)).discard();
      await close();
    }
    await vi.waitFor(() => expect(server.open()).toBe(0));
    expect(timers.running()).toEqual([]);
  } finally {
    timers.stop();
  }
});
