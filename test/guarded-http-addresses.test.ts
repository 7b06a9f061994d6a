import { expect, test, vi } from 'vitest';
import { classOf } from '../adapters/http/address-class.js';
import { AddressPolicy } from '../adapters/http/address-policy.js';
import { openPlain } from '../adapters/http/plain-socket.js';
import { GET, guarded, httpServer, POST } from './support/http-fixtures.js';

const PUBLIC = '93.184.215.14';
const never = () => Promise.reject(new Error('asked the resolver'));

test.each([
  [
    'public',
    ['1.1.1.1', '93.184.215.14', '172.15.255.255', '172.32.0.1', '2606:4700::1111', '::ffff:1.1.1.1', '64:ff9b::101:101'],
  ],
  ['loopback', ['127.0.0.1', '127.255.0.1', '0.0.0.0', '::1', '::', '::ffff:127.0.0.1', '::ffff:7f00:1', '0:0:0:0:0:0:0:1']],
  ['private', ['10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.1.1', '100.64.0.1', '198.18.0.1', 'fc00::1', 'fd12::1']],
  ['private', ['fec0::1', '::ffff:10.0.0.1', '::ffff:a00:1', '64:ff9b:1::1']],
  [
    'never',
    ['0.1.2.3', '169.254.169.254', '224.0.0.1', '239.1.1.1', '240.0.0.1', '255.255.255.255', '192.0.2.1', '198.51.100.1'],
  ],
  ['never', ['203.0.113.9', '192.0.0.8', '100.100.100.200', '168.63.129.16', '::ffff:169.254.169.254', 'fd00:ec2::254']],
  [
    'never',
    ['fe80::1', 'fe80::1%eth0', 'ff02::1', '2001:db8::1', '2001::1', '2002:7f00:1::', '2002:a00:1::1', '3fff::1', '100::1'],
  ],
  [
    'never',
    [
      '64:ff9b::7f00:1',
      '64:ff9b::10.0.0.1',
      '::10.0.0.1',
      '::7f00:1',
      '64:ff9b::a9fe:a9fe',
      '',
      'localhost',
      '1.2.3',
      '1.2.3.4.5',
    ],
  ],
] as const)('addresses are told apart: %s %j (S046)', (expected, addresses) => {
  expect(addresses.map((address) => [address, classOf(address)])).toEqual(addresses.map((address) => [address, expected]));
});

test('however this machine is written, it is reached over plain http where that was configured (S045)', async () => {
  const server = await httpServer((_request, response) => response.end('here'));
  const written = [
    '127.1',
    '0x7f000001',
    '2130706433',
    '0177.0.0.1',
    '①②⑦.⓪.⓪.①',
    '127。0。0。1',
    '[::ffff:7f00:1]',
    '0',
    'localhost.',
  ];
  for (const host of written) {
    const url = `http://${host}:${server.port}/`;
    const response = await guarded(url, { lookup: never }).guard.request(url, GET);
    expect(await response.text(), host).toBe('here');
  }
});

test.each([
  ['this machine', ['127.0.0.1']],
  ['this machine', ['::1']],
  ['this machine', ['0.0.0.0']],
  ['this machine', [PUBLIC, '127.0.0.1']],
  ['no server', ['169.254.169.254']],
  ['no server', [PUBLIC, '169.254.1.1']],
  ['a private network', [PUBLIC, '10.0.0.1']],
  ['a private network', ['fc00::1', '2606:4700::1111']],
])('a name that leads to %s (%j) is refused before anything is connected (S047)', async (where, answers) => {
  const canary = await httpServer((_request, response) => response.end('reached'));
  const url = `https://name.test:${canary.port}/mcp?key=SENTINEL`;
  const refused = guarded(url, { lookup: async () => answers }).guard.request(url, POST);
  await expect(refused).rejects.toMatchObject({ code: 'REFUSED_URL', message: expect.stringContaining(where) as string });
  await expect(refused).rejects.not.toMatchObject({ message: expect.stringMatching(/SENTINEL|\/mcp|10\.0|fc00/) as string });
  expect(canary.sockets).toEqual([]);
});

test('an address that belongs to no server is refused without asking anybody', async () => {
  for (const host of ['169.254.169.254', '[fd00:ec2::254]', '[::ffff:169.254.169.254]', '224.0.0.1', '[fe80::1]']) {
    const url = `https://${host}/latest`;
    await expect(guarded(url, { lookup: never }).guard.request(url, GET), host).rejects.toMatchObject({ code: 'REFUSED_URL' });
  }
});

/** What a policy says of each answer of a resolver, in turn. */
async function judged(url: string, answers: readonly (readonly string[])[], discoveredFrom: string | null = null) {
  const lookup = vi.fn<(host: string) => Promise<readonly string[]>>();
  for (const answer of answers) lookup.mockResolvedValueOnce(answer);
  const policy = new AddressPolicy(new URL(url), lookup, discoveredFrom === null ? null : new URL(discoveredFrom));
  const verdicts: unknown[] = [];
  while (verdicts.length < answers.length) {
    verdicts.push(await policy.addresses().catch((error: unknown) => (error as { code: string }).code));
  }
  expect(lookup.mock.calls.length).toBeLessThanOrEqual(answers.length);
  return verdicts;
}

test('a server of the user’s own network is reached by address, and by a name that has no other', async () => {
  expect(await judged('https://10.1.2.3/', [[]])).toEqual([['10.1.2.3']]);
  expect(await judged('https://[fd12::1]/', [[]])).toEqual([['fd12::1']]);
  expect(await judged('https://intranet.test/', [['10.0.0.1', 'fd12::1']])).toEqual([['10.0.0.1', 'fd12::1']]);
});

test('a name is judged anew for each connection, and one that was public stays public (S048)', async () => {
  const turns = [[PUBLIC], ['127.0.0.1'], ['10.0.0.1'], [PUBLIC, '1.1.1.1']];
  const verdicts = await judged('https://rebinding.test/', turns);
  expect(verdicts).toEqual([[PUBLIC], 'REFUSED_URL', 'REFUSED_URL', [PUBLIC, '1.1.1.1']]);
});

test('only the vetted addresses are connected to: nothing is resolved again (S048)', async () => {
  const server = await httpServer((_request, response) => response.end());
  const socket = openPlain(['::1', '127.0.0.1'], server.port);
  await new Promise((resolve, reject) => socket.once('connect', resolve).once('error', reject));
  expect(socket.remoteAddress).toBe('127.0.0.1');
  socket.destroy();
});

test('what a server named reaches public addresses and its own host, nothing else (S046)', async () => {
  const from = 'https://mcp.test/mcp';
  for (const address of [
    '10.0.0.1',
    '192.168.0.1',
    '100.64.0.1',
    'fc00::1',
    'fec0::1',
    '127.0.0.1',
    '::1',
    '169.254.1.1',
    'fe80::1',
  ]) {
    expect(await judged('https://auth.test/', [[address]], from), address).toEqual(['REFUSED_URL']);
    const literal = address.includes(':') ? `[${address}]` : address;
    expect(await judged(`https://${literal}/`, [[]], from), address).toEqual(['REFUSED_URL']);
  }
  expect(await judged('https://localhost/', [[]], from)).toEqual(['REFUSED_URL']);
  expect(await judged('https://auth.test/', [[PUBLIC]], from)).toEqual([[PUBLIC]]);
  expect(await judged('https://mcp.test/token', [['10.0.0.1']], from)).toEqual([['10.0.0.1']]);
  expect(await judged('http://127.0.0.1:1/', [[]], 'http://localhost:2/mcp')).toEqual([['127.0.0.1']]);
});

test('plain http is for this machine and for the origin the user allowed, and never for what a server named', async () => {
  const url = 'http://intranet.test/mcp';
  const lookup = vi.fn(() => Promise.resolve([]));
  await expect(guarded(url, { lookup }).guard.request(url, GET)).rejects.toMatchObject({ code: 'REFUSED_URL' });
  const discovered = { isPlaintextAllowed: true, discoveredFrom: 'http://intranet.test/' };
  await expect(guarded(url, { lookup, endpoint: discovered }).guard.request(url, GET)).rejects.toMatchObject({
    code: 'REFUSED_URL',
  });
  expect(lookup).not.toHaveBeenCalled();
  const { guard } = guarded(url, { lookup, endpoint: { isPlaintextAllowed: true } });
  await expect(guard.request(url, GET)).rejects.toMatchObject({ code: 'CONNECT_FAILED' });
  expect(lookup).toHaveBeenCalledWith('intranet.test');
  await expect(guard.request('http://other.test/mcp', GET)).rejects.toMatchObject({ code: 'REFUSED_URL' });
  expect(lookup).toHaveBeenCalledTimes(1);
});

test('a URL that is not what it looks like is refused by its text (S049)', async () => {
  const lookup = vi.fn(() => Promise.resolve([]));
  const written = [
    ...[
      'https://user@host.test/',
      'https://user:SENTINEL@host.test/',
      'https://@host.test/',
      'https://host.test/#f',
      'ftp://host.test/',
    ],
    ...[
      'file:///etc/passwd',
      'data:text/plain,x',
      'javascript:alert(1)',
      'https:\\\\host.test\\',
      'https://host.test\\@evil.test/',
    ],
    ...['https://ho\tst.test/', 'https://host.test/\n', 'https:host.test', '//host.test/', 'https://', ''],
  ];
  for (const url of written) {
    for (const configured of ['https://host.test/', url]) {
      const refused = guarded(configured, { lookup }).guard.request(url, GET);
      await expect(refused, url).rejects.toMatchObject({ code: 'REFUSED_URL' });
      await expect(refused, url).rejects.not.toMatchObject({ message: expect.stringContaining('SENTINEL') as string });
    }
  }
  expect(lookup).not.toHaveBeenCalled();
});

test('a request to another origin than the endpoint’s is refused, and that origin sees nothing', async () => {
  const other = await httpServer((_request, response) => response.end());
  const { guard } = guarded('http://127.0.0.1:1/', { endpoint: { headers: { authorization: 'SENTINEL' } } });
  await expect(guard.request(other.origin, POST)).rejects.toMatchObject({ code: 'REFUSED_URL' });
  expect(other.sockets).toEqual([]);
});

test('a name nobody knows, and a resolver that never answers, are told apart', async () => {
  const url = 'https://name.test/';
  const unknown = async () => Promise.reject(Object.assign(new Error('no'), { code: 'ENOTFOUND' }));
  await expect(guarded(url, { lookup: unknown }).guard.request(url, GET)).rejects.toMatchObject({
    code: 'CONNECT_FAILED',
    message: 'https://name.test cannot be reached: ENOTFOUND.',
  });
  const silent = () => new Promise<never>(() => undefined);
  const { guard } = guarded(url, { lookup: silent, connectTimeoutMs: 30 });
  await expect(guard.request(url, GET)).rejects.toMatchObject({ code: 'CONNECT_TIMEOUT' });
});

test('a refusal of localhost names both of its addresses (B144)', async () => {
  const server = await httpServer((_request, response) => response.end());
  const url = `http://localhost:${server.port}/`;
  const { guard } = guarded(url);
  await (await guard.request(url, GET)).text();
  await server.stop();
  await expect(guard.request(url, GET)).rejects.toMatchObject({
    code: 'CONNECT_FAILED',
    message: expect.stringMatching(/::1 and 127\.0\.0\.1/) as string,
  });
});
