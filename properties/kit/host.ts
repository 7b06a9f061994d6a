import type { Supervisor, Workspace, WorkspaceOptions } from '../../actors/api.js';
import { SupervisorError } from '../../actors/errors.js';
import type { LinkPort, Question } from '../../actors/ports.js';
import type { WorkspaceRuntime } from '../../actors/workspace-runtime.js';
import type { Connection } from './connection.js';
import type { LedgerCall } from './ledger.js';
import { PLUGIN } from './setup.js';
import { TOOLS } from './simulated-server.js';
import type { SimulatedWorld } from './world.js';

/** One root as a host sees it. Without a handle it is closed, opening or could not be opened. */
export interface Room {
  readonly root: string;
  handle: Workspace | null;
  runtime: WorkspaceRuntime | null;
  isOpening: boolean;
  /** Handles besides the first, on the same running workspace. */
  readonly others: Workspace[];
  trusted: boolean | undefined;
}

const SESSIONS = ['s1', 's2', 's3'];
const TIMEOUTS = [undefined, undefined, undefined, 1_000, 10_000, 0];

/** A host app that calls, decides and changes its mind, by several sessions on several workspaces. */
export class SimulatedHost {
  readonly world: SimulatedWorld;
  readonly supervisor: Supervisor;
  readonly rooms: readonly Room[];
  #made = 0;

  constructor(world: SimulatedWorld, link?: LinkPort) {
    this.world = world;
    this.supervisor = world.supervisor(link);
    const { roots, trusted } = world.setup;
    this.rooms = roots.map((root) => ({ root, handle: null, runtime: null, isOpening: false, others: [], trusted }));
  }

  open(room: Room): string | null {
    if (room.isOpening) return null;
    room.isOpening = true;
    const { trusted } = room;
    if (room.handle === null) this.world.ledger.forgetDecisions(room.root);
    void this.supervisor.openWorkspace(room.root, { ...(trusted === undefined ? {} : { trusted }), ...this.#plugins() }).then(
      (handle) => this.#opened(room, handle, trusted),
      (error: unknown) => {
        room.isOpening = false;
        this.#typed('opening', error);
      },
    );
    return `${room.root} is opened`;
  }

  #plugins(): Pick<WorkspaceOptions, 'plugins'> {
    const { pluginEntries } = this.world.setup;
    if (pluginEntries.length === 0) return {};
    return {
      plugins: [{ name: PLUGIN, servers: Object.fromEntries(pluginEntries.map(({ id, version }) => [id, { version }])) }],
    };
  }

  /** One handle is given up; the last one ends the workspace. */
  close(room: Room): string | null {
    const handle = room.others.pop() ?? room.handle;
    if (handle === null) return null;
    const isLast = handle === room.handle;
    if (isLast) room.handle = null;
    void handle.close().then(
      () => {
        if (isLast && room.handle === null) this.#judgeClosed(room);
      },
      (error: unknown) => this.#typed('closing', error),
    );
    return `${room.root} is closed${isLast ? '' : ' once'}`;
  }

  /** A call by one of the sessions, with a signal of its own or a bound or neither: mostly to a server that runs, as hosts do. */
  call(room: Room, x: number, y: number): string | null {
    const candidates = room.runtime?.context.candidates ?? [];
    const running = this.#running(room);
    // Now and then to any, or to one that nobody has.
    const isAny = running.length === 0 || y >> 13 === 0;
    const server = isAny ? candidates[x % (candidates.length + 1)]?.id : running[x % running.length]?.facts.id;
    return this.#call(room, server ?? 'a', TOOLS[[0, 0, 0, 0, 1, 1, 2, 3][y % 8] ?? 0] ?? 'free', y, (y >> 9) % 3 === 0);
  }

  /** A call to a server that takes calls now; null without one. */
  use(room: Room, x: number, y: number): string | null {
    const ready = this.#running(room).filter(({ hasShaken }) => hasShaken);
    const server = ready[x % Math.max(1, ready.length)]?.facts.id;
    if (server === undefined) return null;
    return this.#call(room, server, TOOLS[[0, 0, 1, 3, 2][(y >> 9) % 16] ?? 0] ?? 'free', y, y % 8 === 0);
  }

  #running({ root }: Room): readonly Connection[] {
    return this.world.ledger.connections.filter(({ facts, isUsable }) => isUsable && facts.root === root);
  }

  #call(room: Room, server: string, tool: string, y: number, hasSignal: boolean): string | null {
    const { handle } = room;
    if (handle === null) return null;
    const n = (this.#made += 1);
    const call: LedgerCall = {
      n,
      root: room.root,
      server,
      tool,
      session: SESSIONS[(y >> 3) % 5],
      timeoutMs: TIMEOUTS[(y >> 6) % TIMEOUTS.length],
      abort: hasSignal ? new AbortController() : null,
      bornAtMs: this.world.clock.now(),
      byPerson: (y >> 11) % 8 === 0,
      wasAsked: false,
      isApproved: false,
      mayBeAsked: false,
      connection: null,
      sentAtMs: 0,
      movedAtMs: 0,
      outcome: null,
    };
    this.world.ledger.add(call);
    const { signal } = call.abort ?? {};
    const made = handle.call(
      `mcp__${server}__${call.tool}`,
      { n },
      {
        byPerson: call.byPerson,
        ...(signal === undefined ? {} : { signal }),
        ...(call.timeoutMs === undefined ? {} : { timeoutMs: call.timeoutMs }),
        ...(call.session === undefined ? {} : { session: call.session }),
      },
    );
    made.then(
      (result) => this.#answered(call, result),
      (error: unknown) => this.#failed(call, error),
    );
    return `call ${n} of ${room.root} to ${server}.${call.tool}`;
  }

  /** The gateway takes anything and never rejects. */
  run(room: Room, x: number, y: number): string | null {
    const requests = [
      { action: 'search', query: 'edition' },
      { action: 'status' },
      { action: 'call', name: 'mcp__a__long', args: {} },
      { action: 'resources', server: 'a' },
      { action: 'describe', name: 'mcp__b__free' },
      { action: 'call', name: 'mcp__nobody__free', args: '{' },
      'garbage',
    ];
    const request = requests[x % requests.length];
    if (room.handle === null) return null;
    const options = y % 2 === 0 ? { session: 's1', byPerson: true } : {};
    room.handle.gateway.run(request, options).then(
      ({ content }) => this.world.checks.holds('no-crash', Array.isArray(content), () => 'a gateway without an answer'),
      (error: unknown) => this.world.checks.holds('no-crash', false, () => `gateway.run rejected: ${String(error)}`),
    );
    return `${room.root} gateway ${x % requests.length}`;
  }

  /** Says yes or no by the nonce, as a page of questions would. */
  answerByNonce(room: Room, x: number, isYes: boolean): string | null {
    const questions = room.handle?.questions() ?? [];
    const question: Question | undefined = questions[x % Math.max(1, questions.length)];
    if (question === undefined || room.handle === null) return null;
    if (isYes) this.world.approvals.approve(question);
    room.handle.answer(question.nonce, isYes ? 'approve' : 'deny');
    return `${room.root} ${question.kind} of ${question.server} is ${isYes ? 'approved' : 'denied'}`;
  }

  /** Runs what a host does; what it throws or rejects with has to be of the one error class. */
  attempt(what: string, work: () => unknown): string {
    try {
      Promise.resolve(work()).catch((error: unknown) => this.#typed(what, error));
    } catch (error) {
      this.#typed(what, error);
    }
    return what;
  }

  #typed(what: string, error: unknown): void {
    this.world.checks.holds('no-crash', SupervisorError.is(error), () => `${what}: ${String(error)}`);
  }

  #opened(room: Room, handle: Workspace, trusted: boolean | undefined): void {
    room.isOpening = false;
    if (room.handle !== null) {
      room.others.push(handle);
      return;
    }
    room.handle = handle;
    if (trusted !== undefined) this.world.ledger.decisions.trusted.set(room.root, trusted);
    const running = this.world.pool.running.get(room.root);
    void running?.shared.then(({ runtime }) => {
      room.runtime = runtime;
    });
  }

  #judgeClosed(room: Room): void {
    const { ledger, checks, pool } = this.world;
    if (pool.running.has(room.root)) return;
    const open = ledger.connections.filter(({ facts }) => facts.root === room.root);
    checks.holds('nothing-open', open.length === 0, () => `${open[0]?.name ?? ''} is open after ${room.root} was closed`);
  }

  #answered(call: LedgerCall, result: { readonly [key: string]: unknown }): void {
    const { checks, trace } = this.world;
    const isOwn = result['n'] === call.n || result['content'] === undefined;
    checks.holds('own-reply', isOwn && call.connection !== null, () => `call ${call.n} is told ${JSON.stringify(result['n'])}`);
    this.#settled(call, 'result');
    trace.write(`call ${call.n} has its result`);
  }

  #failed(call: LedgerCall, error: unknown): void {
    const { checks, trace } = this.world;
    this.#typed(`call ${call.n}`, error);
    const { code = 'none', message = '' } = SupervisorError.is(error) ? error : {};
    checks.holds(
      'busy-stays',
      code !== 'LINK_LOST' || !/was idle and is closed|makes room for another/.test(message),
      () => `call ${call.n} was in flight when its server was closed: ${message}`,
    );
    this.#settled(call, code);
    trace.write(`call ${call.n} fails with ${code}`);
  }

  #settled(call: LedgerCall, outcome: string): void {
    const { checks, ledger, clock } = this.world;
    checks.holds(
      'settles-once',
      call.outcome === null,
      () => `call ${call.n} settles as ${outcome} after ${String(call.outcome)}`,
    );
    call.outcome = outcome;
    ledger.open.delete(call);
    if (call.connection === null) return;
    call.connection.openCalls.delete(call.n);
    call.connection.usedAtMs = clock.now();
  }
}
