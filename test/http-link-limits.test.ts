import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import type { GuardedResponse } from '../actors/wire-ports.js';
import { HttpEndpoint, NOTICE_TIMEOUT_MS, REQUESTS_MAX } from '../adapters/links/http-endpoint.js';
import type { Message } from '../adapters/links/message.js';
import { MessageReader } from '../adapters/links/message-reader.js';
import { RESUME, StreamPosition } from '../adapters/links/resumption.js';
import { FRAME_LIMITS } from '../adapters/shared/frame-splitter.js';
import { systemClock } from '../adapters/system-clock.js';
import { caseFile } from './support/case-file.js';
import {
  eventOf,
  heldClock,
  launchAt,
  older,
  onCall,
  resultOf,
  type Seen,
  said,
  startEndpoint,
  stream,
} from './support/http-link-servers.js';
import { followTimers } from './support/own-timers.js';
import { ask, callTool, countPipes, newLinkPort, openLink, openReady } from './support/stdio-harness.js';

const MIB = 1_048_576;

/** An answer that came in these pieces. */
const answerOf = (type: string, pieces: readonly Uint8Array[]): GuardedResponse => ({
  status: 200,
  url: 'http://127.0.0.1/',
  header: (name) => (name === 'content-type' ? type : null),
  chunks: (async function* () {
    yield* pieces;
  })(),
  text: async () => '',
  discard: () => undefined,
});

const noFetch = {
  guard: () => ({ request: () => Promise.reject(new Error('none')), close: async () => undefined }),
  close: async () => undefined,
};

/** Reads an answer as a link does. */
async function read(type: string, pieces: readonly Uint8Array[], wants = true) {
  const endpoint = new HttpEndpoint({ http: noFetch, clock: systemClock }, launchAt('http://127.0.0.1/'));
  const reader = new MessageReader(endpoint, systemClock);
  const position = new StreamPosition();
  const messages: Message[] = [];
  const source = { abort: new AbortController(), position, wants: () => wants };
  for await (const message of reader.read(answerOf(type, pieces), source)) messages.push(message);
  return { messages, noise: reader.noiseLines, lastEventId: position.lastEventId, retryMs: position.nextDelayMs() };
}

describe('a stream of events', () => {
  const files = ['B128-crlf.sse', 'B130-comments.sse', 'B131-priming.sse', 'B132-heartbeat.sse', 'B133-multiline.sse'];
  test.each(files)('%s is read as it was meant, however it is cut', async (file) => {
    const bytes = readFileSync(join(import.meta.dirname, 'cases', file));
    const expected = caseFile(`${file}.expect.json`) as {
      messages: number;
      noise?: number;
      lastEventId?: string;
      retryMs?: number;
    };
    for (const size of [1, 2, 3, 7, bytes.length]) {
      const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
        bytes.subarray(index * size, (index + 1) * size),
      );
      const { messages, noise, lastEventId, retryMs } = await read('text/event-stream', pieces);
      expect([messages.length, noise]).toEqual([expected.messages, expected.noise ?? 0]);
      if (expected.lastEventId !== undefined) expect(lastEventId).toBe(expected.lastEventId);
      if (expected.retryMs !== undefined) expect(retryMs).toBe(expected.retryMs);
    }
  });

  test.each(['\n', '\r', '\r\n'])('is read as soon as an event has ended in %j', async (end) => {
    const odd = onCall((seen, response) => stream(response, `data: ${JSON.stringify(resultOf(seen, said('here')))}${end}${end}`));
    const { link } = await openReady(launchAt((await startEndpoint(older(odd))).url));
    expect((await callTool(link, 'echo').settled).result).toEqual(said('here'));
  });

  test('that ends at once is not asked for in a circle, whatever it says of coming back', async () => {
    const { retryMs } = await read('text/event-stream', [Buffer.from('retry: 0\n\n')]);
    expect(retryMs).toBe(RESUME.delayMsMin);
  });

  test('with a byte order mark and characters cut in the middle is read', async () => {
    const bytes = Buffer.from(`\ufeff${eventOf({ jsonrpc: '2.0', method: 'x', params: { text: '🗂 寸止' } })}`);
    const { messages } = await read(
      'text/event-stream',
      [...bytes].map((byte) => Uint8Array.of(byte)),
    );
    expect(messages[0]?.body['params']).toEqual({ text: '🗂 寸止' });
  });

  test.each(['\n', '\r', '\r\n'])(
    'S158: counts an event from where the last one ended, with lines that end in %j',
    async (end) => {
      const event = `data: ${JSON.stringify({ jsonrpc: '2.0', method: 'x', params: { text: 'x'.repeat(300_000) } })}${end}${end}`;
      const bytes = Buffer.from(`${event}: hello${end}${end}`.repeat(8));
      expect((await read('text/event-stream', [bytes], false)).messages).toHaveLength(8);
    },
  );

  test('S158: an event of more than 1 MiB that nobody waits for is not held', async () => {
    const pieces = Array.from({ length: 32 }, () => Buffer.alloc(65_536, 'x'));
    await expect(read('text/event-stream', pieces, false)).rejects.toMatchObject({ code: 'MESSAGE_TOO_LARGE' });
  });

  test('S104 S159: a message that is too deep or holds too much is not parsed', async () => {
    for (const text of ['['.repeat(200), `[${'0,'.repeat(FRAME_LIMITS.nodesMax)}0]`]) {
      const params = `{"jsonrpc":"2.0","method":"x","params":${text}}`;
      await expect(read('text/event-stream', [Buffer.from(`data: ${params}\n\n`)])).rejects.toMatchObject({
        code: 'MESSAGE_TOO_LARGE',
      });
      await expect(read('application/json', [Buffer.from(params)])).rejects.toMatchObject({ code: 'MESSAGE_TOO_LARGE' });
    }
  });

  test('several messages in one body, as 2025-03-26 had it, are each taken', async () => {
    const body = JSON.stringify([{ jsonrpc: '2.0', id: 'a', result: {} }, { jsonrpc: '2.0', method: 'x' }, 7]);
    expect((await read('application/json; charset=utf-8', [Buffer.from(body)])).messages.map(({ kind }) => kind)).toEqual([
      'answer',
      'announcement',
    ]);
  });
});

/** Sends so many MiB, or as many as are taken; says how many were. */
async function pour(response: ServerResponse, mib: number): Promise<number> {
  const block = Buffer.alloc(MIB, 'x');
  let sent = 0;
  const closed = once(response, 'close');
  while (sent < mib && !response.destroyed) {
    sent += 1;
    if (!response.write(block)) await Promise.race([once(response, 'drain'), closed]);
  }
  return sent;
}

describe('an answer', () => {
  test.each(['text/event-stream', 'application/json'])(
    'S158: of %s without an end is cut at 64 MiB, and its call fails alone',
    async (type) => {
      let sent = 0;
      const odd = onCall(async (_, response) => {
        response.writeHead(200, { 'content-type': type });
        response.write(type === 'application/json' ? '{"jsonrpc":"2.0","result":{"text":"' : 'data: ');
        sent = await pour(response, 300);
      });
      const endpoint = await startEndpoint(older(odd));
      const { link, heard } = await openReady(launchAt(endpoint.url));
      const before = process.memoryUsage().rss;
      expect((await callTool(link, 'flood').settled).problem?.code).toBe('MESSAGE_TOO_LARGE');
      await vi.waitFor(() => expect(sent).toBeGreaterThan(0));
      expect(sent).toBeLessThan(150);
      expect(process.memoryUsage().rss - before).toBeLessThan(400 * MIB);
      expect((await ask(link, 'ping').settled).result).toEqual(said('done'));
      expect(heard.lost).toEqual([]);
    },
  );

  test('of 8 MiB reaches the call that waits for it, in either form', async () => {
    const text = 'x'.repeat(8 * MIB);
    const odd = onCall((seen, response) => {
      const answer = resultOf(seen, said(text));
      if (seen.rpc.params?.['name'] === 'stream') {
        stream(response);
        response.end(eventOf(answer));
      } else response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
    });
    const { link } = await openReady(launchAt((await startEndpoint(older(odd))).url));
    for (const name of ['stream', 'json']) expect((await callTool(link, name).settled).result).toEqual(said(text));
  });

  test('that leaves its stream open is there at once, and the connection is let go of', async () => {
    let hasEnded = false;
    const odd = onCall((seen, response) => {
      response.on('close', () => {
        hasEnded = true;
      });
      stream(response, eventOf(resultOf(seen, said('here'))));
    });
    const { link } = await openReady(launchAt((await startEndpoint(older(odd))).url));
    expect((await callTool(link, 'echo').settled).result).toEqual(said('here'));
    await vi.waitFor(() => expect(hasEnded).toBe(true), { timeout: 5_000 });
  });
});

describe('a link', () => {
  test('S169: to a server that answers nothing is refused more than so many requests', async () => {
    const endpoint = await startEndpoint(older(onCall(() => undefined)));
    const { link } = await openReady(launchAt(endpoint.url));
    const calls = Array.from({ length: REQUESTS_MAX }, () => callTool(link, 'hang'));
    expect((await callTool(link, 'one too many').settled).problem?.code).toBe('BACKPRESSURE');
    for (const { id } of calls) {
      link.forget(id, () => undefined);
      await link.notifyCancelled(id, 'enough').catch(() => undefined);
    }
    expect((await ask(link, 'ping').settled).result).toEqual(said('done'));
  });

  test('S169: to a server that takes no notifications keeps no connection for each', async () => {
    let open = 0;
    const odd = ({ rpc }: Seen, response: ServerResponse): boolean => {
      if (rpc.method !== 'tools/call' && rpc.method !== 'notifications/cancelled') return false;
      open += 1;
      response.on('close', () => {
        open -= 1;
      });
      return true;
    };
    const endpoint = await startEndpoint(older(odd, 's1'));
    const { clock, expire } = heldClock(NOTICE_TIMEOUT_MS);
    const { link } = openLink(launchAt(endpoint.url), { port: newLinkPort(clock) });
    await link.handshake();
    const { id } = callTool(link, 'hang');
    await vi.waitFor(() => expect(open).toBe(1));
    link.forget(id, () => undefined);
    const told = expect(link.notifyCancelled(id, 'not needed')).rejects.toMatchObject({ code: 'LINK_LOST' });
    await vi.waitFor(() => expect(endpoint.asked('notifications/cancelled')).toHaveLength(1));
    expire();
    await told;
    await vi.waitFor(() => expect(open).toBe(0));
  });

  test('S169: is refused more bytes than a server takes', async () => {
    const endpoint = await startEndpoint(older(onCall(() => undefined)));
    const { link } = await openReady(launchAt(endpoint.url));
    callTool(link, 'hang', { text: 'x'.repeat(5 * MIB) });
    expect((await callTool(link, 'echo').settled).problem?.code).toBe('BACKPRESSURE');
  });

  test('that is closed in the middle of everything leaves no socket and no timer, and says nothing more', async () => {
    const timers = followTimers();
    const pipes = countPipes();
    const odd = (seen: Seen, response: ServerResponse): boolean => {
      if (seen.method !== 'GET' && seen.rpc.method !== 'tools/call') return false;
      stream(response, 'id: 1\nretry: 60000\ndata:\n\n');
      if (seen.rpc.params?.['name'] === 'broken') response.end();
      return true;
    };
    const endpoint = await startEndpoint(older(odd, 's1'));
    const { link, heard } = await openReady(launchAt(endpoint.url));
    let replies = 0;
    const reply = { result: () => (replies += 1), failed: () => (replies += 1), progress: () => undefined };
    for (const name of ['open', 'broken']) link.request('tools/call', { name }, reply);
    await vi.waitFor(() =>
      expect(endpoint.seen.filter(({ method, rpc }) => method === 'GET' || rpc.method === 'tools/call')).toHaveLength(3),
    );
    expect(await link.close()).toMatchObject({ outcome: 'clean' });
    await endpoint.close();
    expect([replies, heard.lost]).toEqual([0, []]);
    expect(timers.running()).toEqual([]);
    timers.stop();
    await vi.waitFor(() => expect(countPipes()).toBeLessThanOrEqual(pipes));
  });
});
