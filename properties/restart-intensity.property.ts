import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isIntensityExceeded } from '../machines/restart-policy.js';
import { serverMachine } from '../machines/server-machine.js';
import { defaultServerOptions } from '../machines/server-options.js';
import { failure } from '../machines/vocabulary.js';
import { startServer } from '../test/support/server-harness.js';

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
    server.send({ type: 'transport.lost', generation, failure: failure('LINK_LOST', 'died'), death: true });
    deaths.push(server.clock.now());
    await server.run(0);
    server.check();
    if (server.phase() === 'failed') break;
    const diedMs = server.clock.now();
    const { attempt, mayHurry } = server.context();
    if (isHurried) server.send({ type: 'server.demand', by: 'call' });
    while (server.phase() === 'backoff') await server.run((server.clock.nextMs ?? 0) - server.clock.now());
    if (!isHurried || !mayHurry) waits.push({ attempt, ms: server.clock.now() - diedMs });
  }
  server.actor.stop();
  return { restart, openings, deaths, waits };
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
};

const property = (machine: typeof serverMachine, check: (seen: Seen) => void) =>
  fc.asyncProperty(story, async (one) => check(await live(one, machine)));

describe('a server that keeps dying', () => {
  test.each(Object.entries(rules))('%s', async (_sentence, check) => {
    await fc.assert(property(serverMachine, check));
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
