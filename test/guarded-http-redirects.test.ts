import { expect, test } from 'vitest';
import { authority, httpsServer } from './support/http-certificates.js';
import { GET, guarded, httpServer, POST } from './support/http-fixtures.js';

const HEADERS = { Authorization: 'Bearer SENTINEL', 'X-Api-Key': 'SENTINEL' };
const WITH_SESSION = { ...POST, headers: { ...POST.headers, 'mcp-session-id': 'SENTINEL' } };

/** Answers each path with the redirect listed for it, any other with 200. */
const redirecting = (routes: Readonly<Record<string, readonly [number, string]>>) =>
  httpServer(({ url }, response) => {
    const [status, location] = routes[url] ?? [200, ''];
    response.writeHead(status, location === '' ? {} : { location }).end(status === 200 ? 'here' : 'a body of its own');
  });

test.each([301, 302, 307, 308])('a %i within the origin repeats the same request (S053, B137)', async (status) => {
  const server = await redirecting({ '/mcp': [status, '/mcp/'], '/mcp/': [status, `next?a=1#part`] });
  const { guard } = guarded(server.origin, { endpoint: { headers: HEADERS } });
  const response = await guard.request(`${server.origin}/mcp`, WITH_SESSION);
  expect(await response.text()).toBe('here');
  expect(response.url).toBe(`${server.origin}/mcp/next?a=1`);
  expect(server.seen.map(({ url }) => url)).toEqual(['/mcp', '/mcp/', '/mcp/next?a=1']);
  const sent = server.seen.map(({ method, headers, body }) => ({ method, headers, body }));
  expect(sent[1]).toEqual(sent[0]);
  expect(sent[2]).toEqual(sent[0]);
  expect(sent[0]).toMatchObject({ method: 'POST', body: POST.body, headers: { authorization: 'Bearer SENTINEL' } });
});

test('a redirect to another origin is refused, and that origin sees no connection (S052, S054, B138)', async () => {
  const other = await httpServer((_request, response) => response.end('stolen'));
  for (const status of [301, 302, 303, 307, 308]) {
    for (const method of ['GET', 'POST'] as const) {
      const server = await redirecting({ '/mcp': [status, `${other.origin}/steal?x=1`] });
      const { guard } = guarded(server.origin, { endpoint: { headers: HEADERS } });
      const refused = guard.request(`${server.origin}/mcp`, method === 'GET' ? GET : WITH_SESSION);
      await expect(refused).rejects.toMatchObject({ code: 'REDIRECT_REFUSED' });
      await expect(refused).rejects.not.toMatchObject({ message: expect.stringMatching(/steal|SENTINEL/) as string });
      expect(server.seen).toHaveLength(1);
    }
  }
  expect(other.sockets).toEqual([]);
});

test('another scheme, host or port, a dot after the host or a user name is another origin (S054)', async () => {
  const ca = await authority();
  const routes: Record<string, string> = {};
  const server = await httpServer(({ url }, response) => response.writeHead(307, { location: routes[url] ?? '' }).end(), {
    server: await httpsServer(ca, 'localhost'),
  });
  const origin = `https://localhost:${server.port}`;
  const { guard } = guarded(origin, { env: { SSL_CERT_FILE: ca.file } });
  const elsewhere = [
    `http://localhost:${server.port}/`,
    `https://localhost:1/`,
    `https://localhost.:${server.port}/`,
    `https://127.0.0.1:${server.port}/`,
    `https://user@localhost:${server.port}/`,
    `//other.test/`,
    'https:\\\\other.test/',
    'file:///etc/passwd',
    'javascript:alert(1)',
    'http://[',
  ];
  for (const [at, location] of elsewhere.entries()) {
    routes[`/${at}`] = location;
    await expect(guard.request(`${origin}/${at}`, POST), location).rejects.toMatchObject({ code: 'REDIRECT_REFUSED' });
  }
  expect(server.seen).toHaveLength(elsewhere.length);
});

test('the same host in other letters is the same origin, and the request that follows keeps what it carries (S054)', async () => {
  const server = await httpServer(({ url, headers }, response) =>
    url === '/mcp'
      ? response.writeHead(307, { location: `//LocalHost:${headers.host?.split(':')[1]}/next` }).end()
      : response.end('done'),
  );
  const origin = `http://localhost:${server.port}`;
  const response = await guarded(origin, { endpoint: { headers: HEADERS } }).guard.request(`${origin}/mcp`, POST);
  expect(await response.text()).toBe('done');
  expect(server.seen.map(({ url, headers }) => [url, headers.authorization])).toEqual([
    ['/mcp', 'Bearer SENTINEL'],
    ['/next', 'Bearer SENTINEL'],
  ]);
});

test('a circle of redirects ends after the third (S055, B137)', async () => {
  const server = await redirecting({ '/mcp': [308, '/b'], '/b': [308, '/mcp'] });
  const refused = guarded(server.origin).guard.request(`${server.origin}/mcp`, POST);
  await expect(refused).rejects.toMatchObject({
    code: 'REDIRECT_REFUSED',
    message: expect.stringContaining('more than 3') as string,
  });
  expect(server.seen).toHaveLength(4);
});

test('three redirects are followed, and none where none is wanted', async () => {
  const server = await redirecting({ '/1': [307, '/2'], '/2': [307, '/3'], '/3': [307, '/4'] });
  const { guard } = guarded(server.origin);
  const response = await guard.request(`${server.origin}/1`, POST);
  expect(response.url).toBe(`${server.origin}/4`);
  response.discard();
  await expect(guard.request(`${server.origin}/3`, { ...POST, redirectsMax: 0 })).rejects.toMatchObject({
    code: 'REDIRECT_REFUSED',
  });
  expect(server.seen).toHaveLength(5);
});

test('a 303 never turns a POST into a GET; a GET follows it', async () => {
  const server = await redirecting({ '/mcp': [303, '/result'] });
  const { guard } = guarded(server.origin);
  await expect(guard.request(`${server.origin}/mcp`, POST)).rejects.toMatchObject({ code: 'REDIRECT_REFUSED' });
  expect(server.seen).toHaveLength(1);
  expect(await (await guard.request(`${server.origin}/mcp`, GET)).text()).toBe('here');
});

test('a status of a redirect that leads nowhere is an answer like any other', async () => {
  const server = await httpServer((_request, response) => response.writeHead(307).end('where?'));
  const response = await guarded(server.origin).guard.request(`${server.origin}/mcp`, POST);
  expect([response.status, await response.text()]).toEqual([307, 'where?']);
});

test('what is left of an answer that redirects is let go of, however long it is', async () => {
  const server = await httpServer(({ url }, response) => {
    if (url === '/next') response.end('here');
    else response.writeHead(307, { location: '/next' }).write('x'.repeat(65_536));
  });
  const { guard } = guarded(server.origin);
  const response = await guard.request(`${server.origin}/mcp`, { ...POST, idleTimeoutMs: null });
  expect(await response.text()).toBe('here');
  await expect.poll(() => server.sockets[0]?.destroyed).toBe(true);
  expect(server.seen).toHaveLength(2);
});
