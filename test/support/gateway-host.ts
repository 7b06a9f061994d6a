import type { CallOptions, CallResult, ServerStatus, WorkspaceStatus } from '../../actors/api.js';
import { createGateway, type GatewayHost } from '../../actors/gateway.js';
import type { Failure } from '../../machines/vocabulary.js';
import { memoryFs, newCatalogue, newOutputs, toolItem, walk } from './catalogue-kit.js';

export interface HostCall {
  readonly what: string;
  readonly params: unknown;
  readonly options: CallOptions;
}

export interface ScriptedHost {
  readonly host: GatewayHost;
  readonly calls: HostCall[];
  readonly fs: ReturnType<typeof memoryFs>;
  /** What the next calls and requests resolve with, or are rejected with. */
  readonly answerWith: (result: CallResult | Error) => void;
}

/** A workspace of two servers in memory: "files" runs, "db" is switched off. */
export function gatewayHost(change: Partial<GatewayHost> = {}): ScriptedHost {
  const calls: HostCall[] = [];
  const fs = memoryFs();
  let next: CallResult | Error = { content: [{ type: 'text', text: 'done' }] };
  const settle = (what: string, params: unknown, options: CallOptions): Promise<CallResult> => {
    calls.push({ what, params, options });
    return next instanceof Error ? Promise.reject(next) : Promise.resolve(next);
  };
  const host: GatewayHost = {
    catalogue: filledCatalogue(),
    outputs: newOutputs(fs),
    status: workspaceStatus,
    turn: () => Promise.resolve(),
    call: (name, args, options) => settle(name, args, options),
    request: (server, method, params, options) => settle(`${server} ${method}`, params, options),
    ...change,
  };
  return { host, calls, fs, answerWith: (result) => (next = result) };
}

/** The gateway in front of that host; its answers with their texts joined and their data at hand. */
export function gatewayKit(change?: Partial<GatewayHost>) {
  const scripted = gatewayHost(change);
  const gateway = createGateway(scripted.host);
  const run = async (request: unknown, options?: Parameters<typeof gateway.run>[1]) => {
    const result = await gateway.run(request, options);
    const texts = result.content.map((block) => block['text']);
    return { ...result, text: texts.join('\n'), data: result.structuredContent ?? {} };
  };
  return { ...scripted, run };
}

function filledCatalogue() {
  const catalogue = newCatalogue();
  const readFile = { description: 'Reads a file', inputSchema: { type: 'object', properties: { path: { type: 'string' } } } };
  catalogue.put(
    'files',
    'tools',
    walk([toolItem('read_file', readFile), toolItem('write_file', { description: 'Writes\na file' })]),
  );
  catalogue.put(
    'files',
    'resources',
    walk([{ key: 'file:///a', definition: { uri: 'file:///a', name: 'a', mimeType: 'text/plain' } }]),
  );
  catalogue.put(
    'files',
    'resourceTemplates',
    walk([{ key: 'file:///{p}', definition: { uriTemplate: 'file:///{p}', name: 'any' } }]),
  );
  const args = [{ name: 'who', description: 'a name', required: true }, { name: 'how' }];
  catalogue.put(
    'files',
    'prompts',
    walk([{ key: 'greet', definition: { name: 'greet', description: 'Says hello', arguments: args } }]),
  );
  catalogue.put('db', 'tools', walk([toolItem('query', { description: 'Runs SQL' })], { live: false }));
  return catalogue;
}

const off: Failure = { code: 'DISABLED', stage: 'trust', retryable: false, message: 'db is switched off' };
const known = (count: number) => ({ state: 'complete', count, reason: null }) as const;

function serverStatus(id: string, change: Partial<ServerStatus>): ServerStatus {
  return {
    id,
    layer: 'user',
    file: '/secret/mcp.json',
    shadowed: [],
    transport: 'stdio',
    origin: null,
    lifecycle: 'lazy',
    enabled: true,
    phase: 'ready',
    blockedBy: null,
    fingerprint: null,
    generation: 1,
    pid: 4_711,
    era: 'modern',
    protocolVersion: '2026-07-28',
    serverInfo: null,
    tools: { ...known(2), skipped: [] },
    resources: known(1),
    resourceTemplates: known(1),
    prompts: known(1),
    stage: null,
    error: null,
    retryAtMs: null,
    restarts: 0,
    callsInFlight: 0,
    cancellations: { confirmed: 0, lateAnswer: 0, unconfirmed: 0 },
    lastClose: null,
    warnings: [],
    ...change,
  };
}

function workspaceStatus(): WorkspaceStatus {
  return {
    workspace: {
      root: '/secret/root',
      trusted: true,
      remoteEnabled: false,
      config: { state: 'valid', revision: 1, errors: [], warnings: [] },
      warnings: [],
    },
    servers: [serverStatus('db', { phase: 'idle', blockedBy: 'disabled', error: off }), serverStatus('files', {})],
  };
}
