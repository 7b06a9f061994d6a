import { createActor, fromCallback, fromPromise, type InspectionEvent } from 'xstate';
import { type CancelledRequest, cancellationMachine } from '../../machines/cancellation-machine.js';
import { type ListPage, type PageRequest, paginationMachine } from '../../machines/pagination-machine.js';
import type {
  ServerEvent,
  ServerReport,
  ShutGate,
  TransportCommand,
  TransportInput,
  VetInput,
  Vetting,
} from '../../machines/server-events.js';
import { serverMachine } from '../../machines/server-machine.js';
import { defaultServerOptions, type ServerOptions } from '../../machines/server-options.js';
import { phaseOf } from '../../machines/server-view.js';
import {
  type Code,
  failure,
  type Handshake,
  type LinkRef,
  type ListKind,
  PHASES,
  type ServerProfile,
} from '../../machines/vocabulary.js';
import { VirtualClock } from './virtual-clock.js';

/** How the world around one server behaves. A test may change it at any time. */
export interface World {
  /** What a look at the disk says. */
  vet: 'approved' | 'throws' | 'hangs' | { readonly ask: string } | { readonly approved: string } | { readonly refused: Code };
  /** Whether the transport goes on by itself, or waits for the test to tell the fact. */
  opens: boolean;
  initializes: boolean;
  closes: boolean;
  /** When the transport actor itself throws. */
  breaks: 'never' | 'at start' | 'at close';
  handshake: Partial<Handshake>;
  /** Keys of the items of each list, on one page. */
  pages: Partial<Record<ListKind, readonly string[] | 'fails' | 'hangs'>>;
  /** Whether the pagination actor itself breaks: a bug, as it never fails by design. */
  walksBreak: boolean;
  listen: 'holds' | 'ends' | 'fails';
  probe: 'answers' | 'fails' | 'hangs';
  /** Whether a slot is free at once, or granted by the test. */
  slots: 'free' | 'none';
}

const wellBehaved: World = {
  vet: 'approved',
  opens: true,
  initializes: true,
  closes: true,
  breaks: 'never',
  handshake: {},
  pages: {},
  walksBreak: false,
  listen: 'holds',
  probe: 'answers',
  slots: 'free',
};

export interface HarnessInput {
  readonly profile?: Partial<ServerProfile>;
  readonly shut?: ShutGate;
  readonly options?: Partial<ServerOptions>;
  readonly seed?: number;
  readonly world?: Partial<World>;
  /** Another machine than the real one, for planted bugs. */
  readonly machine?: typeof serverMachine;
  readonly inspect?: (event: InspectionEvent) => void;
}

export const aProfile: ServerProfile = {
  id: 'files',
  layer: 'user',
  transport: 'stdio',
  lifecycle: 'lazy',
  configHash: 'hash-1',
  isRemote: false,
  refusal: null,
  idleTimeoutMs: 600_000,
  initTimeoutMs: 60_000,
};

export const aHandshake: Handshake = {
  era: 'legacy',
  protocolVersion: '2025-11-25',
  serverInfo: null,
  lists: ['tools'],
  announces: true,
};

export type Server = ReturnType<typeof startServer>;

/** One server machine in virtual time, with a supervisor that keeps a ledger of slots and transports. */
export function startServer(input: HarnessInput = {}) {
  const clock = new VirtualClock();
  const world: World = { ...wellBehaved, ...input.world };
  const profile = { ...aProfile, ...input.profile };
  const reports: ServerReport[] = [];
  const log: string[] = [];
  const held = new Set<number>();
  const asked = new Set<number>();
  const live = new Set<number>();
  /** Generations whose transport said that nothing is left, or broke. */
  const closed = new Set<number>();
  const faults: unknown[] = [];
  const listeners: (() => void)[] = [];
  // XState complains about whatever is sent to an actor that is done.
  const send = (event: ServerEvent): void => {
    if (actor.getSnapshot().status !== 'active') return;
    if (event.type === 'transport.closed') closed.add(event.generation);
    actor.send(event);
  };

  const grant = (ticket: number): void => {
    if (!asked.delete(ticket)) return;
    held.add(ticket);
    send({ type: 'slot.granted', ticket });
  };
  const hear = (report: ServerReport): void => {
    reports.push(report);
    if (report.type === 'slot.wanted') {
      asked.add(report.ticket);
      if (world.slots === 'free') grant(report.ticket);
    }
    if (report.type === 'slot.released') {
      asked.delete(report.ticket);
      held.delete(report.ticket);
    }
  };
  const supervisor = createActor(fromCallback<ServerReport>(({ receive }) => receive(hear))).start();

  const machine = (input.machine ?? serverMachine).provide({ actors: actorsOf(world, { live, closed, faults, log, listeners }) });
  const actor = createActor(machine, {
    clock,
    ...(input.inspect === undefined ? {} : { inspect: input.inspect }),
    input: {
      profile,
      shut: input.shut ?? null,
      seed: input.seed ?? 1,
      options: { ...defaultServerOptions, ...input.options },
      supervisor,
    },
  });
  actor.subscribe({ error: (error) => void faults.push(error) });
  actor.start();

  const snapshot = () => actor.getSnapshot();
  return {
    actor,
    clock,
    world,
    /** Everything told to the supervisor. */
    reports,
    /** What was asked of the transports: opened, told to close, stopped. */
    log,
    live,
    grant,
    send,
    snapshot,
    context: () => snapshot().context,
    phase: () => phaseOf(snapshot()),
    /** Holds whatever happens; throws where it does not. */
    check: (): void => {
      const isOpen = snapshot().hasTag('open');
      const { generation, ticket } = snapshot().context;
      if (faults.length > 0) throw new Error(`a fault: ${String(faults[0])}`, { cause: faults[0] });
      if (!PHASES.includes(phaseOf(snapshot()))) throw new Error('no phase');
      expectSame('the slot is held exactly while a generation is open', [...held], isOpen ? [ticket] : []);
      expectSame('a slot is asked for exactly while queued', [...asked], snapshot().matches({ down: 'queued' }) ? [ticket] : []);
      expectSame('a transport lives exactly while its generation is open', [...live], isOpen ? [generation] : []);
    },
    endListening: (): void => {
      for (const end of listeners.splice(0)) end();
    },
    run: (ms: number): Promise<void> => clock.run(ms),
  };
}

function expectSame(rule: string, got: readonly number[], wanted: readonly number[]): void {
  if (got.join() !== wanted.join()) throw new Error(`${rule}: got [${got.join()}], wanted [${wanted.join()}]`);
}

interface Ledger {
  readonly live: Set<number>;
  readonly closed: Set<number>;
  readonly faults: unknown[];
  readonly log: string[];
  /** End the streams of announcements that are open. */
  readonly listeners: (() => void)[];
}

function actorsOf(world: World, ledger: Ledger) {
  const { live, closed, faults, log } = ledger;
  return {
    vet: fromPromise<Vetting, VetInput>(() => look(world)),
    transport: fromCallback<TransportCommand, TransportInput>(({ input: { generation, fingerprint }, sendBack, receive }) => {
      if (world.breaks === 'at start') throw new Error('the transport cannot start');
      live.add(generation);
      log.push(`open ${generation}${fingerprint === null ? '' : ` as ${fingerprint}`}`);
      receive(({ failure: { code } }) => {
        log.push(`close ${generation} ${code}`);
        if (world.breaks === 'at close') {
          // As an adapter has to: what it held is let go before it throws.
          closed.add(generation);
          live.delete(generation);
          throw new Error('the transport cannot close');
        }
        if (!world.closes) return;
        closed.add(generation);
        sendBack({ type: 'transport.closed', generation, outcome: 'clean', detail: 'closed' });
      });
      if (world.opens) sendBack({ type: 'transport.opened', generation, pid: 100 + generation });
      if (world.opens && world.initializes) {
        sendBack({ type: 'transport.initialized', generation, handshake: { ...aHandshake, ...world.handshake } });
      }
      return () => {
        live.delete(generation);
        if (!closed.has(generation)) faults.push(new Error(`generation ${generation} was left before it had closed`));
      };
    }),
    pagination: paginationMachine.provide({
      actors: { fetchPage: fromPromise<ListPage, PageRequest>(({ input }) => page(world, input)) },
      guards: {
        isEnded: ({ context }) => {
          if (world.walksBreak) throw new Error('a bug in the walk');
          return context.walk.isEnded;
        },
      },
    }),
    cancellation: cancellationMachine.provide({
      actors: { notify: fromPromise<unknown, CancelledRequest>(() => Promise.resolve()) },
    }),
    listen: fromPromise((_: { input: LinkRef }) =>
      world.listen === 'holds' ? new Promise<void>((resolve) => ledger.listeners.push(resolve)) : settle(world.listen, 'ends'),
    ),
    probe: fromPromise((_: { input: LinkRef }) => settle(world.probe, 'answers')),
  };
}

const never = (): Promise<never> => new Promise(() => undefined);

function settle(behaviour: string, good: string): Promise<void> {
  if (behaviour === good) return Promise.resolve();
  return behaviour === 'fails' ? Promise.reject(new Error('it was asked to fail')) : never();
}

function look({ vet }: World): Promise<Vetting> {
  if (vet === 'hangs') return never();
  if (vet === 'throws') return Promise.reject(new Error('the disk cannot be read'));
  if (vet === 'approved') return Promise.resolve({ verdict: 'approved', fingerprint: null });
  if ('ask' in vet) return Promise.resolve({ verdict: 'ask', fingerprint: vet.ask });
  if ('approved' in vet) return Promise.resolve({ verdict: 'approved', fingerprint: vet.approved });
  return Promise.resolve({ verdict: 'refused', failure: failure(vet.refused, 'refused by the test') });
}

function page({ pages }: World, { kind }: PageRequest): Promise<ListPage> {
  const keys = pages[kind] ?? [];
  if (keys === 'hangs') return never();
  if (keys === 'fails') return Promise.reject(new Error('the page cannot be read'));
  return Promise.resolve({
    items: keys.map((key) => ({ key, definition: { name: key } })),
    skipped: [],
    nextCursor: undefined,
  });
}
