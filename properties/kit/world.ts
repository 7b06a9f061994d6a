import { supervisorError } from '../../actors/errors.js';
import type { LinkPort, Ports, ServerDefinition, UserSettings, Vetted } from '../../actors/ports.js';
import { createSupervisor, ProcessPool } from '../../actors/supervisor.js';
import type { HttpPort } from '../../actors/wire-ports.js';
import { createLinkPort } from '../../adapters/links/link-port.js';
import { createRedaction } from '../../adapters/shared/redaction.js';
import { candidateKey, isWorkspaceLayer } from '../../machines/vocabulary.js';
import { SimulatedApprovals } from './approvals.js';
import { Checks } from './checks.js';
import type { Connection } from './connection.js';
import { InFlight } from './in-flight.js';
import { Ledger, type LedgerCall } from './ledger.js';
import type { Peer } from './peer.js';
import { fnv1a, hex, Random } from './random.js';
import type { Setup } from './setup.js';
import { type Reading, SimulatedConfig } from './simulated-config.js';
import { SimulatedDb } from './simulated-db.js';
import { SimulatedLink, type Temperament } from './simulated-link.js';
import { simulatedProcesses } from './simulated-process.js';
import { plainShelf } from './simulated-server.js';
import type { Trace } from './trace.js';
import { VirtualClock } from './virtual-clock.js';
import { type Watch, watchLinks } from './watched-links.js';

/** Everything outside the product, simulated: nothing in it happens before a schedule says so. */
export class SimulatedWorld {
  readonly setup: Setup;
  readonly clock = new VirtualClock();
  readonly pool = new ProcessPool(this.clock);
  readonly inFlight = new InFlight();
  readonly checks = new Checks();
  readonly ledger = new Ledger(this.clock, () => this.pool.slots.pool.leases.length);
  readonly approvals = new SimulatedApprovals(this.ledger);
  readonly trace: Trace;
  readonly config: SimulatedConfig;
  readonly db = new SimulatedDb(this.inFlight);
  /** The other ends of all connections, the latest last. */
  readonly links: Peer[] = [];
  /** Readings that have arrived since somebody last looked, oldest first, each with what was in use before it. */
  readonly readings: { readonly reading: Reading; readonly before: readonly Connection[] }[] = [];
  /** No fault any more: everything goes well as soon as it is delivered. */
  isHelpful = false;
  /** Editions of what the servers offer, by id. */
  readonly editions = new Map<string, number>();
  /** Versions of the files that a workspace's servers consist of, by `root key`. */
  readonly contents = new Map<string, number>();
  #isDiskFull = false;
  #drawn = 0;

  constructor(setup: Setup, trace: Trace) {
    this.setup = setup;
    this.trace = trace;
    this.config = new SimulatedConfig({
      inFlight: this.inFlight,
      settings: () => this.#settings(),
      plugins: setup.pluginEntries,
      onReading: (reading) => {
        const before = this.ledger.connections.filter(({ facts, isUsable }) => isUsable && facts.root === reading.root);
        const user = reading.layers.find(({ layer }) => layer === 'user');
        if (user?.state === 'valid') this.ledger.onDefaults.delete(reading.root);
        else this.ledger.onDefaults.add(reading.root);
        this.readings.push({ reading, before });
      },
    });
    this.config.file('user', '').entries = setup.userEntries;
    for (const root of setup.roots) {
      this.config.file('workspace', root).entries = setup.workspaceEntries.get(root) ?? [];
      this.config.file('workspace-override', root).entries = setup.overrideEntries.get(root) ?? [];
    }
  }

  /** A number of [0, 1) that depends on the seed and on the name alone, not on what was drawn before. */
  dice(name: string): number {
    return new Random(fnv1a(name, this.setup.seed)).next();
  }

  fillDisk(isFull: boolean): void {
    this.#isDiskFull = isFull;
    this.db.isFailing = isFull;
  }

  /** `link`: what links are made by; absent: simulated ones. */
  supervisor(link: LinkPort = this.#links()) {
    const { hasChannel, hasRoles, options } = this.setup;
    return createSupervisor({
      ...options,
      ports: this.ports(link),
      pool: this.pool,
      ...(hasChannel ? { approve: this.approvals.ask } : {}),
      ...(hasRoles ? { authorizeCall: ({ arguments: args }) => roleOf((args as { n?: number }).n ?? 0) } : {}),
    });
  }

  ports(link: LinkPort = this.#links()): Ports {
    return {
      clock: this.clock,
      random: { seed: () => this.#draw(), nonce: () => `nonce-${this.#draw()}` },
      digest: {
        ofJson: (value) => digestOf(JSON.stringify(value)),
        keyed: (secret) => digestOf(secret).slice(0, 12),
      },
      fs: {
        writeSpill: (name) =>
          this.inFlight.promise('an output is written', () => {
            if (this.#isDiskFull) throw supervisorError('SPILL_FAILED', 'the disk is full (ENOSPC)');
            return { path: `/spill/${name}`, uri: `spill://${name}` };
          }),
        readSpill: () => Promise.resolve({ text: '', nextOffset: null }),
        close: () => Promise.resolve(),
      },
      db: this.db.port,
      config: this.config,
      vet: { vet: (definition, { root }) => this.#vet(definition, root) },
      link: watchLinks(link, this.#watch()),
      log: { write: () => undefined },
      redaction: createRedaction(),
    };
  }

  /** What a workspace's server would run as now. */
  fingerprintOf({ layer, id, configHash }: Pick<ServerDefinition, 'layer' | 'id' | 'configHash'>, root: string): string | null {
    if (!isWorkspaceLayer(layer)) return null;
    const key = candidateKey(layer, id);
    return `${configHash} of ${root}, edition ${this.contents.get(`${root} ${key}`) ?? 1}`;
  }

  #settings(): UserSettings {
    const { pages, items, slots, intensity, capMs } = this.setup.bounds;
    return {
      remoteEnabled: true,
      plaintextHosts: [],
      workspaceVariables: [],
      limits: { pages, items, live: slots },
      restart: { intensity, backoffCapMs: capMs },
      toolPolicies: [],
    };
  }

  #vet(definition: ServerDefinition, root: string): Promise<Vetted> {
    const { id, layer, transport, configHash, url = '', headers, isRemote } = definition;
    const key = candidateKey(layer, id);
    return this.inFlight.promise(`${root} ${key} is looked at`, (luck) => {
      if (luck > 0.6) throw supervisorError('REFUSED_COMMAND', `"${id}" has no command`);
      const fingerprint = this.fingerprintOf(definition, root);
      const launch: Vetted['launch'] =
        transport === 'stdio'
          ? { transport, command: key, args: [], cwd: root, env: {} }
          : { transport, url, headers, isPlaintextAllowed: false };
      this.ledger.launches.set(launch, { root, key, id, layer, configHash, fingerprint, isRemote });
      const card = fingerprint === null ? null : { server: id, layer, transport, fingerprint, notes: [] };
      return { launch, fingerprint, card };
    });
  }

  #watch(): Watch {
    const { ledger, checks, setup } = this;
    const roles = (call: LedgerCall): string => (setup.hasRoles ? roleOf(call.n) : 'allow');
    return {
      ledger,
      checks,
      bounds: setup.bounds,
      isDenied: (call) => call.tool === 'denied' || roles(call) === 'deny',
      isFree: (call, { facts }: Connection) => call.tool !== 'asked' && !isWorkspaceLayer(facts.layer) && roles(call) === 'allow',
    };
  }

  #links(): LinkPort {
    const { inFlight, checks, clock } = this;
    if (this.setup.world === 'link') return this.#simulatedLinks();
    const process = simulatedProcesses({
      inFlight,
      checks,
      shelf: (launch) => this.#temperament(launch).shelf,
      onSpawn: (spawned) => void this.links.push(spawned),
    });
    return createLinkPort({ process, http: noHttp, clock });
  }

  #simulatedLinks(): LinkPort {
    return {
      open: (launch, events) => {
        const link = new SimulatedLink(
          {
            inFlight: this.inFlight,
            temperament: (of) => this.#temperament(of),
            atOpen: (name) => this.#atOpen(name),
          },
          1_000 + this.links.length,
          launch,
          events,
        );
        this.links.push(link);
        return link;
      },
    };
  }

  #atOpen(name: string): 'nothing' | 'throws' | 'lost' {
    const dice = this.isHelpful ? 1 : this.dice(name);
    if (dice < this.setup.harshness / 40) throw new Error('no link can be made');
    return dice < this.setup.harshness / 10 ? 'lost' : 'nothing';
  }

  #temperament(launch: object): Temperament {
    const id = this.ledger.launches.get(launch)?.id ?? '';
    const isModern = this.dice(`era of ${id}`) < 0.4;
    return {
      shelf: { ...(this.setup.shelves.get(id) ?? plainShelf), edition: this.editions.get(id) ?? 1 },
      handshake: {
        era: isModern ? 'modern' : 'legacy',
        protocolVersion: isModern ? '2026-07-28' : '2025-11-25',
        serverInfo: { name: id, version: '1.0.0' },
        lists: this.dice(`lists of ${id}`) < 0.3 ? ['tools', 'resources', 'prompts'] : ['tools'],
        announces: this.dice(`announces ${id}`) < 0.8,
      },
    };
  }

  #draw(): number {
    this.#drawn += 1;
    return this.#drawn;
  }
}

const noHttp: HttpPort = {
  guard: () => {
    throw new Error('bug: these servers are processes');
  },
  close: () => Promise.resolve(),
};

/** What a host with roles says of a call. */
const roleOf = (n: number): 'allow' | 'ask' | 'deny' => (n % 7 === 3 ? 'deny' : n % 5 === 2 ? 'ask' : 'allow');

function digestOf(text: string): string {
  const one = fnv1a(text);
  return (hex(one) + hex(fnv1a(text, one ^ text.length))).padEnd(64, '0');
}
