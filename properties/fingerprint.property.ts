import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ServerDefinition } from '../actors/ports.js';
import { createNodeDigest } from '../adapters/node-digest.js';
import { createVet } from '../adapters/vet/vet.js';
import { server } from '../test/support/simulated-ports.js';
import { temporaryDirectory } from '../test/support/temporary-directory.js';

/** Texts that are easily taken for one another: pieces of each other, line ends, composed and decomposed letters, look-alikes. */
const text = fc.constantFrom(
  ...['', 'a', 'b', 'a b', 'a\nB=2', 'A', '1', 'a,b', '["a","b"]', '\u00e9', 'e\u0301', '\u0430', 'a\u200b', ' a', 'a '],
  '__proto__',
);
const name = fc.constantFrom('A', 'a', 'B', 'AB', 'A.B', '__proto__', 'constructor', 'toString');
const names = fc.uniqueArray(name, { maxLength: 3 });
const entries = names.chain((keys) => fc.tuple(...keys.map((key) => fc.tuple(fc.constant(key), text))));

/** The fields of a definition that say what would run; the entries of its maps in the order they are written. */
interface Fields {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string | null;
  readonly env: readonly (readonly [string, string])[];
}
const fields: fc.Arbitrary<Fields> = fc.record({
  command: fc.constantFrom('tool', 'twin', 'other'),
  args: fc.array(text, { maxLength: 3 }),
  cwd: fc.constantFrom(null, 'sub', 'sub/deep'),
  env: entries,
});
interface HttpFields {
  readonly transport: 'http' | 'sse';
  readonly url: string;
  readonly headers: readonly (readonly [string, string])[];
}
const headerText = fc.constantFrom('', 'a', 'b', 'a b', 'a, b', 'A', '"a"');
const httpFields: fc.Arbitrary<HttpFields> = fc.record({
  transport: fc.constantFrom('http', 'sse'),
  url: fc.constantFrom(
    ...['/mcp', '/mcp/', '/MCP', '/mcp?', '/mcp?a=1&b=2', '/mcp?b=2&a=1', '/mcp?a=1%262', '/m%63p'].map(
      (p) => `https://h.example${p}`,
    ),
    'https://h.example:8443/mcp',
    'https://h2.example/mcp',
  ),
  headers: fc
    .uniqueArray(fc.constantFrom('x-a', 'x-b', 'x-ab', 'accept'), { maxLength: 3 })
    .chain((keys) => fc.tuple(...keys.map((key) => fc.tuple(fc.constant(key), headerText)))),
});

/** As the configuration makes them: no key of a file is ever a prototype. */
const mapOf = (pairs: readonly (readonly [string, string])[]): Readonly<Record<string, string>> => Object.fromEntries(pairs);
const isEqual = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);
const sorted = (pairs: readonly (readonly [string, string])[]) => [...pairs].sort(([one], [other]) => (one < other ? -1 : 1));

async function stand() {
  const home = await temporaryDirectory('fingerprint-');
  const root = join(home, 'workspace');
  await mkdir(join(root, 'sub/deep'), { recursive: true });
  // Two programs of the same content: only their names tell them apart.
  for (const [program, content] of [
    ['tool', '1'],
    ['twin', '1'],
    ['other', '2'],
  ] as const) {
    await writeFile(join(home, program), content);
    await chmod(join(home, program), 0o755);
  }
  const vet = createVet({ env: { PATH: home }, digest: createNodeDigest(), marker: 'mark' });
  const of = async (over: Partial<ServerDefinition>): Promise<string> => {
    const { fingerprint } = await vet.vet(server('x', { layer: 'workspace', ...over }), { root });
    if (fingerprint === null) throw new Error('a workspace server has a fingerprint');
    return fingerprint;
  };
  const stdio = ({ command, args, cwd, env }: Fields): Promise<string> =>
    of({ command, args, env: mapOf(env), ...(cwd === null ? {} : { cwd }) });
  const http = ({ headers, ...rest }: HttpFields): Promise<string> => of({ ...rest, headers: mapOf(headers) });
  return { stdio, http };
}

describe('the fingerprint of what a workspace would start', () => {
  test('is the same for two definitions exactly when they differ in the order of names alone (S004, S006)', async () => {
    const { stdio } = await stand();
    const meaning = ({ env, ...rest }: Fields): string => JSON.stringify([rest, sorted(env)]);
    await fc.assert(
      fc.asyncProperty(fields, fields, async (one, other) => {
        expect((await stdio(one)) === (await stdio(other))).toBe(meaning(one) === meaning(other));
      }),
    );
  });

  test('changes with any one field, and not with the order of names (S004, S006)', async () => {
    const { stdio } = await stand();
    await fc.assert(
      fc.asyncProperty(fields, fields, async (one, other) => {
        const before = await stdio(one);
        for (const field of ['command', 'args', 'cwd', 'env'] as const) {
          const after = await stdio({ ...one, [field]: other[field] });
          const isSame = field === 'env' ? isEqual(sorted(one.env), sorted(other.env)) : isEqual(one[field], other[field]);
          expect(after === before).toBe(isSame);
        }
        expect(await stdio({ ...one, env: [...one.env].reverse() })).toBe(before);
        for (const glue of [' ', ',', '\n', '']) {
          const glued = [one.args.join(glue)];
          expect((await stdio({ ...one, args: glued })) === before).toBe(isEqual(glued, one.args));
        }
      }),
    );
  });

  test('of a URL changes with transport, address, header names and values, and not with their order (S004)', async () => {
    const { http } = await stand();
    const meaning = ({ url, headers, transport }: HttpFields): string => JSON.stringify([transport, url, sorted(headers)]);
    await fc.assert(
      fc.asyncProperty(httpFields, httpFields, async (one, other) => {
        expect((await http(one)) === (await http(other))).toBe(meaning(one) === meaning(other));
        expect(await http({ ...one, headers: [...one.headers].reverse() })).toBe(await http(one));
      }),
    );
  });
});
