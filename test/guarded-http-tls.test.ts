import { expect, test, vi } from 'vitest';
import { readAuthorities } from '../adapters/http/authorities.js';
import { Dialer } from '../adapters/http/dialer.js';
import { trust } from '../adapters/http/tls-socket.js';
import { authority, type Flaws, httpsServer } from './support/http-certificates.js';
import { GET, guarded, httpServer, tcpServer } from './support/http-fixtures.js';
import { temporaryDirectory } from './support/temporary-directory.js';

async function secure(name: string, flaws?: Flaws) {
  const ca = await authority();
  const server = await httpServer((_request, response) => response.end('secret'), { server: await httpsServer(ca, name, flaws) });
  return { ca, server, url: `https://localhost:${server.port}/mcp` };
}

test.each(['SSL_CERT_FILE', 'NODE_EXTRA_CA_CERTS'])(
  'an authority of the user counts while %s names its file (B141)',
  async (name) => {
    const { ca, url } = await secure('localhost');
    const trusting = await guarded(url, { env: { [name]: ca.file } }).guard.request(url, GET);
    expect(await trusting.text()).toBe('secret');
    await expect(guarded(url).guard.request(url, GET)).rejects.toMatchObject({
      code: 'TLS_FAILED',
      hint: expect.stringContaining('SSL_CERT_FILE') as string,
    });
  },
);

test.each<[string, string, Flaws, RegExp]>([
  ['is expired', 'localhost', { isExpired: true }, /CERT_HAS_EXPIRED/],
  ['is for another name', 'other.test', {}, /ERR_TLS_CERT_ALTNAME_INVALID/],
  ['nobody vouches for', 'localhost', { isSelfSigned: true }, /DEPTH_ZERO_SELF_SIGNED_CERT/],
  ['comes by TLS 1.1', 'localhost', { versionMax: 'TLSv1.1' }, /ERR_SSL|EPROTO/],
])('a certificate that %s is refused, whatever the process was told (S055a)', async (_what, name, flaws, code) => {
  vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0');
  const { ca, server, url } = await secure(name, flaws);
  const env = { SSL_CERT_FILE: ca.file, NODE_TLS_REJECT_UNAUTHORIZED: '0' };
  const refused = guarded(url, { env }).guard.request(url, GET);
  await expect(refused).rejects.toMatchObject({ code: 'TLS_FAILED', message: expect.stringMatching(code) as string });
  expect(server.seen).toEqual([]);
});

test('a server that speaks no TLS is refused as one', async () => {
  const server = await httpServer((_request, response) => response.end());
  const url = `https://localhost:${server.port}/`;
  await expect(guarded(url).guard.request(url, GET)).rejects.toMatchObject({ code: 'TLS_FAILED' });
  expect(server.seen).toEqual([]);
});

test('a handshake that never ends is cut by the time-out of connections', async () => {
  const server = await tcpServer(() => undefined);
  const url = `https://localhost:${server.port}/`;
  await expect(guarded(url, { connectTimeoutMs: 50 }).guard.request(url, GET)).rejects.toMatchObject({ code: 'CONNECT_TIMEOUT' });
  await vi.waitFor(() => expect(server.open()).toBe(0));
});

test('a file of authorities that cannot be read, or holds none, is no reason to check less', async () => {
  const { url, ca, server } = await secure('localhost');
  const folder = await temporaryDirectory('authorities-');
  for (const file of [`${folder}/absent.pem`, folder]) {
    const refused = guarded(url, { env: { SSL_CERT_FILE: file } }).guard.request(url, GET);
    await expect(refused).rejects.toMatchObject({ code: 'TLS_FAILED', message: expect.stringContaining(file) as string });
  }
  const env = { SSL_CERT_FILE: import.meta.filename, NODE_EXTRA_CA_CERTS: ca.file };
  await expect(guarded(url, { env }).guard.request(url, GET)).rejects.toMatchObject({ code: 'TLS_FAILED' });
  expect(server.seen).toEqual([]);
});

test('the vetted address is connected to, and the certificate is checked by name (S048)', async () => {
  const { ca, server } = await secure('api.test');
  const lookup = vi.fn(() => Promise.reject(new Error('resolved again')));
  const context = trust(await readAuthorities({ SSL_CERT_FILE: ca.file }));
  const dial = (name: string, address: string) =>
    new Promise((resolve, reject) => {
      const dialer = new Dialer({
        target: new URL(`https://${name}:${server.port}`),
        proxy: null,
        policy: { checkHost: () => undefined, addresses: () => Promise.resolve([address]) },
        lookup,
        isWanted: () => true,
        trust: () => Promise.resolve(context),
        connectTimeoutMs: 5_000,
      });
      const options = { hostname: name, protocol: 'https:', port: String(server.port) };
      dialer.connect(options, (...[error, socket]) => {
        if (error === null) resolve(socket.remoteAddress);
        else reject(error);
        void dialer.close();
      });
    });
  expect(await dial('api.test', '127.0.0.1')).toBe('127.0.0.1');
  await expect(dial('localhost', '127.0.0.1')).rejects.toMatchObject({ code: 'TLS_FAILED' });
  expect(lookup).not.toHaveBeenCalled();
});
