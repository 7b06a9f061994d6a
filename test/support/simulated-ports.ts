import type { SupervisorOptions, WorkspaceOptions } from '../../actors/api.js';
import { supervisorError } from '../../actors/errors.js';
import type {
  ConfigPort,
  DbPort,
  Launch,
  LayerReading,
  LogEntry,
  Ports,
  ServerDefinition,
  UserSettings,
  Vetted,
} from '../../actors/ports.js';
import { createSupervisor, ProcessPool } from '../../actors/supervisor.js';
import { createMemoryDb } from '../../adapters/memory-db.js';
import { createNodeDigest } from '../../adapters/node-digest.js';
import { createRedaction } from '../../adapters/shared/redaction.js';
import type { LayerName } from '../../machines/vocabulary.js';
import { type Behaviour, SimulatedLink, wellBehaved } from './simulated-link.js';
import { VirtualClock } from './virtual-clock.js';

export const noSettings: UserSettings = {
  remoteEnabled: false,
  plaintextHosts: [],
  workspaceVariables: [],
  limits: {},
  restart: {},
  toolPolicies: [],
};

/** One server of one layer. Its command is its id, which is how a test finds its links. */
export function server(id: string, over: Partial<ServerDefinition> = {}): ServerDefinition {
  return {
    id,
    layer: 'user',
    transport: 'stdio',
    configHash: `${over.layer ?? 'user'}-${id}-1`,
    command: id,
    args: [],
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
    approveTools: ['*'],
    refusal: null,
    file: 'mcp.json',
    line: 1,
    ...over,
  };
}

/** One valid layer; only the user's has settings. */
export function layer(name: LayerName, servers: readonly ServerDefinition[], settings: Partial<UserSettings> = {}): LayerReading {
  return {
    layer: name,
    file: `${name}.json`,
    state: 'valid',
    servers: servers.map((one) => ({ ...one, layer: name })),
    settings: name === 'user' ? { ...noSettings, ...settings } : null,
    errors: [],
    warnings: [],
  };
}

export function rejectedLayer(name: LayerName): LayerReading {
  const file = `${name}.json`;
  const error = { file, line: 3, column: 5, key: 'mcpServers', code: 'CONFIG_SYNTAX', message: 'a comma is missing' } as const;
  return { ...layer(name, []), state: 'rejected', settings: null, errors: [error] };
}

/** The world as a test wants it. Everything may be changed at any time; time itself moves only when told to. */
export class Simulation {
  readonly clock = new VirtualClock();
  readonly pool = new ProcessPool(this.clock);
  readonly links: SimulatedLink[] = [];
  readonly log: LogEntry[] = [];
  readonly db: DbPort = {
    ...createMemoryDb(),
    watch: (changed) => {
      this.#dbWatchers.add(changed);
      return { close: () => Promise.resolve(void this.#dbWatchers.delete(changed)) };
    },
  };
  layers: readonly LayerReading[] = [];
  /** How many times the layers were read. */
  reads = 0;
  /** What the next reading rejects with, if with anything. */
  readError: Error | null = null;
  /** How servers of an id behave that is not named here. */
  readonly behaviours = new Map<string, Partial<Behaviour>>();
  /** Ids of what was vetted, in order. */
  readonly vetted: string[] = [];
  /** What becomes of an edit of the user's file; there is none unless a test brings one. */
  writeRemote: ConfigPort['setRemote'] = () => Promise.reject(supervisorError('CONFIG_INVALID', 'there is no file'));
  /** What vetting does: nothing special, never settle, or reject. */
  vetting: 'works' | 'hangs' | Error = 'works';
  /** Fingerprint of a workspace server, by id; one is made from its hash where none is given. */
  readonly fingerprints = new Map<string, string>();
  readonly #watchers = new Set<() => void>();
  readonly #dbWatchers = new Set<() => void>();
  #drawn = 0;

  /** Links that were opened and have not ended. */
  get openLinks(): readonly SimulatedLink[] {
    return this.links.filter(({ isClosed }) => !isClosed);
  }

  get watchers(): number {
    return this.#watchers.size;
  }

  /** The newest link of a server. Throws while it has none. */
  link(id: string): SimulatedLink {
    const found = this.links.findLast((one) => one.server === id);
    if (found === undefined) throw new Error(`"${id}" was never opened`);
    return found;
  }

  /** The files have changed. */
  change(layers: readonly LayerReading[]): void {
    this.layers = layers;
    for (const changed of this.#watchers) changed();
  }

  /** Another process decides something. */
  async elsewhere(decide: (db: DbPort) => Promise<void>): Promise<void> {
    await decide(this.db);
    for (const changed of this.#dbWatchers) changed();
    await this.settle();
  }

  run(ms: number): Promise<void> {
    return this.clock.run(ms);
  }

  /** Whatever can happen without time has happened. */
  settle(): Promise<void> {
    return this.clock.run(0);
  }

  supervisor(options: SupervisorOptions = {}, ports: Partial<Ports> = {}) {
    return createSupervisor({ seed: 1, discover: false, ...options, ports: { ...this.ports, ...ports }, pool: this.pool });
  }

  /** One workspace of its own supervisor, with its first configuration taken. */
  async open(options: SupervisorOptions = {}, workspaceOptions: WorkspaceOptions = {}, ports: Partial<Ports> = {}) {
    const supervisor = this.supervisor(options, ports);
    const workspace = await supervisor.openWorkspace('/repo', workspaceOptions);
    await workspace.loaded;
    await this.settle();
    return { supervisor, workspace };
  }

  /** What is left of it all; empty after `close`. */
  remains(): readonly string[] {
    const { leases, waiting } = this.pool.slots.pool;
    return [
      ...this.openLinks.map((link) => `link of ${link.server}`),
      ...leases.map(({ holder }) => `slot of ${holder}`),
      ...waiting.map(({ holder }) => `request of ${holder}`),
      ...(this.clock.pending > 0 ? [`${this.clock.pending} timers`] : []),
      ...(this.watchers > 0 ? [`${this.watchers} watchers`] : []),
      ...(this.#dbWatchers.size > 0 ? [`${this.#dbWatchers.size} watchers of the db`] : []),
      ...[...this.pool.running.keys()].map((root) => `workspace ${root}`),
    ];
  }

  get ports(): Ports {
    return {
      clock: this.clock,
      random: { seed: () => this.#draw(), nonce: () => `nonce-${this.#draw()}` },
      digest: createNodeDigest(),
      fs: {
        writeSpill: (name) => Promise.resolve({ path: `/spill/${name}`, uri: `spill://${name}` }),
        readSpill: () => Promise.resolve({ text: '', nextOffset: null }),
        close: () => Promise.resolve(),
      },
      db: this.db,
      config: this.#config(),
      vet: { vet: (definition) => this.#vet(definition) },
      link: { open: (launch, events, options) => this.#open(launch, events, options) },
      log: { write: (entry) => void this.log.push(entry) },
      redaction: createRedaction(),
    };
  }

  #draw(): number {
    this.#drawn += 1;
    return this.#drawn;
  }

  #config(): ConfigPort {
    return {
      read: () => {
        this.reads += 1;
        const { readError } = this;
        this.readError = null;
        return readError === null ? Promise.resolve(this.layers) : Promise.reject(readError);
      },
      remove: () => Promise.reject(supervisorError('CONFIG_INVALID', 'there is no file')),
      setRemote: (enabled) => this.writeRemote(enabled),
      watch: (_scope, changed) => {
        this.#watchers.add(changed);
        return {
          close: () => {
            this.#watchers.delete(changed);
            return Promise.resolve();
          },
        };
      },
    };
  }

  async #vet(definition: ServerDefinition): Promise<Vetted> {
    this.vetted.push(definition.id);
    if (this.vetting instanceof Error) throw this.vetting;
    if (this.vetting === 'hangs') await new Promise(() => undefined);
    const { id, layer: from, transport, configHash } = definition;
    const { url = '', headers } = definition;
    const launch: Launch =
      transport === 'stdio'
        ? { transport, command: definition.command ?? id, args: [], cwd: '/repo', env: {} }
        : { transport, url, headers, isPlaintextAllowed: false };
    if (!from.startsWith('workspace')) return { launch, fingerprint: null, card: null };
    const fingerprint = this.fingerprints.get(id) ?? `fingerprint of ${configHash}`;
    return { launch, fingerprint, card: { server: id, layer: from, transport, fingerprint, notes: [] } };
  }

  #open(...[launch, events, options]: Parameters<Ports['link']['open']>): SimulatedLink {
    const id = launch.transport === 'stdio' ? launch.command : launch.url;
    const behaviour = { ...wellBehaved, ...this.behaviours.get(id) };
    if (behaviour.atOpen === 'throws') throw new Error('no link can be made');
    const link = new SimulatedLink(1_000 + this.links.length, launch, events, options, behaviour);
    this.links.push(link);
    return link;
  }
}
