import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { CredentialOrigin, DbPort, Metadata } from '../actors/ports.js';
import { createMemoryDb } from '../adapters/memory-db.js';
import { createStateDb, type StateDbOptions } from '../adapters/state/state-db.js';
import { systemClock } from '../adapters/system-clock.js';
import type { Era } from '../machines/vocabulary.js';

/** Few keys, so that they meet; some differ only in what a careless comparison takes for the same. */
const key = fc.constantFrom('a', 'A', 'a ', '', '%', '\u00e9', 'e\u0301', 'a/b');
const text = fc.string({ unit: 'binary', maxLength: 40 });
const items = fc.array(fc.record({ key: text, definition: fc.dictionary(text, fc.jsonValue({ maxDepth: 3 })) }), {
  maxLength: 4,
});
const metadata: fc.Arbitrary<Metadata> = fc.record({
  savedAtMs: fc.integer({ min: 0 }),
  ttlMs: fc.option(fc.integer({ min: 0 })),
  fingerprint: fc.option(text),
  lists: fc.record({ tools: items, resources: items, resourceTemplates: items, prompts: items }, { requiredKeys: [] }),
});
const digest = fc.stringMatching(/^[0-9a-f]{1,64}$/);
const origins: fc.Arbitrary<Map<string, CredentialOrigin>> = fc
  .array(fc.tuple(key, fc.record({ value: digest, endpoint: digest })), { maxLength: 3 })
  .map((entries) => new Map(entries));

type Step = (db: DbPort) => Promise<void>;
const step = fc.oneof<fc.Arbitrary<Step>[]>(
  fc.tuple(key, fc.boolean()).map(
    ([root, on]) =>
      (db) =>
        db.setTrusted(root, on),
  ),
  fc.tuple(key, fc.boolean()).map(
    ([name, on]) =>
      (db) =>
        db.setSwitch(name, on),
  ),
  fc.tuple(key, metadata).map(
    ([name, lists]) =>
      (db) =>
        db.saveMetadata(name, lists),
  ),
  fc.tuple(key, fc.constantFrom<Era | null>('legacy', 'modern', null)).map(
    ([hash, era]) =>
      (db) =>
        db.saveEra(hash, era),
  ),
  key.map((fingerprint) => (db) => db.saveApproved(fingerprint)),
  fc.tuple(key, key, digest).map(
    ([root, tool, one]) =>
      (db) =>
        db.saveGrant(root, tool, one),
  ),
  fc.tuple(key, fc.array(key, { maxLength: 2 })).map(
    ([root, tools]) =>
      (db) =>
        db.forgetGrants(root, tools),
  ),
  fc.tuple(key, origins).map(
    ([owner, credentials]) =>
      (db) =>
        db.saveCredentials(owner, credentials),
  ),
);
const script = fc.array(fc.record({ step, port: fc.nat(1), isReopened: fc.boolean() }), {
  minLength: 1,
  maxLength: 25,
  size: 'max',
});

const keys = ['a', 'A', 'a ', '', '%', '\u00e9', 'e\u0301', 'a/b'];
const byName = (map: ReadonlyMap<string, unknown>): string[] => [...map].map((entry) => JSON.stringify(entry)).sort();
/** All that a port tells, as plain data. */
const told = async (db: DbPort): Promise<unknown> => [
  byName(await db.switches()),
  await Promise.all(
    keys.map(async (one) => [
      await db.trusted(one),
      JSON.stringify(await db.metadata(one)),
      await db.era(one),
      await db.wasApproved(one),
      byName(await db.credentials(one)),
      [...(await db.grants(one))].flatMap(([tool, digests]) => [...digests].map((one) => `${tool} ${one}`)).sort(),
    ]),
  ),
];

/** Whatever is kept through whichever port, reopened or not, is told as plain maps would tell it. */
const asMaps = (create: (options: StateDbOptions) => DbPort) =>
  fc.asyncProperty(script, async (steps) => {
    const dir = await mkdtemp(join(tmpdir(), 'state-'));
    const model = createMemoryDb();
    const make = (): DbPort => create({ dir, clock: systemClock, busyTimeoutMs: 60_000 });
    const ports = [make(), make()] as [DbPort, DbPort];
    try {
      for (const { step: keep, port, isReopened } of steps) {
        const at = port === 0 ? 0 : 1;
        await Promise.all([keep(ports[at]), keep(model)]);
        if (!isReopened) continue;
        await ports[at].close();
        ports[at] = make();
      }
      const expected = await told(model);
      for (const db of ports) expect(await told(db)).toEqual(expected);
    } finally {
      await Promise.all(ports.map((db) => db.close()));
      await rm(dir, { recursive: true });
    }
  });

describe('the state db', () => {
  test('is as good as maps that never end', async () => {
    await fc.assert(asMaps(createStateDb), { numRuns: 25 });
  }, 120_000);
});

describe('would notice', () => {
  const bugs: readonly (readonly [string, (db: DbPort) => Partial<DbPort>])[] = [
    ['a key that is taken for another one', (db) => ({ setTrusted: (root, on) => db.setTrusted(root.trim(), on) })],
    ['a switch that only goes on', (db) => ({ setSwitch: async (name, on) => (on ? db.setSwitch(name, on) : undefined) })],
    [
      'an era that is never forgotten',
      (db) => ({ saveEra: async (hash, era) => (era === null ? undefined : db.saveEra(hash, era)) }),
    ],
    [
      'an empty list that is lost',
      (db) => ({
        saveMetadata: (name, { lists, ...head }) => {
          const full = Object.entries(lists).filter(([, list]) => list.length > 0);
          return db.saveMetadata(name, { ...head, lists: Object.fromEntries(full) });
        },
      }),
    ],
  ];

  test.each(bugs)(
    '%s',
    async (_bug, planted) => {
      const create = (options: StateDbOptions): DbPort => {
        const db = createStateDb(options);
        return { ...db, ...planted(db) };
      };
      expect((await fc.check(asMaps(create), { numRuns: 200, endOnFailure: true })).failed).toBe(true);
    },
    120_000,
  );
});
