import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Socket, type Server as TcpServer } from 'node:net';
import { onTestFinished } from 'vitest';
import type { GuardedEndpoint, GuardedFetch, GuardedRequest } from '../../actors/wire-ports.js';
import { createHttpPort, type HttpPortOptions } from '../../adapters/http/guarded-http.js';

/** What a server saw of one request. */
export interface Seen {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

export interface HttpServer {
  readonly port: number;
  readonly origin: string;
  readonly seen: readonly Seen[];
  /** Every connection there ever was. */
  readonly sockets: readonly Socket[];
  /** The connections the other side has not ended. */
  open(): number;
  /** Ends it before the test does. */
  stop(): Promise<void>;
}

type Answer = (request: Seen, response: Parameters<RequestListener>[1]) => void;

/** A real HTTP server on this machine for the running test. */
export async function httpServer(answer: Answer, listen: { server?: Server; host?: string } = {}): Promise<HttpServer> {
  const seen: Seen[] = [];
  const server = listen.server ?? createServer();
  server.on('request', (request: IncomingMessage, response: Parameters<RequestListener>[1]) => {
    const pieces: Buffer[] = [];
    request.on('data', (piece: Buffer) => pieces.push(piece));
    request.on('end', () => {
      const { method = '', url = '', headers } = request;
      const one = { method, url, headers, body: Buffer.concat(pieces).toString() };
      seen.push(one);
      answer(one, response);
    });
  });
  return { ...(await listening(server, listen.host)), seen };
}

/** A server that speaks whatever it likes over TCP. */
export async function tcpServer(talk: (socket: Socket) => void): Promise<Omit<HttpServer, 'seen'>> {
  const server = createTcpServer((socket) => {
    // A socket nobody reads never learns that the other side is gone.
    socket.resume();
    talk(socket);
  });
  return listening(server);
}

async function listening(server: TcpServer, host = '127.0.0.1'): Promise<Omit<HttpServer, 'seen'>> {
  const sockets: Socket[] = [];
  server.on('connection', (socket: Socket) => {
    sockets.push(socket);
    socket.on('error', () => undefined);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, host, resolve);
  });
  const stop = async (): Promise<void> => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  };
  onTestFinished(stop);
  const { port } = server.address() as AddressInfo;
  const open = (): number => sockets.filter((socket) => !socket.destroyed && !socket.readableEnded).length;
  return { port, origin: `http://${host.includes(':') ? `[${host}]` : host}:${port}`, sockets, open, stop };
}

/** A port for the running test, and what it takes to reach one endpoint through it. */
export function guarded(
  url: string,
  options: Partial<HttpPortOptions> & { endpoint?: Partial<GuardedEndpoint> } = {},
): { guard: GuardedFetch; close: () => Promise<void>; get: GuardedFetch['request'] } {
  const { endpoint, ...rest } = options;
  const port = createHttpPort({ env: {}, ...rest });
  onTestFinished(() => port.close());
  const guard = port.guard({ url, headers: {}, isPlaintextAllowed: false, ...endpoint });
  return { guard, close: () => port.close(), get: (path, request) => guard.request(path, request) };
}

export const GET: GuardedRequest = { method: 'GET' };
export const POST: GuardedRequest = { method: 'POST', body: '{"id":1}', headers: { 'content-type': 'application/json' } };
