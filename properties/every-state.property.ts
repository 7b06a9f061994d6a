import { beforeAll, describe, expect, test } from 'vitest';
import { isHungry, isKeptAlive } from '../machines/server-context.js';
import { phaseOf } from '../machines/server-view.js';
import { failure, PHASES } from '../machines/vocabulary.js';
import { aHandshake } from '../test/support/server-harness.js';
import { type AnyServerEvent, type Chart, type Explored, explore, walked } from './every-state/explorer.js';

const lost = failure('LINK_LOST', 'lost');
const shut = { gate: 'disabled', failure: failure('DISABLED', 'off') } as const;

/** What decides how a server goes on: one by one all there is, told of the present generation and ticket or of the ones before. */
function lifeEvents({ server, ledger }: Explored): readonly AnyServerEvent[] {
  const { generation, ticket, fingerprint, profile, restarts } = server.context;
  const [death] = restarts;
  const told = (age: number): readonly AnyServerEvent[] => [
    { type: 'transport.opened', generation: generation - age, pid: 1 },
    { type: 'transport.initialized', generation: generation - age, handshake: { ...aHandshake, lists: [] } },
    { type: 'transport.lost', generation: generation - age, failure: lost, death: true },
    { type: 'transport.closed', generation: generation - age, outcome: 'clean', detail: '' },
  ];
  return [
    { type: 'server.demand', by: 'person' },
    { type: 'server.demand', by: 'call' },
    { type: 'demand.ended' },
    { type: 'server.restart' },
    { type: 'server.retire', failure: failure('SERVER_REMOVED', 'removed') },
    { type: 'gates.changed', shut },
    { type: 'gates.changed', shut: null },
    { type: 'profile.changed', profile: { ...profile, configHash: profile.configHash === 'h1' ? 'h2' : 'h1' } },
    { type: 'profile.adjusted', profile: { ...profile, lifecycle: profile.lifecycle === 'lazy' ? 'keep-alive' : 'lazy' } },
    { type: 'approval.granted', fingerprint: fingerprint ?? '' },
    { type: 'approval.granted', fingerprint: fingerprint === 'f1' ? 'f2' : 'f1' },
    { type: 'approval.denied', fingerprint: fingerprint ?? '', failure: failure('APPROVAL_DENIED', 'no') },
    { type: 'slot.granted', ticket: ticket - 1 },
    ...ledger.asked.map((asked) => ({ type: 'slot.granted', ticket: asked }) as const),
    { type: 'slot.reclaimed', ticket },
    ...told(0),
    { type: 'transport.lost', generation, failure: failure('APPROVAL_STALE', 'changed'), death: false },
    { type: 'transport.lost', generation, failure: failure('AUTH_REQUIRED', 'authorise'), death: false },
    { type: 'transport.stderr', generation },
    { type: 'options.changed', options: server.context.options },
    { type: 'calls.busy', generation },
    { type: 'calls.quiet', generation },
    ...(death === undefined ? [] : [{ type: 'restart.forgotten', seq: death } as const]),
    { type: 'xstate.done.actor.vet', output: { verdict: 'ask', fingerprint: 'f1' } },
    { type: 'xstate.done.actor.vet', output: { verdict: 'ask', fingerprint: 'f2' } },
    { type: 'xstate.done.actor.vet', output: { verdict: 'refused', failure: failure('REFUSED_COMMAND', 'no') } },
    { type: 'xstate.error.actor.transport', error: new Error('broke') },
  ];
}

/** Names are told apart by how they relate, numbers by what depends on them. */
const named = ({ server, ledger }: Explored): string => {
  const { context: c, value } = server;
  return JSON.stringify([
    server.matches({ up: 'ready' }) ? c.busy : value,
    [c.shut === null, c.blockedBy === null, c.problem === null, isHungry(c), c.heading, isKeptAlive(c)],
    [
      c.fingerprint !== null && c.fingerprint === c.approved,
      ledger.granted.includes(`${c.profile.configHash} ${String(c.approved)}`),
    ],
    [c.restarts.length > 1, ledger.asked.length, ledger.held.length],
  ]);
};

/** What goes on in a server that is ready, beside its calls: lists, announcements, probes. */
function readyEvents({ server }: Explored): readonly AnyServerEvent[] {
  const { generation, profile } = server.context;
  return [
    { type: 'calls.busy', generation },
    { type: 'calls.quiet', generation },
    { type: 'list.changed', generation, kind: 'tools' },
    { type: 'profile.adjusted', profile: { ...profile, lifecycle: profile.lifecycle === 'lazy' ? 'keep-alive' : 'lazy' } },
    { type: 'xstate.done.actor.rewalk', output: walk },
    { type: 'xstate.done.actor.rewalk', output: { ...walk, state: 'failed', reason: failure('LIST_FAILED', 'no') } },
    { type: 'xstate.error.actor.rewalk', error: new Error('broke') },
    { type: 'xstate.done.actor.listen' },
    { type: 'xstate.error.actor.listen', error: new Error('broke') },
    { type: 'xstate.done.actor.probe' },
    { type: 'xstate.error.actor.probe', error: new Error('broke') },
  ];
}

const walk = { kind: 'tools', items: [], skipped: [], pages: 1, state: 'complete', reason: null } as const;

/** The way of a modern server that announces its lists. */
const way: readonly ((state: Explored) => AnyServerEvent)[] = [
  () => ({ type: 'server.demand', by: 'call' }),
  () => ({ type: 'xstate.done.actor.vet', output: { verdict: 'approved', fingerprint: null } }),
  ({ server }) => ({ type: 'slot.granted', ticket: server.context.ticket }),
  () => ({ type: 'transport.opened', generation: 1, pid: 1 }),
  () => ({ type: 'transport.initialized', generation: 1, handshake: { ...aHandshake, era: 'modern' } }),
  () => ({ type: 'xstate.done.actor.walk', output: walk }),
];

const isReady = ({ server }: Explored): boolean => server.matches({ up: 'ready' });

/** By state: all six phases and what leads to them, or, the other way round, the inside of one of them. */
const charts: Readonly<Record<string, () => Chart>> = {
  'a server of a workspace, from its first look at the disk to its end': () =>
    explore({ layer: 'workspace', events: lifeEvents, nameOf: named }),
  'a server that is ready': () =>
    explore({
      layer: 'user',
      from: walked('user', way),
      events: readyEvents,
      nameOf: ({ server }) =>
        JSON.stringify([server.value, isKeptAlive(server.context), server.context.stale, server.context.lists.tools.state]),
      stopWhen: (state) => !isReady(state),
    }),
  'a server in its first listing': () =>
    explore({
      layer: 'user',
      from: walked('user', way.slice(0, -1)),
      events: () => [
        { type: 'list.changed', generation: 1, kind: 'tools' },
        { type: 'xstate.done.actor.walk', output: walk },
        { type: 'xstate.error.actor.walk', error: new Error('broke') },
      ],
      nameOf: ({ server }) => JSON.stringify([server.value, server.context.stale, server.context.lists.tools.state]),
      stopWhen: ({ server }) => !server.matches({ up: 'connecting' }),
    }),
};

const TAGS: readonly string[] = PHASES;

const rules: Readonly<Record<string, (state: Explored) => void>> = {
  'has one phase, and says why where it is not ready': ({ server, ledger }) => {
    const { blockedBy, problem } = server.context;
    const phase = phaseOf(server);
    const tags = [...server.tags].filter((tag) => TAGS.includes(tag));
    expect(tags).toEqual(ledger.isGone || server.matches({ up: 'closing' }) ? [] : [phase]);
    if (phase === 'failed' || phase === 'backoff' || blockedBy !== null) expect(problem).not.toBeNull();
    if (phase === 'ready') expect([blockedBy, problem]).toEqual([null, null]);
  },

  'holds its slot exactly while a generation is open, and asks for one exactly while it is queued': ({ server, ledger }) => {
    const { ticket } = server.context;
    expect(ledger.held).toEqual(server.hasTag('open') ? [ticket] : []);
    expect(ledger.asked).toEqual(server.matches({ down: 'queued' }) ? [ticket] : []);
  },

  'runs only what a person has approved, behind open gates': ({ server, ledger }) => {
    const { shut, approved, profile } = server.context;
    if (!server.hasTag('open') || server.matches({ up: 'closing' })) return;
    expect(shut).toBeNull();
    if (profile.layer === 'workspace') expect(ledger.granted).toContain(`${profile.configHash} ${String(approved)}`);
  },

  'asks a person exactly while it is approving, about what it would run': ({ server, ledger }) => {
    const { fingerprint } = server.context;
    expect(ledger.question).toBe(server.matches({ down: 'approving' }) ? fingerprint : null);
  },

  'waits for another try only while no more deaths are in the window than are forgiven': ({ server }) => {
    const { restarts, options } = server.context;
    if (server.matches({ down: 'backoff' })) expect(restarts.length).toBeLessThanOrEqual(options.restart.intensity);
  },
};

describe.each(Object.entries(charts))('%s', (_chart, make) => {
  let chart: Chart;

  beforeAll(() => {
    chart = make();
  });

  test.each(Object.entries(rules))('%s, in every state', (_sentence, check) => {
    expect(chart.size).toBeGreaterThan(3);
    for (const { state } of chart.values()) check(state);
  });

  test('closes a generation before the next one opens, on every way', () => {
    for (const { state, edges } of chart.values()) {
      for (const { event, state: next } of edges) {
        const isLeft = state.server.hasTag('open') && !next.server.hasTag('open');
        if (isLeft) expect(['transport.closed', 'xstate.error.actor.transport']).toContain(event.type);
        const opened = next.server.context.generation - state.server.context.generation;
        expect(opened).toBe(!state.server.hasTag('open') && next.server.hasTag('open') ? 1 : 0);
      }
    }
  });

  test('counts a loss that is told while it closes, or told twice, once', () => {
    for (const { state, edges } of chart.values()) {
      if (!state.server.matches({ up: 'closing' })) continue;
      const again = edges.filter(({ event }) => event.type === 'transport.lost');
      for (const { state: next } of again) expect(next.server.context.deaths).toBe(state.server.context.deaths);
    }
  });

  test('can become ready or failed from every state, unless it has left for good', () => {
    const into = new Map<string, string[]>();
    for (const [name, { edges }] of chart) for (const { to } of edges) into.set(to, [...(into.get(to) ?? []), name]);
    // The inside of a phase ends where it begins to close.
    const isEnd = ({ server, ledger }: Explored, isLast: boolean): boolean =>
      ledger.isGone || /^(ready|failed)$/.test(phaseOf(server)) || (isLast && server.matches({ up: 'closing' }));
    const live = new Set([...chart].flatMap(([name, { state, edges }]) => (isEnd(state, edges.length === 0) ? [name] : [])));
    for (const name of live) for (const before of into.get(name) ?? []) live.add(before);
    const dead = [...chart].filter(([name]) => !live.has(name));
    expect(dead.map(([name]) => name)).toEqual([]);
  });
});
