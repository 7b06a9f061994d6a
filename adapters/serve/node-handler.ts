import type { IncomingMessage, ServerResponse } from 'node:http';
import { answerError } from './error-answer.js';
import type { McpFetch } from './mcp-fetch.js';

/**
 * Lets Node's requests be answered by what answers those of the web. The body is no part of the request: a message was read
 * before and comes along. The request's signal is aborted when the client goes away. Settles when the answer is handed to the
 * system, or nobody is left to read it; rejects when the answer breaks off, with the connection left for the caller to end.
 */
export function createNodeHandler({ fetch }: Pick<McpFetch, 'fetch'>) {
  return async (request: IncomingMessage, response: ServerResponse, message: object | undefined): Promise<void> => {
    const gone = new AbortController();
    const leave = (): void => gone.abort();
    response.once('close', leave);
    if (response.destroyed) leave();
    try {
      await send(await answered(fetch, request, message, gone.signal), response, gone.signal);
    } finally {
      response.off('close', leave);
    }
  };
}

async function answered(
  fetch: McpFetch['fetch'],
  request: IncomingMessage,
  message: object | undefined,
  signal: AbortSignal,
): Promise<Response> {
  try {
    return await fetch(webRequest(request, signal), message);
  } catch {
    return answerError(500, -32_603, 'Internal error');
  }
}

/** Whoever listens checked the host; without one the request has no address. */
function webRequest({ method = 'GET', url = '/', headers }: IncomingMessage, signal: AbortSignal): Request {
  const fields = Object.entries(headers).flatMap(([name, value]) =>
    [value ?? []].flat().map((one): [string, string] => [name, one]),
  );
  return new Request(`http://${headers.host ?? 'localhost'}${url}`, { method, headers: fields, signal });
}

async function send({ status, headers, body }: Response, response: ServerResponse, signal: AbortSignal): Promise<void> {
  if (signal.aborted) {
    await body?.cancel();
    return;
  }
  // A list of pairs: cookies are several headers of one name.
  response.writeHead(status, [...headers].flat());
  if (body === null) response.end();
  else if (response.req.method === 'HEAD') {
    await body.cancel();
    response.end();
  } else {
    // A stream of events may stay silent for long; its client knows at once that it is open.
    response.flushHeaders();
    await stream(body, response, signal);
  }
}

async function stream(body: NonNullable<Response['body']>, response: ServerResponse, signal: AbortSignal): Promise<void> {
  const reader = body.getReader();
  const stop = (): void => {
    // What is left of it interests nobody, nor how letting go of it went.
    reader.cancel().catch(() => undefined);
  };
  signal.addEventListener('abort', stop, { once: true });
  try {
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
      if (!response.write(piece.value)) await hasRoom(response, signal);
    }
    if (!signal.aborted) response.end();
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

/** Settles when the client has read enough, or is gone. */
function hasRoom(response: ServerResponse, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      response.off('drain', end);
      signal.removeEventListener('abort', end);
      resolve();
    };
    if (signal.aborted) end();
    response.once('drain', end);
    signal.addEventListener('abort', end, { once: true });
  });
}
