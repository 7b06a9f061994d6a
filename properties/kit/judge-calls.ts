import { isWorkspaceLayer } from '../../machines/vocabulary.js';
import type { SimulatedHost } from './host.js';
import type { LedgerCall } from './ledger.js';

/** The longest that a server of a schedule is given for one request. */
const REQUEST_MS_MAX = 30_000;

/** The calls that are open now: none past its time, and each table as busy as its server. */
export function judgeCalls(host: SimulatedHost): void {
  const { world, rooms } = host;
  for (const call of world.ledger.open) judgeDeadline(host, call);
  for (const { root, runtime } of rooms) {
    if (runtime === null) continue;
    for (const connection of world.ledger.connections) {
      if (connection.facts.root !== root || connection.hasOthers) continue;
      const live = runtime.links.get(connection.facts.key);
      if (live === undefined) continue;
      const { inFlight } = live.calls;
      world.checks.holds('settles-once', inFlight === connection.openCalls.size, () => {
        return `${connection.name} has ${inFlight} calls in flight, and ${connection.openCalls.size} callers wait`;
      });
    }
  }
}

function judgeDeadline({ world, rooms }: SimulatedHost, call: LedgerCall): void {
  const { clock, checks, setup } = world;
  const now = clock.now();
  const { n, timeoutMs, bornAtMs, sentAtMs, movedAtMs } = call;
  if (call.connection !== null) {
    const ownMs = timeoutMs ?? REQUEST_MS_MAX;
    checks.holds('deadline', now <= movedAtMs + ownMs, () => `call ${n} is open ${now - movedAtMs} ms after it last moved`);
    const isWithin = now <= sentAtMs + setup.bounds.hardDeadlineMs;
    checks.holds('hard-deadline', isWithin, () => `call ${n} is open ${now - sentAtMs} ms after it was sent`);
  }
  if (timeoutMs === undefined || call.wasAsked) return;
  // The time that a person takes to answer for the server itself does not count either.
  const candidates = rooms.find(({ root }) => root === call.root)?.runtime?.context.candidates ?? [];
  call.mayBeAsked ||= candidates.some(({ id, layer }) => id === call.server && isWorkspaceLayer(layer));
  if (call.mayBeAsked) return;
  checks.holds('deadline', now <= bornAtMs + timeoutMs, () => `call ${n} is open ${now - bornAtMs} ms after it was made`);
}
