import { expect } from 'vitest';
import type { InspectionEvent } from 'xstate';
import { backoffDelayMs, isHungry } from '../../machines/server-context.js';
import type { ServerReport } from '../../machines/server-events.js';
import { defaultServerOptions } from '../../machines/server-options.js';
import { phaseOf, stageOf } from '../../machines/server-view.js';
import type { ListState } from '../../machines/vocabulary.js';
import { eventOf, type Fields, object, refuseUnknown, shutBy } from './scenario-events.js';
import { aProfile, type HarnessInput, type Server, startServer, type World } from './server-harness.js';

/**
 * One story of one server, as JSON: what is done, step by step, and what shows after each phase. Everything that is not
 * read is refused. After every single step the harness also checks what always holds.
 */
export interface Scenario {
  readonly description: string;
  readonly phases: readonly Phase[];
  readonly input: HarnessInput;
}

interface Phase {
  readonly steps: readonly Fields[];
  readonly expected: Fields;
}

/** Reads a scenario. Throws, with the place, for a key that nobody reads. */
export function scenarioOf(written: unknown): Scenario {
  const { description, phases, server = {}, shut = null, options = {}, seed = 1, world = {}, ...rest } = object(written);
  if (typeof description !== 'string') throw new Error('a scenario without a description');
  refuseUnknown(description, rest, []);
  if (!Array.isArray(phases) || phases.length === 0) throw new Error(`${description}: no phases`);
  const { restart = {}, ...numbers } = object(options);
  refuseUnknown(`${description}: options`, numbers, Object.keys(defaultServerOptions));
  refuseUnknown(`${description}: options.restart`, object(restart), Object.keys(defaultServerOptions.restart));
  return {
    description,
    phases: phases.map((phase: unknown, index) => phaseAt(`${description}: phase ${index + 1}`, object(phase))),
    input: {
      profile: profileOf(description, object(server)),
      shut: shutBy(shut),
      options: { ...numbers, restart: { ...defaultServerOptions.restart, ...object(restart) } },
      seed: Number(seed),
      world: worldOf(description, world),
    },
  };
}

function profileOf(where: string, server: Fields): Fields {
  refuseUnknown(`${where}: server`, server, Object.keys(aProfile));
  return server;
}

function phaseAt(where: string, phase: Fields): Phase {
  const { do: steps = [], expect: expected, ...rest } = phase;
  refuseUnknown(where, rest, []);
  refuseUnknown(`${where}: expect`, object(expected), Object.keys(readings));
  return { steps: stepsOf(where, steps), expected: object(expected) };
}

function stepsOf(where: string, steps: unknown): readonly Fields[] {
  if (!Array.isArray(steps)) throw new Error(`${where}: "do" is no list`);
  return steps.map((step: unknown) => {
    const fields = object(step);
    refuseUnknown(`${where}: step`, fields, ['send', 'world', 'advanceMs', 'grant', 'endListening', 'repeat', 'do']);
    return fields;
  });
}

function worldOf(where: string, world: unknown): Partial<World> {
  const known: readonly (keyof World)[] = [
    'vet',
    'opens',
    'initializes',
    'closes',
    'breaks',
    'handshake',
    'pages',
    'walksBreak',
    'listen',
    'probe',
    'slots',
  ];
  refuseUnknown(`${where}: world`, object(world), known);
  return object(world);
}

/** Plays a scenario in virtual time and compares, phase by phase, what it names. */
export async function play({ description, phases, input }: Scenario, inspect: (event: InspectionEvent) => void): Promise<void> {
  const server = startServer({ ...input, inspect });
  let reported = 0;
  let logged = 0;
  for (const [index, { steps, expected }] of phases.entries()) {
    await perform(server, steps);
    const since = { reports: server.reports.slice(reported), log: server.log.slice(logged) };
    reported = server.reports.length;
    logged = server.log.length;
    const got = Object.fromEntries(Object.keys(expected).map((key) => [key, readings[key]?.(server, since)]));
    expect(got, `${description}: after phase ${index + 1}`).toEqual(expected);
  }
  server.actor.stop();
}

async function perform(server: Server, steps: readonly Fields[]): Promise<void> {
  for (const { send, world, advanceMs, grant, endListening, repeat, do: inner } of steps) {
    if (world !== undefined) Object.assign(server.world, worldOf('step', world));
    if (grant !== undefined) server.grant(Number(grant));
    if (endListening === true) server.endListening();
    // Several events in one step arrive in one turn, before anything else can run.
    for (const event of send === undefined ? [] : [send].flat()) {
      server.send(eventOf(event, server.context()));
    }
    await server.run(advanceMs === undefined ? 0 : Number(advanceMs));
    for (let round = 0; round < Number(repeat ?? 0); round += 1) await perform(server, stepsOf('repeat', inner));
    server.check();
  }
}

interface Since {
  readonly reports: readonly ServerReport[];
  readonly log: readonly string[];
}

/** What a phase may expect. */
const readings: Readonly<Record<string, (server: Server, since: Since) => unknown>> = {
  phase: (server) => phaseOf(server.snapshot()),
  stage: (server) => stageOf(server.snapshot()),
  blockedBy: (server) => server.context().blockedBy,
  problem: (server) => server.context().problem?.code ?? null,
  message: (server) => server.context().problem?.message,
  /** What the open calls of the present generation are settled with. */
  ending: (server) => server.context().ending.message,
  generation: (server) => server.context().generation,
  ticket: (server) => server.context().ticket,
  deaths: (server) => server.context().restarts.length,
  attempt: (server) => server.context().attempt,
  mayHurry: (server) => server.context().mayHurry,
  isHungry: (server) => isHungry(server.context()),
  isBusy: (server) => server.context().busy,
  pid: (server) => server.context().pid,
  wroteStderr: (server) => server.context().wroteStderr,
  era: (server) => server.context().handshake?.era ?? null,
  retryMs: (server) => backoffDelayMs(server.context()),
  lists: (server) =>
    Object.fromEntries(
      Object.entries(server.context().lists)
        .filter(([, list]) => list.state !== 'unsupported')
        .map(([kind, list]) => [kind, inWords(list)]),
    ),
  cancelling: (server) => server.context().cancelling,
  cancellations: (server) => server.context().cancellations,
  lastClose: (server) => {
    const { lastClose } = server.context();
    return lastClose === null ? null : `${lastClose.generation} ${lastClose.outcome}`;
  },
  timers: (server) => server.clock.pending,
  status: (server) => server.snapshot().status,
  live: (server) => [...server.live],
  reports: (_, { reports }) => reports.map(sentence),
  transports: (_, { log }) => log,
};

const inWords = ({ state, count, reason }: ListState): string =>
  [state, state === 'unknown' ? '' : String(count), reason?.code ?? ''].filter((word) => word !== '').join(' ');

/** One report in a few words. */
function sentence(report: ServerReport): string {
  switch (report.type) {
    case 'slot.wanted':
      return `slot.wanted ${report.ticket}${report.keepAlive ? ' to keep' : ''}`;
    case 'slot.released':
    case 'slot.quiet':
    case 'slot.busy':
      return `${report.type} ${report.ticket}`;
    case 'approval.wanted':
    case 'approval.closed':
      return `${report.type} ${report.fingerprint}`;
    case 'approval.known':
      return `approval.known ${String(report.approved)}`;
    case 'list.walked':
      return `list.walked ${report.walk.kind} ${report.walk.state} ${report.walk.items.length}`;
    case 'server.interrupted':
      return `server.interrupted ${report.failure.code}`;
    case 'server.gone':
      return 'server.gone';
  }
}
