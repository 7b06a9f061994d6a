import { supervisorError } from '../actors/errors.js';
import type { ConfigPort, FsPort, Link, LinkPort, Ports, ServerDefinition, VetPort } from '../actors/ports.js';
import { createMemoryDb } from '../adapters/memory-db.js';
import { createNodeDigest } from '../adapters/node-digest.js';
import { createRedaction } from '../adapters/shared/redaction.js';
import { systemClock } from '../adapters/system-clock.js';
import { systemRandom } from '../adapters/system-random.js';

const tools = [{ name: 'echo', description: 'Says back what it is told.', inputSchema: { type: 'object', properties: {} } }];

/** Ports behind which every workspace has `servers` servers that answer at once without a process; the rest is real. */
export function scriptedPorts(servers: number): Ports {
  return {
    clock: systemClock,
    random: systemRandom,
    digest: createNodeDigest(),
    fs: noFiles,
    db: createMemoryDb(),
    config: configOf(servers),
    vet: vetNothing,
    link: { open: (_launch, events) => openLink(events) },
    log: { write: () => undefined },
    redaction: createRedaction(),
  };
}

const configOf = (servers: number): ConfigPort => ({
  read: (scope) => {
    const definitions = Array.from({ length: servers }, (_, at) => definition(`echo${at}`, scope.root));
    return Promise.resolve([
      {
        layer: 'user',
        file: '/simulated/mcp.json',
        state: 'valid',
        servers: definitions,
        settings: {
          remoteEnabled: false,
          plaintextHosts: [],
          workspaceVariables: [],
          limits: { servers: 100_000, live: 100_000 },
          restart: {},
          toolPolicies: [],
        },
        errors: [],
        warnings: [],
      },
    ]);
  },
  remove: () => Promise.reject(supervisorError('CONFIG_INVALID', 'there is no file')),
  setRemote: () => Promise.reject(supervisorError('CONFIG_INVALID', 'there is no file')),
  watch: () => ({ close: () => Promise.resolve() }),
});

function definition(id: string, root: string): ServerDefinition {
  return {
    id,
    layer: 'user',
    transport: 'stdio',
    configHash: `${root}/${id}`,
    command: '/simulated/server',
    args: [id],
    env: {},
    headers: {},
    credentialHeaders: [],
    isRemote: false,
    lifecycle: 'lazy',
    idleTimeoutMs: 600_000,
    timeoutMs: 30_000,
    initTimeoutMs: 60_000,
    maxTools: null,
    description: null,
    policies: [],
    approveTools: [],
    refusal: null,
    file: '/simulated/mcp.json',
    line: 1,
  };
}

const vetNothing: VetPort = {
  vet: ({ args }, { root }) =>
    Promise.resolve({
      launch: { transport: 'stdio', command: '/simulated/server', args, cwd: root, env: {} },
      fingerprint: null,
      card: null,
    }),
};

const noFiles: FsPort = {
  writeSpill: () => Promise.reject(supervisorError('SPILL_FAILED', 'a simulated run writes no files')),
  readSpill: () => Promise.reject(supervisorError('INVALID_ARGUMENTS', 'a simulated run has no files')),
  close: () => Promise.resolve(),
};

function openLink(events: Parameters<LinkPort['open']>[1]): Link {
  let requests = 0;
  queueMicrotask(() => events.opened({ pid: 1 }));
  return {
    handshake: () =>
      Promise.resolve({
        era: 'legacy',
        protocolVersion: '2025-11-25',
        serverInfo: { name: 'simulated', version: '1.0.0' },
        lists: ['tools'],
        announces: false,
      }),
    request: (method, _params, reply) => {
      queueMicrotask(() => reply.result(method === 'tools/list' ? { tools } : { content: [] }));
      requests += 1;
      return `s${requests}`;
    },
    forget: () => undefined,
    unwatch: () => undefined,
    notifyCancelled: () => Promise.resolve(),
    listen: () => Promise.resolve(),
    probe: () => Promise.resolve(),
    close: () => Promise.resolve({ outcome: 'clean', detail: 'simulated' }),
    diagnosis: () => ({ stderrTail: '', noiseLines: 0, lateAnswers: 0, foreignAnswers: 0 }),
  };
}
