import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ServerEvent } from '../machines/server-events.js';
import { serverMachine } from '../machines/server-machine.js';
import { failure } from '../machines/vocabulary.js';
import { aHandshake, type Server, startServer } from '../test/support/server-harness.js';

const lost = failure('LINK_LOST', 'lost');
const gate = { gate: 'disabled', failure: failure('DISABLED', 'off') } as const;

/** Everything that anybody may send, at any time; numbers are of the present generation and ticket, or one older. */
const commands: Readonly<Record<string, (server: Server, older: 0 | 1) => void>> = {
  'call demands': (server) => server.send({ type: 'server.demand', by: 'call' }),
  'person demands': (server) => server.send({ type: 'server.demand', by: 'person' }),
  'nobody waits': (server) => server.send({ type: 'demand.ended' }),
  restart: (server) => server.send({ type: 'server.restart' }),
  retire: (server) => server.send({ type: 'server.retire', failure: failure('SERVER_REMOVED', 'removed') }),
  'gate shuts': (server) => server.send({ type: 'gates.changed', shut: gate }),
  'gate opens': (server) => server.send({ type: 'gates.changed', shut: null }),
  'definition changes': (server) =>
    server.send({ type: 'profile.changed', profile: { ...server.context().profile, configHash: `hash-${server.clock.now()}` } }),
  'is kept alive': (server) =>
    server.send({ type: 'profile.adjusted', profile: { ...server.context().profile, lifecycle: 'keep-alive' } }),
  'is lazy': (server) => server.send({ type: 'profile.adjusted', profile: { ...server.context().profile, lifecycle: 'lazy' } }),
  'question comes': (server) => void (server.world.vet = { ask: `f${server.clock.now() % 3}` }),
  'disk cannot be read': (server) => void (server.world.vet = 'throws'),
  yes: (server) => server.send({ type: 'approval.granted', fingerprint: server.context().fingerprint ?? '' }),
  no: (server) =>
    server.send({
      type: 'approval.denied',
      fingerprint: server.context().fingerprint ?? '',
      failure: failure('APPROVAL_DENIED', 'no'),
    }),
  granted: (server) => server.grant(server.context().ticket),
  'granted out of turn': (server, older) => server.send({ type: 'slot.granted', ticket: server.context().ticket - older - 1 }),
  reclaimed: (server, older) => server.send({ type: 'slot.reclaimed', ticket: server.context().ticket - older }),
  opened: (server, older) => server.send({ type: 'transport.opened', generation: server.context().generation - older, pid: 1 }),
  initialized: (server, older) =>
    server.send({ type: 'transport.initialized', generation: server.context().generation - older, handshake: aHandshake }),
  'initialized, and announces': (server, older) =>
    server.send({
      type: 'transport.initialized',
      generation: server.context().generation - older,
      handshake: { ...aHandshake, era: 'modern' },
    }),
  dies: (server, older) =>
    server.send({ type: 'transport.lost', generation: server.context().generation - older, failure: lost, death: true }),
  'cannot be reached': (server, older) =>
    server.send({ type: 'transport.lost', generation: server.context().generation - older, failure: lost, death: false }),
  'needs a person': (server) =>
    server.send({
      type: 'transport.lost',
      generation: server.context().generation,
      failure: failure('AUTH_REQUIRED', 'authorise'),
      death: false,
    }),
  closed: (server, older) =>
    server.send({
      type: 'transport.closed',
      generation: server.context().generation - older,
      outcome: 'clean',
      detail: '',
    }),
  busy: (server, older) => server.send({ type: 'calls.busy', generation: server.context().generation - older }),
  quiet: (server, older) => server.send({ type: 'calls.quiet', generation: server.context().generation - older }),
  cancelled: (server, older) =>
    server.send({ type: 'call.cancelled', generation: server.context().generation - older, requestId: 'r1', reason: '' }),
  'late answer': (server) => server.send({ type: 'answer.late', requestId: 'r1', answer: 'result' }),
  'list changes': (server) => server.send({ type: 'list.changed', generation: server.context().generation, kind: 'tools' }),
  'a second': (server) => server.clock.advance(1_000),
  'the time of a probe': (server) => server.clock.advance(31_000),
  'ten minutes': (server) => server.clock.advance(600_000),
};

const often = ['call demands', 'granted', 'opened', 'initialized', 'closed', 'gate opens', 'yes', 'closed', 'granted'];
const command = fc.record({
  name: fc.constantFrom(...often, ...Object.keys(commands)),
  older: fc.constantFrom<0 | 1>(0, 0, 0, 1),
  /** Whether anything else may run before the next one. */
  isLast: fc.boolean(),
});
const script = fc.array(command, { minLength: 1, maxLength: 80, size: 'max' });
const world = fc.record({
  opens: fc.boolean(),
  closes: fc.boolean(),
  slots: fc.constantFrom<'free' | 'none'>('free', 'none'),
  breaks: fc.constantFrom<'never' | 'at start' | 'at close'>('never', 'never', 'never', 'at start', 'at close'),
  probe: fc.constantFrom<'answers' | 'fails' | 'hangs'>('answers', 'answers', 'fails', 'hangs'),
  listen: fc.constantFrom<'holds' | 'ends' | 'fails'>('holds', 'ends', 'fails'),
  walksBreak: fc.constantFrom(false, false, false, true),
});

/** Any events in any order; `check` of the harness compares the ledger of slots and transports with the state. */
const anything = (machine: typeof serverMachine) =>
  fc.asyncProperty(world, script, async (one, names) => {
    const server = startServer({ machine, world: one });
    for (const { name, older, isLast } of names) {
      commands[name]?.(server, older);
      if (isLast) await server.run(0);
      if (isLast) server.check();
    }
    await server.run(0);
    server.check();
    await comesToRest(server);
  });

/** Once the world behaves and nobody asks for anything, a server is wherever it rests, and stays there. */
async function comesToRest(server: Server): Promise<void> {
  Object.assign(server.world, { opens: true, closes: true, breaks: 'never', probe: 'answers', walksBreak: false, slots: 'free' });
  const { generation, ticket } = server.context();
  server.grant(ticket);
  server.send({ type: 'demand.ended' });
  const farewell: readonly ServerEvent[] = [
    { type: 'transport.opened', generation, pid: 1 },
    { type: 'transport.initialized', generation, handshake: aHandshake },
    { type: 'transport.closed', generation, outcome: 'clean', detail: '' },
    { type: 'calls.quiet', generation },
  ];
  for (const event of farewell) {
    server.send(event);
    await server.run(0);
    server.check();
  }
  server.send({ type: 'profile.adjusted', profile: { ...server.context().profile, lifecycle: 'lazy' } });
  await server.run(3_600_000);
  server.check();
  // Idled out, waiting for a person, or gone: not connecting, and nothing is held.
  expect(['idle', 'approving', 'failed']).toContain(server.phase());
  expect(server.live.size).toBe(0);
  const opened = server.context().generation;
  await server.run(3_600_000);
  expect(server.context().generation).toBe(opened);
  const { cancelling } = server.context();
  expect(cancelling).toBe(0);
  server.actor.stop();
  expect(server.clock.pending).toBe(0);
}

describe('whatever is sent in whatever order', () => {
  test('a server holds its slot and its transport exactly while a generation is open, and comes to rest by itself', async () => {
    await fc.assert(anything(serverMachine));
  });
});

describe('would notice', () => {
  type Changes = Parameters<typeof serverMachine.provide>[0];
  const bugs: readonly (readonly [string, Changes])[] = [
    ['a slot that is never given back', { actions: { releaseSlot: () => undefined } }],
    ['a request that is not withdrawn', { actions: { withdraw: () => undefined } }],
    ['a grant for an older request that is taken', { guards: { isTicket: () => true } }],
    ['a close of an older generation that is believed', { guards: { isCurrent: () => true, isHeaded: () => true } }],
    ['a wish that is never met', { actions: { noteReady: () => undefined } }],
  ];

  test.each(bugs)('%s', async (_bug, changes) => {
    expect((await fc.check(anything(serverMachine.provide(changes)), { numRuns: 1_000, endOnFailure: true })).failed).toBe(true);
  });
});
