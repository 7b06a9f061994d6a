import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { ClockPort } from '../../actors/ports.js';
import { HTTP_LIMITS, type HttpLimits } from './http-limits.js';
import { createMcpFetch } from './mcp-fetch.js';
import { createNodeHandler } from './node-handler.js';
import { readMessage } from './request-body.js';
import { ENDPOINT_PATH, type Refusal, refusalOf } from './request-guard.js';
import type { Surface } from './served-workspace.js';
import { followTools } from './tool-changes.js';

export interface HttpDoorOptions extends Surface {
  /** 0 for one that is free. */
  readonly port: number;
  readonly token: string;
  readonly clock: ClockPort;
  readonly nonce: () => string;
  readonly limits?: Partial<HttpLimits>;
}

export interface HttpDoor {
  readonly port: number;
  readonly url: string;
  /** Withdraws what is open and settles when no socket, timer or stream of the door is left. */
  close(): Promise<void>;
}

const HOST = '127.0.0.1';
/** How often Node looks for requests that take too long. */
const CHECK_MS = 500;

/**
 * Serves any number of clients of both eras on this machine's own address and no other. Rejects with the system's error when
 * the port cannot be had.
 */
export async function openHttpDoor(options: HttpDoorOptions): Promise<HttpDoor> {
  const { workspace, clock, nonce, isDirect, token } = options;
  const limits = { ...HTTP_LIMITS, ...options.limits };
  const mcp = createMcpFetch({ surface: options, limits, clock, nonce });
  const handle = createNodeHandler(mcp);
  const server = createServer({
    maxHeaderSize: limits.headerBytesMax,
    headersTimeout: limits.headersTimeoutMs,
    requestTimeout: limits.requestTimeoutMs,
    keepAliveTimeout: limits.keepAliveTimeoutMs,
    connectionsCheckingInterval: CHECK_MS,
  });
  server.maxConnections = limits.connectionsMax;
  const port = await listen(server, options.port);

  const answer = async (request: IncomingMessage, response: ServerResponse, goOn: () => void): Promise<void> => {
    const { method = '', url: target = '', headersDistinct: headers } = request;
    const refusal = refusalOf({ method, target, headers }, port, token) ?? bodyRefusal(request);
    if (refusal !== null) {
      refuse(response, refusal);
      return;
    }
    if (method !== 'POST') return handle(request, response, undefined);
    goOn();
    const body = await readMessage(request, Number(request.headers['content-length'] ?? 0), limits.bodyBytesMax);
    if (body.refusal === undefined) await handle(request, response, body.message);
    else refuse(response, body.refusal);
  };
  const serve = (request: IncomingMessage, response: ServerResponse, goOn: () => void): void => {
    // A client that goes away in the middle of its request is no error of ours.
    answer(request, response, goOn).catch(() => response.destroy());
  };
  server.on('request', (request, response) => serve(request, response, () => undefined));
  // Who wants to be asked for its body first is asked for it only once it has shown its token.
  server.on('checkContinue', (request, response) => serve(request, response, () => response.writeContinue()));

  // Node would answer this one by itself, unauthorised.
  server.on('checkExpectation', (request, response) => serve(request, response, () => undefined));

  const unfollow = isDirect ? followTools(workspace, clock, () => mcp.announceTools()) : () => undefined;
  return {
    port,
    url: `http://${HOST}:${port}${ENDPOINT_PATH}`,
    close: async () => {
      unfollow();
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      await mcp.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

function listen(server: Server, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host: HOST, port }, () => {
      server.off('error', reject);
      const address = server.address();
      resolve(typeof address === 'object' && address !== null ? address.port : port);
    });
  });
}

/** A form of a web page can send text and multipart unasked, and JSON only after it was let. Only a message has a body. */
function bodyRefusal({ method, headers }: IncomingMessage): Refusal | null {
  if (method !== 'POST') {
    const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) !== 0;
    return hasBody ? { status: 413, message: `${String(method)} takes no body` } : null;
  }
  const type = headers['content-type']?.split(';')[0]?.trim().toLowerCase();
  return type === 'application/json' ? null : { status: 415, message: 'Content-Type must be application/json' };
}

/** Ends the connection too: what is left of the request is not read. */
function refuse(response: ServerResponse, { status, message, code = -32_000, headers = {} }: Refusal): void {
  response.writeHead(status, {
    'Content-Type': 'application/json',
    'Cache-Control': 'no-store',
    Connection: 'close',
    ...headers,
  });
  response.end(JSON.stringify({ jsonrpc: '2.0', error: { code, message }, id: null }));
}
