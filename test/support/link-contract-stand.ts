import { expect, vi } from 'vitest';
import type { Link } from '../../actors/ports.js';
import { createHttpPort } from '../../adapters/http/guarded-http.js';
import { createLinkPort } from '../../adapters/links/link-port.js';
import { clientEngine } from '../../adapters/links/sdk-session.js';
import { sdkV1Engine } from '../../adapters/links/sdk-v1.js';
import { createNodeProcessPort } from '../../adapters/node-process.js';
import { systemClock } from '../../adapters/system-clock.js';
import type { Counterpart, EngineName, Heard, LinkRig, ServerKind, Transport } from './link-contract.js';
import { type ContractServer, startServer } from './link-contract-servers.js';
import { followTimers } from './own-timers.js';

const engines = { client: clientEngine, sdk: sdkV1Engine };

/** What one engine has before it, for all cases of the suite; everything it opens ends with it. */
export class Stand {
  readonly #engine: EngineName;
  readonly #kind: ServerKind;
  readonly #transport: Transport;
  readonly #processes = createNodeProcessPort();
  readonly #http = createHttpPort({ env: {} });
  readonly #timers = followTimers();
  readonly #links = new Set<Link>();
  readonly #servers = new Set<ContractServer>();
  #shared: Promise<ContractServer> | null = null;
  #ready: Promise<LinkRig> | null = null;

  constructor(engine: EngineName, kind: ServerKind, transport: Transport) {
    this.#engine = engine;
    this.#kind = kind;
    this.#transport = transport;
  }

  async rig(counterpart: Counterpart): Promise<LinkRig> {
    if (counterpart === 'mute') return this.#open(await this.#start(counterpart));
    if (counterpart === 'own') return this.#greet(await this.#start(counterpart));
    const ready = await this.#ready;
    if (ready === null || ready.heard.lost.length > 0) this.#ready = this.#greetShared();
    return this.#ready as Promise<LinkRig>;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#links].map((link) => link.close()));
    await Promise.all([...this.#servers].map((server) => server.close()));
    await this.#processes.closeAll();
    await this.#http.close();
    this.#timers.stop();
  }

  async #greetShared(): Promise<LinkRig> {
    this.#shared ??= this.#start('shared');
    return this.#greet(await this.#shared);
  }

  async #greet(server: ContractServer): Promise<LinkRig> {
    const rig = this.#open(server);
    // One that is slow to start would be taken for an older one.
    if (server.lines === null) await vi.waitFor(() => expect(rig.seen()).toContain('ready'), { timeout: 20_000 });
    await rig.link.handshake();
    return rig;
  }

  async #start(counterpart: Counterpart): Promise<ContractServer> {
    const server = await startServer(this.#transport, this.#kind, counterpart);
    this.#servers.add(server);
    return server;
  }

  #open(server: ContractServer): LinkRig {
    const heard: Heard = { opened: [], lost: [], changed: [] };
    const engine = engines[this.#engine];
    const port = createLinkPort({ process: this.#processes, http: this.#http, clock: systemClock, engine });
    const events = {
      opened: ({ pid }: { pid: number | null }) => void heard.opened.push(pid),
      lost(problem: Heard['lost'][number]) {
        heard.lost.push(problem);
        heard.onLost?.();
      },
      listChanged: (kind: Heard['changed'][number]) => void heard.changed.push(kind),
      stderr: () => undefined,
    };
    const link = port.open(server.launch, events, { clientInfo: { name: 'contract', version: '1.0.0' }, configHash: 'hash' });
    this.#links.add(link);
    const seen = (): readonly string[] => server.lines ?? link.diagnosis().stderrTail.split('\n');
    return {
      engine: this.#engine,
      kind: this.#kind,
      transport: this.#transport,
      link,
      heard,
      seen,
      timers: () => this.#timers.running(),
      isLeft: () => vi.waitFor(() => checkLeft(heard, seen, server), { timeout: 10_000 }),
    };
  }
}

/** Over pipes the process is gone; over HTTP there is no connection any more, and a server that lives says so. */
function checkLeft(heard: Heard, seen: () => readonly string[], server: ContractServer): void {
  if (server.lines === null) {
    const alive = heard.opened.filter((pid) => pid !== null && isAlive(pid));
    if (alive.length > 0) throw new Error(`still alive: ${alive.join(' ')}`);
    return;
  }
  const mine = process.getActiveResourcesInfo().filter((kind) => kind.startsWith('TCP'));
  if (mine.length > 0) throw new Error(`still open: ${mine.join(' ')}`);
  const last = seen().findLast((line) => line.startsWith('connections '));
  if (server.isAlive() && last !== 'connections 0') throw new Error(`the server still has ${last ?? 'heard of nobody'}`);
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
