import type { Launch, Link, LinkDiagnosis, LinkEvents, LinkOptions, Reply } from '../../actors/ports.js';
import { type Failure, failure, type Handshake, type ListKind } from '../../machines/vocabulary.js';

/** What a server does by itself; a test may change it at any time and do the rest by hand. */
export interface Behaviour {
  opens: boolean;
  shakes: boolean;
  /** Answers its lists. */
  lists: boolean;
  /** Answers every call with an empty result, in the next microtask. */
  answers: boolean;
  closes: boolean | 'fails' | 'throws';
  /** What happens inside `LinkPort.open` itself, before it returns. */
  atOpen: 'nothing' | 'throws' | 'lost';
  handshake: Partial<Handshake>;
  tools: readonly string[];
  /** Goes into every definition: another text is another definition. */
  description: string;
  /** Stands in every page besides its items. */
  page: object;
}

export const wellBehaved: Behaviour = {
  opens: true,
  shakes: true,
  lists: true,
  answers: false,
  closes: true,
  atOpen: 'nothing',
  handshake: {},
  tools: ['echo'],
  description: 'says it again',
  page: {},
};

export interface SentRequest {
  readonly id: string;
  readonly method: string;
  readonly params: object | undefined;
  readonly reply: Reply;
}

interface Deferred<T> {
  readonly promise: Promise<T>;
  readonly resolve: (value: T) => void;
  readonly reject: (error: unknown) => void;
}

function deferred<T>(): Deferred<T> {
  let resolve: (value: T) => void = () => undefined;
  let reject: (error: unknown) => void = () => undefined;
  const promise = new Promise<T>((...both) => {
    [resolve, reject] = both;
  });
  return { promise, resolve, reject };
}

const LISTS: Readonly<Record<string, ListKind>> = { 'tools/list': 'tools', 'resources/list': 'resources' };

/** One link that does what its test says, with a record of everything that was asked of it. */
export class SimulatedLink implements Link {
  readonly server: string;
  readonly pid: number;
  readonly behaviour: Behaviour;
  readonly launch: Launch;
  readonly options: LinkOptions;
  /** Every request that was ever made, lists too. */
  readonly sent: SentRequest[] = [];
  /** Ids that the server was told to give up. */
  readonly cancelled: string[] = [];
  readonly unwatched: string[] = [];
  isClosing = false;
  isClosed = false;
  isLost = false;
  readonly #events: LinkEvents;
  readonly #pending = new Map<string, Reply>();
  readonly #watched = new Map<string, (answer: 'result' | 'error') => void>();
  readonly #shaken = deferred<Handshake>();
  readonly #stopped = deferred<{ outcome: 'clean' | 'killed'; detail: string }>();

  constructor(pid: number, launch: Launch, events: LinkEvents, options: LinkOptions, behaviour: Behaviour) {
    this.pid = pid;
    this.server = launch.transport === 'stdio' ? launch.command : launch.url;
    this.launch = launch;
    this.options = options;
    this.behaviour = behaviour;
    this.#events = events;
    // A handshake nobody asked for may fail unheard.
    this.#shaken.promise.catch(() => undefined);
    if (behaviour.atOpen === 'lost') this.die('SPAWN_FAILED');
    else if (behaviour.opens) queueMicrotask(() => this.open());
  }

  /** Tool calls and reads, without the lists. */
  get calls(): readonly SentRequest[] {
    return this.sent.filter(({ method }) => !method.endsWith('/list'));
  }

  get watched(): number {
    return this.#watched.size;
  }

  // ── what the test makes it do ──

  open(): void {
    if (!this.isLost && !this.isClosing) this.#events.opened({ pid: this.pid });
  }

  shake(): void {
    const { handshake } = this.behaviour;
    const basics = { era: 'legacy', protocolVersion: '2025-11-25', serverInfo: null, lists: ['tools'], announces: true } as const;
    this.#shaken.resolve({ ...basics, ...handshake });
  }

  refuse(error: unknown): void {
    this.#shaken.reject(error);
  }

  answer(id: string, value: unknown = { content: [] }): void {
    const reply = this.#pending.get(id);
    this.#pending.delete(id);
    if (reply === undefined) this.#late(id, 'result');
    else reply.result(value);
  }

  fail(id: string, problem: Failure = failure('SERVER_ERROR', 'it said no')): void {
    const reply = this.#pending.get(id);
    this.#pending.delete(id);
    if (reply === undefined) this.#late(id, 'error');
    else reply.failed(problem);
  }

  progress(id: string, progress = 1): void {
    this.#pending.get(id)?.progress({ progress });
  }

  die(code: Failure['code'] = 'LINK_LOST', death = true): void {
    if (this.isLost || this.isClosing) return;
    this.isLost = true;
    this.#pending.clear();
    this.#watched.clear();
    this.#events.lost(failure(code, 'the process ended'), death);
  }

  announce(kind: ListKind): void {
    this.#events.listChanged(kind);
  }

  stderr(): void {
    this.#events.stderr();
  }

  finishClose(): void {
    this.isClosed = true;
    this.#stopped.resolve({ outcome: 'clean', detail: 'it ended' });
  }

  // ── what it is to the core ──

  handshake(): Promise<Handshake> {
    if (this.behaviour.shakes) this.shake();
    return this.#shaken.promise;
  }

  request(method: string, params: object | undefined, reply: Reply): string {
    const id = `r${this.pid}-${this.sent.length + 1}`;
    this.sent.push({ id, method, params, reply });
    if (this.isLost || this.isClosing) {
      reply.failed(failure('LINK_LOST', 'the link is closed'));
      return id;
    }
    this.#pending.set(id, reply);
    const kind = LISTS[method];
    if (kind !== undefined && this.behaviour.lists) queueMicrotask(() => this.answer(id, this.#page(kind)));
    if (kind === undefined && this.behaviour.answers) queueMicrotask(() => this.answer(id));
    return id;
  }

  forget(id: string, late: (answer: 'result' | 'error') => void): void {
    if (this.#pending.delete(id)) this.#watched.set(id, late);
  }

  unwatch(id: string): void {
    this.unwatched.push(id);
    this.#watched.delete(id);
  }

  notifyCancelled(id: string): Promise<void> {
    this.cancelled.push(id);
    return Promise.resolve();
  }

  listen(): Promise<void> {
    return new Promise(() => undefined);
  }

  probe(): Promise<void> {
    return Promise.resolve();
  }

  close(): Promise<{ outcome: 'clean' | 'killed'; detail: string }> {
    if (this.behaviour.closes === 'throws') throw new Error('it cannot be closed');
    if (!this.isClosing) {
      this.isClosing = true;
      this.#pending.clear();
      this.#watched.clear();
      this.#shaken.reject(new Error('closed'));
      if (this.behaviour.closes === 'fails') this.#stopped.reject(new Error('it cannot be closed'));
      if (this.behaviour.closes === true) queueMicrotask(() => this.finishClose());
    }
    return this.#stopped.promise;
  }

  diagnosis(): LinkDiagnosis {
    return { stderrTail: `log of ${this.server}`, noiseLines: 0, lateAnswers: 0, foreignAnswers: 0 };
  }

  #late(id: string, answer: 'result' | 'error'): void {
    const late = this.#watched.get(id);
    this.#watched.delete(id);
    late?.(answer);
  }

  #page(kind: ListKind): unknown {
    const { tools, description, page } = this.behaviour;
    if (kind !== 'tools') return { [kind]: [], ...page };
    return { tools: tools.map((name) => ({ name, description, inputSchema: { type: 'object' } })), ...page };
  }
}
