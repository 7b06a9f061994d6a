import type { AuditEntry, AuditPort, LogPort } from './ports.js';

/** What only looks on must not change what it looks at: an inspector that throws would break the machine it is told about. */
export function harmlessInspector(inspect: (event: unknown) => void): (event: unknown) => void {
  return (event) => {
    try {
      inspect(event);
    } catch {
      // It is the host's to see what its inspector does.
    }
  };
}

/** The same for a log. */
export function harmlessLog(log: LogPort): LogPort {
  return {
    write: (entry) => {
      try {
        log.write(entry);
      } catch {
        // Nobody is left to tell.
      }
    },
  };
}

/** A host's own audit: what it throws counts as lost, and it is the host's to end. */
export function harmlessAudit(audit: { record(entry: AuditEntry): void }): AuditPort {
  let count = 0;
  return {
    record: (entry) => {
      try {
        audit.record(entry);
      } catch {
        count += 1;
      }
    },
    lost: () => ({ count, reason: count === 0 ? null : "the host's audit threw" }),
    close: () => Promise.resolve(),
  };
}

/** The same promise, for whoever may leave it alone: its rejection is nobody's uncaught one. */
export function ignorable<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}
