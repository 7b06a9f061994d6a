import { Subject } from 'rxjs';
import { createActor } from 'xstate';
import { type Candidate, switchKey } from '../machines/candidates.js';
import type { ServerReport } from '../machines/server-events.js';
import { type CandidateKey, candidateKey, type Failure, failure, type ServerId } from '../machines/vocabulary.js';
import { type ServerRef, workspaceMachine } from '../machines/workspace-machine.js';
import type { SupervisorOptions, WorkspaceOptions } from './api.js';
import { Catalogue } from './catalogue.js';
import { serverOptionsOf } from './configuration.js';
import { toFailure } from './errors.js';
import { LinkTable } from './link-table.js';
import type { LiveSlots } from './live-slots.js';
import type { Ports, Vetted } from './ports.js';
import { Questions } from './questions.js';
import { createServerLogic } from './server-actors.js';
import { ServerApprovals } from './server-approvals.js';
import { Serving } from './serving.js';
import { Waiters } from './waiters.js';
import { WorkspaceConfig } from './workspace-config.js';

const IN_FLIGHT_MAX = 64;
const WAITING_MAX = 1_024;
const HARD_DEADLINE_MS = 600_000;
const APPROVAL_TIMEOUT_MS = 300_000;

export interface RuntimeDeps {
  readonly ports: Ports;
  readonly options: SupervisorOptions;
  readonly slots: LiveSlots;
  /** Fingerprints approved in this process, shared by its workspaces. */
  readonly approved: Set<string>;
  /** Tells the workspaces of a process apart where they hold slots. */
  readonly name: string;
}

/** What the machine remembered of this root before. */
export interface RuntimeMemory {
  readonly trusted: boolean | null;
  readonly switches: ReadonlyMap<string, boolean>;
}

/**
 * One running workspace: its machine and what the machine's servers need from outside. Several handles may share it. It
 * decides nothing about a server; that is the machines' part.
 */
export class WorkspaceRuntime {
  readonly root: string;
  readonly deps: RuntimeDeps;
  readonly links = new LinkTable();
  readonly catalogue: Catalogue;
  readonly questions: Questions;
  readonly waiters: Waiters;
  readonly config: WorkspaceConfig;
  readonly serving: Serving;
  readonly approvalTimeoutMs: number;
  /** After anything that a status shows may have changed. */
  readonly changes = new Subject<void>();
  readonly loaded: Promise<void>;
  readonly #actor;
  readonly #vetted = new Map<CandidateKey, Vetted>();
  readonly #watch: { close(): Promise<void> };
  #trusted: boolean;
  #ended: Failure | null = null;

  constructor(root: string, deps: RuntimeDeps, options: WorkspaceOptions, memory: RuntimeMemory) {
    const { ports } = deps;
    this.root = root;
    this.deps = deps;
    // The host's no wins over what the machine remembers; its silence makes no yes.
    this.#trusted = options.trusted ?? memory.trusted ?? false;
    this.approvalTimeoutMs = deps.options.approvalTimeoutMs ?? APPROVAL_TIMEOUT_MS;
    const askableMs = deps.options.approve === undefined ? null : this.approvalTimeoutMs;
    this.catalogue = new Catalogue({ digest: ports.digest });
    this.questions = new Questions({ ask: deps.options.approve, clock: ports.clock, random: ports.random });
    this.waiters = new Waiters(ports.clock, (key) => this.serverRef(key)?.send({ type: 'demand.ended' }));
    this.config = new WorkspaceConfig({
      config: ports.config,
      root,
      slots: deps.slots,
      enable: options.enable ?? [],
      approvalTimeoutMs: askableMs,
      isTrusted: () => this.#trusted,
      isEnded: () => this.isEnded,
      send: (command) => this.#actor.send(command),
      onTaken: () => this.serving.serve(),
    });
    this.serving = new Serving({
      ports,
      catalogue: this.catalogue,
      links: this.links,
      waiters: this.waiters,
      hasChannel: this.questions.hasChannel,
      discovers: deps.options.discover ?? true,
      serverRef: (key) => this.serverRef(key),
      effective: () => this.#effective(),
      toolLimitOf: (key) => this.config.toolLimitOf(key),
      timeoutMsOf: (key) => this.config.definitionOf(key)?.timeoutMs ?? 30_000,
      onChange: () => this.changed(),
    });
    const { inspect } = deps.options;
    this.#actor = createActor(workspaceMachine.provide({ actors: { server: this.#serverLogic() } }), {
      input: {
        root,
        trusted: this.#trusted,
        remoteEnabled: false,
        switches: memory.switches,
        seed: deps.options.seed ?? ports.random.seed(),
        options: serverOptionsOf(null, askableMs),
      },
      clock: {
        setTimeout: (fire: () => void, delayMs: number) => ports.clock.setTimeout(fire, delayMs),
        clearTimeout: (handle: unknown) => ports.clock.clearTimeout(handle),
      },
      ...(inspect === undefined ? {} : { inspect }),
    });
    this.#listen();
    this.#actor.start();
    this.#watch = ports.config.watch({ root }, () => void this.config.reload());
    this.loaded = this.config.reload();
  }

  get trusted(): boolean {
    return this.#trusted;
  }

  get isEnded(): boolean {
    return this.#ended !== null;
  }

  /** What it was ended with, for whoever comes too late. */
  get ended(): Failure | null {
    return this.#ended;
  }

  /** The machine's own view of all candidates. */
  get context() {
    return this.#actor.getSnapshot().context;
  }

  serverRef(key: CandidateKey): ServerRef | undefined {
    return this.context.servers[key];
  }

  /** The candidate that serves an id; else the highest one, which is the one to say what keeps the id from being served. */
  candidateFor(id: ServerId): Candidate | undefined {
    const { candidates, verdicts } = this.context;
    const stack = candidates.filter((candidate) => candidate.id === id);
    return stack.find(({ layer }) => verdicts.get(candidateKey(layer, id))?.isEffective === true) ?? stack.at(-1);
  }

  setTrusted(trusted: boolean): void {
    if (this.isEnded) return;
    this.#trusted = trusted;
    this.#actor.send({ type: 'trust.changed', trusted });
    this.serving.serve();
    this.#keep(this.deps.ports.db.setTrusted(this.root, trusted));
    void this.config.reload();
  }

  setRemote(enabled: boolean): void {
    if (this.isEnded) return;
    this.config.setRemote(enabled);
    this.serving.serve();
  }

  async setSwitch(candidate: Candidate, on: boolean): Promise<void> {
    const key = switchKey(candidate, this.root);
    this.#actor.send({ type: 'switch.changed', key, on });
    this.serving.serve();
    await this.deps.ports.db.setSwitch(key, on);
  }

  endSession(session: string): void {
    this.waiters.endSession(session);
    for (const { calls } of this.links.all()) calls.endSession(session);
  }

  /** Settles whoever waits, stops every server, and resolves when nothing of the workspace is left. */
  async close(problem: Failure): Promise<void> {
    if (this.isEnded) return;
    this.#ended = problem;
    const isClosed = new Promise<void>((resolve) => {
      this.#actor.on('workspace.closed', () => resolve());
    });
    this.questions.close();
    this.waiters.close(problem);
    this.#actor.send({ type: 'workspace.close', failure: problem });
    await Promise.all([isClosed, this.#watch.close(), this.loaded]);
    this.#actor.stop();
    await this.links.closeAll();
    this.changes.complete();
  }

  readonly changed = (): void => {
    if (!this.isEnded) this.changes.next();
  };

  #effective() {
    const { candidates, verdicts } = this.context;
    return candidates
      .map(({ id, layer, configHash }) => ({ id, configHash, key: candidateKey(layer, id) }))
      .filter(({ key }) => verdicts.get(key)?.isEffective === true);
  }

  #serverLogic() {
    const { ports, options, approved } = this.deps;
    return createServerLogic({
      clock: ports.clock,
      link: ports.link,
      links: this.links,
      vet: ports.vet,
      scope: { root: this.root },
      clientInfo: options.host ?? { name: 'mcp-supervisor', version: '0.1.0' },
      approved,
      definitionOf: ({ key, configHash }) => {
        const definition = this.config.definitionOf(key);
        return definition?.configHash === configHash ? definition : undefined;
      },
      onVetted: ({ key }, vetted) => void this.#vetted.set(key, vetted),
      callOptions: ({ key, generation }) => ({
        server: this.config.definitionOf(key)?.id ?? key,
        inFlightMax: IN_FLIGHT_MAX,
        waitingMax: WAITING_MAX,
        hardDeadlineMs: options.hardDeadlineMs ?? HARD_DEADLINE_MS,
        onEdge: (isBusy) => this.serverRef(key)?.send({ type: isBusy ? 'calls.busy' : 'calls.quiet', generation }),
        onCancelled: (requestId, reason) => this.serverRef(key)?.send({ type: 'call.cancelled', generation, requestId, reason }),
        onLateAnswer: (requestId, answer) => this.serverRef(key)?.send({ type: 'answer.late', requestId, answer }),
      }),
    });
  }

  #listen(): void {
    const actor = this.#actor;
    const approvals = new ServerApprovals({
      questions: this.questions,
      approved: this.deps.approved,
      vettedOf: (key) => this.#vetted.get(key),
      serverRef: (key) => this.serverRef(key),
    });
    // An observer without `error` would make a bug in a machine the host's uncaught exception.
    actor.subscribe({ next: this.changed, error: (error) => this.#log('workspace.broke', error) });
    for (const type of ['slot.wanted', 'slot.released', 'slot.quiet', 'slot.busy'] as const)
      actor.on(type, (report) => this.#slot(report));
    actor.on('approval.wanted', (report) => approvals.ask(report));
    actor.on('approval.closed', (report) => approvals.close(report));
    actor.on('approval.known', () => queueMicrotask(() => this.serving.serve()));
    actor.on('list.walked', (report) => this.serving.list(report));
    actor.on('server.interrupted', ({ key, failure: problem }) => this.waiters.rejectAll(key, problem));
    actor.on('server.gone', ({ key }) => this.serving.forget(key));
    actor.on('server.broke', ({ key }) => this.#broke(key));
    // The actor is there once the event that added it has been worked off.
    actor.on('server.added', ({ key }) => queueMicrotask(() => this.serving.follow(key)));
  }

  #slot(report: Extract<ServerReport, { type: `slot.${string}` }>): void {
    const { slots } = this.deps;
    const { key, ticket } = report;
    const name = this.#slotName(key);
    switch (report.type) {
      case 'slot.wanted':
        return slots.request(name, ticket, report.keepAlive, {
          granted: (granted) => this.serverRef(key)?.send({ type: 'slot.granted', ticket: granted }),
          reclaimed: (reclaimed) => this.serverRef(key)?.send({ type: 'slot.reclaimed', ticket: reclaimed }),
        });
      case 'slot.released':
        return slots.release(name, ticket);
      case 'slot.quiet':
        return slots.quiet(name, ticket);
      case 'slot.busy':
        return slots.busy(name, ticket);
    }
  }

  /** Its actor is gone and can say nothing any more: what it held is ended from here. */
  #broke(key: CandidateKey): void {
    const problem = failure('LINK_LOST', `"${key}" was ended by a fault of the supervisor`);
    this.deps.slots.releaseAll(this.#slotName(key));
    const live = this.links.get(key);
    live?.calls.failAll(problem);
    if (live !== undefined) void this.links.track(live.link.close());
    this.waiters.rejectAll(key, problem);
    this.#log('server.broke', problem.message);
  }

  readonly #slotName = (key: CandidateKey): string => `${this.deps.name}:${key}`;

  #keep(saving: Promise<void>): void {
    saving.catch((error: unknown) => this.#log('store.failed', error));
  }

  #log(event: string, thrown: unknown): void {
    const { code, message } = toFailure(thrown, 'STORE_FAILED');
    this.deps.ports.log.write({ level: 'error', event, code, message });
  }
}
