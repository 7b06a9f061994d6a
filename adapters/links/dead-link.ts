import { type Failure, supervisorError } from '../../actors/errors.js';
import type { Link, LinkEvents } from '../../actors/ports.js';

/** A link that could not even be tried: it is lost in the next turn and refuses everything. */
export function createDeadLink(problem: Failure, events: LinkEvents): Link {
  let isClosed = false;
  queueMicrotask(() => {
    if (!isClosed) events.lost(problem, false);
  });
  const refuse = (): Promise<never> => Promise.reject(supervisorError(problem.code, problem.message));
  return {
    handshake: refuse,
    request(_method, _params, reply) {
      reply.failed(problem);
      return 'none';
    },
    forget: () => undefined,
    unwatch: () => undefined,
    notifyCancelled: refuse,
    listen: refuse,
    probe: refuse,
    async close() {
      isClosed = true;
      return { outcome: 'clean', detail: 'Nothing was opened.' };
    },
    diagnosis: () => ({ stderrTail: '', noiseLines: 0, lateAnswers: 0, foreignAnswers: 0 }),
  };
}
