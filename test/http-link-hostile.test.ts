import type { ServerResponse } from 'node:http';
import { describe, expect, test, vi } from 'vitest';
import { NOTICE_TIMEOUT_MS } from '../adapters/links/http-endpoint.js';
import { systemClock } from '../adapters/system-clock.js';
import { caseFile } from './support/case-file.js';
import {
  eventOf,
  freePort,
  hastyClock,
  json,
  launchAt,
  older,
  onCall,
  type Seen,
  said,
  startEndpoint,
  stream,
} from './support/http-link-servers.js';
import { callTool, failureOf, newLinkPort, openLink, openReady } from './support/stdio-harness.js';

describe('an endpoint that cannot be reached', () => {
  test('is lost with the code of the reason, and is no death', async () => {
    const { link, heard } = openLink(launchAt(`http://127.0.0.1:${await freePort()}/mcp`));
    expect(await failureOf(link.handshake())).toBe('CONNECT_FAILED');
    expect(heard.lost.map(({ code }) => code)).toEqual(['CONNECT_FAILED']);
    expect(heard.deaths).toEqual([false]);
    expect(await link.close()).toMatchObject({ outcome: 'clean' });
  });

  test('any more fails the call that finds out, loses the link, and is asked nothing again', async () => {
    const endpoint = await startEndpoint(older());
    const { link, heard } = await openReady(launchAt(endpoint.url));
    await endpoint.close();
    const { problem } = await callTool(link, 'echo').settled;
    expect(['CONNECT_FAILED', 'LINK_LOST']).toContain(problem?.code);
    if (problem?.code === 'LINK_LOST') await callTool(link, 'echo').settled;
    expect(heard.lost.map(({ code }) => code)).toEqual(['CONNECT_FAILED']);
    expect(heard.deaths).toEqual([false]);
  });
});

describe('B142: the handshake refused with', () => {
  const { cases } = caseFile('B142-fallback-matrix.http.json') as { cases: { post: number | string; expect: string }[] };
  const statuses = cases.filter((entry): entry is { post: number; expect: string } => typeof entry.post === 'number');
  const codes: Record<string, string> = {
    'try-sse': 'CONNECT_FAILED',
    auth: 'AUTH_REQUIRED',
    backoff: 'CONNECT_FAILED',
    'auth-or-error': 'AUTH_FAILED',
  };

  test.each(statuses)('HTTP $post ends it without a stream of events being asked for', async ({ post, expect: kind }) => {
    const endpoint = await startEndpoint((_, response) => void response.writeHead(post).end());
    const { link, heard } = openLink(launchAt(endpoint.url));
    expect(await failureOf(link.handshake())).toBe(codes[kind]);
    expect(heard.deaths).toEqual([false]);
    expect(endpoint.sent('GET')).toEqual([]);
    expect(endpoint.asked('initialize')).toHaveLength(kind === 'try-sse' ? 1 : 0);
    expect(heard.lost[0]?.hint?.includes('"type": "sse"') ?? false).toBe(kind === 'try-sse');
  });

  test('an error of the newer era is not taken for an older server', async () => {
    const error = { code: -32_022, message: 'no', data: { supported: ['2027-01-01'], requested: '2026-07-28' } };
    const endpoint = await startEndpoint(({ rpc }, response) => json(response, 400, { jsonrpc: '2.0', id: rpc.id, error }));
    const { link } = openLink(launchAt(endpoint.url));
    expect(await failureOf(link.handshake())).toBe('ERA_NEGOTIATION_FAILED');
    expect(endpoint.asked('initialize')).toEqual([]);
  });

  test('a page instead of an answer says what it is', async () => {
    const endpoint = await startEndpoint(
      (_, response) => void response.writeHead(200, { 'content-type': 'text/html' }).end('<p>'),
    );
    const { link, heard } = openLink(launchAt(endpoint.url));
    expect(await failureOf(link.handshake())).toBe('CONNECT_FAILED');
    expect(heard.lost[0]?.message).toContain('text/html');
  });
});

describe('B154: HTTP 401', () => {
  const { cases, reply } = caseFile('B154-static-header.http.json') as {
    cases: { config: { headers?: Record<string, string> } }[];
    reply: { status: number; headers: Record<string, string> };
  };

  test.each(cases)('with the configuration $config is told apart', async ({ config }) => {
    const endpoint = await startEndpoint((_, response) => void response.writeHead(reply.status, reply.headers).end());
    const { link, heard } = openLink(launchAt(endpoint.url, 'http', config.headers));
    expect(await failureOf(link.handshake())).toBe(config.headers === undefined ? 'AUTH_REQUIRED' : 'AUTH_FAILED');
    expect(heard.deaths).toEqual([false]);
    expect(JSON.stringify(heard.lost)).not.toMatch(/bad|eA==/);
    expect(endpoint.seen).toHaveLength(1);
  });
});

describe('a session', () => {
  test('is named in everything after the handshake, with the revision, and ended at last', async () => {
    const endpoint = await startEndpoint(older(undefined, 's1'));
    const { link } = await openReady(launchAt(endpoint.url));
    await callTool(link, 'echo').settled;
    await vi.waitFor(() => expect(endpoint.sent('GET')).toHaveLength(1));
    expect(await link.close()).toMatchObject({ outcome: 'clean' });
    const [discover, initialize, ...rest] = endpoint.seen;
    expect([discover, initialize].map((seen) => seen?.headers['mcp-session-id'])).toEqual([undefined, undefined]);
    expect(initialize?.headers['mcp-protocol-version']).toBeUndefined();
    expect(initialize?.headers.accept).toBe('application/json, text/event-stream');
    expect(rest.map(({ headers }) => headers['mcp-session-id'])).toEqual(rest.map(() => 's1'));
    expect(rest.map(({ headers }) => headers['mcp-protocol-version'])).toEqual(rest.map(() => '2025-11-25'));
    expect(rest.map(({ method }) => method).sort()).toEqual(['DELETE', 'GET', 'POST', 'POST']);
  });

  test('B122: that is not known any more loses the link, and the call is not sent again', async () => {
    const gone = onCall((_, response) =>
      json(response, 404, { jsonrpc: '2.0', id: null, error: { code: -32_001, message: 'Session not found' } }),
    );
    const endpoint = await startEndpoint(older(gone, 's1'));
    const { link, heard } = await openReady(launchAt(endpoint.url));
    expect((await callTool(link, 'transfer').settled).problem).toMatchObject({ code: 'SESSION_EXPIRED', retryable: true });
    expect([heard.lost.map(({ code }) => code), heard.deaths]).toEqual([['SESSION_EXPIRED'], [false]]);
    expect(endpoint.asked('tools/call')).toHaveLength(1);
    expect(await link.close()).toMatchObject({ outcome: 'clean' });
    expect(endpoint.sent('DELETE')).toEqual([]);
  });

  const { cases } = caseFile('B123-session-odd-statuses.http.json') as {
    cases: { status: number; headers: Record<string, string>; body: unknown }[];
  };
  test.each(cases)('B123: HTTP $status in place of 404 is seen for what it is', async ({ status, headers, body }) => {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const gone = onCall((_, response) => void response.writeHead(status, headers).end(text));
    const endpoint = await startEndpoint(older(gone, 's1'));
    const { link, heard } = await openReady(launchAt(endpoint.url));
    const isGone = status !== 503;
    expect((await callTool(link, 'echo').settled).problem?.code).toBe(isGone ? 'SESSION_EXPIRED' : 'SERVER_ERROR');
    expect(heard.lost).toHaveLength(isGone ? 1 : 0);
    expect(endpoint.asked('initialize')).toHaveLength(1);
  });

  test('that the server does not end in time leaves the outcome unknown', async () => {
    const endpoint = await startEndpoint(older(({ method }) => method === 'DELETE', 's1'));
    const { clock, delays } = hastyClock();
    const { link } = openLink(launchAt(endpoint.url), { port: newLinkPort(clock) });
    await link.handshake();
    expect(await link.close()).toMatchObject({ outcome: 'unknown' });
    expect(delays).toContain(2_000);
  });

  test('that the server has no way to end is over all the same', async () => {
    const refuse = ({ method }: Seen, response: ServerResponse): boolean =>
      method === 'DELETE' && Boolean(response.writeHead(405).end());
    const endpoint = await startEndpoint(older(refuse, 's1'));
    const { link } = await openReady(launchAt(endpoint.url));
    expect(await link.close()).toMatchObject({ outcome: 'clean' });
  });
});

describe('the stream of announcements', () => {
  const { cases } = caseFile('B126-get-404-406-400.http.json') as { cases: number[] };
  test.each([405, ...cases])('B125 B126: refused with HTTP %d is not asked for again', async (status) => {
    const refuse = ({ method }: Seen, response: ServerResponse): boolean =>
      method === 'GET' && Boolean(response.writeHead(status).end());
    const endpoint = await startEndpoint(older(refuse, 's1'));
    const { clock } = hastyClock();
    const { link, heard } = openLink(launchAt(endpoint.url), { port: newLinkPort(clock) });
    await link.handshake();
    await vi.waitFor(() => expect(endpoint.sent('GET')).toHaveLength(1));
    for (let calls = 0; calls < 5; calls += 1) expect((await callTool(link, 'echo').settled).result).toEqual(said('done'));
    expect([endpoint.sent('GET').length, heard.lost]).toEqual([1, []]);
  });

  test('brings announcements and questions, which are answered; and is taken up where it broke', async () => {
    let streams = 0;
    const changed = { jsonrpc: '2.0', method: 'notifications/tools/list_changed' };
    const endpoint = await startEndpoint(
      older(({ method }, response) => {
        if (method !== 'GET') return false;
        streams += 1;
        if (streams === 1) {
          stream(response, eventOf(changed, 'e1'), 'retry: 1234\n\n');
          response.end();
        } else
          stream(
            response,
            eventOf({ jsonrpc: '2.0', id: 7, method: 'roots/list' }),
            eventOf({ jsonrpc: '2.0', id: 8, method: 'ping' }),
          );
        return true;
      }),
    );
    // The wait before coming back passes by itself; the answers get the time they are given.
    const { clock: hasty, delays } = hastyClock();
    const setTimeout: typeof hasty.setTimeout = (fire, delayMs) =>
      (delayMs === NOTICE_TIMEOUT_MS ? systemClock : hasty).setTimeout(fire, delayMs);
    const { link, heard } = openLink(launchAt(endpoint.url), { port: newLinkPort({ ...hasty, setTimeout }) });
    await link.handshake();
    await vi.waitFor(() => expect(endpoint.seen.filter(({ rpc }) => rpc.id === 7 || rpc.id === 8)).toHaveLength(2));
    const answers = endpoint.seen.filter(({ rpc }) => rpc.id === 7 || rpc.id === 8).map(({ rpc }) => rpc);
    // None were declared, and whoever asks all the same learns of none.
    expect(answers).toContainEqual({ jsonrpc: '2.0', id: 7, result: { roots: [] } });
    expect(answers).toContainEqual(expect.objectContaining({ id: 8, result: {} }));
    expect(heard.changed).toEqual(['tools']);
    expect(endpoint.sent('GET').map(({ headers }) => headers['last-event-id'])).toEqual([undefined, 'e1']);
    expect(delays).toContain(1_234);
  });

  test('that cannot be had again loses the link after so many attempts', async () => {
    const endpoint = await startEndpoint(
      older(({ method }, response) => {
        if (method !== 'GET') return false;
        if (endpoint.sent('GET').length > 1) response.writeHead(503).end();
        else {
          stream(response);
          response.end(': hello\n\n');
        }
        return true;
      }),
    );
    const { clock, delays } = hastyClock();
    const { link, heard } = openLink(launchAt(endpoint.url), { port: newLinkPort(clock) });
    await link.handshake();
    await vi.waitFor(() => expect(heard.lost.map(({ code }) => code)).toEqual(['LINK_LOST']));
    expect([heard.deaths, endpoint.sent('GET').length]).toEqual([[false], 6]);
    expect(delays.filter((delayMs) => delayMs >= 1_000)).toEqual([1_000, 2_000, 4_000, 8_000, 16_000]);
  });
});
