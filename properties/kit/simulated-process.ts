import type { StdioLaunch } from '../../actors/ports.js';
import type { ChildPort, ProcessHandlers, ProcessPort } from '../../actors/wire-ports.js';
import type { ListKind } from '../../machines/vocabulary.js';
import type { Checks } from './checks.js';
import { byLuck, type InFlight } from './in-flight.js';
import type { Peer } from './peer.js';
import { fateOf, type Shelf } from './simulated-server.js';

export interface ProcessWorld {
  readonly inFlight: InFlight;
  readonly checks: Checks;
  readonly shelf: (launch: StdioLaunch) => Shelf;
  readonly onSpawn: (process: SimulatedProcess) => void;
}

interface Frame {
  readonly id?: string | number;
  readonly method?: string;
  readonly params?: { readonly requestId?: unknown; readonly _meta?: { readonly progressToken?: unknown } };
}

const INITIALIZED = {
  protocolVersion: '2025-11-25',
  capabilities: { tools: { listChanged: true } },
  serverInfo: { name: 'simulated', version: '1.0.0' },
};
const METHOD_NOT_FOUND = { code: -32_601, message: 'Method not found' };
const GARBAGE = ['not json\n', '{"jsonrpc":"2.0"\n', '[]\n', '{"jsonrpc":"2.0","id":"nobody","result":{}}\n', '\n\n', '\u0000\n'];

/** Processes for the product's own links: servers of the older era behind pipes that split, join, garble and break. */
export function simulatedProcesses(world: ProcessWorld, firstPid = 1_000): ProcessPort {
  let pid = firstPid;
  return {
    spawn: (launch, handlers) => {
      pid += 1;
      const process = new SimulatedProcess(world, pid, launch, handlers);
      world.onSpawn(process);
      return process;
    },
  };
}

/** One process: what it reads and says passes through pipes, and everything on its way waits for a schedule. */
export class SimulatedProcess implements ChildPort, Peer {
  readonly name: string;
  pid: number | null = null;
  readonly bufferedBytes = 0;
  readonly #world: ProcessWorld;
  readonly #launch: StdioLaunch;
  readonly #handlers: ProcessHandlers;
  #state: 'starting' | 'running' | 'gone' = 'starting';
  #isEnding = false;
  #initializeId: unknown;
  #answered = 0;
  #said = 0;
  #last: string | null = null;
  #isDestroyed = false;
  /** Pieces that it has written and nobody has read. */
  readonly #pipe: Buffer[] = [];
  /** Progress tokens of calls that are open. */
  readonly #tokens = new Map<string | number, unknown>();

  constructor(world: ProcessWorld, pid: number, launch: StdioLaunch, handlers: ProcessHandlers) {
    this.name = `process ${pid}`;
    this.#world = world;
    this.#launch = launch;
    this.#handlers = handlers;
    world.inFlight.post(`${this.name} starts`, (luck) => this.#start(pid, luck));
  }

  get isOver(): boolean {
    return this.#state !== 'running' || this.#isEnding;
  }

  // ── what a schedule does to it ──

  /** It ends by itself, with a code or by a signal. */
  die(code: Parameters<Peer['die']>[0] = 'LINK_LOST'): void {
    if (code === 'CONNECT_FAILED') this.#exit(null, 'SIGSEGV');
    else this.#exit(code === 'TLS_FAILED' ? 0 : 1, null);
  }

  announce(kind: ListKind): void {
    const list = kind === 'resourceTemplates' ? 'resources' : kind;
    this.#say(JSON.stringify({ jsonrpc: '2.0', method: `notifications/${list}/list_changed` }));
  }

  stderr(): void {
    if (this.#state === 'running') this.#handlers.stderr(Buffer.from('a line of its log\n'));
  }

  progress(which: number): boolean {
    const tokens = [...this.#tokens.values()];
    const progressToken = tokens[which % Math.max(1, tokens.length)];
    if (this.isOver || progressToken === undefined) return false;
    this.#say(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken, progress: which } }));
    return true;
  }

  repeat(): boolean {
    if (this.isOver || this.#last === null) return false;
    this.#say(this.#last);
    return true;
  }

  endStreams(): void {
    // A server of the older era has no stream besides its pipe.
  }

  // ── what it is to the product ──

  write(text: string, written?: (error: unknown) => void): void {
    if (this.#state === 'gone') {
      const error = Object.assign(new Error('write EPIPE'), { code: 'EPIPE' });
      queueMicrotask(() => {
        written?.(error);
        this.#handlers.inputFailed(error);
      });
      return;
    }
    queueMicrotask(() => written?.(null));
    for (const line of text.split('\n')) if (line !== '') this.#read(JSON.parse(line) as Frame);
  }

  endInput(): void {
    this.#end('on end of input', 0, null);
  }

  pauseOutput(): void {
    // What is on its way comes when a schedule says so, paused or not.
  }

  resumeOutput(): void {
    // As above.
  }

  signalGroup(signal: 'SIGTERM' | 'SIGKILL'): boolean {
    if (this.#state === 'gone') return false;
    this.#end(`on ${signal}`, null, signal);
    return true;
  }

  isGroupAlive(): boolean {
    return this.#state !== 'gone';
  }

  destroy(): void {
    this.#state = 'gone';
    this.#isDestroyed = true;
  }

  #start(pid: number, luck: number): void {
    if (this.#state !== 'starting') return;
    const outcome = byLuck(luck, 'starts', [
      [2, 'EMFILE'],
      [2, 'EAGAIN'],
      [1, 'exits'],
    ]);
    if (outcome === 'EMFILE' || outcome === 'EAGAIN') {
      this.#state = 'gone';
      return this.#handlers.failed(Object.assign(new Error(`spawn ${outcome}`), { code: outcome }));
    }
    this.#state = 'running';
    this.pid = pid;
    this.#handlers.started(pid);
    if (outcome === 'exits') this.#exit(127, null);
  }

  #end(why: string, code: number | null, signal: string | null): void {
    this.#isEnding = true;
    if (this.#state === 'gone') return;
    this.#world.inFlight.post(`${this.name} ends ${why}`, (luck) => {
      // Some are deaf to everything but SIGKILL.
      if (luck < 0.5 || signal === 'SIGKILL') this.#exit(code, signal);
    });
  }

  #exit(code: number | null, signal: string | null): void {
    if (this.#state === 'gone') return;
    this.#state = 'gone';
    this.#handlers.exited(code, signal);
  }

  #read({ id, method, params }: Frame): void {
    if (method === 'initialize') this.#initializeId = id;
    if (method === 'notifications/cancelled') {
      const isInitialize = this.#initializeId !== undefined && params?.requestId === this.#initializeId;
      this.#world.checks.holds('cancel-not-initialize', !isInitialize, () => `${this.name}: initialize is cancelled`);
    }
    if (id === undefined || method === undefined) return;
    const token = params?._meta?.progressToken;
    if (token !== undefined) this.#tokens.set(id, token);
    this.#world.inFlight.post(`${this.name} answers ${method}`, (luck) => this.#answer(id, method, params, luck));
  }

  #answer(id: string | number, method: string, params: unknown, luck: number): void {
    if (this.#state !== 'running') return;
    this.#answered += 1;
    this.#tokens.delete(id);
    if (method === 'server/discover') return this.#say(JSON.stringify({ jsonrpc: '2.0', id, error: METHOD_NOT_FOUND }));
    if (method === 'initialize' && luck < 0.5) return this.#say(JSON.stringify({ jsonrpc: '2.0', id, result: INITIALIZED }));
    const fate =
      method === 'ping'
        ? ({ kind: 'result', value: {} } as const)
        : fateOf(method, params, this.#world.shelf(this.#launch), luck, this.#answered);
    if (fate.kind === 'death') return this.die();
    if (fate.kind === 'never' || fate.kind === 'progress') return;
    const frame = JSON.stringify(
      fate.kind === 'error' ? { jsonrpc: '2.0', id, error: METHOD_NOT_FOUND } : { jsonrpc: '2.0', id, result: fate.value },
    );
    this.#last = frame;
    this.#say(frame);
    if (fate.kind === 'twice') this.#say(frame);
  }

  /** One frame into the pipe: whole, in pieces that are cut anywhere, or with garbage before it. */
  #say(frame: string): void {
    if (this.#state !== 'running') return;
    const bytes = Buffer.from(`${frame}\n`);
    this.#said += 1;
    const cut = (this.#said * 7) % bytes.length;
    if (this.#said % 3 === 0) {
      this.#flow(bytes.subarray(0, cut));
      this.#flow(bytes.subarray(cut));
      return;
    }
    const garbage = this.#said % 5 === 0 ? (GARBAGE[this.#said % GARBAGE.length] ?? '') : '';
    this.#flow(Buffer.concat([Buffer.from(garbage), bytes]));
  }

  /** What goes into a pipe comes out in its order, each piece when a schedule says so, and after the end of its writer too. */
  #flow(piece: Buffer): void {
    this.#pipe.push(piece);
    this.#world.inFlight.post(`${this.name} is heard`, () => {
      const next = this.#pipe.shift();
      if (next !== undefined && !this.#isDestroyed) this.#handlers.stdout(next);
    });
  }
}
