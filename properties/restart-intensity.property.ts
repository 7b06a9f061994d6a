import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { assign } from 'xstate';
import { isIntensityExceeded } from '../machines/restart-policy.js';
import { serverMachine } from '../machines/server-machine.js';
import { defaultServerOptions } from '../machines/server-options.js';
import { failure } from '../machines/vocabulary.js';
import { type Server, startServer } from '../test/support/server-harness.js';

interface Life {
  /** How long it lives, and in what state it dies. */
  readonly aliveMs: number;
  readonly dies: 'while opening' | 'in the handshake' | 'ready' | 'in use';
}

const life: fc.Arbitrary<Life> = fc.record({
  aliveMs: fc.oneof(fc.integer({ min: 0, max: 50 }), fc.integer({ min: 0, max: 5_000 }), fc.integer({ min: 0, max: 90_000 })),
  dies: fc.constantFrom('while opening', 'in the handshake', 'ready', 'in use'),
});
const story = fc.record({
  seed: fc.integer(),
  intensity: fc.integer({ min: 1, max: 6 }),
  windowMs: fc.constantFrom(1_000, 10_000, 120_000),
  backoffBaseMs: fc.constantFrom(50, 500),
  lives: fc.array(life, { minLength: 1, maxLength: 40, size: 'max' }),
  /** A call that comes in each wait, and one that skips it where it may. */
  isHurried: fc.boolean(),
});

type Story = typeof story extends fc.Arbitrary<infer S> ? S : never;

interface Seen {
  readonly restart: typeof defaultServerOptions.restart;
  /** When each generation was opened, and when each died. */
  readonly openings: readonly number[];
  readonly deaths: readonly number[];
  readonly waits: readonly { readonly attempt: number; readonly ms: number }[];
  /** Attempts since it was last stable, as the machine counts them and as it should. */
  readonly attempts: readonly { readonly counted: number; readonly made: number }[];
  /** Once it was given up: how many starts calls brought about at once, and when half-open had passed. */
  readonly afterEnd: { readonly atOnce: number; readonly triedMs: number; readonly tries: number } | null;
}

/** A server that is kept alive and dies again and again, until it is given up or the story ends. */
async function live({ seed, lives, isHurried, ...policy }: Story, machine: typeof serverMachine): Promise<Seen> {
  const restart = { ...defaultServerOptions.restart, ...policy };
  const server = startServer({
    machine,
    seed,
    options: { restart },
    profile: { lifecycle: 'keep-alive', initTimeoutMs: 1_000_000 },
    world: { opens: false },
  });
  const openings: number[] = [];
  const deaths: number[] = [];
  const waits: { attempt: number; ms: number }[] = [];
  const attempts: { counted: number; made: number }[] = [];
  let made = 0;
  server.send({ type: 'gates.changed', shut: null });
  for (const { aliveMs, dies } of lives) {
    await server.run(0);
    const { generation } = server.context();
    openings.push(server.clock.now());
    if (dies !== 'while opening') server.send({ type: 'transport.opened', generation, pid: 1 });
    if (dies === 'ready' || dies === 'in use') {
      const handshake = { era: 'legacy', protocolVersion: '2025-11-25', serverInfo: null, lists: [], announces: false } as const;
      server.send({ type: 'transport.initialized', generation, handshake });
    }
    if (dies === 'in use') server.send({ type: 'calls.busy', generation });
    await server.run(aliveMs);
    const isStable = (dies === 'ready' || dies === 'in use') && aliveMs >= restart.stableAfterMs;
    made = isStable ? 1 : made + 1;
    server.send({ type: 'transport.lost', generation, failure: failure('LINK_LOST', 'died'), death: true });
    deaths.push(server.clock.now());
    await server.run(0);
    server.check();
    if (server.phase() === 'failed') break;
    const diedMs = server.clock.now();
    const { attempt, mayHurry } = server.context();
    attempts.push({ counted: attempt, made });
    if (isHurried) server.send({ type: 'server.demand', by: 'call' });
    while (server.phase() === 'backoff') await server.run((server.clock.nextMs ?? 0) - server.clock.now());
    if (!isHurried || !mayHurry) waits.push({ attempt, ms: server.clock.now() - diedMs });
  }
  const afterEnd = server.phase() === 'failed' ? await tryAgain(server, restart.halfOpenAfterMs) : null;
  server.actor.stop();
  return { restart, openings, deaths, waits, attempts, afterEnd };
}

/** Calls a server that was given up, at once and when half-open has passed; every start dies. */
async function tryAgain(server: Server, halfOpenMs: number): Promise<NonNullable<Seen['afterEnd']>> {
  const openedBy = async (waitMs: number): Promise<number> => {
    await server.run(waitMs);
    const before = server.context().generation;
    for (let call = 0; call < 3; call += 1) {
      server.send({ type: 'server.demand', by: 'call' });
      await server.run(0);
      const { generation } = server.context();
      server.send({ type: 'transport.lost', generation, failure: failure('LINK_LOST', 'died again'), death: true });
      await server.run(0);
    }
    return server.context().generation - before;
  };
  const atOnce = await openedBy(0);
  const triedMs = server.clock.now() + halfOpenMs;
  return { atOnce, triedMs, tries: await openedBy(halfOpenMs) };
}

const within = (times: readonly number[], endMs: number, windowMs: number): number =>
  times.filter((time) => time <= endMs && time > endMs - windowMs).length;

const rules: Record<string, (seen: Seen) => void> = {
  'no window sees more than intensity + 1 deaths, the last of which is the end': ({ restart, deaths }) => {
    for (const [at, death] of deaths.entries()) {
      const count = within(deaths.slice(0, at + 1), death, restart.windowMs);
      expect(count).toBeLessThanOrEqual(restart.intensity + 1);
      if (count === restart.intensity + 1) expect(at).toBe(deaths.length - 1);
    }
  },

  'no opening follows while more deaths are in its window than intensity admits': ({ restart, openings, deaths }) => {
    for (const opening of openings) {
      expect(
        within(
          deaths.filter((death) => death < opening),
          opening,
          restart.windowMs,
        ),
      ).toBeLessThanOrEqual(restart.intensity);
    }
  },

  'every wait lies between the floor and the bound of its attempt': ({ restart, waits }) => {
    for (const { attempt, ms } of waits) {
      expect(ms).toBeGreaterThanOrEqual(restart.backoffFloorMs);
      const bound = Math.min(restart.backoffCapMs, restart.backoffBaseMs * 2 ** (attempt - 1));
      expect(ms).toBeLessThanOrEqual(Math.max(restart.backoffFloorMs, bound));
    }
  },

  'attempts are counted until it has held for the time that makes it stable, not until it is ready': ({ attempts }) => {
    expect(attempts.map(({ counted }) => counted)).toEqual(attempts.map(({ made }) => made));
  },

  'one that was given up is tried once when half-open has passed, for as long as its deaths are in the window': ({
    restart,
    deaths,
    afterEnd,
  }) => {
    if (afterEnd === null) return;
    const { atOnce, triedMs, tries } = afterEnd;
    expect(atOnce).toBe(0);
    const isOneTooMany = within(deaths, triedMs, restart.windowMs) >= restart.intensity;
    if (isOneTooMany) expect(tries).toBe(1);
    else expect(tries).toBeGreaterThan(0);
  },
};

const property = (machine: typeof serverMachine, check: (seen: Seen) => void) =>
  fc.asyncProperty(story, async (one) => check(await live(one, machine)));

describe('a server that keeps dying', () => {
  // A life costs more than a look at it: every rule looks at the same ones.
  test('keeps every rule', async () => {
    await fc.assert(
      property(serverMachine, (seen) => {
        for (const check of Object.values(rules)) check(seen);
      }),
    );
  });
});

describe('would notice', () => {
  type Changes = Parameters<typeof serverMachine.provide>[0];
  const broken: Record<string, readonly [bug: string, changes: Changes]> = {
    'no window sees more than intensity + 1 deaths, the last of which is the end': [
      'a death too many that is forgiven',
      {
        guards: {
          crashesTo: ({ context }, verdict) => {
            const { intensity, ...rest } = context.options.restart;
            const isOver = isIntensityExceeded(context.restarts, { ...rest, intensity: intensity + 1 });
            return verdict === (isOver ? 'failed' : 'backoff');
          },
        },
      },
    ],
    'no opening follows while more deaths are in its window than intensity admits': [
      'a window that forgets too early',
      { delays: { restartWindow: ({ context }) => context.options.restart.windowMs / 2 } },
    ],
    'every wait lies between the floor and the bound of its attempt': ['no wait at all', { delays: { backoff: () => 0 } }],
    'attempts are counted until it has held for the time that makes it stable, not until it is ready': [
      'an attempt that is forgotten as soon as it is ready',
      { actions: { noteReady: assign({ wanted: false, waiting: false, problem: null, attempt: 0 }) } },
    ],
    'one that was given up is tried once when half-open has passed, for as long as its deaths are in the window': [
      'a try that never comes',
      { guards: { isRetryable: () => false } },
    ],
  };

  test('has a planted bug for every rule', () => {
    expect(Object.keys(broken)).toEqual(Object.keys(rules));
  });

  test.each(Object.entries(broken))('%s', async (sentence, [, changes]) => {
    const check = rules[sentence];
    expect(
      check && (await fc.check(property(serverMachine.provide(changes), check), { numRuns: 300, endOnFailure: true })).failed,
    ).toBe(true);
  });
});
