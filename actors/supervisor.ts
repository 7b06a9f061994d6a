import { type Failure, failure } from '../machines/vocabulary.js';
import type { Supervisor, SupervisorOptions, Workspace, WorkspaceOptions } from './api.js';
import { SupervisorError, supervisorError } from './errors.js';
import { LIVE_SLOTS, LiveSlots } from './live-slots.js';
import type { ClockPort, Ports } from './ports.js';
import { createWorkspace } from './workspace.js';
import { WorkspaceRuntime } from './workspace-runtime.js';

interface Running {
  readonly runtime: Promise<WorkspaceRuntime>;
  readonly owner: object;
  readonly options: string;
  handles: number;
}

/** What the supervisors of one process share: its live connections and its running workspaces. */
export class ProcessPool {
  readonly slots: LiveSlots;
  /** By real path and state directory. */
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
export function createSupervisor({ ports, pool = new ProcessPool(ports.clock), ...options }: CoreOptions): Supervisor {
  const identity = {};
  const open = new Set<Workspace>();
  const runtimes = new Set<WorkspaceRuntime>();
  for (const fingerprint of options.approvedFingerprints ?? []) pool.approved.add(fingerprint);
  let remote: boolean | null = null;
  let closing: Promise<void> | undefined;

  const start = async (root: string, workspaceOptions: WorkspaceOptions): Promise<WorkspaceRuntime> => {
    const [trusted, switches] = await Promise.all([ports.db.trusted(root), ports.db.switches()]);
    const runtime = new WorkspaceRuntime(
      root,
      { ports, options, slots: pool.slots, approved: pool.approved, name: pool.nextName() },
      workspaceOptions,
      { trusted, switches },
    );
    runtimes.add(runtime);
    if (remote !== null) runtime.setRemote(remote);
    return runtime;
  };

  const handleOn = (root: string, running: Running, runtime: WorkspaceRuntime): Workspace => {
    const workspace = createWorkspace(runtime, async () => {
      open.delete(workspace);
      running.handles -= 1;
      if (running.handles > 0) return;
      await runtime.close(closed(`the workspace "${root}" is closed`));
      runtimes.delete(runtime);
      pool.running.delete(root);
    });
    open.add(workspace);
    return workspace;
  };

  return {
    async openWorkspace(path, workspaceOptions = {}) {
      if (closing !== undefined) throw new SupervisorError(closed('the supervisor is closed'));
      const root = ports.realPath === undefined ? path : await ports.realPath(path);
      const wanted = JSON.stringify(workspaceOptions);
      const running: Running = pool.running.get(root) ?? {
        runtime: start(root, workspaceOptions),
        owner: identity,
        options: wanted,
        handles: 0,
      };
      if (running.owner !== identity || running.options !== wanted) {
        throw supervisorError('WORKSPACE_CONFLICT', `the workspace "${root}" is already open with other options`, {
          hint: 'close it there first',
        });
      }
      running.handles += 1;
      pool.running.set(root, running);
      try {
        const runtime = await running.runtime;
        const workspace = handleOn(root, running, runtime);
        // A close that came meanwhile has not seen this handle.
        if ((closing as Promise<void> | undefined) !== undefined) {
          await workspace.close();
          throw new SupervisorError(closed('the supervisor is closed'));
        }
        return workspace;
      } catch (error) {
        if (pool.running.get(root) === running && running.handles <= 1) pool.running.delete(root);
        throw error;
      }
    },
    setRemote(on) {
      remote = on;
      for (const runtime of runtimes) runtime.setRemote(on);
    },
    close({ drainMs = 0 } = {}) {
      closing ??= (async () => {
        if (drainMs > 0) await drained(runtimes, ports.clock, drainMs);
        await Promise.all([...open].map((workspace) => workspace.close()));
        await Promise.all([ports.fs.close(), ports.db.close(), ports.close?.()]);
      })();
      return closing;
    },
  };
}

const closed = (message: string): Failure => failure('SUPERVISOR_CLOSED', message);

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
