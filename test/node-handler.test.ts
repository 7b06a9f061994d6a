import { once } from 'node:events';
import { createServer, request as httpRequest, type IncomingMessage } from 'node:http';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createNodeHandler } from '../adapters/serve/node-handler.js';

interface Stand {
  readonly port: number;
  /** How each request ended: `done`, or that its answer broke off. */
  readonly ends: string[];
}

type Answer = (request: Request, message: unknown) => Response | Promise<Response>;

/** A server on a free port that answers every request with `answer`, until the test ends. */
async function stand(answer: Answer, message?: object): Promise<Stand> {
  const handle = createNodeHandler({ fetch: async (request, given) => answer(request, given) });
  const ends: string[] = [];
  const server = createServer((request, response) => {
    handle(request, response, message).then(
      () => ends.push('done'),
      () => {
        ends.push('broken');
        response.destroy();
      },
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return { port: address.port, ends };
}

async function ask(
  { port }: Stand,
  options: { readonly method?: string; readonly headers?: object } = {},
): Promise<IncomingMessage> {
  const headers = { ...options.headers };
  const sent = httpRequest({ host: '127.0.0.1', port, path: '/mcp', method: options.method ?? 'GET', headers, agent: false });
  sent.on('error', () => undefined);
  sent.end();
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  return answer;
}

async function textOf(answer: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of answer.setEncoding('utf8')) text += String(chunk);
  return text;
}

test('a request arrives with its method, address, headers and the message that was read before', async () => {
  const message = { jsonrpc: '2.0', method: 'ping', id: 1 };
  const seen: unknown[] = [];
  const on = await stand((request, given) => {
    seen.push(request.method, request.url, request.headers.get('x-one'), request.headers.get('x-two'), request.body, given);
    return Response.json({ ok: true }, { status: 202 });
  }, message);
  const answer = await ask(on, { method: 'POST', headers: { 'X-One': '1', 'X-Two': ['a', 'b'] } });
  expect(answer.statusCode).toBe(202);
  expect(await textOf(answer)).toBe('{"ok":true}');
  expect(seen).toEqual(['POST', `http://127.0.0.1:${on.port}/mcp`, '1', 'a, b', null, message]);
});

test('every cookie keeps a header of its own', async () => {
  const headers = new Headers([
    ['Set-Cookie', 'a=1, x'],
    ['Set-Cookie', 'b=2'],
    ['X-Other', 'c'],
  ]);
  const answer = await ask(await stand(() => new Response('', { headers })));
  expect(answer.headers['set-cookie']).toEqual(['a=1, x', 'b=2']);
  expect(answer.headers['x-other']).toBe('c');
});

test.each([204, 304])('%i has no body', async (status) => {
  const on = await stand(() => new Response(null, { status }));
  const answer = await ask(on);
  expect(answer.statusCode).toBe(status);
  expect(await textOf(answer)).toBe('');
});

test('HEAD has the headers alone, and what would have made the body is told to stop', async () => {
  const cancelled = vi.fn();
  const on = await stand(() => new Response(new ReadableStream({ cancel: cancelled }), { headers: { 'X-A': 'b' } }));
  const answer = await ask(on, { method: 'HEAD' });
  expect(answer.headers['x-a']).toBe('b');
  expect(await textOf(answer)).toBe('');
  expect(cancelled).toHaveBeenCalledTimes(1);
});

test('a stream is open for its client before its first event, and each event comes at once', async () => {
  let feed: ReadableStreamDefaultController<Uint8Array> | undefined;
  const body = new ReadableStream<Uint8Array>({ start: (controller) => void (feed = controller) });
  const on = await stand(() => new Response(body, { headers: { 'Content-Type': 'text/event-stream' } }));
  const answer = await ask(on);
  expect(answer.headers['content-type']).toBe('text/event-stream');
  feed?.enqueue(Buffer.from('data: 1\n\n'));
  expect(String((await once(answer, 'data'))[0])).toBe('data: 1\n\n');
  feed?.close();
  await once(answer, 'end');
  await vi.waitFor(() => expect(on.ends).toEqual(['done']));
});

test('a client that reads nothing is sent no more than the system holds, and all of it once it reads', async () => {
  const [piece, pieces] = [Buffer.alloc(64 * 1_024, 'x'), 1_000];
  let made = 0;
  const body = new ReadableStream<Uint8Array>({
    pull: (controller) => {
      if (made === pieces) controller.close();
      else controller.enqueue(piece);
      made += made === pieces ? 0 : 1;
    },
  });
  const on = await stand(() => new Response(body));
  const answer = await ask(on);
  answer.pause();
  // It stands still when nothing was made from one look to the next ones.
  let before = -1;
  await vi.waitFor(
    () => {
      const isStill = made === before;
      before = made;
      expect(isStill).toBe(true);
    },
    { interval: 200, timeout: 10_000 },
  );
  expect(made).toBeLessThan(pieces);
  let bytes = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) bytes += chunk.byteLength;
  expect(bytes).toBe(piece.byteLength * pieces);
});

test('a client that goes away aborts its request and ends the stream, however silent', async () => {
  const cancelled = vi.fn();
  let signal: AbortSignal | undefined;
  const on = await stand((request) => {
    signal = request.signal;
    return new Response(new ReadableStream({ cancel: cancelled }));
  });
  const answer = await ask(on);
  answer.on('error', () => undefined);
  expect(signal?.aborted).toBe(false);
  answer.destroy();
  await vi.waitFor(() => expect(on.ends).toEqual(['done']));
  expect(signal?.aborted).toBe(true);
  expect(cancelled).toHaveBeenCalledTimes(1);
});

test('a client that goes away before there is an answer gets none, and its request is aborted', async () => {
  const cancelled = vi.fn();
  const started = vi.fn();
  const on = await stand(async (request) => {
    started();
    await once(request.signal, 'abort');
    return new Response(new ReadableStream({ cancel: cancelled }));
  });
  const sent = httpRequest({ host: '127.0.0.1', port: on.port, path: '/mcp', agent: false });
  sent.on('error', () => undefined);
  sent.end();
  await vi.waitFor(() => expect(started).toHaveBeenCalled());
  sent.destroy();
  await vi.waitFor(() => expect(on.ends).toEqual(['done']));
  expect(cancelled).toHaveBeenCalledTimes(1);
});

test('what cannot be answered is a 500 that says nothing more', async () => {
  const on = await stand(() => Promise.reject(new Error('a secret')));
  const answer = await ask(on);
  expect(answer.statusCode).toBe(500);
  expect(await textOf(answer)).toBe('{"jsonrpc":"2.0","error":{"code":-32603,"message":"Internal error"},"id":null}');
});

test('an answer that breaks off after its headers does not look like a whole one', async () => {
  let fail: ((error: Error) => void) | undefined;
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => {
      controller.enqueue(Buffer.from('half'));
      fail = (error) => controller.error(error);
    },
  });
  const on = await stand(() => new Response(body));
  const answer = await ask(on);
  expect(String((await once(answer, 'data'))[0])).toBe('half');
  fail?.(new Error('broken'));
  await expect(textOf(answer)).rejects.toMatchObject({ code: 'ECONNRESET' });
  expect(on.ends).toEqual(['broken']);
});
