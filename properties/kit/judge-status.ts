import type { ServerStatus } from '../../actors/api.js';
import { PHASES } from '../../machines/vocabulary.js';
import type { Checks } from './checks.js';
import type { Room } from './host.js';

/** What a host is shown has one phase a server, and says why when it is not `ready`. */
export function judgeStatus(checks: Checks, { root, handle }: Room): void {
  if (handle === null) return;
  for (const status of handle.status().servers) {
    checks.holds('one-phase', PHASES.includes(status.phase) && hasReason(status), () => {
      const { id, phase, blockedBy, stage, error, retryAtMs } = status;
      return `${root} ${id}: ${JSON.stringify({ phase, blockedBy, stage, error, retryAtMs })}`;
    });
  }
}

function hasReason({ phase, blockedBy, stage, error, retryAtMs }: ServerStatus): boolean {
  switch (phase) {
    case 'ready':
      return blockedBy === null;
    case 'idle':
      // Nobody wants it: that is the reason, and needs no other.
      return blockedBy === null || error !== null;
    case 'approving':
      return stage === 'approval';
    case 'connecting':
      return stage !== null;
    case 'backoff':
      return error !== null && (retryAtMs !== null || stage === 'closing');
    case 'failed':
      return error !== null;
  }
}
