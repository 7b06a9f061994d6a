import { createMcpHandler, isLegacyRequest } from '@modelcontextprotocol/server';
import { HttpSessions, type HttpSessionsDeps } from './http-sessions.js';
import { createMcpServer } from './mcp-server.js';
import { OpenCalls } from './open-calls.js';

export interface McpFetch {
  /** Answers one request whose body, if it has one, was read already. */
  fetch(request: Request, message: unknown): Promise<Response>;
  announceTools(): void;
  close(): Promise<void>;
}

/**
 * Both eras at one address. The newer one has no sessions: each request gets its own server instance, and each call its own
 * name for the workspace; only the calls that wait for a form are kept from one request to the next.
 */
export function createMcpFetch(deps: HttpSessionsDeps): McpFetch {
  const { surface, limits, nonce, clock } = deps;
  const { workspace } = surface;
  const sessions = new HttpSessions(deps);
  const calls = new OpenCalls({
    run: (request, options) => workspace.gateway.run(request, options),
    nonce,
    now: () => clock.now(),
    openMax: limits.callsMax,
  });
  let made = 0;
  const modern = createMcpHandler(
    () => {
      made += 1;
      return createMcpServer(surface, { era: 'modern', calls, session: `http-request-${made}` });
    },
    { legacy: 'reject', maxSubscriptions: limits.subscriptionsMax, maxRequestBodySize: limits.bodyBytesMax },
  );
  return {
    fetch: async (request, message) =>
      (await isLegacyRequest(request, message))
        ? sessions.fetch(request, message)
        : modern.fetch(request, message === undefined ? {} : { parsedBody: message }),
    announceTools: () => {
      sessions.announceTools();
      modern.notify.toolsChanged();
    },
    close: async () => {
      calls.close();
      await Promise.all([sessions.close(), modern.close()]);
    },
  };
}
