import {
  type CallToolResult,
  CLIENT_CAPABILITIES_META_KEY,
  type InputRequiredResult,
  inputRequired,
  type ListToolsResult,
  McpServer,
  ProtocolError,
  ProtocolErrorCode,
  type ServerContext,
} from '@modelcontextprotocol/server';
import type { Json } from '../../actors/ports.js';
import { takesForms } from './approval-form.js';
import type { CallLeg, OpenCalls } from './open-calls.js';
import type { Surface } from './served-workspace.js';
import { toolPage } from './tool-pages.js';

/** What the SDK's era-specific parts are to us. */
export type ServedEra = 'legacy' | 'modern';

export interface ServedClient {
  readonly era: ServedEra;
  readonly calls: OpenCalls;
  /** Names what the client has open, for the workspace. */
  readonly session: string;
}

type Context = Pick<ServerContext, 'mcpReq'>;

/** The SDK marks this accessor as deprecated for the newer era; the older one has no other way to tell. */
interface InitializedPeer {
  getClientCapabilities(): unknown;
}

const FORM_KEY = 'approval';
/** The longest a timer can be set for: a question has its own time, and ends the form with it. */
const FORM_TIMEOUT_MS = 2 ** 31 - 1;
const DIRECT_INSTRUCTIONS =
  'These are the tools of all connected MCP servers, as mcp__server__tool. Servers start by themselves when needed.';

/**
 * One server instance of the SDK for one client, or in the newer era over HTTP for one request. It lists and calls tools and
 * does nothing else; an unforeseen failure is an internal error that says nothing of its cause.
 */
export function createMcpServer(surface: Surface, { era, calls, session }: ServedClient): McpServer {
  const { workspace, info, isDirect } = surface;
  const mcp = new McpServer(info, {
    capabilities: { tools: { listChanged: isDirect } },
    instructions: isDirect ? DIRECT_INSTRUCTIONS : workspace.gateway.instructions,
    inputRequired: { legacyShim: false },
  });
  mcp.server.setRequestHandler('tools/list', ({ params }) => {
    const page = toolPage(surface, params?.cursor);
    if (page === null) throw new ProtocolError(ProtocolErrorCode.InvalidParams, '"cursor" is not one a list gave');
    return page as ListToolsResult;
  });
  mcp.server.setRequestHandler('tools/call', async ({ params }, context) => {
    const request = requestOf(surface, params.name, params.arguments as Json | undefined);
    if (request === null)
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, `the only tool is "${workspace.gateway.tool.name}"`);
    try {
      return await served(calls, { request, session, ...legOf(era, mcp.server, context) });
    } catch {
      // Its text may hold anything, and the SDK would send it.
      throw new ProtocolError(ProtocolErrorCode.InternalError, 'Internal error');
    }
  });
  return mcp;
}

/** What the gateway is asked, the same for both surfaces, so that both have its bounds. Null for a tool that is not there. */
function requestOf({ workspace, isDirect }: Surface, name: string, args: Json | undefined): Json | null {
  if (isDirect) return { action: 'call', name, args: args ?? {} };
  return name === workspace.gateway.tool.name ? (args ?? {}) : null;
}

async function served(calls: OpenCalls, leg: CallLeg): Promise<CallToolResult | InputRequiredResult> {
  const end = await calls.serve(leg);
  if (end.kind === 'result') return { ...end.result } as CallToolResult;
  const { form, state } = end;
  return inputRequired({ inputRequests: { [FORM_KEY]: inputRequired.elicit(form) }, requestState: state });
}

function legOf(era: ServedEra, peer: InitializedPeer, { mcpReq }: Context): Omit<CallLeg, 'request' | 'session'> {
  const { signal } = mcpReq;
  const progressToken = mcpReq._meta?.progressToken;
  const onProgress: CallLeg['onProgress'] = (progress) => {
    if (progressToken === undefined || signal.aborted) return;
    // A client that has gone away needs no progress.
    mcpReq.notify({ method: 'notifications/progress', params: { ...progress, progressToken } }).catch(() => undefined);
  };
  if (era === 'legacy') {
    const ask = (form: object, open: AbortSignal): Promise<unknown> =>
      mcpReq.send(
        { method: 'elicitation/create', params: { ...form } },
        { signal: AbortSignal.any([open, signal]), timeout: FORM_TIMEOUT_MS },
      );
    return { signal, onProgress, asking: takesForms(peer.getClientCapabilities()) ? ask : 'never' };
  }
  const state: unknown = mcpReq.requestState();
  const envelope: { readonly [key: string]: unknown } = { ...mcpReq.envelope };
  return {
    signal,
    onProgress,
    asking: takesForms(envelope[CLIENT_CAPABILITIES_META_KEY]) ? 'returns' : 'never',
    ...(typeof state === 'string' ? { resumed: { state, answer: mcpReq.inputResponses?.[FORM_KEY] } } : {}),
  };
}
