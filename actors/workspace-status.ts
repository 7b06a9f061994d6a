import { isSwitchedOn } from '../machines/candidates.js';
import type { ServerContext } from '../machines/server-context.js';
import { backoffDelayMs } from '../machines/server-context.js';
import { phaseOf, type ServerSnapshot, stageOf } from '../machines/server-view.js';
import {
  type CandidateKey,
  candidateKey,
  type Failure,
  failure,
  type ListState,
  type Phase,
  type ServerId,
} from '../machines/vocabulary.js';
import type { ServerStatus, WorkspaceStatus } from './api.js';
import { NOT_RUNNING } from './not-running.js';
import type { ConfigFault } from './ports.js';
import { shadowedBy } from './served-candidates.js';
import { noChannel } from './waiters.js';
import type { ConfigState } from './workspace-config.js';
import type { WorkspaceRuntime } from './workspace-runtime.js';

/** One snapshot of a workspace, as data. */
export function workspaceStatus(runtime: WorkspaceRuntime): WorkspaceStatus {
  const { candidates, remoteEnabled } = runtime.context;
  const ids = [...new Set(candidates.map(({ id }) => id))].sort();
  return {
    workspace: {
      root: runtime.root,
      trusted: runtime.trusted,
      remoteEnabled,
      config: withGrants(runtime.config.state, runtime.grants.warnings),
      warnings: lostRecords(runtime),
    },
    servers: ids.flatMap((id) => serverStatus(runtime, id) ?? []),
  };
}

/** What is wrong with the list of remembered tools rejects nothing: it grants nothing. */
function withGrants(state: ConfigState, faults: readonly ConfigFault[]): ConfigState {
  return faults.length === 0 ? state : { ...state, warnings: [...state.warnings, ...faults] };
}

function lostRecords({ deps }: WorkspaceRuntime): readonly string[] {
  const { count, reason } = deps.ports.audit?.lost() ?? { count: 0, reason: null };
  return count === 0 ? [] : [`${count} audit records could not be kept (${reason ?? 'unknown reason'})`];
}

/** One id, seen through the candidate that serves it or would have to. Undefined for an id no layer defines. */
export function serverStatus(runtime: WorkspaceRuntime, id: ServerId): ServerStatus | undefined {
  const candidate = runtime.candidateFor(id);
  if (candidate === undefined) return undefined;
  const key = candidateKey(candidate.layer, id);
  const snapshot = runtime.serverRef(key)?.getSnapshot();
  const { layer, transport } = candidate;
  // The machine of a one-shot command takes every server for a lazy one; what is configured is what is shown.
  const definition = runtime.config.definitionOf(key);
  const basics = {
    id,
    layer,
    file: definition?.file ?? null,
    shadowed: shadowedBy(runtime.context, candidate),
    transport,
    origin: candidate.origin ?? null,
    lifecycle: definition?.lifecycle ?? candidate.lifecycle,
    enabled: isSwitchedOn(candidate, runtime.context),
  };
  return snapshot === undefined ? { ...basics, ...brokenStatus(id) } : liveStatus(runtime, key, snapshot, basics);
}

type Basics = Pick<ServerStatus, 'id' | 'layer' | 'file' | 'shadowed' | 'transport' | 'origin' | 'lifecycle' | 'enabled'>;

/** Named one by one: a status is made often, and an object put together from others costs several times as much. */
function liveStatus(runtime: WorkspaceRuntime, key: CandidateKey, snapshot: ServerSnapshot, basics: Basics): ServerStatus {
  const { context } = snapshot;
  const phase = phaseOf(snapshot);
  const isIdle = phase === 'idle';
  const { tools, resources, resourceTemplates, prompts } = listsOf(runtime, context);
  return {
    id: basics.id,
    layer: basics.layer,
    file: basics.file,
    shadowed: basics.shadowed,
    transport: basics.transport,
    origin: basics.origin,
    lifecycle: basics.lifecycle,
    enabled: basics.enabled,
    phase,
    blockedBy: isIdle ? (context.shut?.gate ?? context.blockedBy) : null,
    fingerprint: context.fingerprint,
    generation: context.generation,
    pid: context.pid,
    era: context.handshake?.era ?? null,
    protocolVersion: context.handshake?.protocolVersion ?? null,
    serverInfo: context.handshake?.serverInfo ?? null,
    tools,
    resources,
    resourceTemplates,
    prompts,
    stage: stageOf(snapshot),
    error: errorOf(runtime, context, phase),
    retryAtMs: retryAtMs(runtime, key, context, phase),
    restarts: context.restarts.length,
    callsInFlight: runtime.links.get(key)?.calls.inFlight ?? 0,
    cancellations: context.cancellations,
    lastClose: context.lastClose,
    warnings: warningsOf(runtime, key, context),
  };
}

/** Only a bug leaves a candidate without its actor; it is shown as what it is. */
function brokenStatus(id: ServerId) {
  const none: ListState = { state: 'unknown', count: 0, reason: null };
  return {
    phase: 'failed',
    blockedBy: null,
    ...NOT_RUNNING,
    tools: { ...none, skipped: [] },
    resources: none,
    resourceTemplates: none,
    prompts: none,
    error: failure('NOT_READY', `"${id}" was ended by a fault of the supervisor`, 'reload the configuration'),
    warnings: [],
  } as const;
}

/** What runs now was listed by its machine; what does not run is known from the catalogue. */
function listsOf(runtime: WorkspaceRuntime, context: ServerContext) {
  const counts = runtime.catalogue.counts(context.profile.id);
  if (context.handshake === null) return counts;
  const { lists } = context;
  return { ...lists, tools: { ...lists.tools, skipped: counts.tools.skipped } };
}

function errorOf(runtime: WorkspaceRuntime, { shut, problem, profile }: ServerContext, phase: Phase): Failure | null {
  if (phase === 'ready') return null;
  if (phase === 'approving') return runtime.questions.hasChannel ? problem : noChannel(profile.id);
  return (phase === 'idle' ? shut?.failure : null) ?? problem;
}

function retryAtMs(runtime: WorkspaceRuntime, key: CandidateKey, context: ServerContext, phase: string): number | null {
  const since = runtime.serving.backoffSinceMs.get(key);
  return phase === 'backoff' && since !== undefined ? since + backoffDelayMs(context) : null;
}

function warningsOf(
  runtime: WorkspaceRuntime,
  key: CandidateKey,
  { profile, wroteStderr, handshake }: ServerContext,
): readonly string[] {
  const overLimit = runtime.catalogue.overLimit(profile.id);
  return [
    ...runtime.credentials.warningsOf(key, profile.configHash),
    ...(overLimit > 0 ? [`${overLimit} tools are past the limit and cannot be called`] : []),
    ...(wroteStderr && handshake === null ? ['it wrote to stderr; see its log'] : []),
  ];
}
