import { readFile } from 'node:fs/promises';
import { brotliCompressSync, constants, createGzip, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { expect, test, vi } from 'vitest';
import { GET, guarded, httpServer, POST, tcpServer } from './support/http-fixtures.js';

const MIB = 1_048_576;
const text = JSON.stringify({ tools: 'x'.repeat(100_000) });

test.each([
  ['gzip', gzipSync],
  ['x-gzip', gzipSync],
  ['GZIP', gzipSync],
  ['deflate', deflateSync],
  ['deflate', deflateRawSync],
  ['br', brotliCompressSync],
  ['identity', (bytes: string) => Buffer.from(bytes)],
] as const)('an answer in %s is read (B143)', async (coding, encode) => {
  const server = await httpServer((_request, response) =>
    response.writeHead(200, { 'content-encoding': coding }).end(encode(text)),
  );
  const response = await guarded(server.origin).guard.request(server.origin, POST);
  expect(await response.text()).toBe(text);
});

test('a list of tools as it came from a real server in gzip is read (B143)', async () => {
  const bytes = await readFile(new URL('cases/B143-tools-list.json.gz', import.meta.url));
  const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' };
  const server = await httpServer((_request, response) => response.writeHead(200, headers).end(bytes));
  const response = await guarded(server.origin).guard.request(server.origin, POST);
  expect(JSON.parse(await response.text())).toMatchObject({ result: { tools: [{ name: 'a' }] } });
});

test.each(['zstd', 'gzip, gzip', 'gzip,br', 'nonsense'])(
  'an answer in %s was not asked for and is refused (S167, B143)',
  async (coding) => {
    const server = await httpServer((_request, response) =>
      response.writeHead(200, { 'content-encoding': coding }).end(gzipSync(text)),
    );
    const response = await guarded(server.origin).guard.request(server.origin, POST);
    await expect(response.text()).rejects.toMatchObject({ code: 'RESULT_INVALID' });
  },
);

test('a piece of a compressed stream is handed on when it comes, not when the stream ends (B143)', async () => {
  const gzip = createGzip();
  const server = await httpServer((_request, response) => {
    gzip.pipe(response.writeHead(200, { 'content-encoding': 'gzip', 'content-type': 'text/event-stream' }));
    gzip.write('data: 1\n\n');
    gzip.flush();
  });
  const response = await guarded(server.origin).guard.request(server.origin, { ...GET, idleTimeoutMs: null, bodyBytesMax: null });
  for await (const chunk of response.chunks) {
    expect(Buffer.from(chunk).toString()).toBe('data: 1\n\n');
    break;
  }
  await vi.waitFor(() => expect(server.open()).toBe(0));
});

test.each([
  ['cut off', (bytes: Buffer) => bytes.subarray(0, 60)],
  ['no gzip at all', () => Buffer.from('{"plain":true}')],
])('a compressed answer that is %s is no answer', async (_what, damage) => {
  const server = await httpServer((_request, response) =>
    response.writeHead(200, { 'content-encoding': 'gzip' }).end(damage(gzipSync(text))),
  );
  const response = await guarded(server.origin).guard.request(server.origin, POST);
  await expect(response.text()).rejects.toMatchObject({
    code: 'LINK_LOST',
    message: expect.stringContaining('damaged') as string,
  });
});

test.each([
  // A file of gzip may have any number of members.
  ['gzip', Buffer.concat(Array.from({ length: 75 }, () => gzipSync(Buffer.alloc(4 * MIB))))],
  ['deflate', deflateSync(Buffer.alloc(32 * MIB), { level: 1 })],
  ['br', brotliCompressSync(Buffer.alloc(32 * MIB), { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } })],
] as const)('a bomb in %s is cut at the cap, in flat memory (S167)', async (coding, bomb) => {
  const server = await httpServer((_request, response) => response.writeHead(200, { 'content-encoding': coding }).end(bomb));
  const before = process.memoryUsage.rss();
  const response = await guarded(server.origin).guard.request(server.origin, { ...POST, bodyBytesMax: 8 * MIB });
  let bytes = 0;
  const read = async () => {
    for await (const chunk of response.chunks) bytes += chunk.length;
  };
  await expect(read()).rejects.toMatchObject({ code: 'MESSAGE_TOO_LARGE' });
  expect(bytes).toBeLessThanOrEqual(8 * MIB);
  expect(process.memoryUsage.rss() - before).toBeLessThan(64 * MIB);
});

test('300 MiB that come in the clear are cut at the cap, and most of them are never sent', async () => {
  const chunk = Buffer.alloc(MIB, 0x61);
  const server = await httpServer((_request, response) => {
    let left = 300;
    const more = (): void => {
      while (left > 0) {
        left -= 1;
        if (!response.write(chunk)) return void response.once('drain', more);
      }
      response.end();
    };
    more();
  });
  const before = process.memoryUsage.rss();
  const response = await guarded(server.origin).guard.request(server.origin, { ...POST, bodyBytesMax: 8 * MIB });
  await expect(response.text()).rejects.toMatchObject({ code: 'MESSAGE_TOO_LARGE' });
  await vi.waitFor(() => expect(server.open()).toBe(0));
  expect(server.sockets[0]?.bytesWritten).toBeLessThan(64 * MIB);
  expect(process.memoryUsage.rss() - before).toBeLessThan(64 * MIB);
});

test('who does not read is not sent more than buffers hold', async () => {
  const chunk = Buffer.alloc(MIB);
  let sent = 0;
  const server = await httpServer((_request, response) => {
    const more = (): void => {
      while (sent < 300 && response.write(chunk)) sent += 1;
      response.once('drain', more);
    };
    more();
  });
  const response = await guarded(server.origin).guard.request(server.origin, { ...GET, bodyBytesMax: null });
  let last = -1;
  // Until the server has been stuck for one look.
  await vi.waitUntil(() => sent === last || ((last = sent), false), { interval: 200, timeout: 20_000 });
  expect(sent).toBeLessThan(64);
  response.discard();
  await vi.waitFor(() => expect(server.open()).toBe(0), { timeout: 5_000 });
});

test('a text is capped even where the body is not', async () => {
  const bomb = gzipSync(Buffer.alloc(65 * MIB));
  const server = await httpServer((_request, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb));
  const response = await guarded(server.origin).guard.request(server.origin, { ...POST, bodyBytesMax: null });
  await expect(response.text()).rejects.toMatchObject({ code: 'MESSAGE_TOO_LARGE' });
});

test('characters are put together across the pieces they come in', async () => {
  const server = await tcpServer((socket) => {
    socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\n\xe2\r\n', 'latin1');
    socket.write('2\r\n\x82\xac\r\n0\r\n\r\n', 'latin1');
  });
  expect(await (await guarded(server.origin).guard.request(server.origin, GET)).text()).toBe('€');
});

test('headers that come a byte at a time are cut by the time-out for headers (S168)', async () => {
  const server = await tcpServer((socket) => {
    socket.write('HTTP/1.1 200 OK\r\n');
    const drip = setInterval(() => socket.write('x'), 5);
    socket.once('close', () => clearInterval(drip));
  });
  const slow = guarded(server.origin).guard.request(server.origin, { ...POST, headersTimeoutMs: 100 });
  await expect(slow).rejects.toMatchObject({
    code: 'LINK_LOST',
    message: expect.stringContaining('no headers in time') as string,
  });
  await vi.waitFor(() => expect(server.open()).toBe(0));
});

test('announcing an answer again and again does not hold the time-out off (S168)', async () => {
  const server = await tcpServer((socket) => {
    const drip = setInterval(() => socket.write('HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n'), 1);
    socket.once('close', () => clearInterval(drip));
  });
  const endless = guarded(server.origin).guard.request(server.origin, POST);
  await expect(endless).rejects.toMatchObject({
    code: 'LINK_LOST',
    message: expect.stringContaining('again and again') as string,
  });
  await vi.waitFor(() => expect(server.open()).toBe(0));
});

test('a body that falls silent is cut, unless it may be silent for ever (S168)', async () => {
  const server = await httpServer((_request, response) => response.write('data: 1\n\n'));
  const { guard } = guarded(server.origin);
  const cut = await guard.request(server.origin, { ...GET, idleTimeoutMs: 100 });
  const patient = await guard.request(server.origin, { ...GET, idleTimeoutMs: null });
  await expect(cut.text()).rejects.toMatchObject({
    code: 'LINK_LOST',
    message: expect.stringContaining('fell silent') as string,
  });
  expect(server.open()).toBe(1);
  patient.discard();
});

test.each([
  ['one header of a MiB', `x-long: ${'x'.repeat(MIB)}\r\n`],
  ['ten thousand headers', 'x-short: 1\r\n'.repeat(10_000)],
])('%s is refused as too large (S158)', async (_what, headers) => {
  const server = await tcpServer((socket) => socket.write(`HTTP/1.1 200 OK\r\n${headers}\r\n`));
  await expect(guarded(server.origin).guard.request(server.origin, POST)).rejects.toMatchObject({ code: 'MESSAGE_TOO_LARGE' });
  await vi.waitFor(() => expect(server.open()).toBe(0));
});

test.each([
  ['an answer that is not HTTP', 'SSH-2.0-OpenSSH_9.6 SENTINEL\r\n', 'RESULT_INVALID'],
  ['two lengths that differ', 'HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab', 'LINK_LOST'],
  ['an upgrade nobody asked for', 'HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n', 'LINK_LOST'],
])('%s is told, in no words of the server', async (_what, wire, code) => {
  const server = await tcpServer((socket) => socket.write(wire));
  const refused = guarded(server.origin).guard.request(server.origin, POST);
  await expect(refused).rejects.toMatchObject({ code });
  await expect(refused).rejects.not.toMatchObject({ message: expect.stringContaining('SENTINEL') as string });
});

test('a body that is shorter than it said is a lost connection', async () => {
  const server = await tcpServer((socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nshort'));
  const response = await guarded(server.origin).guard.request(server.origin, POST);
  await expect(response.text()).rejects.toMatchObject({ code: 'LINK_LOST' });
});
