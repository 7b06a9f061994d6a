import { type Code, type Failure, failure, SupervisorError, supervisorError, toFailure } from '../../actors/errors.js';
import type {
  ClockPort,
  Link,
  LinkDiagnosis,
  LinkEvents,
  LinkOptions,
  LinkPort,
  ProcessPort,
  Reply,
  StdioLaunch,
} from '../../actors/ports.js';
import type { Handshake } from '../../machines/vocabulary.js';
import { createLineRing } from '../shared/line-ring.js';
import { beforeHandshake, ChildRun, type RunEnd } from './child-run.js';
import { createDeadLink } from './dead-link.js';
import type { StopReport } from './group-stop.js';
import { handshakeError } from './handshake-error.js';
import { ListChanges } from './list-changes.js';
import { type Announcement, isBody, type Message } from './message.js';
import { EraMemory, negotiate } from './negotiation.js';
import { RequestTable } from './request-table.js';
import { preloadSdk, SdkSession } from './sdk-session.js';

export interface StdioLinkDeps {
  readonly process: ProcessPort;
  readonly clock: ClockPort;
  /** Shared by the ports of a process; absent: one of its own. */
  readonly eras?: EraMemory;
}

const STDERR_BYTES_MAX = 65_536;
/** Lines on stdout that were no messages are shown with stderr, as long as they are few. */
const NOISE_SAMPLES_MAX = 50;
const REASON_LENGTH_MAX = 256;
const INTERNAL_ERROR = -32_603;
/** What a probe may fail of and still show that somebody answers. */
const SIGNS_OF_LIFE: ReadonlySet<Code> = new Set(['SERVER_ERROR', 'RESULT_INVALID']);

/**
 * Opens links to servers that are child processes and speak over their pipes, in either era. Remembers by config hash, for
 * the life of its memory, which servers are of the older era. An http launch is lost at once with `CONNECT_FAILED`.
 */
export function createStdioLinkPort(deps: StdioLinkDeps): LinkPort {
  const memory = deps.eras ?? new EraMemory();
  return {
    open(launch, events, options) {
      if (launch.transport === 'stdio') {
        const link = new StdioLink(deps, launch, events, options, memory);
        preloadSdk();
        return link;
      }
      return createDeadLink(failure('CONNECT_FAILED', `No ${launch.transport} transport is installed.`), events);
    },
  };
}

class StdioLink implements Link {
  readonly #deps: StdioLinkDeps;
  readonly #launch: StdioLaunch;
  readonly #events: LinkEvents;
  readonly #options: LinkOptions;
  readonly #memory: EraMemory;
  readonly #table = new RequestTable((frame) => this.#run.outbox.push(frame));
  readonly #listChanges: ListChanges;
  readonly #stderr = createLineRing(STDERR_BYTES_MAX);
  #run: ChildRun;
  #session: SdkSession | null = null;
  #agreed: Handshake | null = null;
  /** Why nothing goes over this link any more. */
  #over: Failure | null = null;
  /** What became of the process that died of the question for its era, if it did. */
  #restart: 'none' | 'due' | 'made' = 'none';
  #hasStderr = false;
  #noiseLines = 0;
  #foreignAnswers = 0;
  #handshaking: Promise<Handshake> | null = null;
  #closing: Promise<StopReport> | null = null;
  #probing: Promise<void> | null = null;
  #failProbe: ((problem: Failure) => void) | null = null;

  constructor(deps: StdioLinkDeps, launch: StdioLaunch, events: LinkEvents, options: LinkOptions, memory: EraMemory) {
    this.#deps = deps;
    this.#launch = launch;
    this.#events = events;
    this.#options = options;
    this.#memory = memory;
    this.#listChanges = new ListChanges(deps.clock, (kind) => events.listChanged(kind));
    this.#run = this.#start();
  }

  handshake(): Promise<Handshake> {
    this.#handshaking ??= this.#agree();
    return this.#handshaking;
  }

  request(method: string, params: object | undefined, reply: Reply): string {
    return this.#table.request(method, params, reply);
  }

  forget(requestId: string, late: (answer: 'result' | 'error') => void): void {
    this.#table.forget(requestId, late);
  }

  unwatch(requestId: string): void {
    this.#table.unwatch(requestId);
  }

  notifyCancelled(requestId: string, reason: string): Promise<void> {
    const params = { requestId, reason };
    return this.#run.outbox.send(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params }));
  }

  async listen(): Promise<void> {
    try {
      if (this.#session === null) throw supervisorError('LINK_LOST', 'The handshake has not been made.');
      await this.#session.listen();
    } catch (error) {
      throw this.#error(error, 'SERVER_ERROR');
    }
  }

  /** Any answer is a sign of life, an error too. */
  probe(): Promise<void> {
    this.#probing ??= this.#ask().finally(() => {
      this.#probing = null;
    });
    return this.#probing;
  }

  close(): Promise<StopReport> {
    if (this.#closing === null) {
      this.#finish(failure('LINK_LOST', 'The link was closed.'));
      this.#closing = this.#run.stop();
    }
    return this.#closing;
  }

  diagnosis(): LinkDiagnosis {
    return {
      stderrTail: this.#stderr.tail(),
      noiseLines: this.#noiseLines,
      lateAnswers: this.#table.lateAnswers,
      foreignAnswers: this.#foreignAnswers,
    };
  }

  #start(): ChildRun {
    return new ChildRun(this.#deps, this.#launch, {
      started: (pid) => this.#started(pid),
      message: (message) => this.#receive(message),
      wants: (id) => (id === null ? this.#table.hasPending : this.#table.isPending(id)),
      dropped: (id, problem) => this.#dropped(id, problem),
      noise: (sample) => this.#noise(sample),
      stderr: (bytes) => this.#drained(bytes),
      ended: (end) => this.#ended(end),
    });
  }

  /** Agrees on an era once the process runs. What the link was lost of, meanwhile, says more than the SDK's error. */
  async #agree(): Promise<Handshake> {
    const { configHash } = this.#options;
    try {
      await this.#run.up;
      this.#check();
      const session = await negotiate(
        { openSession: () => this.#openSession(), restarted: () => this.#restarted() },
        this.#memory.isLegacy(configHash),
      );
      this.#check();
      this.#agreed = session.handshake();
      this.#memory.learn(configHash, session);
      if (this.#agreed.era === 'modern') this.#table.speakModern(session.requestMeta());
      return this.#agreed;
    } catch (error) {
      this.#memory.forget(configHash);
      throw this.#over === null ? handshakeError(error) : new SupervisorError(this.#over, { cause: error });
    }
  }

  #openSession(): SdkSession {
    this.#check();
    const session = new SdkSession({
      clientInfo: this.#options.clientInfo,
      pid: this.#run.pid,
      push: (frame) => this.#run.outbox.push(frame),
    });
    this.#session = session;
    return session;
  }

  async #restarted(): Promise<boolean> {
    if (this.#restart !== 'due') return false;
    this.#restart = 'made';
    await this.#run.stop();
    this.#check();
    this.#run = this.#start();
    await this.#run.up;
    return true;
  }

  #check(): void {
    if (this.#over !== null) throw new SupervisorError(this.#over);
  }

  #started(pid: number): void {
    if (this.#over === null) this.#events.opened({ pid });
  }

  #receive(message: Message): void {
    if (message.kind === 'announcement') this.#announced(message);
    else if (message.kind === 'answer' && this.#table.answer(message.id, message.body)) return;
    else if (this.#session?.receive(message) !== true && message.kind === 'answer') this.#foreignAnswers += 1;
  }

  #announced(message: Announcement): void {
    const { method, body } = message;
    const params = isBody(body['params']) ? body['params'] : {};
    if (method === 'notifications/progress') this.#table.progress(params);
    else if (method === 'notifications/subscriptions/acknowledged') this.#session?.receive(message);
    else if (method === 'notifications/cancelled') this.#cancelled(params['requestId'], params['reason'], message);
    else if (this.#agreed !== null) this.#listChanges.announced(method);
  }

  /** An older server may give up a request it was sent; a modern one may only end what the SDK asked. */
  #cancelled(requestId: unknown, reason: unknown, message: Announcement): void {
    if (this.#agreed?.era !== 'legacy' || typeof requestId !== 'string' || !this.#table.isPending(requestId)) {
      this.#session?.receive(message);
      return;
    }
    const why = typeof reason === 'string' && reason !== '' ? `: ${reason.slice(0, REASON_LENGTH_MAX)}` : '.';
    this.#table.fail(requestId, failure('SERVER_ERROR', `The server gave the request up${why}`));
  }

  #dropped(id: string | number, problem: Failure): void {
    if (this.#table.fail(id, problem)) return;
    // The SDK has no other way to be told that its request will not be answered.
    const body = { jsonrpc: '2.0', id, error: { code: INTERNAL_ERROR, message: problem.message } };
    if (this.#session?.receive({ kind: 'answer', id, body }) !== true) this.#foreignAnswers += 1;
  }

  #noise(sample: string): void {
    this.#noiseLines += 1;
    if (this.#noiseLines <= NOISE_SAMPLES_MAX) this.#stderr.push(Buffer.from(`[stdout] ${sample}\n`));
  }

  #drained(bytes: Uint8Array): void {
    this.#stderr.push(bytes);
    if (this.#hasStderr || this.#over !== null) return;
    this.#hasStderr = true;
    this.#events.stderr();
  }

  #ended(end: RunEnd): void {
    if (this.#over !== null) return;
    const isAsked = this.#handshaking !== null && this.#agreed === null && this.#session?.hasProbed === true;
    if (end.kind === 'exited' && isAsked && this.#restart === 'none') {
      this.#restart = 'due';
      this.#session?.close();
      return;
    }
    const problem = this.#agreed === null ? beforeHandshake(end) : end.problem;
    this.#finish(problem);
    this.#events.lost(problem, true);
  }

  #ask(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#failProbe = ({ message }) => reject(supervisorError('PROBE_FAILED', message));
      if (this.#over !== null) this.#failProbe(this.#over);
      this.#table.request(this.#agreed?.era === 'modern' ? 'server/discover' : 'ping', undefined, {
        result: () => resolve(),
        failed: (problem) => (SIGNS_OF_LIFE.has(problem.code) ? resolve() : this.#failProbe?.(problem)),
        progress: () => undefined,
      });
    });
  }

  #error(thrown: unknown, code: Code): SupervisorError {
    if (this.#over !== null) return new SupervisorError(this.#over, { cause: thrown });
    return new SupervisorError(toFailure(thrown, code), { cause: thrown });
  }

  #finish(problem: Failure): void {
    if (this.#over !== null) return;
    this.#over = problem;
    this.#table.close();
    this.#listChanges.close();
    this.#session?.close();
    this.#failProbe?.(problem);
  }
}
