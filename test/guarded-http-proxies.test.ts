import { expect, test, vi } from 'vitest';
import { proxyFor } from '../adapters/http/proxy-env.js';
import { authority, httpsServer } from './support/http-certificates.js';
import { GET, guarded, httpServer, POST, tcpServer } from './support/http-fixtures.js';
import { proxyServer } from './support/http-proxy.js';

const lookup = vi.fn(() => Promise.reject(new Error('resolved here')));
const URL_OF_TEST = 'https://api.test/mcp';

async function secureBehindProxy(name = 'api.test') {
  const ca = await authority();
  const server = await httpServer((_request, response) => response.end('secret'), { server: await httpsServer(ca, name) });
  return { ca, server };
}

test('a tunnel leads through the proxy of the environment, which resolves, and TLS is with the endpoint (B140)', async () => {
  const { ca, server } = await secureBehindProxy();
  const proxy = await proxyServer(server);
  const env = { https_proxy: `http://me:pa%20ss@127.0.0.1:${proxy.port}`, SSL_CERT_FILE: ca.file };
  const { guard, close } = guarded(URL_OF_TEST, { env, lookup, endpoint: { headers: { authorization: 'Bearer SENTINEL' } } });
  const response = await guard.request(URL_OF_TEST, POST);
  expect(await response.text()).toBe('secret');
  expect(proxy.tunnels).toEqual([
    { authority: 'api.test:443', authorization: `Basic ${Buffer.from('me:pa ss').toString('base64')}` },
  ]);
  expect(server.seen[0]?.headers).toMatchObject({ host: 'api.test', authorization: 'Bearer SENTINEL' });
  expect(server.seen[0]?.headers).not.toHaveProperty('proxy-authorization');
  expect(lookup).not.toHaveBeenCalled();
  await close();
  await vi.waitFor(() => expect([proxy.open(), server.open()]).toEqual([0, 0]));
});

test('a tunnel may lead through a proxy that itself speaks TLS', async () => {
  const { ca, server } = await secureBehindProxy();
  const proxy = await proxyServer(server, { server: await httpsServer(ca, 'localhost') });
  const { guard, close } = guarded(URL_OF_TEST, {
    env: { HTTPS_PROXY: `https://localhost:${proxy.port}`, SSL_CERT_FILE: ca.file },
  });
  expect(await (await guard.request(URL_OF_TEST, POST)).text()).toBe('secret');
  await close();
  await vi.waitFor(() => expect([proxy.open(), server.open()]).toEqual([0, 0]));
});

test('what a proxy leads to is checked by the name of the endpoint', async () => {
  const { ca, server } = await secureBehindProxy('other.test');
  const proxy = await proxyServer(server);
  const env = { HTTPS_PROXY: proxy.origin, SSL_CERT_FILE: ca.file };
  await expect(guarded(URL_OF_TEST, { env }).guard.request(URL_OF_TEST, POST)).rejects.toMatchObject({ code: 'TLS_FAILED' });
  expect(server.seen).toEqual([]);
});

test('plain http is sent to the proxy as a whole', async () => {
  const proxy = await proxyServer({ port: 1 });
  const url = 'http://intranet.test:8080/mcp?a=1';
  const env = { http_proxy: `me:secret@127.0.0.1:${proxy.port}` };
  const { guard } = guarded(url, { env, lookup, endpoint: { isPlaintextAllowed: true } });
  expect(await (await guard.request(url, POST)).text()).toBe('forwarded');
  expect(proxy.seen).toMatchObject([{ method: 'POST', url, body: POST.body, headers: { host: 'intranet.test:8080' } }]);
  expect(proxy.seen[0]?.headers['proxy-authorization']).toMatch(/^Basic /);
});

test.each([
  [407, /other credentials/],
  [403, /answered 403/],
  [302, /answered 302/],
])('a proxy that refuses with %i is told, without its credentials', async (status, message) => {
  const proxy = await proxyServer({ port: 1 }, { status });
  const env = { HTTPS_PROXY: `http://user:SENTINEL@127.0.0.1:${proxy.port}` };
  const refused = guarded(URL_OF_TEST, { env }).guard.request(URL_OF_TEST, POST);
  await expect(refused).rejects.toMatchObject({ code: 'CONNECT_FAILED', message: expect.stringMatching(message) as string });
  await expect(refused).rejects.not.toMatchObject({ message: expect.stringMatching(/SENTINEL|user/) as string });
  await vi.waitFor(() => expect(proxy.open()).toBe(0));
});

test('a proxy that never answers is cut by the time-out of connections', async () => {
  const proxy = await tcpServer(() => undefined);
  const { guard } = guarded(URL_OF_TEST, { env: { HTTPS_PROXY: proxy.origin }, connectTimeoutMs: 100 });
  await expect(guard.request(URL_OF_TEST, POST)).rejects.toMatchObject({ code: 'CONNECT_TIMEOUT' });
  await vi.waitFor(() => expect(proxy.open()).toBe(0));
});

test('a proxy that cannot be reached is told apart from the endpoint', async () => {
  const { guard } = guarded(URL_OF_TEST, { env: { HTTPS_PROXY: 'http://127.0.0.1:1' } });
  await expect(guard.request(URL_OF_TEST, POST)).rejects.toMatchObject({
    code: 'CONNECT_FAILED',
    message: 'the proxy http://127.0.0.1:1 cannot be reached: ECONNREFUSED.',
  });
});

test('this machine is never asked for through a proxy, whatever no_proxy says (B140)', async () => {
  const server = await httpServer((_request, response) => response.end('here'));
  const proxy = await proxyServer({ port: 1 });
  const env = { http_proxy: proxy.origin, https_proxy: proxy.origin, all_proxy: proxy.origin, no_proxy: '' };
  const url = `http://localhost:${server.port}/`;
  expect(await (await guarded(url, { env }).guard.request(url, POST)).text()).toBe('here');
  expect(proxy.sockets).toEqual([]);
});

test('no proxy is a way to an address that belongs to no server', async () => {
  const proxy = await proxyServer({ port: 1 });
  const url = 'https://169.254.169.254/latest';
  await expect(guarded(url, { env: { HTTPS_PROXY: proxy.origin } }).guard.request(url, GET)).rejects.toMatchObject({
    code: 'REFUSED_URL',
  });
  expect(proxy.sockets).toEqual([]);
});

test.each(['socks5://127.0.0.1:1', 'http://', 'file:///tmp/proxy'])(
  'a proxy that cannot be used (%s) is not gone without',
  async (url) => {
    const { guard } = guarded(URL_OF_TEST, { env: { ALL_PROXY: url }, lookup });
    await expect(guard.request(URL_OF_TEST, POST)).rejects.toMatchObject({
      code: 'REFUSED_URL',
      message: expect.stringContaining('ALL_PROXY') as string,
    });
    expect(lookup).not.toHaveBeenCalled();
  },
);

test.each([
  ['https://x.test/', {}, true],
  ['https://x.test/', { NO_PROXY: 'localhost,.corp' }, true],
  ['https://a.corp/', { NO_PROXY: 'localhost,.corp' }, false],
  ['https://corp/', { no_proxy: '.corp' }, false],
  ['https://a.b.corp/', { no_proxy: 'x corp' }, false],
  ['https://a.b.corp/', { no_proxy: '*.corp' }, false],
  ['https://notcorp/', { no_proxy: 'corp' }, true],
  ['https://A.CORP./', { no_proxy: 'a.Corp' }, false],
  ['https://a.corp:8443/', { no_proxy: 'a.corp:443' }, true],
  ['https://a.corp/', { no_proxy: 'a.corp:443' }, false],
  ['https://x.test/', { no_proxy: '*' }, false],
  ['https://10.1.2.3/', { no_proxy: '10.1.2.3' }, false],
  ['https://[fd12::1]/', { no_proxy: '[fd12::1]' }, false],
  ['https://[fd12::1]/', { no_proxy: 'fd12::1' }, false],
  ['https://[fd12::1]:81/', { no_proxy: '[fd12::1]:81' }, false],
  ['https://x.test/', { no_proxy: ', ,' }, true],
  ['https://x.test/', { no_proxy: '', NO_PROXY: 'x.test' }, false],
] as const)('of %s with %j it is %s that a proxy is used (B140)', (url, env, isUsed) => {
  expect(proxyFor(new URL(url), { https_proxy: 'http://proxy.test:3128', ...env }) !== null).toBe(isUsed);
});

test.each([
  ['https://x.test/', { HTTPS_PROXY: 'http://a', https_proxy: 'http://b', ALL_PROXY: 'http://c' }, 'b'],
  ['https://x.test/', { HTTPS_PROXY: 'http://a', HTTP_PROXY: 'http://b' }, 'a'],
  ['https://x.test/', { HTTP_PROXY: 'http://b', ALL_PROXY: 'http://c' }, 'c'],
  ['http://x.test/', { HTTPS_PROXY: 'http://a', HTTP_PROXY: 'http://b' }, 'b'],
  ['http://x.test/', { HTTPS_PROXY: 'http://a' }, undefined],
] as const)('%s with %j goes through %s', (url, env, host) => {
  expect(proxyFor(new URL(url), env)?.url.hostname).toBe(host);
});
