import type { Candidate } from '../machines/candidates.js';
import type { ServerId } from '../machines/vocabulary.js';
import { AuditTrail } from './audit-trail.js';
import { Grants } from './grants.js';
import type { ConfigScope } from './ports.js';
import type { RuntimeDeps } from './runtime-deps.js';

/** What the records of a running workspace need of it; looked at when they need it, not before. */
export interface RecordSource {
  readonly scope: ConfigScope;
  readonly deps: RuntimeDeps;
  readonly trusted: boolean;
  candidateFor(id: ServerId): Candidate | undefined;
  changed(): void;
}

/** What a workspace keeps of what is decided in it: the approvals that are remembered, and the audit. */
export function recordsFor(workspace: RecordSource): { readonly grants: Grants; readonly audit: AuditTrail } {
  const { scope, deps } = workspace;
  const { db, digest, log, audit, grants } = deps.ports;
  const trail = new AuditTrail({
    audit,
    digest,
    root: scope.root,
    layerOf: (id) => workspace.candidateFor(id)?.layer ?? null,
  });
  const remembered = new Grants({
    grants,
    db,
    log,
    scope,
    isTrusted: () => workspace.trusted,
    onGrant: (tool, definition) => trail.granted(tool, definition),
    onChange: () => workspace.changed(),
  });
  return { grants: remembered, audit: trail };
}
