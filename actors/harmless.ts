import type { LogPort } from './ports.js';

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

/** The same promise, for whoever may leave it alone: its rejection is nobody's uncaught one. */
export function ignorable<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}
