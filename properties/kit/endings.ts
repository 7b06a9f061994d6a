import { getEventListeners } from 'node:events';
import type { ServerStatus } from '../../actors/api.js';
import type { SimulatedHost } from './host.js';
import { GOOD_LUCK } from './in-flight.js';

type Step = (work: () => string | null) => Promise<boolean>;

/** Hosts that give what is in flight some time when they close. */
const DRAINED_SHARE = 0.3;
const DRAIN_MS = 5_000;
/** No way to rest is longer, however many servers take turns at one slot. */
const STEPS_MAX = 3_000;

/**
 * Liveness: in a world that helps, without any more faults, everything that is demanded comes to rest: ready, failed, or
 * blocked with a reason. Whoever called is told.
 */
export async function bringToRest(host: SimulatedHost, step: Step): Promise<void> {
  const { world, rooms } = host;
  const { checks, ledger } = world;
  for (const room of rooms) if (room.handle === null) await step(() => host.open(room));
  await steps(host, step, () => rooms.every(({ isOpening, handle }) => !isOpening && handle !== null));
  const closed = rooms.find(({ handle }) => handle === null);
  checks.holds('liveness', closed === undefined, () => `${String(closed?.root)} cannot be opened`);
  let pending = rooms.length;
  for (const { handle, root } of rooms) {
    await step(() => {
      ledger.pardon(root);
      void handle?.connectAll().then(() => (pending -= 1));
      return `${root} connects all, in peace`;
    });
  }
  const isOver = (): boolean => pending === 0 && ledger.open.size === 0 && moving(host).length === 0;
  await steps(host, step, isOver);
  checks.holds('liveness', isOver(), () => {
    const where = moving(host).map(({ id, phase, stage }) => `${id} ${phase} ${String(stage)}`);
    const calls = [...ledger.open].map(({ n, server, tool }) => `call ${n} to ${server}.${tool}`);
    return [`${pending} of ${rooms.length} still connect`, ...where, ...calls].join('; ');
  });
}

/** Closes the supervisor from wherever it stands: it settles, and nothing is left. */
export async function closeAll(host: SimulatedHost, step: Step): Promise<void> {
  const { world } = host;
  const { checks, ledger } = world;
  const close = { state: 'closing' };
  const drainMs = world.dice('drain') < DRAINED_SHARE ? DRAIN_MS : 0;
  const closeByMs = world.clock.now() + drainMs;
  await step(() => {
    void host.supervisor.close({ drainMs }).then(
      () => (close.state = 'closed'),
      () => (close.state = 'failed'),
    );
    return `the supervisor is closed${drainMs > 0 ? ', what is in flight is waited for' : ''}`;
  });
  const isInTime = (): boolean => ledger.open.size === 0 || (close.state === 'closing' && world.clock.now() <= closeByMs);
  checks.holds('settles-once', isInTime(), () => `${ledger.open.size} calls outlived the start of close()`);
  const isOver = (): boolean => close.state !== 'closing';
  await steps(host, step, () => isOver() || !isInTime());
  checks.holds('settles-once', isInTime(), () => `${ledger.open.size} calls outlived the time that close() gave them`);
  checks.holds('close-ends', close.state === 'closed', () => `close() is ${close.state}`);
  await step(() => 'the end');
  const { connections } = ledger;
  checks.holds('nothing-open', connections.length === 0, () => `${connections[0]?.name ?? ''} is open after close()`);
  const left = remains(host);
  checks.holds('nothing-left', left.length === 0, () => left.join(', '));
  if (checks.broken !== null) throw checks.broken;
}

function remains({ world }: SimulatedHost): readonly string[] {
  const { pool, clock, config, db, ledger } = world;
  const { leases, waiting } = pool.slots.pool;
  const listeners = ledger.signals.reduce((sum, signal) => sum + getEventListeners(signal, 'abort').length, 0);
  return [
    ...leases.map(({ holder }) => `slot of ${holder}`),
    ...waiting.map(({ holder }) => `request of ${holder}`),
    ...(clock.pending > 0 ? [`${clock.pending} timers`] : []),
    ...(config.watchers + db.watchers > 0 ? [`${config.watchers} watchers of files, ${db.watchers} of the state`] : []),
    ...(listeners > 0 ? [`${listeners} listeners of signals`] : []),
    ...[...pool.running.keys()].map((root) => `workspace ${root}`),
  ];
}

/** Lets what is on its way arrive, says yes to every question, and lets time go on where nothing else is left to do. */
async function steps({ world }: SimulatedHost, step: Step, isOver: () => boolean): Promise<void> {
  const { inFlight, approvals, clock } = world;
  for (let made = 0; made < STEPS_MAX && !isOver(); made += 1) {
    if (inFlight.size > 0) await step(() => inFlight.deliver(0, GOOD_LUCK));
    else if (approvals.open > 0) await step(() => approvals.answer(0, made % 3 === 0 ? 0.7 : GOOD_LUCK));
    else if (clock.nextMs !== null) await step(() => (clock.fireNext(clock.nextMs ?? 0) ? 'a timer fires' : null));
    else return;
  }
}

/** Servers on their way somewhere. One that has said that there is no slot for it has arrived. */
function moving(host: SimulatedHost): readonly ServerStatus[] {
  return statuses(host).filter(({ phase, stage, error }) => {
    if (stage === 'slot') return error?.code !== 'NOT_READY';
    if (phase === 'approving') return host.world.setup.hasChannel;
    return phase === 'connecting' || phase === 'backoff' || stage === 'closing';
  });
}

const statuses = ({ rooms }: SimulatedHost): readonly ServerStatus[] =>
  rooms.flatMap(({ handle }) => handle?.status().servers ?? []);
