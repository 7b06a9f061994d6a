import { Subject } from 'rxjs';
import { createActor } from 'xstate';
import { type Candidate, switchKey } from '../machines/candidates.js';
import type { ServerEvent } from '../machines/server-events.js';
import type { ServerSnapshot } from '../machines/server-view.js';
import { type CandidateKey, candidateKey, type Failure, failure, type ServerId } from '../machines/vocabulary.js';
import type { ServerRef } from '../machines/workspace-machine.js';
import type { WorkspaceOptions } from './api.js';
import type { AuditTrail } from './audit-trail.js';
import { Catalogue } from './catalogue.js';
import { serverOptionsOf } from './configuration.js';
import { CredentialGuard } from './credential-guard.js';
import { toFailure } from './errors.js';
import type { Grants } from './grants.js';
import { harmlessInspector } from './harmless.js';
import { LinkTable } from './link-table.js';
import type { ApprovalCard, ConfigScope } from './ports.js';
import { Questions } from './questions.js';
import type { RuntimeDeps } from './runtime-deps.js';
import { hearContext, serverDepsFor, WAITING_MAX } from './runtime-logic.js';
import { candidateFor, shownBy } from './served-candidates.js';
import { providedWorkspace, provideServers } from './server-actors.js';
import { ServerApprovals } from './server-approvals.js';
import { Serving } from './serving.js';
import { Waiters } from './waiters.js';
import { WorkspaceConfig } from './workspace-config.js';
import type { WorkspaceMemory } from './workspace-memory.js';
import { recordsFor } from './workspace-records.js';
import { WorkspaceSlots } from './workspace-slots.js';

const APPROVAL_TIMEOUT_MS = 300_000;

/**
 * One running workspace: its machine and what the machine's servers need from outside. Several handles may share it. It
 * decides nothing about a server; that is the machines' part.
 */
export class WorkspaceRuntime {
  readonly root: string;
  readonly scope: ConfigScope;
  readonly deps: RuntimeDeps;
  readonly links = new LinkTable();
  readonly catalogue: Catalogue;
  readonly questions: Questions;
  readonly waiters: Waiters;
  readonly config: WorkspaceConfig;
  readonly credentials: CredentialGuard;
  readonly grants: Grants;
  readonly audit: AuditTrail;
  readonly serving: Serving;
  readonly approvalTimeoutMs: number;
  /** Servers whose callers are to be told now, whatever they wait for. */
  readonly interrupts = new Subject<{ readonly key: CandidateKey; readonly problem: Failure }>();
  /** After anything that a status shows may have changed. */
  readonly changes = new Subject<void>();
  readonly loaded: Promise<void>;
  readonly #actor;
  /** What the questions of the servers show, as last vetted. */
  readonly #cards = new Map<CandidateKey, ApprovalCard>();
  readonly #slots: WorkspaceSlots;
  readonly #memory: WorkspaceMemory;
  readonly #watch: { close(): Promise<void> };
  #trusted: boolean;
  #ended: Failure | null = null;

  constructor(scope: ConfigScope, deps: RuntimeDeps, options: WorkspaceOptions, memory: WorkspaceMemory) {
    const { ports } = deps;
    const { root } = scope;
    this.root = root;
    this.scope = scope;
    this.deps = deps;
    this.#memory = memory;
    // The host's no wins over what the machine remembers; its silence makes no yes.
    this.#trusted = options.trusted ?? memory.trusted ?? false;
    this.approvalTimeoutMs = deps.options.approvalTimeoutMs ?? APPROVAL_TIMEOUT_MS;
    const askableMs = deps.options.approve === undefined ? null : this.approvalTimeoutMs;
    const { db, digest, log, clock, random } = ports;
    ({ grants: this.grants, audit: this.audit } = recordsFor(this));
    this.catalogue = new Catalogue({ digest });
    this.questions = new Questions({ ask: deps.options.approve, clock, random, digest, onAnswered: this.audit.answered });
    this.waiters = new Waiters(clock, WAITING_MAX, (key) => this.#tell(key, { type: 'demand.ended' }));
    this.#slots = new WorkspaceSlots({ slots: deps.slots, name: deps.name, send: (key, event) => this.#tell(key, event) });
    this.config = new WorkspaceConfig({
      ports,
      scope,
      slots: deps.slots,
      enable: options.enable ?? [],
      approvalTimeoutMs: askableMs,
      startsUnasked: deps.options.discover ?? true,
      isTrusted: () => this.#trusted,
      isEnded: () => this.isEnded,
      send: (command) => this.#actor.send(command),
      onRead: () => this.changed(),
    });
    this.credentials = new CredentialGuard({ db, digest, log, root, onChange: () => this.changed() });
    this.serving = new Serving({
      ports,
      root,
      catalogue: this.catalogue,
      links: this.links,
      waiters: this.waiters,
      hasChannel: this.questions.hasChannel,
      discovers: deps.options.discover ?? true,
      serverRef: (key) => this.serverRef(key),
      shown: () => shownBy(this.context),
      toolLimitOf: (key) => this.config.toolLimitOf(key),
      timeoutMsOf: (key) => this.config.timeoutMsOf(key),
      onChange: () => this.changed(),
      isEnded: () => this.isEnded,
    });
    const { inspect } = deps.options;
    this.#actor = createActor(providedWorkspace, {
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
      ...(inspect === undefined ? {} : { inspect: harmlessInspector(inspect) }),
    });
    const hooks = {
      onCard: (key: CandidateKey, card: ApprovalCard) => void this.#cards.set(key, card),
      onApproved: (fingerprint: string) => memory.saveApproved(fingerprint),
    };
    provideServers(this.#actor.system, serverDepsFor(this, hooks));
    this.#listen(options.trusted !== undefined);
    this.#actor.start();
    this.#watch = ports.config.watch(scope, () => void this.reload());
    // A search that came before them would say that there is nothing.
    this.loaded = this.reload().then(() => this.serving.listsLoaded());
    memory.listen({
      // What the host says of trust outranks what other processes decide.
      trusted: (trusted) => {
        if (options.trusted === undefined) this.#setTrusted(trusted);
      },
      switched: (key, on) => this.#actor.send({ type: 'switch.changed', key, on }),
    });
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

  candidateFor(id: ServerId): Candidate | undefined {
    return candidateFor(this.context, id);
  }

  /** How the candidate stands that `candidateFor` names. */
  snapshotOf(id: ServerId): ServerSnapshot | undefined {
    const candidate = this.candidateFor(id);
    return candidate === undefined ? undefined : this.serverRef(candidateKey(candidate.layer, id))?.getSnapshot();
  }

  /** Tells apart what serves an id: a consent is for one definition of one layer. */
  identityOf(id: ServerId): string {
    const candidate = this.candidateFor(id);
    return candidate === undefined ? '' : `${candidateKey(candidate.layer, id)} ${candidate.configHash}`;
  }

  /** Holds for this run whatever happens; rejects with `STORE_FAILED` when it will not hold for the next. */
  setTrusted(trusted: boolean): Promise<void> {
    if (this.isEnded) return Promise.resolve();
    this.#setTrusted(trusted);
    return this.#memory.setTrusted(trusted);
  }

  /** Reads the configuration, and what is remembered of its tools, anew. */
  async reload(): Promise<void> {
    await Promise.all([this.config.reload(), this.grants.reload()]);
  }

  setRemote(enabled: boolean): void {
    if (!this.isEnded) this.config.setRemote(enabled);
  }

  /** Holds for this run whatever happens; rejects with `STORE_FAILED` when it will not hold for the next. */
  setSwitch(candidate: Candidate, on: boolean): Promise<void> {
    const key = switchKey(candidate, this.root);
    this.#actor.send({ type: 'switch.changed', key, on });
    return this.#memory.setSwitch(key, on);
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
      // A machine that broke, a bug, says nothing any more; what its servers hold is ended below.
      this.#actor.subscribe({ error: () => resolve() });
    });
    this.questions.close();
    this.waiters.close(problem);
    this.changes.next();
    this.#actor.send({ type: 'workspace.close', failure: problem });
    const unwatched = this.#watch.close().catch((error: unknown) => this.#log('watch.failed', error));
    const remembered = this.#memory.close().catch((error: unknown) => this.#log('store.failed', error));
    await Promise.all([isClosed, unwatched, remembered, this.loaded, this.serving.close(), this.grants.close()]);
    for (const key of Object.keys(this.context.servers)) this.#slots.releaseAll(key as CandidateKey);
    this.#actor.stop();
    await this.links.closeAll();
    this.config.close();
    this.interrupts.complete();
    this.changes.complete();
  }

  readonly changed = (): void => {
    if (!this.isEnded) this.changes.next();
  };

  /** Its actor may have ended a moment ago, and be taken out of the machine's context only with the next event. */
  #tell(key: CandidateKey, event: ServerEvent): void {
    const ref = this.serverRef(key);
    if (ref?.getSnapshot().status === 'active') ref.send(event);
  }

  #setTrusted(trusted: boolean): void {
    this.#trusted = trusted;
    this.#actor.send({ type: 'trust.changed', trusted });
    void this.reload();
  }

  #listen(isTrustGiven: boolean): void {
    const actor = this.#actor;
    const approvals = new ServerApprovals({
      questions: this.questions,
      approved: this.deps.approved,
      onApproved: (fingerprint) => this.#memory.saveApproved(fingerprint),
      cardOf: (key) => this.#cards.get(key),
      serverRef: (key) => this.serverRef(key),
    });
    actor.subscribe({
      next: hearContext(
        (context) => this.audit.decided(context, isTrustGiven),
        (isOther) => (isOther ? this.serving.serve() : this.changed()),
      ),
      // An observer without `error` would make a bug in a machine the host's uncaught exception.
      error: (error) => this.#log('workspace.broke', error),
    });
    for (const type of ['slot.wanted', 'slot.released', 'slot.quiet', 'slot.busy'] as const)
      actor.on(type, (report) => this.#slots.hear(report));
    actor.on('approval.wanted', (report) => approvals.ask(report));
    actor.on('approval.closed', (report) => approvals.close(report));
    actor.on('list.walked', (report) => this.serving.list(report));
    actor.on('server.interrupted', ({ key, failure: problem }) => {
      this.waiters.rejectAll(key, problem);
      this.interrupts.next({ key, problem });
    });
    actor.on('server.gone', ({ key }) => {
      this.#cards.delete(key);
      this.credentials.forget(key);
      this.serving.forget(key);
    });
    actor.on('server.broke', ({ key }) => this.#broke(key));
    // The actor is there once the event that added it has been worked off.
    actor.on('server.added', ({ key }) => queueMicrotask(() => this.serving.follow(key)));
  }

  /** Its actor is gone and can say nothing any more: what it held is ended from here. */
  #broke(key: CandidateKey): void {
    const problem = failure('LINK_LOST', `"${key}" was ended by a fault of the supervisor`);
    this.#slots.releaseAll(key);
    this.links.abandon(key, problem);
    this.waiters.rejectAll(key, problem);
    this.#log('server.broke', problem.message);
  }

  #log(event: string, thrown: unknown): void {
    const { code, message } = toFailure(thrown, 'STORE_FAILED');
    this.deps.ports.log.write({ level: 'error', event, code, message });
  }
}
