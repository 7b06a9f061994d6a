import { distinctUntilChanged, map, type Observable, Observable as Rx, startWith } from 'rxjs';
import { candidateKey } from '../machines/vocabulary.js';
import type { ToolListing, Workspace, WorkspaceStatus } from './api.js';
import { type Calls, closedFailure } from './calls.js';
import { SupervisorError } from './errors.js';
import { explainName } from './explain.js';
import { createGateway } from './gateway.js';
import { createOutputs } from './outputs.js';
import { createServerHandle } from './server-handle.js';
import type { WorkspaceRuntime } from './workspace-runtime.js';
import { workspaceStatus } from './workspace-status.js';

/** What the handles of one running workspace share. */
export interface SharedWorkspace {
  readonly runtime: WorkspaceRuntime;
  readonly calls: Calls;
}

/** One handle; `release` gives it up and settles when that is done. */
export function createWorkspace({ runtime, calls }: SharedWorkspace, release: () => Promise<void>): Workspace {
  const { ports } = runtime.deps;
  const status = (): WorkspaceStatus => workspaceStatus(runtime);
  const mayBeCalled = ({ callable, server, tool }: ToolListing): boolean =>
    callable && calls.policyOf(server, tool).verdict !== 'deny';
  let closing: Promise<void> | undefined;
  const refuseClosed = (): void => {
    if (closing !== undefined) throw new SupervisorError(closedFailure(runtime.root));
  };

  return {
    root: runtime.root,
    loaded: runtime.loaded,
    status,
    status$: statuses(runtime, status),
    tools: () => runtime.catalogue.tools(),
    call: (name, args, options = {}) => {
      if (closing !== undefined) return Promise.reject(new SupervisorError(closedFailure(runtime.root)));
      return calls.call(name, args, options);
    },
    gateway: {
      ...createGateway({
        catalogue: runtime.catalogue,
        outputs: createOutputs({ fs: ports.fs }),
        log: ports.log,
        ...(ports.regex === undefined ? {} : { regex: ports.regex }),
        turn: () => new Promise((resolve) => void ports.clock.setTimeout(resolve, 0)),
        status,
        call: async (name, args, options) => {
          refuseClosed();
          return calls.call(name, args, options);
        },
        request: async (server, method, params, options) => {
          refuseClosed();
          return calls.request(server, method, params, options);
        },
      }),
      tools: () => runtime.catalogue.tools().filter(mayBeCalled),
      watchTools: (changed) => {
        const watching = runtime.changes.subscribe({ next: changed, error: () => undefined });
        return () => watching.unsubscribe();
      },
    },
    server: (id) => createServerHandle(runtime, calls, id, refuseClosed),
    explain: (name) => {
      refuseClosed();
      if (runtime.ended !== null) throw new SupervisorError(runtime.ended);
      return explainName(runtime, calls, name);
    },
    questions: () => runtime.questions.list(),
    answer: (nonce, decision) => closing === undefined && runtime.questions.answer(nonce, decision),
    digestOf: (value) => runtime.questions.digestOf(value),
    reload: async () => {
      refuseClosed();
      await runtime.reload();
      return status();
    },
    setTrusted: (trusted) => {
      refuseClosed();
      return runtime.setTrusted(trusted);
    },
    endSession: (session) => calls.endSession(session),
    connectAll: () => {
      refuseClosed();
      return connectAll(runtime, status);
    },
    close: () => {
      closing ??= release();
      return closing;
    },
  };
}

/** Distinct by content: a status is small, and nobody is woken for the same one twice. */
function statuses(runtime: WorkspaceRuntime, status: () => WorkspaceStatus): Observable<WorkspaceStatus> {
  return settled(runtime).pipe(
    startWith(undefined),
    map(status),
    distinctUntilChanged((one, other) => JSON.stringify(one) === JSON.stringify(other)),
  );
}

/** One notice for all that changes within a turn. */
function settled(runtime: WorkspaceRuntime): Observable<undefined> {
  return new Rx((observer) => {
    let isDue = false;
    return runtime.changes.subscribe({
      next: () => {
        if (isDue) return;
        isDue = true;
        queueMicrotask(() => {
          isDue = false;
          observer.next(undefined);
        });
      },
      error: (error) => observer.error(error),
      complete: () => observer.complete(),
    });
  });
}

/** Demands every server with open gates; done when none is on its way any more. */
async function connectAll(runtime: WorkspaceRuntime, status: () => WorkspaceStatus): Promise<WorkspaceStatus> {
  await runtime.loaded;
  for (const { id, layer, phase, blockedBy } of status().servers) {
    if (blockedBy === null && phase !== 'ready')
      runtime.serverRef(candidateKey(layer, id))?.send({ type: 'server.demand', by: 'person' });
  }
  const { serving } = runtime;
  if (!serving.isSettled) {
    await new Promise<void>((resolve) => {
      const subscription = runtime.changes.subscribe({
        next: () => {
          if (!serving.isSettled) return;
          subscription.unsubscribe();
          resolve();
        },
        error: () => resolve(),
        complete: () => resolve(),
      });
    });
  }
  return status();
}
