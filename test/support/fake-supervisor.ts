import { BehaviorSubject } from 'rxjs';
import type {
  CallOptions,
  CallResult,
  Explanation,
  Json,
  Question,
  ServerHandle,
  ServerStatus,
  Supervisor,
  SupervisorOptions,
  TestReport,
  ToolListing,
  Workspace,
  WorkspaceOptions,
  WorkspaceStatus,
} from '../../actors/api.js';
import { supervisorError } from '../../actors/errors.js';
import { GATE_NAMES } from '../../machines/vocabulary.js';

/** A server's status for tests of what people see: ready, two tools, nothing wrong. */
export function serverStatus(over: Partial<ServerStatus> = {}): ServerStatus {
  const list = { state: 'complete', count: 0, reason: null } as const;
  return {
    id: 'files',
    layer: 'user',
    file: '/home/me/mcp.json',
    shadowed: [],
    transport: 'stdio',
    origin: null,
    lifecycle: 'lazy',
    enabled: true,
    phase: 'ready',
    blockedBy: null,
    fingerprint: null,
    generation: 1,
    pid: 4242,
    era: 'legacy',
    protocolVersion: '2025-11-25',
    serverInfo: { name: 'files', version: '1.0.0' },
    tools: { ...list, count: 2, skipped: [] },
    resources: list,
    resourceTemplates: list,
    prompts: { ...list, state: 'unsupported' },
    stage: null,
    error: null,
    retryAtMs: null,
    restarts: 0,
    callsInFlight: 0,
    cancellations: { confirmed: 0, lateAnswer: 0, unconfirmed: 0 },
    lastClose: null,
    warnings: [],
    ...over,
  };
}

export function workspaceStatus(
  servers: readonly ServerStatus[] = [serverStatus()],
  over: Partial<WorkspaceStatus['workspace']> = {},
): WorkspaceStatus {
  const config = { state: 'valid', revision: 1, errors: [], warnings: [] } as const;
  return { workspace: { root: '/repo', trusted: false, remoteEnabled: false, config, warnings: [], ...over }, servers };
}

/** Of a ready server of the user's, with every gate open. */
export function explanation(over: Partial<Explanation> = {}): Explanation {
  return {
    subject: 'files',
    server: 'files',
    layer: 'user',
    file: '/home/me/mcp.json',
    line: 3,
    shadowed: [],
    phase: 'ready',
    stage: null,
    gates: GATE_NAMES.map((gate) => ({ gate, state: 'open', failure: null })),
    error: null,
    retry: null,
    restarts: { count: 0, max: 5, windowMs: 120_000 },
    slot: null,
    lastClose: null,
    onDemand: { does: 'send', why: 'it is sent to the running server', failure: null },
    faults: [],
    policy: null,
    tool: null,
    ...over,
  };
}

export interface FakeParts {
  readonly status?: WorkspaceStatus;
  readonly tools?: readonly ToolListing[];
  readonly questions?: readonly Question[];
  /** By what is asked for. */
  readonly explained?: Readonly<Record<string, Partial<Explanation>>>;
  readonly call?: (name: string, args: Json, options: CallOptions) => Promise<CallResult>;
  readonly test?: (id: string) => Promise<TestReport>;
  readonly loaded?: Promise<void>;
  /** What the status is after `connectAll`. */
  readonly connected?: WorkspaceStatus;
  /** What comes of a decision, by its line in the log: the status after it, why it could not be kept, or nothing for ever. */
  readonly decisions?: Readonly<Record<string, WorkspaceStatus | Error | Promise<never>>>;
}

export interface FakeSupervisor {
  readonly create: (options?: SupervisorOptions) => Supervisor;
  /** What was asked of it, in order: `open`, `connectAll`, `test files`, `enable files`, `trust true`, `call …`, `close`. */
  readonly log: string[];
  /** The options it was created and opened with. */
  readonly given: { options?: SupervisorOptions; workspace?: WorkspaceOptions };
  readonly status$: BehaviorSubject<WorkspaceStatus>;
}

/** Stands in for the library in tests of the command alone; what it does is what the test says. */
export function fakeSupervisor(parts: FakeParts = {}): FakeSupervisor {
  const log: string[] = [];
  const given: FakeSupervisor['given'] = {};
  const status$ = new BehaviorSubject(parts.status ?? workspaceStatus());
  const decide: Decide = async (line) => {
    log.push(line);
    const outcome = parts.decisions?.[line];
    if (outcome instanceof Error) throw outcome;
    if (outcome instanceof Promise) await outcome;
    else if (outcome !== undefined) status$.next(outcome);
  };
  const workspace = fakeWorkspace(parts, log, status$, decide);
  const create = (options: SupervisorOptions = {}): Supervisor => {
    given.options = options;
    return {
      openWorkspace: async (_root, workspaceOptions) => {
        log.push('open');
        if (workspaceOptions !== undefined) given.workspace = workspaceOptions;
        return workspace;
      },
      setRemote: (on, { persist = false } = {}) => decide(`remote ${on}${persist ? '' : ' for this run'}`),
      close: async () => {
        log.push('close');
      },
    };
  };
  return { create, log, given, status$ };
}

type Decide = (line: string) => Promise<void>;

function fakeWorkspace(parts: FakeParts, log: string[], status$: BehaviorSubject<WorkspaceStatus>, decide: Decide): Workspace {
  const statusOf = (id: string): ServerStatus => {
    const found = status$.value.servers.find((server) => server.id === id);
    if (found === undefined) throw supervisorError('UNKNOWN_SERVER', `No server has the id ${id}.`);
    return found;
  };
  const result = { content: [{ type: 'text', text: 'found' }] };
  return {
    root: '/repo',
    loaded: parts.loaded ?? Promise.resolve(),
    status: () => status$.value,
    status$: status$,
    tools: () => parts.tools ?? [],
    call: async (name, args = {}, options = {}) => {
      log.push(`call ${name} ${JSON.stringify(args)}`);
      return (await parts.call?.(name, args, options)) ?? result;
    },
    gateway: {
      tool: { name: 'mcp', description: '', inputSchema: {} },
      instructions: '',
      run: async (request) => {
        log.push(`gateway ${JSON.stringify(request)}`);
        return result;
      },
      tools: () => parts.tools ?? [],
      watchTools: () => () => undefined,
    },
    server: (id) => fakeServer(id, () => statusOf(id), parts, log, decide),
    explain: (name) => [explanation(parts.explained?.[name] ?? { subject: name, server: statusOf(name).id })],
    questions: () => parts.questions ?? [],
    answer: () => false,
    digestOf: (value) => `digest of ${value.length} units`,
    reload: async () => status$.value,
    setTrusted: (trusted) => decide(`trust ${trusted}`),
    endSession: () => undefined,
    connectAll: async () => {
      log.push('connectAll');
      if (parts.connected !== undefined) status$.next(parts.connected);
      return status$.value;
    },
    close: async () => undefined,
  };
}

function fakeServer(id: string, status: () => ServerStatus, parts: FakeParts, log: string[], decide: Decide): ServerHandle {
  const file = (): string => status().file ?? 'mcp.json';
  return {
    id,
    status,
    test: async () => {
      log.push(`test ${id}`);
      return (await parts.test?.(id)) ?? { ok: true, server: id, stages: [], error: null, status: status() };
    },
    restart: () => undefined,
    enable: () => decide(`enable ${id}`),
    disable: () => decide(`disable ${id}`),
    explain: () => explanation({ subject: id, server: id, layer: status().layer, phase: status().phase }),
    remove: async () => {
      const from = file();
      await decide(`remove ${id}`);
      return { file: from };
    },
    logs: () => '',
  };
}
