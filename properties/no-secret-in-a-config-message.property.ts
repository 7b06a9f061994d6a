import { inspect } from 'node:util';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { LayerReading } from '../actors/ports.js';
import { createNodeDigest } from '../adapters/node-digest.js';
import { createVet } from '../adapters/vet/vet.js';
import { configFolder } from '../test/support/config-files.js';

/** Stands for every secret a file or the environment may hold: each value below carries it. It has a credential’s shape. */
const CANARY = 'sk-cAnArY7x9';

/** Values that are wrong, odd or right for almost any field. Numbers and words stay: only texts can hold a secret. */
const text = fc.constantFrom(
  CANARY,
  `../${CANARY}`,
  `https://${CANARY}:${CANARY}@h.example/${CANARY}?api_key=${CANARY}#${CANARY}`,
  `http://h.example/?q=${CANARY}`,
  `ftp://${CANARY}`,
  `https://${CANARY}.example/\t`,
  `Bearer ${CANARY}`,
  `\${UNSET}${CANARY}`,
  `\${UNSET:-${CANARY}}`,
  '${SECRET}',
  `\${1}${CANARY}`,
  `${CANARY}\u0000`,
  `${CANARY}\r\nX: y`,
  `~/${CANARY}`,
);
const value = fc.oneof(
  { weight: 4, arbitrary: text },
  fc.array(text, { maxLength: 3 }),
  fc.dictionary(fc.constantFrom('A', 'Authorization', 'NODE_OPTIONS', 'A=B', '', 'clientSecret', 'rm'), text, { maxKeys: 3 }),
  fc.constantFrom(null, true, 1),
);
const field = fc.constantFrom(
  'type',
  'command',
  'args',
  'env',
  'cwd',
  'url',
  'headers',
  'oauth',
  'lifecycle',
  'timeout',
  'tools',
  'approveTools',
  'maxTools',
  'disabled',
  'extra',
);
/** Good enough for the file, so that refusals of one server and the vetting of its command come into play. */
const sound = fc.oneof(
  fc.record({
    command: fc.constantFrom(CANARY, `/${CANARY}`, '/bin/sh', '~/a', '${SECRET}'),
    args: fc.array(fc.constantFrom(CANARY, '${SECRET}', '${UNSET}'), { maxLength: 2 }),
    env: fc.dictionary(fc.constantFrom('A', 'B_TOKEN', 'LD_PRELOAD'), fc.constantFrom(CANARY, '${SECRET}', '${UNSET}'), {
      maxKeys: 2,
    }),
  }),
  fc.record({
    url: fc.constantFrom(`https://h.example/?token=${CANARY}`, `http://${CANARY}.example/`, 'https://${SECRET}/'),
    headers: fc.dictionary(fc.constantFrom('X-A', 'Cookie'), fc.constantFrom(CANARY, '${SECRET}', '${UNSET}'), { maxKeys: 2 }),
  }),
);
const server = fc.oneof(
  { weight: 6, arbitrary: fc.dictionary(field, value, { maxKeys: 4, size: 'max' }) },
  {
    weight: 2,
    arbitrary: fc.record({
      command: text,
      args: fc.array(text, { maxLength: 2 }),
      env: fc.dictionary(fc.constantFrom('A', 'B_TOKEN'), text),
    }),
  },
  { weight: 2, arbitrary: fc.record({ url: text, headers: fc.dictionary(fc.constantFrom('X-A', 'Cookie'), text) }) },
  value,
);
const setting = fc.constantFrom('remote', 'workspaceVariables', 'limits', 'restart', 'toolPolicies', 'servers', 'other');
const soundFile = fc
  .dictionary(fc.constantFrom('x', 'y'), sound, { minKeys: 1, maxKeys: 2 })
  .map((servers) => JSON.stringify({ mcpServers: servers }));
/** A file that may also be cut short or spoiled at any place, as a file that is being written is. */
const spoiledFile = fc
  .record({
    servers: fc.oneof({ weight: 5, arbitrary: fc.dictionary(fc.constantFrom('x', 'y', 'a b'), server, { maxKeys: 3 }) }, value),
    settings: fc.dictionary(setting, value, { maxKeys: 2 }),
    cut: fc.oneof({ weight: 3, arbitrary: fc.constant(1) }, fc.double({ min: 0, max: 1, noNaN: true })),
    spoil: fc.constantFrom('', '', '', CANARY, '"', '}'),
    slip: fc.option(fc.record({ mark: fc.constantFrom('"', ':', ',', '{'), which: fc.nat(60) })),
  })
  .map(({ servers, settings, cut, spoil, slip }) => {
    const whole = withoutMark(JSON.stringify({ mcpServers: servers, ...settings }, null, 1), slip);
    return whole.slice(0, Math.ceil(whole.length * cut)) + spoil;
  });

/** One mark too few: what was a value may stand where a name is expected. */
function withoutMark(text: string, slip: { readonly mark: string; readonly which: number } | null): string {
  if (slip === null) return text;
  const places = [...text.matchAll(new RegExp(slip.mark, 'g'))].map(({ index }) => index);
  const at = places[slip.which % Math.max(1, places.length)];
  return at === undefined ? text : text.slice(0, at) + text.slice(at + 1);
}

const file = fc.oneof(soundFile, spoiledFile);

/** Everything of a reading that is shown or logged: faults, refusals and their hints. */
function messages({ errors, warnings, servers }: LayerReading): string {
  return JSON.stringify([errors, warnings, servers.map(({ refusal }) => refusal)]);
}

test('no value of a configuration file, and none of the environment, is ever in a message', async () => {
  await using folder = await configFolder({ SECRET: CANARY });
  const vet = createVet({ env: { PATH: '/nowhere', SECRET: CANARY }, digest: createNodeDigest(), marker: 'm' });
  let told = 0;
  let refused = 0;
  await fc.assert(
    fc.asyncProperty(file, file, async (user, project) => {
      const readings = Object.values(await folder.read({ user, project, override: project })) as LayerReading[];
      for (const reading of readings) {
        told += reading.errors.length + reading.warnings.length;
        expect(messages(reading)).not.toContain(CANARY);
        for (const definition of reading.servers) {
          const problem = await vet.vet(definition, { root: folder.root }).then(
            () => null,
            (error: unknown) => error,
          );
          if (problem === null) continue;
          refused += 1;
          expect(JSON.stringify(problem)).not.toContain(CANARY);
        }
      }
    }),
  );
  // Vacuous otherwise: the files must be faulty, and some good enough to be vetted.
  expect(told).toBeGreaterThan(50);
  expect(refused).toBeGreaterThan(5);
});

test('nor in what an edit of such a file says', async () => {
  await using folder = await configFolder({ SECRET: CANARY });
  const outcomes = { done: 0, refused: 0 };
  await fc.assert(
    fc.asyncProperty(file, file, async (user, project) => {
      await folder.read({ user, project });
      const { config, root } = folder;
      for (const edit of [() => config.setRemote(true), () => config.remove({ root }, 'workspace', 'x')]) {
        try {
          await edit();
          outcomes.done += 1;
        } catch (error) {
          outcomes.refused += 1;
          expect(inspect(error, { depth: 5 })).not.toContain(CANARY);
        }
      }
    }),
  );
  expect(Math.min(outcomes.done, outcomes.refused)).toBeGreaterThan(5);
}, 120_000);

describe('would notice', () => {
  test('a message that quotes the value it complains about', async () => {
    await using folder = await configFolder();
    const found = await fc.check(
      fc.asyncProperty(file, async (user) => {
        const { user: reading } = await folder.read({ user });
        const quoting = reading.errors.map((fault) => ({ ...fault, message: `${fault.message}: ${lineOf(user, fault.line)}` }));
        return !messages({ ...reading, errors: quoting }).includes(CANARY);
      }),
    );
    expect(found.failed).toBe(true);
  });
});

const lineOf = (whole: string, line: number | null): string => whole.split('\n')[(line ?? 1) - 1] ?? '';
