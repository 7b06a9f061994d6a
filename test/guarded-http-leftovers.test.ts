import { getEventListeners } from 'node:events';
import { expect, test, vi } from 'vitest';
import { GET, guarded, httpServer } from './support/http-fixtures.js';
import { freePort } from './support/http-link-servers.js';

const listeners = ({ signal }: AbortController): number => getEventListeners(signal, 'abort').length;

test('a request leaves nothing on the signal it was given, whether it is answered, refused or cannot be sent', async () => {
  const server = await httpServer((_request, response) => response.end('done'));
  const abort = new AbortController();
  const { guard } = guarded(server.origin);
  const response = await guard.request(`${server.origin}/mcp`, { ...GET, signal: abort.signal });
  expect(await response.text()).toBe('done');
  await vi.waitFor(() => expect(listeners(abort)).toBe(0));
  const nobody = `http://127.0.0.1:${await freePort()}`;
  for (let round = 0; round < 3; round += 1) {
    const failed = guarded(nobody).guard.request(`${nobody}/mcp`, { ...GET, signal: abort.signal });
    await expect(failed).rejects.toMatchObject({ code: 'CONNECT_FAILED' });
  }
  expect(listeners(abort)).toBe(0);
});

test('a body in a coding that was not asked for is refused, and its connection is ended', async () => {
  const server = await httpServer((_request, response) => {
    response.writeHead(200, { 'content-encoding': 'zstd' });
    // It would go on for ever.
    response.write('x');
  });
  const response = await guarded(server.origin).guard.request(`${server.origin}/mcp`, GET);
  await expect(response.text()).rejects.toMatchObject({ code: 'RESULT_INVALID' });
  await vi.waitFor(() => expect(server.open()).toBe(0));
});
