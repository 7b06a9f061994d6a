import type { CandidateKey, LinkRef } from '../machines/vocabulary.js';
import type { ServerRef, WorkspaceContext } from '../machines/workspace-machine.js';
import type { AuditTrail } from './audit-trail.js';
import type { CallTableOptions } from './call-table.js';
import type { CredentialGuard } from './credential-guard.js';
import type { LinkTable } from './link-table.js';
import type { ApprovalCard, ConfigScope } from './ports.js';
import type { RuntimeDeps } from './runtime-deps.js';
import type { ServerActorDeps } from './server-actors.js';
import type { Serving } from './serving.js';
import type { WorkspaceConfig } from './workspace-config.js';

const IN_FLIGHT_MAX = 64;
/** How many calls may wait for one server: for it to become ready, or for one of those in flight to end. */
export const WAITING_MAX = 1_024;
const HARD_DEADLINE_MS = 600_000;

/** What the servers of a running workspace need of it; looked at when they need it, not before. */
export interface LogicSource {
  readonly scope: ConfigScope;
  readonly deps: RuntimeDeps;
  readonly links: LinkTable;
  readonly config: WorkspaceConfig;
  readonly credentials: CredentialGuard;
  readonly audit: AuditTrail;
  readonly serving: Serving;
  serverRef(key: CandidateKey): ServerRef | undefined;
}

export interface LogicHooks {
  /** What the question of a server shows, as last vetted. */
  readonly onCard: (key: CandidateKey, card: ApprovalCard) => void;
  /** A fingerprint that was approved for this run is about to be used. */
  readonly onApproved: (fingerprint: string) => void;
}

/** All that the servers of one workspace need from outside. */
export function serverDepsFor(runtime: LogicSource, hooks: LogicHooks): ServerActorDeps {
  const { ports, options, approved } = runtime.deps;
  return {
    clock: ports.clock,
    digest: ports.digest,
    link: ports.link,
    links: runtime.links,
    vet: ports.vet,
    scope: runtime.scope,
    clientInfo: options.host ?? { name: 'mcp-supervisor', version: '0.1.0' },
    approved,
    definitionOf: ({ key, configHash }) => {
      const definition = runtime.config.definitionOf(key);
      return definition?.configHash === configHash ? definition : undefined;
    },
    reduce: (definition, isStart) => runtime.credentials.reduce(definition, isStart),
    onVetted: ({ key }, { card, fingerprint }) => {
      if (card !== null) hooks.onCard(key, card);
      if (fingerprint !== null && approved.has(fingerprint)) hooks.onApproved(fingerprint);
    },
    onStart: (input, transport) => runtime.audit.started(input, transport),
    onUnfinished: (key, walk) => runtime.serving.keep(key, walk),
    callOptions: (input) => callOptionsFor(runtime, input),
  };
}

/** Follows the machine of a workspace: `moved` after any change of it, then `tell` whether what serves which id may be another. */
export function hearContext(moved: (context: WorkspaceContext) => void, tell: (isOther: boolean) => void) {
  let last: WorkspaceContext | undefined;
  return ({ context }: { readonly context: WorkspaceContext }): void => {
    // A report that only passes through the machine leaves it as it was.
    if (context === last) return;
    const isOther = context.verdicts !== last?.verdicts || context.candidates !== last.candidates;
    last = context;
    moved(context);
    tell(isOther);
  };
}

/** What the table of one server's calls is bounded by, and which events of it the server's machine hears. */
function callOptionsFor(runtime: LogicSource, { key, generation }: LinkRef): CallTableOptions {
  return {
    server: runtime.config.definitionOf(key)?.id ?? key,
    inFlightMax: IN_FLIGHT_MAX,
    waitingMax: WAITING_MAX,
    hardDeadlineMs: runtime.deps.options.hardDeadlineMs ?? HARD_DEADLINE_MS,
    onEdge: (isBusy) => runtime.serverRef(key)?.send({ type: isBusy ? 'calls.busy' : 'calls.quiet', generation }),
    onCancelled: (requestId, reason) => runtime.serverRef(key)?.send({ type: 'call.cancelled', generation, requestId, reason }),
    onLateAnswer: (requestId, answer) => runtime.serverRef(key)?.send({ type: 'answer.late', requestId, answer }),
  };
}
