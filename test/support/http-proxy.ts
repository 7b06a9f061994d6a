import { createServer } from 'node:http';
import { connect, type Server } from 'node:net';
import { type HttpServer, httpServer } from './http-fixtures.js';

export interface ProxyServer extends HttpServer {
  /** What was asked of `CONNECT`, and with which credentials. */
  readonly tunnels: readonly { readonly authority: string; readonly authorization: string | undefined }[];
}

/** A proxy that leads every tunnel to one server of this machine, whatever name was asked for, and answers other requests itself. */
export async function proxyServer(
  to: Pick<HttpServer, 'port'>,
  options: { status?: number; server?: Server } = {},
): Promise<ProxyServer> {
  const tunnels: ProxyServer['tunnels'][number][] = [];
  const server = options.server ?? createServer();
  server.on(
    'connect',
    (request: { url: string; headers: Record<string, string | undefined> }, socket: ReturnType<typeof connect>) => {
      tunnels.push({ authority: request.url, authorization: request.headers['proxy-authorization'] });
      socket.on('error', () => undefined);
      if (options.status !== undefined) {
        socket.end(`HTTP/1.1 ${options.status} No\r\n\r\n`);
        return;
      }
      const onward = connect(to.port, '127.0.0.1', () => socket.write('HTTP/1.1 200 Connection established\r\n\r\n'));
      onward.on('error', () => socket.destroy());
      onward.pipe(socket).pipe(onward);
      socket.once('close', () => onward.destroy());
    },
  );
  const listening = await httpServer((_request, response) => response.end('forwarded'), {
    server: server as ReturnType<typeof createServer>,
  });
  return { ...listening, tunnels };
}
