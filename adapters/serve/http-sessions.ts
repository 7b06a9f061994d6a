import {
  isInitializeRequest,
  type McpServer,
  WebStandardStreamableHTTPServerTransport as SessionTransport,
} from '@modelcontextprotocol/server';
import type { ClockPort } from '../../actors/ports.js';
import { answerError } from './error-answer.js';
import type { HttpLimits } from './http-limits.js';
import { createMcpServer } from './mcp-server.js';
import { OpenCalls } from './open-calls.js';
import type { Surface } from './served-workspace.js';

export interface HttpSessionsDeps {
  readonly surface: Surface;
  readonly limits: HttpLimits;
  readonly clock: ClockPort;
  readonly nonce: () => string;
}

interface Session {
  readonly transport: SessionTransport;
  readonly mcp: McpServer;
  readonly calls: OpenCalls;
  /** Requests that are being answered, the stream of notices included. */
  requests: number;
  /** The ids of those among them that have one. */
  readonly ids: Set<unknown>;
  usedAtMs: number;
  timer: unknown;
}

/**
 * The sessions of clients of the older era. An id is made here, unguessable, for every `initialize`: one that a client brings
 * along makes no session. A full house lets go of the session that was quiet for longest, and refuses when all have calls open.
 */
export class HttpSessions {
  readonly #deps: HttpSessionsDeps;
  readonly #sessions = new Map<string, Session>();
  /** Sessions whose `initialize` is being answered: they count. */
  #opening = 0;
  #made = 0;

  constructor(deps: HttpSessionsDeps) {
    this.#deps = deps;
  }

  async fetch(request: Request, message: unknown): Promise<Response> {
    const id = request.headers.get('mcp-session-id');
    if (isInitializeRequest(message) && id === null) return this.#open(request, message);
    if (id === null) return answerError(400, -32_000, 'Mcp-Session-Id is missing');
    const session = this.#sessions.get(id);
    if (session === undefined) return answerError(404, -32_001, 'Session not found');
    return this.#answer(id, session, request, message);
  }

  announceTools(): void {
    for (const { mcp } of this.#sessions.values()) mcp.sendToolListChanged();
  }

  async close(): Promise<void> {
    await Promise.all([...this.#sessions.values()].map(({ transport }) => transport.close()));
  }

  async #open(request: Request, message: unknown): Promise<Response> {
    const { surface, limits, nonce, clock } = this.#deps;
    if (this.#sessions.size + this.#opening >= limits.sessionsMax && !(await this.#makeRoom()))
      return answerError(503, -32_000, `${limits.sessionsMax} sessions are busy`, { 'Retry-After': '5' });
    this.#made += 1;
    const name = `http-${this.#made}`;
    const { workspace } = surface;
    const calls = new OpenCalls({
      run: (asked, options) => workspace.gateway.run(asked, options),
      nonce,
      now: () => clock.now(),
      openMax: limits.sessionCallsMax,
    });
    const mcp = createMcpServer(surface, { era: 'legacy', calls, session: name });
    const transport = new SessionTransport({
      sessionIdGenerator: nonce,
      onsessioninitialized: (id) => void this.#sessions.set(id, session),
    });
    const session: Session = { transport, mcp, calls, requests: 0, ids: new Set(), usedAtMs: clock.now(), timer: undefined };
    transport.onclose = () => {
      clock.clearTimeout(session.timer);
      if (transport.sessionId !== undefined) this.#sessions.delete(transport.sessionId);
      calls.close();
      workspace.endSession(name);
    };
    this.#opening += 1;
    try {
      await mcp.connect(transport);
      const response = await transport.handleRequest(request, { parsedBody: message });
      const { sessionId } = transport;
      if (sessionId === undefined || !this.#sessions.has(sessionId)) await transport.close();
      else this.#rest(sessionId, session);
      return response;
    } finally {
      this.#opening -= 1;
    }
  }

  async #answer(id: string, session: Session, request: Request, message: unknown): Promise<Response> {
    const { clock } = this.#deps;
    const asked = requestIdIn(message);
    // The answer to the one would go to the other, and nobody would ever answer the one.
    if (asked !== null && session.ids.has(asked))
      return answerError(400, -32_600, 'A request with this id is open in the session');
    if (asked !== null) session.ids.add(asked);
    clock.clearTimeout(session.timer);
    session.requests += 1;
    session.usedAtMs = clock.now();
    const leave = (): void => {
      session.requests -= 1;
      session.ids.delete(asked);
      session.usedAtMs = clock.now();
      this.#rest(id, session);
    };
    try {
      const response = await session.transport.handleRequest(request, message === undefined ? {} : { parsedBody: message });
      return whenOver(response, request.signal, leave);
    } catch (error) {
      leave();
      throw error;
    }
  }

  /** Nobody uses the session: its time runs. */
  #rest(id: string, session: Session): void {
    const { clock, limits } = this.#deps;
    if (session.requests > 0 || this.#sessions.get(id) !== session) return;
    clock.clearTimeout(session.timer);
    session.timer = clock.setTimeout(() => void session.transport.close(), limits.sessionIdleMs);
  }

  async #makeRoom(): Promise<boolean> {
    const idle = [...this.#sessions.values()].filter(({ calls }) => calls.size === 0);
    const oldest = idle.reduce<Session | null>(
      (one, other) => (one === null || other.usedAtMs < one.usedAtMs ? other : one),
      null,
    );
    await oldest?.transport.close();
    return oldest !== null;
  }
}

/** The id of a request; null for what asks for no answer. */
function requestIdIn(message: unknown): unknown {
  if (typeof message !== 'object' || message === null || !('method' in message) || !('id' in message)) return null;
  return message.id;
}

/** The same response; `over` is called once: when its body has ended, is not wanted any more, or the client has gone away. */
function whenOver(response: Response, gone: AbortSignal, over: () => void): Response {
  if (response.body === null) {
    over();
    return response;
  }
  const reader: ReadableStreamDefaultReader<Uint8Array> = response.body.getReader();
  let isOver = false;
  const end = (): void => {
    if (isOver) return;
    isOver = true;
    gone.removeEventListener('abort', leave);
    over();
  };
  let leave = (): void => undefined;
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => {
      // Nobody else would notice before the next byte is written.
      leave = () => {
        end();
        controller.close();
        void reader.cancel().catch(() => undefined);
      };
      gone.addEventListener('abort', leave, { once: true });
    },
    pull: async (controller) => {
      const { done, value } = await reader.read().catch((error: unknown) => {
        end();
        throw error;
      });
      if (isOver) return;
      if (!done) return controller.enqueue(value);
      end();
      controller.close();
    },
    cancel: async (reason) => {
      end();
      await reader.cancel(reason);
    },
  });
  if (gone.aborted) leave();
  return new Response(body, { status: response.status, headers: response.headers });
}
