import { join } from 'node:path';
import { ESLint } from 'eslint';
import tseslint from 'typescript-eslint';
import { beforeAll, expect, test } from 'vitest';

/** The rules of the repository without those that need types: what is planted is no file of any project. */
let eslint: ESLint;

beforeAll(() => {
  eslint = new ESLint({
    cwd: join(import.meta.dirname, '..'),
    overrideConfig: [{ files: ['**/*.ts'], ...tseslint.configs.disableTypeChecked }],
  });
});

const world = [
  'Date.now()',
  'new Intl.DateTimeFormat()',
  'crypto.randomUUID()',
  'global.Date',
  'globalThis.Date',
  'globalThis["Date"]',
  'Object.keys(globalThis)',
  'process.env',
  'process.getBuiltinModule("fs")',
  'console.log(1)',
  'setTimeout(stop, 1)',
  'fetch("http://localhost")',
  'new WebSocket("ws://localhost")',
  'new EventSource("http://localhost")',
  'new Worker("x.js")',
  'new BroadcastChannel("x")',
  'Math.random()',
  'AbortSignal.timeout(1)',
  'import(name)',
  'import(`node:fs`)',
];

test.each(world.flatMap((code) => [['machines', code] as const, ['actors', code] as const]))(
  'nothing in %s may say %s',
  async (folder, code) => {
    expect(await complaints(`${folder}/planted.ts`, code)).not.toEqual([]);
  },
);

test.each([
  ['machines/planted.ts', 'const { random } = Math; export const one = random();'],
  ['actors/planted.ts', 'const { Date: when } = globalThis; export const one = when;'],
  ['adapters/planted.ts', 'export const one = process.getBuiltinModule("fs");'],
  ['adapters/planted.ts', 'export const one = import(name);'],
  ['adapters/planted.ts', 'import { createRequire } from "node:module"; export const one = createRequire("/");'],
  ['adapters/planted.ts', 'export const one = fetch("http://localhost");'],
  ['adapters/private-files.ts', 'export const one = fetch("http://localhost");'],
  ['adapters/planted.ts', 'export const one = crypto.randomUUID();'],
  ['index.ts', 'const { getBuiltinModule } = process; export const one = getBuiltinModule("fs");'],
  ['test/planted.ts', 'export const one = process.getBuiltinModule("fs");'],
  ['bench/planted.mjs', 'export const one = process.getBuiltinModule("fs");'],
])('%s may not hold: %s', async (file, text) => {
  expect(await complaintsOf(file, text)).not.toEqual([]);
});

test.each([
  ['machines/planted.ts', 'new TextEncoder()'],
  ['machines/planted.ts', 'Math.max(1, 2)'],
  ['actors/planted.ts', 'new AbortController()'],
  ['actors/planted.ts', 'AbortSignal.any([])'],
  ['actors/planted.ts', 'queueMicrotask(stop)'],
  ['actors/planted.ts', 'import("./calls.js")'],
  ['adapters/planted.ts', 'Date.now()'],
  ['adapters/private-files.ts', 'crypto.randomUUID()'],
  ['adapters/http/planted.ts', 'fetch("http://localhost")'],
])('%s may say %s', async (file, code) => {
  expect(await complaints(file, code)).toEqual([]);
});

const complaints = (file: string, code: string) => complaintsOf(file, `export const one = ${code};\n`);

/** What the rules for the world and for imports say of a text in this place; other rules are not judged here. */
async function complaintsOf(file: string, text: string): Promise<string[]> {
  const [result] = await eslint.lintText(text, { filePath: file });
  const fatal = result?.messages.filter((message) => message.fatal === true).map(({ message }) => message) ?? ['not linted'];
  expect(fatal).toEqual([]);
  return (result?.messages ?? []).flatMap(({ ruleId }) => (ruleId?.startsWith('no-restricted-') === true ? [ruleId] : []));
}
