import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { text as readText } from 'node:stream/consumers';
import { createGzip } from 'node:zlib';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import {
  type Answer,
  freePort,
  json,
  older,
  onCall,
  resultOf,
  type Seen,
  said,
  startEndpoint,
} from './support/http-link-servers.js';
import { outcomeOf } from './support/outcome.js';
import { realWorkspace, textOf, type UserConfig, untilReady } from './support/real-workspace.js';

const MIB = 1_048_576;

/** A server of the older era with these tools. */
const withTools = (odd: (seen: Seen, response: ServerResponse) => unknown, ...names: string[]): Answer =>
  older((seen, response) => {
    if (seen.rpc.method !== 'tools/list') return odd(seen, response);
    json(response, 200, resultOf(seen, { tools: names.map((name) => ({ name, inputSchema: { type: 'object' } })) }));
    return true;
  });

const userOf = (url: string): UserConfig => ({ mcpServers: { web: { url, approveTools: ['*'] } as never } });

/** Answers on this port until it is stopped. */
async function serve(port: number, answer: Answer): Promise<() => Promise<void>> {
  const server = createServer((request, response) => {
    void readText(request).then((body) => {
      const { method = '', url = '', headers } = request;
      answer({ method, path: url, headers, rpc: (body === '' ? {} : JSON.parse(body)) as Seen['rpc'] }, response);
    });
  });
  const stop = async (): Promise<void> => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  onTestFinished(stop);
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return stop;
}

test('a session that a server forgets fails each open call once; the next call makes a new one, and none is sent again (B122)', async () => {
  let session = 1;
  const greeted: number[] = [];
  const hanging: ServerResponse[] = [];
  const odd = (seen: Seen, response: ServerResponse): boolean => {
    const { rpc, headers } = seen;
    const isHanging = rpc.params?.['name'] === 'hang';
    if (rpc.method === 'initialize') {
      greeted.push(session);
      const serverInfo = { name: 'web', version: '1.0.0' };
      const result = { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo };
      json(response, 200, resultOf(seen, result), { 'mcp-session-id': String(session) });
      return true;
    }
    const named = headers['mcp-session-id'];
    if (named !== undefined && named !== String(session)) response.writeHead(404).end();
    else if (isHanging) hanging.push(response);
    else return false;
    return true;
  };
  const endpoint = await startEndpoint(withTools(odd, 'hang', 'echo'));
  await using here = await realWorkspace();
  const workspace = await here.open({ user: userOf(endpoint.url) });
  await workspace.connectAll();
  await untilReady(workspace, 'web');
  const open = Array.from({ length: 3 }, () => outcomeOf(workspace.call('mcp__web__hang')));
  await vi.waitFor(() => expect(hanging).toHaveLength(3));
  session = 2;
  await expect(workspace.call('mcp__web__echo')).rejects.toMatchObject({ code: 'SESSION_EXPIRED' });
  await vi.waitFor(() => expect(open.map(({ state }) => state)).toEqual(['LINK_LOST', 'LINK_LOST', 'LINK_LOST']));
  expect(textOf(await workspace.call('mcp__web__echo'))).toBe('done');
  expect([greeted, endpoint.asked('tools/call').length]).toEqual([[1, 2], 5]);
  expect(workspace.server('web').status()).toMatchObject({ generation: 2, restarts: 0 });
});

test('an endpoint that cannot be reached is no death however often it is tried, and is of use with the first call after that', async () => {
  const port = await freePort();
  const answer = withTools(() => false, 'echo');
  const stop = await serve(port, answer);
  await using here = await realWorkspace();
  const workspace = await here.open({ user: userOf(`http://127.0.0.1:${port}/mcp`) });
  expect(textOf(await workspace.call('mcp__web__echo'))).toBe('done');
  await stop();
  // More often than a process may die.
  for (let tries = 0; tries < 8; tries += 1) {
    await expect(workspace.call('mcp__web__echo', {}, { timeoutMs: 100 })).rejects.toBeDefined();
  }
  const { phase, restarts, error } = workspace.server('web').status();
  expect([phase, restarts, error?.code]).toEqual(['idle', 0, 'CONNECT_FAILED']);
  await serve(port, answer);
  expect(textOf(await workspace.call('mcp__web__echo'))).toBe('done');
});

describe('an answer without an end', () => {
  /** 300 MiB in one event. */
  async function pour(into: NodeJS.WritableStream, response: ServerResponse): Promise<void> {
    const closed = once(response, 'close');
    const block = Buffer.alloc(MIB, 'x');
    into.write('data: ');
    for (let sent = 0; sent < 300 && !response.destroyed; sent += 1) {
      if (!into.write(block)) await Promise.race([once(into, 'drain'), closed]);
    }
  }

  test.each([
    ['as it is (S158)', {}],
    ['compressed a thousandfold (S167)', { 'content-encoding': 'gzip' }],
  ])('%s is cut at its cap with the memory flat, and its server is of use to the next call', async (_, coding) => {
    const odd = onCall(async (seen, response) => {
      if (seen.rpc.params?.['name'] === 'echo') {
        json(response, 200, resultOf(seen, said('here')));
        return;
      }
      response.writeHead(200, { 'content-type': 'text/event-stream', ...coding });
      if (!('content-encoding' in coding)) {
        await pour(response, response);
        return;
      }
      const gzip = createGzip();
      gzip.pipe(response);
      await pour(gzip, response);
      gzip.destroy();
    });
    const endpoint = await startEndpoint(withTools(odd, 'flood', 'echo'));
    await using here = await realWorkspace();
    const workspace = await here.open({ user: userOf(endpoint.url) });
    await workspace.connectAll();
    await untilReady(workspace, 'web');
    const before = process.memoryUsage().rss;
    let peak = before;
    const meter = setInterval(() => {
      peak = Math.max(peak, process.memoryUsage().rss);
    }, 5);
    await expect(workspace.call('mcp__web__flood')).rejects.toMatchObject({ code: 'MESSAGE_TOO_LARGE' });
    clearInterval(meter);
    // What it may hold of one message is 64 MiB.
    expect(peak - before).toBeLessThan(256 * MIB);
    expect(textOf(await workspace.call('mcp__web__echo'))).toBe('here');
    expect(workspace.server('web').status()).toMatchObject({ phase: 'ready', generation: 1 });
  });
});
