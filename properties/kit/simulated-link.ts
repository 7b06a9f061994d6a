import { supervisorError } from '../../actors/errors.js';
import type { Launch, Link, LinkDiagnosis, LinkEvents, Reply } from '../../actors/ports.js';
import { type CloseOutcome, failure, type Handshake, type ListKind } from '../../machines/vocabulary.js';
import { byLuck, type InFlight } from './in-flight.js';
import type { Peer } from './peer.js';
import { fateOf, type Shelf } from './simulated-server.js';

/** What the other end of a simulated link is like. It is read when it is needed, so that it may change at any time. */
export interface Temperament {
  readonly shelf: Shelf;
  readonly handshake: Handshake;
}

export interface LinkWorld {
  readonly inFlight: InFlight;
  readonly temperament: (launch: Launch) => Temperament;
  /** What goes wrong inside `open` itself. */
  readonly atOpen: (name: string) => 'nothing' | 'throws' | 'lost';
}

interface Asked {
  readonly method: string;
  readonly params: unknown;
  readonly reply: Reply;
  late: ((answer: 'result' | 'error') => void) | null;
}

type Stopped = Awaited<ReturnType<Link['close']>>;

/** One link whose every reaction is on its way until a schedule delivers it, well or badly. */
export class SimulatedLink implements Link, Peer {
  readonly name: string;
  readonly #world: LinkWorld;
  readonly #launch: Launch;
  readonly #events: LinkEvents;
  readonly #asked = new Map<string, Asked>();
  readonly #streams = new Set<() => void>();
  #failHandshake: ((error: Error) => void) | null = null;
  #closing: Promise<Stopped> | null = null;
  #isLost = false;
  #repeat: (() => void) | null = null;
  #made = 0;
  readonly #pid: number;

  constructor(world: LinkWorld, pid: number, launch: Launch, events: LinkEvents) {
    this.#world = world;
    this.#pid = pid;
    this.#launch = launch;
    this.#events = events;
    this.name = `link ${pid}`;
    if (world.atOpen(this.name) === 'lost') this.die('SPAWN_FAILED', true);
    else world.inFlight.post(`${this.name} opens`, (luck) => this.#open(luck));
  }

  get isOver(): boolean {
    return this.#isLost || this.#closing !== null;
  }

  // ── what a schedule does to it ──

  /** The peer goes away by itself. */
  die(code: Parameters<typeof failure>[0] = 'LINK_LOST', death = true): void {
    if (this.isOver) return;
    this.#isLost = true;
    this.#drop();
    this.#events.lost(failure(code, 'the process ended'), death);
  }

  announce(kind: ListKind): void {
    if (!this.isOver) this.#events.listChanged(kind);
  }

  stderr(): void {
    if (!this.isOver) this.#events.stderr();
  }

  progress(which: number): boolean {
    const calls = [...this.#asked.values()].filter(({ method, late }) => method === 'tools/call' && late === null);
    const call = calls[which % Math.max(1, calls.length)];
    if (this.isOver || call === undefined) return false;
    this.#made += 1;
    call.reply.progress({ progress: this.#made });
    return true;
  }

  /** Against the contract: the product has to bear it. */
  repeat(): boolean {
    const again = this.#repeat;
    if (this.isOver || again === null) return false;
    again();
    return true;
  }

  /** The stream of announcements ends. */
  endStreams(): void {
    for (const end of [...this.#streams]) end();
  }

  // ── what it is to the product ──

  handshake(): Promise<Handshake> {
    return new Promise((resolve, reject) => {
      if (this.isOver) return reject(lost());
      this.#failHandshake = reject;
      this.#world.inFlight.post(`${this.name} shakes hands`, (luck) => {
        if (this.isOver) return;
        const outcome = byLuck(luck, 'ok', [
          [3, 'INITIALIZE_FAILED'],
          [2, 'ERA_NEGOTIATION_FAILED'],
          [1, 'AUTH_REQUIRED'],
          [2, 'EXITED_EARLY'],
          [2, 'never'],
        ] as const);
        if (outcome === 'ok') resolve(this.#world.temperament(this.#launch).handshake);
        else if (outcome === 'EXITED_EARLY') this.die(outcome);
        else if (outcome !== 'never') reject(supervisorError(outcome, 'the handshake was refused'));
      });
    });
  }

  request(method: string, params: object | undefined, reply: Reply): string {
    this.#made += 1;
    const id = `${this.#pid}-${this.#made}`;
    if (this.isOver) {
      reply.failed(failure('LINK_LOST', 'the link is closed'));
      return id;
    }
    this.#asked.set(id, { method, params, reply, late: null });
    this.#world.inFlight.post(`${this.name} answers ${method}`, (luck) => this.#answer(id, luck));
    return id;
  }

  forget(id: string, late: (answer: 'result' | 'error') => void): void {
    const asked = this.#asked.get(id);
    if (asked !== undefined) asked.late = late;
  }

  unwatch(id: string): void {
    if (this.#asked.get(id)?.late !== null) this.#asked.delete(id);
  }

  notifyCancelled(id: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#world.inFlight.post(`${this.name} is told of a cancellation`, (luck) => {
        const outcome = byLuck(luck, 'told', [
          [1, 'fails'],
          [1, 'hangs'],
        ]);
        if (outcome === 'fails') reject(lost());
        if (outcome === 'told') resolve();
        // Most servers say nothing of what they were told to give up.
        const isWatched = typeof this.#asked.get(id)?.late === 'function';
        if (outcome === 'told' && isWatched && this.#made % 2 === 0) this.#settle(id, 'error', undefined);
      });
    });
  }

  listen(): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.isOver) return reject(lost());
      const end = (): void => {
        this.#streams.delete(end);
        if (this.isOver) reject(lost());
        else resolve();
      };
      this.#streams.add(end);
    });
  }

  probe(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#world.inFlight.post(`${this.name} answers a probe`, (luck) => {
        const outcome = byLuck(luck, 'answers', [
          [1, 'fails'],
          [1, 'hangs'],
        ]);
        if (this.isOver || outcome === 'fails') reject(supervisorError('PROBE_FAILED', 'no answer'));
        else if (outcome === 'answers') resolve();
      });
    });
  }

  close(): Promise<Stopped> {
    this.#closing ??= this.#stop();
    return this.#closing;
  }

  diagnosis(): LinkDiagnosis {
    return { stderrTail: '', noiseLines: 0, lateAnswers: 0, foreignAnswers: 0 };
  }

  #stop(): Promise<Stopped> {
    const stopped = new Promise<Stopped>((resolve, reject) => {
      this.#world.inFlight.post(`${this.name} has stopped`, (luck) => {
        const outcome = byLuck<CloseOutcome | 'fails'>(luck, 'clean', [
          [2, 'killed'],
          [2, 'unknown'],
          [1, 'fails'],
        ]);
        if (outcome === 'fails') reject(new Error('it cannot be closed'));
        else resolve({ outcome, detail: 'it ended' });
      });
    });
    queueMicrotask(() => this.#drop());
    return stopped;
  }

  #open(luck: number): void {
    if (this.isOver) return;
    const outcome = byLuck(luck, 'opens', [
      [3, 'EMFILE'],
      [2, 'EAGAIN'],
      [2, 'unreachable'],
      [1, 'hangs'],
      [1, 'twice'],
    ]);
    if (outcome === 'EMFILE' || outcome === 'EAGAIN') this.die('SPAWN_FAILED', true);
    else if (outcome === 'unreachable') this.die('CONNECT_FAILED', false);
    else if (outcome !== 'hangs') this.#events.opened({ pid: this.#pid });
    if (outcome === 'twice') this.#events.opened({ pid: this.#pid + 10_000 });
  }

  #answer(id: string, luck: number): void {
    const asked = this.#asked.get(id);
    if (asked === undefined || this.isOver) return;
    const { shelf } = this.#world.temperament(this.#launch);
    const fate = fateOf(asked.method, asked.params, shelf, luck, this.#made);
    if (fate.kind === 'never') return;
    if (fate.kind === 'death') this.die();
    else if (fate.kind === 'progress') {
      if (asked.late === null) asked.reply.progress({ progress: this.#made });
      this.#world.inFlight.post(`${this.name} answers ${asked.method}`, (again) => this.#answer(id, again));
    } else if (fate.kind === 'error') this.#settle(id, 'error', undefined);
    else {
      this.#settle(id, 'result', fate.value);
      if (asked.late === null) this.#repeat = () => asked.reply.result(fate.value);
      if (fate.kind === 'twice') this.repeat();
    }
  }

  #settle(id: string, answer: 'result' | 'error', value: unknown): void {
    const asked = this.#asked.get(id);
    this.#asked.delete(id);
    if (asked === undefined) return;
    if (asked.late !== null) asked.late(answer);
    else if (answer === 'result') asked.reply.result(value);
    else asked.reply.failed(failure('SERVER_ERROR', 'it said no'));
  }

  #drop(): void {
    this.#asked.clear();
    this.#failHandshake?.(lost());
    this.endStreams();
  }
}

const lost = (): Error => supervisorError('LINK_LOST', 'the link is closed');
