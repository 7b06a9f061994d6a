import {
  type ActorLogic,
  type ActorScope,
  createActor,
  fromCallback,
  getNextTransitions,
  initialTransition,
  type Snapshot,
  type SnapshotFrom,
  transition,
} from 'xstate';
import { getAdjacencyMap } from 'xstate/graph';
import type { ServerEvent, ServerReport } from '../../machines/server-events.js';
import { serverMachine } from '../../machines/server-machine.js';
import { defaultServerOptions } from '../../machines/server-options.js';
import { aProfile } from '../../test/support/server-harness.js';

type Server = SnapshotFrom<typeof serverMachine>;

/** What the supervisor of a server and a person know of it: kept beside the machine, by what it reports. */
export interface Ledger {
  /** Tickets that are asked for and that are held. */
  readonly asked: readonly number[];
  readonly held: readonly number[];
  /** What a person is being asked about. */
  readonly question: string | null;
  /** What a person said yes to: a definition and a fingerprint. */
  readonly granted: readonly string[];
  readonly isGone: boolean;
}

/** One state of the chart with its ledger, and what the last event brought about. */
export type Explored = Snapshot<undefined> & { readonly server: Server; readonly ledger: Ledger };

/** Anything the chart can be told, actors that end and time that passes included. */
export type AnyServerEvent =
  | ServerEvent
  | { readonly type: `xstate.${string}`; readonly output?: unknown; readonly error?: unknown };
type Logic = ActorLogic<Explored, AnyServerEvent, undefined>;

/** One death is forgiven, a second inside the window is one too many: enough to see both. */
const options = { ...defaultServerOptions, restart: { ...defaultServerOptions.restart, intensity: 1 } };

/** The server machine as it is, stepped without an actor of its own: nothing it invokes is started. */
function explored(layer: 'user' | 'workspace'): Logic {
  const supervisor = createActor(fromCallback<ServerReport>(() => undefined)).start();
  const input = { profile: { ...aProfile, layer }, shut: null, seed: 1, options, supervisor };
  let now: Server | undefined;
  let told: ServerReport[] = [];
  const self = Object.assign(createActor(serverMachine, { input }), { getSnapshot: () => now as Server });
  const scope: ActorScope<Server, ServerEvent> = {
    self,
    id: 'explored',
    sessionId: 'explored',
    system: self.system,
    logger: () => undefined,
    defer: () => undefined,
    emit: () => undefined,
    stopChild: () => undefined,
    actionExecutor: (action) => {
      const { event } = (action.params ?? {}) as { readonly event?: ServerReport };
      if (action.type === 'xstate.sendTo' && event !== undefined) told.push(event);
    },
  };
  const next = (server: Server, ledger: Ledger): Explored => ({
    status: 'active',
    output: undefined,
    error: undefined,
    server,
    ledger: told.reduce(noted, ledger),
  });
  return {
    getInitialSnapshot: () => next(serverMachine.getInitialSnapshot(scope, input), NOTHING),
    transition: ({ server, ledger }, event) => {
      now = server;
      told = [];
      const stepped = serverMachine.transition(server, event as ServerEvent, scope);
      if (stepped.status === 'error') throw stepped.error;
      return next(stepped, decided(ledger, event, server.context.profile.configHash));
    },
    getPersistedSnapshot: (snapshot) => snapshot,
  };
}

const NOTHING: Ledger = { asked: [], held: [], question: null, granted: [], isGone: false };

function decided(ledger: Ledger, event: AnyServerEvent, configHash: string): Ledger {
  if (event.type === 'approval.granted' && event.fingerprint === ledger.question)
    return { ...ledger, granted: [...new Set([...ledger.granted, `${configHash} ${event.fingerprint}`])].sort() };
  if (event.type === 'slot.granted' && ledger.asked.includes(event.ticket))
    return { ...ledger, asked: without(ledger.asked, event.ticket), held: [...ledger.held, event.ticket] };
  return ledger;
}

function noted(ledger: Ledger, report: ServerReport): Ledger {
  switch (report.type) {
    case 'slot.wanted':
      return { ...ledger, asked: [...ledger.asked, report.ticket] };
    case 'slot.released':
      return { ...ledger, asked: without(ledger.asked, report.ticket), held: without(ledger.held, report.ticket) };
    case 'approval.wanted':
      return { ...ledger, question: report.fingerprint };
    case 'approval.closed':
      return { ...ledger, question: null };
    case 'server.gone':
      return { ...ledger, isGone: true };
    default:
      return ledger;
  }
}

const without = (tickets: readonly number[], ticket: number): readonly number[] => tickets.filter((one) => one !== ticket);

/** Steps of one exploration; more of them mean that its names tell too much apart. */
const LIMIT = 60_000;

export interface Exploration {
  readonly layer: 'user' | 'workspace';
  /** Everything that may happen in a state; what the chart has no transition for is left out. */
  readonly events: (state: Explored) => readonly AnyServerEvent[];
  /** States that are the same for this exploration read the same. */
  readonly nameOf: (state: Explored) => string;
  readonly from?: Explored;
  readonly stopWhen?: (state: Explored) => boolean;
}

export interface Edge {
  readonly event: AnyServerEvent;
  readonly to: string;
  readonly state: Explored;
}

export type Chart = ReadonlyMap<string, { readonly state: Explored; readonly edges: readonly Edge[] }>;

/** Where these events lead to, one after the other. */
export function walked(layer: Exploration['layer'], way: readonly ((state: Explored) => AnyServerEvent)[]): Explored {
  const logic = explored(layer);
  const [first] = initialTransition(logic);
  return way.reduce((state, next) => transition(logic, state, next(state))[0], first);
}

/** Every state that can be reached, by name, with what leads out of it. */
export function explore({ layer, events, nameOf, from, stopWhen }: Exploration): Chart {
  const map = getAdjacencyMap(explored(layer), {
    events: (state: Explored) => {
      const known = new Set(getNextTransitions(state.server).map(({ eventType }) => String(eventType)));
      const timers = [...known]
        .filter((type) => type.startsWith('xstate.after.'))
        .map((type): AnyServerEvent => ({ type: type as `xstate.${string}` }));
      return [...timers, ...events(state).filter(({ type }) => known.has(type))];
    },
    serializeState: nameOf,
    serializeEvent: (event) => JSON.stringify(event),
    limit: LIMIT,
    ...(from !== undefined && { fromState: from }),
    ...(stopWhen !== undefined && { stopWhen }),
  });
  const entries = Object.entries(map) as [string, AdjacencyValue][];
  return new Map(
    entries.map(([name, { state, transitions }]) => [
      name,
      { state, edges: Object.values(transitions).map(({ event, state: to }) => ({ event, state: to, to: nameOf(to) })) },
    ]),
  );
}

interface AdjacencyValue {
  readonly state: Explored;
  readonly transitions: Readonly<Record<string, { readonly event: AnyServerEvent; readonly state: Explored }>>;
}
