import { isOverdue } from '../machines/server-view.js';
import { candidateKey, type Failure, failure, type ServerId, type Stage } from '../machines/vocabulary.js';
import type { ServerHandle, ServerStatus, TestReport } from './api.js';
import type { Calls } from './calls.js';
import { SupervisorError, supervisorError } from './errors.js';
import { explainServer } from './explain.js';
import { ignorable } from './harmless.js';
import { candidateToEnable } from './served-candidates.js';
import { noChannel, readinessOf } from './waiters.js';
import type { WorkspaceRuntime } from './workspace-runtime.js';
import { serverStatus } from './workspace-status.js';

/** One server of a workspace, by id. The id is looked up anew by every method: a reload may have taken it away. */
export function createServerHandle(
  runtime: WorkspaceRuntime,
  calls: Calls,
  id: ServerId,
  /** Throws once the handle that this one came from is closed. */
  refuseClosed: () => void,
): ServerHandle {
  const refuseEnded = (): void => {
    refuseClosed();
    if (runtime.ended !== null) throw new SupervisorError(runtime.ended);
  };
  const candidate = () => {
    refuseEnded();
    return runtime.candidateFor(id) ?? unknown(id);
  };
  const status = (): ServerStatus => serverStatus(runtime, id) ?? unknown(id);
  const key = () => candidateKey(candidate().layer, id);
  const ref = () => runtime.serverRef(key()) ?? unknown(id);

  const setSwitch = async (on: boolean): Promise<void> => {
    const standing = candidate();
    await runtime.setSwitch(on ? (candidateToEnable(runtime.context, id) ?? standing) : standing, on);
  };
  const remove = async (): Promise<{ readonly file: string }> => {
    const { layer } = candidate();
    const removed = await runtime.deps.ports.config.remove(runtime.scope, layer, id);
    await runtime.config.reload();
    return removed;
  };

  return {
    id,
    status,
    restart: () => ref().send({ type: 'server.restart' }),
    enable: () => ignorable(setSwitch(true)),
    disable: () => ignorable(setSwitch(false)),
    remove: () => ignorable(remove()),
    logs: () => runtime.links.get(key())?.link.diagnosis().stderrTail ?? '',
    explain: (tool) => {
      refuseEnded();
      return explainServer(runtime, calls, id, tool);
    },
    test: async (options = {}) => {
      const server = ref();
      const busy = status().callsInFlight;
      if (busy > 0 && options.force !== true) {
        throw supervisorError('INVALID_ARGUMENTS', `"${id}" has ${busy} calls in flight, which a test would end`, {
          hint: 'use force',
        });
      }
      const watched = watchTest(runtime, id, options.signal);
      server.send({ type: 'server.restart' });
      return watched(() => status());
    },
  };
}

function unknown(id: ServerId): never {
  throw supervisorError('UNKNOWN_SERVER', `no server has the id "${id.slice(0, 64)}"`);
}

/** Follows a start stage by stage, to `ready` or to where it ends. */
function watchTest(runtime: WorkspaceRuntime, id: ServerId, signal: AbortSignal | undefined) {
  const { clock } = runtime.deps.ports;
  return (status: () => ServerStatus): Promise<TestReport> =>
    new Promise((resolve, reject) => {
      const stages: { stage: Stage; ok: boolean; tookMs: number }[] = [];
      let current: { readonly stage: Stage; readonly sinceMs: number } | null = null;
      const leave = (ok: boolean): void => {
        if (current !== null && current.stage !== 'closing')
          stages.push({ stage: current.stage, ok, tookMs: clock.now() - current.sinceMs });
        current = null;
      };
      let last = status();
      const end = (error: Failure | null): void => {
        subscription.unsubscribe();
        signal?.removeEventListener('abort', abort);
        leave(error === null);
        resolve({ ok: error === null, server: id, stages, error, status: last });
      };
      const abort = (): void => end(failure('CALL_CANCELLED', 'the test was withdrawn'));
      const look = (): void => {
        const now = serverStatus(runtime, id);
        if (now === undefined) return end(failure('SERVER_REMOVED', `"${id}" is no longer in the configuration`));
        last = now;
        if (now.stage !== current?.stage) {
          leave(isUnderWay(now));
          if (now.stage !== null) current = { stage: now.stage, sinceMs: clock.now() };
        }
        const error = endOf(runtime, now);
        if (error !== undefined) end(error);
      };
      const subscription = runtime.changes.subscribe({
        next: look,
        error: reject,
        complete: () => end(runtime.ended),
      });
      if (signal?.aborted === true) return abort();
      signal?.addEventListener('abort', abort, { once: true });
      look();
    });
}

/** A stage that is left for anything but the next one, or for the end of the start, was not passed. */
function isUnderWay({ phase, stage }: ServerStatus): boolean {
  return phase === 'ready' || ((phase === 'connecting' || phase === 'approving') && stage !== 'closing');
}

/** Undefined while the start is under way, null when it is ready. */
function endOf(runtime: WorkspaceRuntime, { id, phase, stage, error, layer }: ServerStatus): Failure | null | undefined {
  if (stage === 'closing') return undefined;
  const snapshot = runtime.serverRef(candidateKey(layer, id))?.getSnapshot();
  switch (phase) {
    case 'ready':
      return null;
    case 'connecting':
      return snapshot !== undefined && isOverdue(snapshot) ? error : undefined;
    case 'approving':
      return runtime.questions.hasChannel ? undefined : noChannel(id);
    case 'idle':
    case 'backoff':
    case 'failed': {
      const readiness = snapshot === undefined ? null : readinessOf(snapshot, undefined, runtime.questions.hasChannel);
      return error ?? (readiness?.state === 'refused' ? readiness.failure : failure('NOT_READY', `"${id}" is not running`));
    }
  }
}
