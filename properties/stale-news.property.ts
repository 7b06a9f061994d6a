import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ServerEvent } from '../machines/server-events.js';
import { serverMachine } from '../machines/server-machine.js';
import { failure } from '../machines/vocabulary.js';
import { type Server, startServer } from '../test/support/server-harness.js';

const loss = failure('LINK_LOST', 'lost');

/** What may happen to a server, told of its present generation. */
const steps: Readonly<Record<string, (server: Server) => void>> = {
  demand: (server) => server.send({ type: 'server.demand', by: 'call' }),
  restart: (server) => server.send({ type: 'server.restart' }),
  opened: (server) => server.send({ type: 'transport.opened', generation: server.context().generation, pid: 7 }),
  initialized: (server) =>
    server.send({
      type: 'transport.initialized',
      generation: server.context().generation,
      handshake: { era: 'legacy', protocolVersion: '2025-11-25', serverInfo: null, lists: ['tools'], announces: true },
    }),
  lost: (server) => server.send({ type: 'transport.lost', generation: server.context().generation, failure: loss, death: true }),
  closed: (server) =>
    server.send({ type: 'transport.closed', generation: server.context().generation, outcome: 'clean', detail: '' }),
  busy: (server) => server.send({ type: 'calls.busy', generation: server.context().generation }),
  quiet: (server) => server.send({ type: 'calls.quiet', generation: server.context().generation }),
  changed: (server) => server.send({ type: 'list.changed', generation: server.context().generation, kind: 'tools' }),
  wait: (server) => server.clock.advance(1_000),
};

/** The same told of a generation that is `age` older. */
const facts = (generation: number): readonly ServerEvent[] => [
  { type: 'transport.opened', generation, pid: 99 },
  {
    type: 'transport.initialized',
    generation,
    handshake: { era: 'modern', protocolVersion: '2026-07-28', serverInfo: null, lists: ['prompts'], announces: true },
  },
  { type: 'transport.lost', generation, failure: loss, death: true },
  { type: 'transport.lost', generation, failure: loss, death: false },
  { type: 'transport.lost', generation, failure: failure('APPROVAL_STALE', 'stale'), death: true },
  { type: 'transport.closed', generation, outcome: 'killed', detail: 'long ago' },
  { type: 'transport.stderr', generation },
  { type: 'list.changed', generation, kind: 'tools' },
  { type: 'calls.busy', generation },
  { type: 'calls.quiet', generation },
];

/** Stale news after a step: which fact, and of how old a generation. */
const news = fc.record({ after: fc.nat(39), fact: fc.nat(facts(0).length - 1), age: fc.integer({ min: 1, max: 3 }) });
const story = fc.record({
  // The way to ready stands in front, so that every state is met often.
  steps: fc.array(
    fc.constantFrom(...['demand', 'opened', 'initialized', 'demand', 'opened', 'initialized', 'wait'], ...Object.keys(steps)),
    { minLength: 5, maxLength: 40, size: 'max' },
  ),
  stale: fc.array(news, { minLength: 1, maxLength: 20, size: 'max' }),
});

type Story = typeof story extends fc.Arbitrary<infer S> ? S : never;

/** Everything that shows after each step: the state, what it remembers, what it told, what it asked of its transports. */
async function tell({ steps: names, stale }: Story, machine: typeof serverMachine): Promise<readonly string[]> {
  const server = startServer({ machine, world: { opens: false, closes: false } });
  const seen: string[] = [];
  for (const [at, name] of names.entries()) {
    steps[name]?.(server);
    await server.run(0);
    for (const { fact, age } of stale.filter(({ after }) => after === at)) {
      const generation = server.context().generation - age;
      const event = facts(generation)[fact];
      if (generation >= 0 && event !== undefined) server.send(event);
    }
    await server.run(0);
    server.check();
    const { supervisor: _supervisor, ...context } = server.context();
    seen.push(JSON.stringify([server.snapshot().value, context, server.reports, server.log, server.clock.pending]));
  }
  server.actor.stop();
  return seen;
}

const property = (machine: typeof serverMachine) =>
  fc.asyncProperty(story, async (one) => {
    expect(await tell(one, machine)).toEqual(await tell({ ...one, stale: [] }, machine));
  });

describe('news of an older generation', () => {
  test('changes nothing: neither what a server does, nor what it remembers, nor what it tells', async () => {
    await fc.assert(property(serverMachine));
  });
});

describe('would notice', () => {
  test.each([
    ['a machine that believes everybody', { isCurrent: () => true }],
    ['a death of an older generation', { isDeath: (_: unknown, lost: { readonly death: boolean }) => lost.death }],
    ['an older generation that has closed', { isHeaded: () => true }],
  ])('%s', async (_bug, guards) => {
    const machine = serverMachine.provide({ guards });
    expect((await fc.check(property(machine), { numRuns: 500, endOnFailure: true })).failed).toBe(true);
  });
});
