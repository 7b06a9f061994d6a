import type { ServerResponse } from 'node:http';
import { describe, expect, test, vi } from 'vitest';
import { caseFile } from './support/case-file.js';
import {
  eventOf,
  hastyClock,
  json,
  launchAt,
  newer,
  older,
  onCall,
  resultOf,
  type Seen,
  said,
  startEndpoint,
  stream,
} from './support/http-link-servers.js';
import { ask, callTool, newLinkPort, openLink, openReady } from './support/stdio-harness.js';

describe('the answer to a notification', () => {
  const { cases } = caseFile('B136-notification-replies.http.json') as {
    cases: { status: number; headers: Record<string, string>; body: string }[];
  };
  test.each(cases)('B136: HTTP $status with $headers and "$body" is a yes', async ({ status, headers, body }) => {
    const odd = ({ rpc }: Seen, response: ServerResponse): boolean => {
      if (rpc.method !== 'notifications/initialized') return false;
      response.writeHead(status, headers).end(status === 204 ? undefined : body);
      return true;
    };
    const endpoint = await startEndpoint(older(odd));
    const { link } = openLink(launchAt(endpoint.url));
    expect((await link.handshake()).era).toBe('legacy');
  });

  test('comes before the first request of ours is sent', async () => {
    let accept: () => void = () => undefined;
    const odd = ({ rpc }: Seen, response: ServerResponse): boolean => {
      if (rpc.method !== 'notifications/initialized') return false;
      accept = () => void response.writeHead(202).end();
      return true;
    };
    const endpoint = await startEndpoint(older(odd));
    const { link } = openLink(launchAt(endpoint.url));
    let isMade = false;
    const made = link.handshake().then(() => {
      isMade = true;
    });
    await vi.waitFor(() => expect(endpoint.asked('notifications/initialized')).toHaveLength(1));
    expect(isMade).toBe(false);
    accept();
    await made;
  });
});

describe('a handshake', () => {
  test('B032: with the number of its request given back as a string has its session', async () => {
    const odd = (seen: Seen, response: ServerResponse): boolean => {
      if (seen.rpc.method !== 'initialize') return false;
      const serverInfo = { name: 'older', version: '1.0.0' };
      const result = { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo };
      json(response, 200, { ...resultOf(seen, result), id: String(seen.rpc.id) }, { 'mcp-session-id': 's1' });
      return true;
    };
    const endpoint = await startEndpoint(older(odd));
    const { link, heard } = await openReady(launchAt(endpoint.url));
    expect((await callTool(link, 'echo').settled).result).toEqual(said('done'));
    expect(endpoint.asked('tools/call')[0]?.headers['mcp-session-id']).toBe('s1');
    expect(heard.lost).toEqual([]);
  });

  test.each([200, 400])('B049: with an error in HTTP %d that names no request goes on in the older way', async (status) => {
    const error = { code: -32_600, message: 'Invalid Request' };
    const odd = ({ rpc }: Seen, response: ServerResponse): boolean => {
      if (rpc.method !== 'server/discover') return false;
      json(response, status, { jsonrpc: '2.0', id: null, error });
      return true;
    };
    const endpoint = await startEndpoint(older(odd));
    const { link } = openLink(launchAt(endpoint.url));
    expect((await link.handshake()).era).toBe('legacy');
  });
});

describe('a call', () => {
  test('whose stream ends without an answer fails alone, as one that may have had its effect', async () => {
    let calls = 0;
    const odd = onCall((seen, response) => {
      calls += 1;
      stream(response, ...(calls === 1 ? [] : [eventOf(resultOf(seen, said('second')))]));
      response.end();
    });
    const endpoint = await startEndpoint(older(odd));
    const { link, heard } = await openReady(launchAt(endpoint.url));
    expect((await callTool(link, 'echo').settled).problem).toMatchObject({ code: 'LINK_LOST', retryable: true });
    expect((await callTool(link, 'echo').settled).result).toEqual(said('second'));
    expect([endpoint.asked('tools/call').length, heard.lost]).toEqual([2, []]);
  });

  test('B134: whose stream broke behind an event is asked for once, after the time the server wants, and answered once', async () => {
    const { post, get } = caseFile('B134-resume.http.json') as { post: { bodyThenClose: string }; get: { body: string } };
    const odd = (seen: Seen, response: ServerResponse): boolean => {
      if (seen.rpc.method === 'tools/call') {
        stream(response);
        response.end(post.bodyThenClose);
        return true;
      }
      if (seen.method !== 'GET' || seen.headers['last-event-id'] === undefined) return false;
      stream(response);
      response.end(get.body.replaceAll('"id":1,', '"id":"c1",'));
      return true;
    };
    const endpoint = await startEndpoint(older(odd));
    const { clock, delays } = hastyClock();
    const { link } = openLink(launchAt(endpoint.url), { port: newLinkPort(clock) });
    await link.handshake();
    expect((await callTool(link, 'echo').settled).result).toEqual({ tools: [] });
    expect(endpoint.sent('GET').filter(({ headers }) => headers['last-event-id'] === 'e1')).toHaveLength(1);
    expect(delays).toContain(1_500);
    await vi.waitFor(() => expect(link.diagnosis().lateAnswers).toBe(1));
  });

  test('whose stream can be taken up again only in a session that is gone may have had its effect, and the link is lost', async () => {
    const odd = (seen: Seen, response: ServerResponse): boolean => {
      if (seen.rpc.method === 'tools/call') {
        stream(response, 'id: e1\ndata:\n\n');
        response.end();
        return true;
      }
      if (seen.headers['last-event-id'] === undefined) return false;
      response.writeHead(404).end();
      return true;
    };
    const endpoint = await startEndpoint(older(odd, 's1'));
    const { link, heard } = openLink(launchAt(endpoint.url), { port: newLinkPort(hastyClock().clock) });
    await link.handshake();
    expect((await callTool(link, 'echo').settled).problem?.code).toBe('LINK_LOST');
    expect([heard.lost.map(({ code }) => code), heard.deaths]).toEqual([['SESSION_EXPIRED'], [false]]);
  });

  test('that is answered on the stream of announcements has its own stream let go of', async () => {
    let announcements: ServerResponse | null = null;
    let hasEnded = false;
    const odd = (seen: Seen, response: ServerResponse): boolean => {
      if (seen.method === 'GET') {
        announcements = response;
        stream(response, ': here\n\n');
      } else if (seen.rpc.method === 'tools/call') {
        stream(response, ': wait\n\n');
        response.on('close', () => {
          hasEnded = true;
        });
        announcements?.write(eventOf(resultOf(seen, said('elsewhere'))));
      } else return false;
      return true;
    };
    const endpoint = await startEndpoint(older(odd, 's1'));
    const { link, heard } = openLink(launchAt(endpoint.url), { port: newLinkPort(hastyClock().clock) });
    await link.handshake();
    await vi.waitFor(() => expect(announcements).not.toBeNull());
    expect((await callTool(link, 'echo').settled).result).toEqual(said('elsewhere'));
    await vi.waitFor(() => expect(hasEnded).toBe(true));
    expect([heard.lost, link.diagnosis().lateAnswers]).toEqual([[], 0]);
  });

  test('B134: of the newer era is never taken up again', async () => {
    const odd = onCall((_, response) => {
      stream(response, 'id: e1\ndata:\n\n');
      response.end();
    });
    const endpoint = await startEndpoint(newer(odd));
    const { link } = await openReady(launchAt(endpoint.url));
    expect((await callTool(link, 'echo').settled).problem?.code).toBe('LINK_LOST');
    expect(endpoint.sent('GET')).toEqual([]);
  });

  test.each([
    [500, 'SERVER_ERROR'],
    [503, 'SERVER_ERROR'],
    [429, 'OVERLOADED'],
    [403, 'AUTH_FAILED'],
    [400, 'SERVER_ERROR'],
    [202, 'SERVER_ERROR'],
  ])('answered with HTTP %d fails alone with %s', async (status, code) => {
    const endpoint = await startEndpoint(older(onCall((_, response) => void response.writeHead(status).end())));
    const { link, heard } = await openReady(launchAt(endpoint.url));
    expect((await callTool(link, 'echo').settled).problem?.code).toBe(code);
    expect((await ask(link, 'ping').settled).result).toEqual(said('done'));
    expect(heard.lost).toEqual([]);
  });

  test.each(['text/plain', 'text/html; charset=utf-8', 'application/json'])(
    'answered with %s that is no answer is invalid',
    async (type) => {
      const odd = onCall((_, response) => void response.writeHead(200, { 'content-type': type }).end('{"hello":1}'));
      const endpoint = await startEndpoint(older(odd));
      const { link } = await openReady(launchAt(endpoint.url));
      expect((await callTool(link, 'echo').settled).problem?.code).toBe('RESULT_INVALID');
    },
  );

  test('refused by a body of HTTP 400 without an id gets that error as its own', async () => {
    const error = { code: -32_602, message: 'no such tool' };
    const odd = onCall((_, response) => json(response, 400, { jsonrpc: '2.0', id: null, error }));
    const { link } = await openReady(launchAt((await startEndpoint(newer(odd))).url));
    expect(await callTool(link, 'echo').settled).toMatchObject({
      problem: { code: 'SERVER_ERROR', message: 'no such tool' },
      cause: { code: -32_602 },
    });
  });

  test('B039: cancelled in the older era is told to the server once, and its request ended', async () => {
    let hasEnded = false;
    const odd = onCall((_, response) => {
      stream(response, ': wait\n\n');
      response.on('close', () => {
        hasEnded = true;
      });
    });
    const endpoint = await startEndpoint(older(odd, 's1'));
    const { link } = await openReady(launchAt(endpoint.url));
    const { id } = callTool(link, 'echo');
    await vi.waitFor(() => expect(endpoint.asked('tools/call')).toHaveLength(1));
    link.forget(id, () => undefined);
    await link.notifyCancelled(id, 'not needed');
    await vi.waitFor(() => expect(hasEnded).toBe(true));
    expect(endpoint.asked('notifications/cancelled').map(({ rpc }) => rpc.params)).toEqual([
      { requestId: id, reason: 'not needed' },
    ]);
  });
});
