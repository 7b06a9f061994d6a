import { type Failure, failure } from '../machines/vocabulary.js';
import type { Supervisor, SupervisorOptions, Workspace, WorkspaceOptions } from './api.js';
import { Calls } from './calls.js';
import { SupervisorError, supervisorError, toFailure } from './errors.js';
import { harmlessAudit, harmlessLog, ignorable } from './harmless.js';
import { LIVE_SLOTS, LiveSlots } from './live-slots.js';
import { plainPlugins, refuseFaultyPlugins } from './plugin-layers.js';
import type { ClockPort, ConfigScope, Json, PluginLayer, Ports } from './ports.js';
import { redactedPorts } from './redacted-ports.js';
import { RemoteSwitch } from './remote-switch.js';
import { createWorkspace, type SharedWorkspace } from './workspace.js';
import { WorkspaceMemory } from './workspace-memory.js';
import { WorkspaceRuntime } from './workspace-runtime.js';

interface Running {
  readonly shared: Promise<SharedWorkspace>;
  readonly owner: object;
  readonly options: string;
  handles: number;
  /** From the last handle given up until nothing is left; whoever opens the root meanwhile waits for it, then starts anew. */
  ending: Promise<void> | undefined;
}

/** What the supervisors of one process share: its live connections and its running workspaces. */
export class ProcessPool {
  readonly slots: LiveSlots;
  /** By real path. A running workspace is one supervisor's: another one has another channel, other hooks, other ports. */
  readonly running = new Map<string, Running>();
  /** Fingerprints a person approved; they live as long as the process. */
  readonly approved = new Set<string>();
  #named = 0;

  constructor(clock: ClockPort, capacity: number = LIVE_SLOTS) {
    this.slots = new LiveSlots(clock, capacity);
  }

  nextName(): string {
    this.#named += 1;
    return `w${this.#named}`;
  }
}

export interface CoreOptions extends SupervisorOptions {
  readonly ports: Ports;
  /** Shared by the supervisors of a process. Absent: one of its own. */
  readonly pool?: ProcessPool;
}

/** A supervisor on any set of ports; the package's main export has one on Node's. */
export function createSupervisor({ ports: given, pool, ...options }: CoreOptions): Supervisor {
  for (const name of ['approvalTimeoutMs', 'hardDeadlineMs'] as const) {
    const value = options[name];
    // A clock that is set for longer fires at once.
    if (value !== undefined && !(Number.isInteger(value) && value > 0 && value < 2 ** 31))
      throw supervisorError('INVALID_ARGUMENTS', `"${name}" is no whole number of milliseconds from 1 to 2147483647`);
  }
  const { audit: ownAudit, ...others } = given;
  const audit = options.audit === undefined ? ownAudit : options.audit === null ? undefined : harmlessAudit(options.audit);
  const ports = redactedPorts({ ...others, log: harmlessLog(given.log), ...(audit === undefined ? {} : { audit }) });
  const core = new CoreSupervisor(ports, pool ?? new ProcessPool(ports.clock), options);
  return {
    openWorkspace: (root, workspaceOptions) => core.openWorkspace(root, workspaceOptions),
    setRemote: (on, remoteOptions) => core.setRemote(on, remoteOptions),
    close: (closeOptions) => core.close(closeOptions),
  };
}

class CoreSupervisor {
  readonly #ports: Ports;
  readonly #pool: ProcessPool;
  readonly #options: SupervisorOptions;
  readonly #opening = new Set<Promise<unknown>>();
  /** Until nothing of them is left. */
  readonly #open = new Set<Workspace>();
  readonly #runtimes = new Set<WorkspaceRuntime>();
  readonly #remote: RemoteSwitch;
  #closing: Promise<void> | undefined;

  constructor(ports: Ports, pool: ProcessPool, options: SupervisorOptions) {
    this.#ports = ports;
    this.#pool = pool;
    this.#options = options;
    this.#remote = new RemoteSwitch(ports.config, this.#runtimes, this.#pool.slots);
    for (const fingerprint of options.approvedFingerprints ?? []) pool.approved.add(fingerprint);
  }

  openWorkspace(path: string, options: WorkspaceOptions = {}): Promise<Workspace> {
    const opening = this.#openHandle(path, options);
    const forget = (): void => void this.#opening.delete(opening);
    this.#opening.add(opening);
    opening.then(forget, forget);
    return opening;
  }

  setRemote(on: boolean, { persist = false }: { readonly persist?: boolean } = {}): Promise<void> {
    if (this.#closing !== undefined) return ignorable(Promise.reject(new SupervisorError(supervisorClosed)));
    return ignorable(this.#remote.set(on, persist));
  }

  close({ drainMs = 0 }: { readonly drainMs?: number } = {}): Promise<void> {
    this.#closing ??= this.#end(drainMs);
    return this.#closing;
  }

  async #end(drainMs: number): Promise<void> {
    const { clock, fs, db, close, audit } = this.#ports;
    if (drainMs > 0) await drained(this.#runtimes, clock, drainMs);
    await Promise.allSettled([...this.#open].map((workspace) => workspace.close()));
    while (this.#opening.size > 0) await Promise.allSettled([...this.#opening]);
    await this.#remote.written;
    // Whatever one of them says, the others are ended too.
    const endings = await Promise.allSettled([fs, db, { close }, audit].map(async (port) => port?.close?.()));
    const failed = endings.find(({ status }) => status === 'rejected');
    if (failed !== undefined) throw new SupervisorError(toFailure((failed as PromiseRejectedResult).reason, 'STORE_FAILED'));
  }

  async #openHandle(path: string, options: WorkspaceOptions): Promise<Workspace> {
    const { realPath } = this.#ports;
    this.#refuseClosed();
    const plugins = plainPlugins(options.plugins);
    const root = realPath === undefined ? path : await realPath(path);
    const running = await this.#running(root, options, plugins);
    let shared: SharedWorkspace;
    try {
      shared = await running.shared;
    } catch (error) {
      if (this.#pool.running.get(root) === running) this.#pool.running.delete(root);
      throw new SupervisorError(toFailure(error, 'STORE_FAILED'), { cause: error });
    }
    const workspace = this.#handleOn(root, running, shared);
    // A close that came meanwhile has not seen this handle.
    if (this.#closing !== undefined) await workspace.close();
    this.#refuseClosed();
    return workspace;
  }

  /** What runs at this root, or is started now. */
  async #running(root: string, options: WorkspaceOptions, plugins: readonly PluginLayer[]): Promise<Running> {
    const { running: all } = this.#pool;
    let running = all.get(root);
    while (running?.ending !== undefined) {
      await running.ending;
      running = all.get(root);
    }
    this.#refuseClosed();
    const given =
      plugins.length === 0 ? '' : this.#ports.digest.ofJson(plugins.map(({ name, servers }) => [name, servers as Json]));
    const wanted = JSON.stringify([options.trusted ?? null, options.enable ?? [], given]);
    if (running === undefined) {
      const scope = plugins.length === 0 ? { root } : { root, plugins };
      running = { shared: this.#start(scope, options), owner: this, options: wanted, handles: 0, ending: undefined };
      all.set(root, running);
    }
    // The handle is taken here, before anybody else's close can count them.
    if (running.owner === this && running.options === wanted) {
      running.handles += 1;
      return running;
    }
    const whose = running.owner === this ? 'with other options' : 'by another supervisor of this process';
    throw supervisorError('WORKSPACE_CONFLICT', `the workspace "${root}" is already open ${whose}`, {
      hint: 'close it there first',
    });
  }

  async #start(scope: ConfigScope, options: WorkspaceOptions): Promise<SharedWorkspace> {
    const { slots, approved } = this.#pool;
    await refuseFaultyPlugins(this.#ports.config, scope);
    const memory = await WorkspaceMemory.open(scope.root, this.#ports);
    const deps = { ports: this.#ports, options: this.#options, slots, approved, name: this.#pool.nextName() };
    try {
      const runtime = new WorkspaceRuntime(scope, deps, options, memory);
      this.#runtimes.add(runtime);
      this.#remote.tell(runtime);
      return { runtime, calls: new Calls(runtime) };
    } catch (error) {
      await memory.close();
      throw error;
    }
  }

  #handleOn(root: string, running: Running, shared: SharedWorkspace): Workspace {
    const workspace = createWorkspace(shared, async () => {
      running.handles -= 1;
      if (running.handles === 0) running.ending = this.#stop(root, shared.runtime);
      await running.ending;
      this.#open.delete(workspace);
    });
    this.#open.add(workspace);
    return workspace;
  }

  async #stop(root: string, runtime: WorkspaceRuntime): Promise<void> {
    try {
      await runtime.close(closed(`the workspace "${root}" is closed`));
    } finally {
      this.#runtimes.delete(runtime);
      this.#pool.running.delete(root);
    }
  }

  #refuseClosed(): void {
    if (this.#closing !== undefined) throw new SupervisorError(supervisorClosed);
  }
}

const closed = (message: string): Failure => failure('SUPERVISOR_CLOSED', message);
const supervisorClosed = closed('the supervisor is closed');

/** Waits until no call is in flight, or for as long as was allowed. */
function drained(runtimes: ReadonlySet<WorkspaceRuntime>, clock: ClockPort, drainMs: number): Promise<void> {
  const isQuiet = (): boolean => [...runtimes].every(({ links }) => links.all().every(({ calls }) => calls.inFlight === 0));
  return new Promise((resolve) => {
    if (isQuiet()) return resolve();
    const subscriptions = [...runtimes].map(({ changes }) =>
      changes.subscribe({ next: () => isQuiet() && end(), error: () => end(), complete: () => isQuiet() && end() }),
    );
    const timer = clock.setTimeout(() => end(), drainMs);
    const end = (): void => {
      clock.clearTimeout(timer);
      for (const subscription of subscriptions) subscription.unsubscribe();
      resolve();
    };
  });
}
