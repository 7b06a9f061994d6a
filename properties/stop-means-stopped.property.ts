import fc from 'fast-check';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { CallTable } from '../actors/call-table.js';
import { Calls } from '../actors/calls.js';
import { SupervisorError } from '../actors/errors.js';
import { Waiters } from '../actors/waiters.js';
import { type Outcome, outcomeOf } from '../test/support/outcome.js';
import { layer, Simulation, server } from '../test/support/simulated-ports.js';

const IDS = ['a', 'b'] as const;
const id = fc.constantFrom(...IDS);
const KINDS = [
  'call',
  'call',
  'up',
  'up',
  'open',
  'shake',
  'answer',
  'die',
  'restart',
  'closed',
  'enable',
  'disable',
  'change',
] as const;

const step = fc.oneof(
  { weight: 8, arbitrary: fc.record({ kind: fc.constantFrom(...KINDS), id }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('wait' as const), ms: fc.constantFrom(0, 50, 700, 6_000) }) },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

/** How it is stopped in the end; each has to hold from whatever state the steps have led to. */
const stop = fc.constantFrom('disable', 'remove', 'close', 'restart');
type Stop = typeof stop extends fc.Arbitrary<infer T> ? T : never;

interface Made {
  readonly id: string;
  readonly text: string;
  readonly outcome: Outcome;
}

/** Nothing happens by itself: a link opens, shakes hands, answers and ends only when a step says so. */
async function start() {
  const sim = new Simulation();
  let version = 1;
  const layers = () => [
    layer(
      'user',
      IDS.map((one) => server(one, { configHash: `${one}-${version}`, initTimeoutMs: 5_000 })),
    ),
  ];
  sim.layers = layers();
  for (const one of IDS) sim.behaviours.set(one, { opens: false, shakes: false, closes: false });
  const { workspace, supervisor } = await sim.open();
  const made: Made[] = [];
  const latest = (one: string) => sim.links.findLast((link) => link.server === one);
  const take = async (one: Step): Promise<void> => {
    if (one.kind === 'wait') return sim.run(one.ms);
    const link = latest(one.id);
    if (one.kind === 'call') {
      const text = `call ${made.length}`;
      made.push({ id: one.id, text, outcome: outcomeOf(workspace.call(`mcp__${one.id}__echo`, { text })) });
    } else if (one.kind === 'up') {
      void workspace
        .server(one.id)
        .test()
        .catch(() => undefined);
      await sim.settle();
      latest(one.id)?.open();
      latest(one.id)?.shake();
    } else if (one.kind === 'open') link?.open();
    else if (one.kind === 'shake') link?.shake();
    else if (one.kind === 'answer') link?.answer(link.calls.at(-1)?.id ?? '');
    else if (one.kind === 'die') link?.die();
    else if (one.kind === 'closed') {
      if (link?.isClosing === true) link.finishClose();
    } else if (one.kind === 'restart') workspace.server(one.id).restart();
    else if (one.kind === 'change') {
      version += 1;
      sim.change(layers());
    } else await workspace.server(one.id)[one.kind]();
  };
  const texts = () =>
    sim.links.flatMap(({ calls }) => calls.map(({ params }) => (params as { arguments: { text: string } }).arguments.text));
  return { sim, workspace, supervisor, made, take, texts };
}

const CODES: Readonly<Record<Stop, string>> = {
  disable: 'DISABLED',
  remove: 'SERVER_REMOVED',
  close: 'SUPERVISOR_CLOSED',
  restart: 'LINK_LOST',
};

async function play(steps: readonly Step[], how: Stop): Promise<void> {
  const { sim, workspace, supervisor, made, take, texts } = await start();
  for (const one of steps) {
    await take(one);
    await sim.settle();
    for (const each of IDS) {
      const alive = sim.openLinks.filter((link) => link.server === each);
      expect(alive.length, 'live generations of one server').toBeLessThanOrEqual(1);
    }
  }
  const open = made.filter((call) => call.id === 'a' && call.outcome.state === 'open');
  const others = made.filter((call) => call.id === 'b' && call.outcome.state === 'open');
  const isOn = workspace.server('a').status().enabled;
  const before = texts().length;
  if (how === 'disable') await workspace.server('a').disable();
  else if (how === 'remove')
    sim.change([layer('user', [server('b', { configHash: sim.layers[0]?.servers[1]?.configHash ?? '' })])]);
  else if (how === 'restart') workspace.server('a').restart();
  else void supervisor.close();
  await sim.settle();
  expect(
    open.map(({ outcome }) => outcome.state),
    'calls of what was stopped',
  ).toEqual(open.map(() => CODES[how]));
  if (how !== 'close')
    expect(
      others.every(({ outcome }) => outcome.state === 'open'),
      'calls of the sibling',
    ).toBe(true);
  expect(texts().length, 'calls sent by a stop').toBe(before);
  for (const link of sim.links.filter((one) => one.isClosing)) link.finishClose();
  await sim.settle();
  if (how === 'disable') {
    expect(
      sim.openLinks.filter((link) => link.server === 'a'),
      'links of what is off',
    ).toEqual([]);
    expect(isOn || workspace.server('a').status().blockedBy === 'disabled').toBe(true);
  }
  await finish(sim, supervisor.close());
  expect(
    made.every(({ outcome }) => outcome.state !== 'open' && !outcome.state.startsWith('untyped')),
    'typed ends',
  ).toBe(true);
  expect(new Set(texts()).size, 'calls sent once').toBe(texts().length);
  expect(sim.remains(), 'what is left').toEqual([]);
}

/** Closes every link that is told to, until the close is over. */
async function finish(sim: Simulation, closing: Promise<void>): Promise<void> {
  const outcome = outcomeOf(closing);
  for (let round = 0; round < 5 && outcome.state === 'open'; round += 1) {
    for (const link of sim.openLinks) if (link.isClosing) link.finishClose();
    await sim.settle();
  }
  expect(outcome.state, 'the close').toBe('ok');
}

const property = fc.asyncProperty(fc.array(step, { maxLength: 25, size: 'max' }), stop, play);

test('from whatever state, a stop settles every call of its server at once, sends nothing, touches no sibling and leaves nothing', async () => {
  // A run is a whole workspace, so fewer of them than elsewhere, unless the run asks for more.
  await fc.assert(property, fc.readConfigureGlobal().numRuns === undefined ? { numRuns: 40 } : {});
});

describe('would notice', () => {
  afterEach(() => {
    vi.restoreAllMocks();
  });

  const real = Object.getOwnPropertyDescriptors(Calls.prototype);
  const bugs: Record<string, () => void> = {
    'a stop that leaves the calls in flight to their deadlines': () =>
      vi.spyOn(CallTable.prototype, 'failAll').mockImplementation(() => undefined),
    'a stop that forgets who waits for the start': () =>
      vi.spyOn(Waiters.prototype, 'rejectAll').mockImplementation(() => undefined),
    'a lost call that is sent again by the next life': () =>
      vi.spyOn(Calls.prototype, 'call').mockImplementation(async function (this: Calls, ...args) {
        const once = (): ReturnType<Calls['call']> | undefined => real.call.value?.apply(this, args);
        const retry = (error: unknown): ReturnType<Calls['call']> | undefined => {
          if (!SupervisorError.is(error) || error.code !== 'LINK_LOST') throw error;
          return once();
        };
        return (await once()?.catch(retry)) ?? {};
      }),
  };

  test.each(Object.entries(bugs))('%s', async (_bug, plant) => {
    plant();
    expect((await fc.check(property, { numRuns: 300, endOnFailure: true })).failed).toBe(true);
  });
});
