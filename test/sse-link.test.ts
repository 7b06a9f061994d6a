import type { ServerResponse } from 'node:http';
import { describe, expect, test, vi } from 'vitest';
import { NOTICE_TIMEOUT_MS } from '../adapters/links/http-endpoint.js';
import {
  eventOf,
  freePort,
  heldClock,
  launchAt,
  resultOf,
  type Seen,
  said,
  startEndpoint,
  startEverything,
  stream,
} from './support/http-link-servers.js';
import { ask, callTool, failureOf, newLinkPort, openLink, openReady, textResult } from './support/stdio-harness.js';

/** A server of HTTP with SSE as it should be; where `odd` answers true, it has done so itself. */
async function startOlder(odd: (seen: Seen, response: ServerResponse, events: ServerResponse | null) => unknown = () => false) {
  let events: ServerResponse | null = null;
  const endpoint = await startEndpoint((seen, response) => {
    if (odd(seen, response, events) === true) return;
    if (seen.method === 'GET') {
      events = response;
      stream(response, 'event: endpoint\ndata: /messages?session=1\n\n');
      return;
    }
    response.writeHead(202).end('Accepted');
    if (seen.rpc.id === undefined) return;
    const serverInfo = { name: 'older', version: '1.0.0' };
    const isFirst = seen.rpc.method === 'initialize';
    events?.write(
      eventOf(
        resultOf(seen, isFirst ? { protocolVersion: '2024-11-05', capabilities: { tools: {} }, serverInfo } : said('done')),
      ),
    );
  });
  return { endpoint, cut: () => events?.destroy() };
}

describe('HTTP with SSE', () => {
  test('lists, calls and hears progress of a published server', async () => {
    const { link, heard } = openLink(launchAt(await startEverything('sse'), 'sse'));
    expect(await link.handshake()).toMatchObject({ era: 'legacy', protocolVersion: '2025-11-25' });
    expect(heard.opened).toEqual([null]);
    const { result } = await ask(link, 'tools/list').settled;
    expect((result as { tools: unknown[] }).tools).toHaveLength(13);
    expect((await callTool(link, 'echo', { message: 'hi' }).settled).result).toEqual(textResult('Echo: hi'));
    const slow = callTool(link, 'trigger-long-running-operation', { duration: 0.2, steps: 2 });
    expect((await slow.settled).problem).toBeUndefined();
    expect(slow.progress.map(({ progress }) => progress)).toEqual([1, 2]);
    await link.probe();
    expect(await link.close()).toMatchObject({ outcome: 'clean' });
    expect(heard.lost).toEqual([]);
  });

  test('is never asked for the newer era, and every message goes where the server says', async () => {
    const { endpoint } = await startOlder();
    const { link } = await openReady(launchAt(endpoint.url, 'sse'));
    expect((await callTool(link, 'echo').settled).result).toEqual(said('done'));
    expect(endpoint.seen.map(({ method, path, rpc }) => [method, path, rpc.method])).toEqual([
      ['GET', '/mcp', undefined],
      ['POST', '/messages?session=1', 'initialize'],
      ['POST', '/messages?session=1', 'notifications/initialized'],
      ['POST', '/messages?session=1', 'tools/call'],
    ]);
  });

  test('with messages for another origin is refused, and that origin is sent nothing', async () => {
    const other = await startEndpoint((_, response) => void response.writeHead(202).end());
    const { endpoint } = await startOlder(({ method }, response) => {
      if (method === 'GET') stream(response, `event: endpoint\ndata: ${other.url}\n\n`);
      return method === 'GET';
    });
    const { link, heard } = openLink(launchAt(endpoint.url, 'sse', { 'X-Api-Key': 'secret' }));
    expect(await failureOf(link.handshake())).toBe('REFUSED_URL');
    expect([heard.lost.map(({ code }) => code), heard.deaths]).toEqual([['REFUSED_URL'], [false]]);
    expect([other.seen, endpoint.sent('POST')]).toEqual([[], []]);
  });

  test.each(['http://[bad', 'ftp://127.0.0.1/x', '//example.invalid/x', 'javascript:alert(1)', 'http://u:p@127.0.0.1/'])(
    'with messages for "%s" is refused',
    async (address) => {
      const { endpoint } = await startOlder(({ method }, response) => {
        if (method === 'GET') stream(response, `event: endpoint\ndata: ${address}\n\n`);
        return method === 'GET';
      });
      const { link } = openLink(launchAt(endpoint.url, 'sse'));
      expect(await failureOf(link.handshake())).toMatch(/^(REFUSED_URL|CONNECT_FAILED)$/);
      expect(endpoint.sent('POST')).toEqual([]);
    },
  );

  test('B135: whose stream ends is lost at once, with what was open, and is not asked for again', async () => {
    const { endpoint, cut } = await startOlder(
      ({ rpc }, response) => rpc.method === 'tools/call' && Boolean(response.writeHead(202).end()),
    );
    const { link, heard } = await openReady(launchAt(endpoint.url, 'sse'));
    callTool(link, 'hang');
    await vi.waitFor(() => expect(endpoint.asked('tools/call')).toHaveLength(1));
    cut();
    await vi.waitFor(() => expect(heard.lost.map(({ code }) => code)).toEqual(['LINK_LOST']));
    expect((await callTool(link, 'echo').settled).problem?.code).toBe('LINK_LOST');
    expect([heard.deaths, endpoint.sent('GET').length]).toEqual([[false], 1]);
  });

  test('that does not take the end of the handshake has made none', async () => {
    const { endpoint } = await startOlder(
      ({ rpc }, response) => rpc.method === 'notifications/initialized' && Boolean(response.writeHead(500).end()),
    );
    const { link, heard } = openLink(launchAt(endpoint.url, 'sse'));
    expect(await failureOf(link.handshake())).toBe('CONNECT_FAILED');
    expect(heard.lost.map(({ code }) => code)).toEqual(['CONNECT_FAILED']);
  });

  test('that refuses one message fails that request alone', async () => {
    const { endpoint } = await startOlder(
      ({ rpc }, response) => rpc.method === 'tools/call' && Boolean(response.writeHead(500).end()),
    );
    const { link, heard } = await openReady(launchAt(endpoint.url, 'sse'));
    expect((await callTool(link, 'echo').settled).problem?.code).toBe('SERVER_ERROR');
    expect((await ask(link, 'ping').settled).result).toEqual(said('done'));
    expect(heard.lost).toEqual([]);
  });

  test('cancels by a notification', async () => {
    const { endpoint } = await startOlder(
      ({ rpc }, response) => rpc.method === 'tools/call' && Boolean(response.writeHead(202).end()),
    );
    const { link } = await openReady(launchAt(endpoint.url, 'sse'));
    const { id } = callTool(link, 'hang');
    link.forget(id, () => undefined);
    await link.notifyCancelled(id, 'not needed');
    expect(endpoint.asked('notifications/cancelled').map(({ rpc }) => rpc.params)).toEqual([
      { requestId: id, reason: 'not needed' },
    ]);
  });

  test('that accepts no message in time is not left with a connection for each', async () => {
    let open = 0;
    const { endpoint } = await startOlder((seen, response, events) => {
      const { rpc } = seen;
      if (rpc.method !== 'tools/call' && rpc.method !== 'notifications/cancelled') return false;
      open += 1;
      response.on('close', () => {
        open -= 1;
      });
      if (rpc.params?.['name'] === 'echo') events?.write(eventOf(resultOf(seen, said('here'))));
      return true;
    });
    const { clock, expire } = heldClock(NOTICE_TIMEOUT_MS);
    const { link, heard } = openLink(launchAt(endpoint.url, 'sse'), { port: newLinkPort(clock) });
    await link.handshake();
    expect((await callTool(link, 'echo').settled).result).toEqual(said('here'));
    await vi.waitFor(() => expect(open).toBe(0), { timeout: 5_000 });
    const { id } = callTool(link, 'hang');
    let late = 0;
    await vi.waitFor(() => expect(open).toBe(1));
    link.forget(id, () => (late += 1));
    const told = expect(link.notifyCancelled(id, 'not needed')).rejects.toMatchObject({ code: 'LINK_LOST' });
    await vi.waitFor(() => expect(endpoint.asked('notifications/cancelled')).toHaveLength(1));
    expire();
    await told;
    await vi.waitFor(() => expect(open).toBe(0));
    expect([late, heard.lost]).toEqual([0, []]);
  });

  test('S158: an event without an end that nobody waits for loses the link', async () => {
    const { endpoint } = await startOlder(({ rpc }, _, events) => {
      if (rpc.method === 'notifications/initialized') events?.write(`data: ${'x'.repeat(2_000_000)}`);
      return false;
    });
    const { link, heard } = openLink(launchAt(endpoint.url, 'sse'));
    await link.handshake().catch(() => undefined);
    await vi.waitFor(() => expect(heard.lost.map(({ code }) => code)).toEqual(['MESSAGE_TOO_LARGE']));
  });

  test.each([
    [401, 'AUTH_REQUIRED'],
    [403, 'AUTH_FAILED'],
    [404, 'CONNECT_FAILED'],
    [503, 'CONNECT_FAILED'],
  ])('refused with HTTP %d is lost with %s', async (status, code) => {
    const endpoint = await startEndpoint((_, response) => void response.writeHead(status).end());
    const { link, heard } = openLink(launchAt(endpoint.url, 'sse'));
    expect(await failureOf(link.handshake())).toBe(code);
    expect([heard.lost.length, heard.deaths]).toEqual([1, [false]]);
  });

  test('that is a server of Streamable HTTP says how to write it', async () => {
    const endpoint = await startEndpoint(
      (_, response) => void response.writeHead(200, { 'content-type': 'application/json' }).end('{}'),
    );
    const { link, heard } = openLink(launchAt(endpoint.url, 'sse'));
    expect(await failureOf(link.handshake())).toBe('CONNECT_FAILED');
    expect(heard.lost[0]?.hint).toContain('"type": "http"');
  });

  test('that nobody serves is lost as unreachable', async () => {
    const { link, heard } = openLink(launchAt(`http://127.0.0.1:${await freePort()}/sse`, 'sse'));
    expect(await failureOf(link.handshake())).toBe('CONNECT_FAILED');
    expect(heard.deaths).toEqual([false]);
    expect(await link.close()).toMatchObject({ outcome: 'clean' });
  });

  test('closed before the server has said where messages go ends the handshake', async () => {
    const endpoint = await startEndpoint((_, response) => stream(response, ': hello\n\n'));
    const { link, heard } = openLink(launchAt(endpoint.url, 'sse'));
    const failed = failureOf(link.handshake());
    await vi.waitFor(() => expect(endpoint.seen).toHaveLength(1));
    await link.close();
    expect([await failed, heard.lost]).toEqual(['LINK_LOST', []]);
  });
});
