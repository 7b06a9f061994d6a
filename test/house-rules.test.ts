import { readdir, readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { beforeAll, expect, test } from 'vitest';

const repository = join(import.meta.dirname, '..');
const folders = ['machines', 'actors', 'adapters', 'properties', 'test', 'bench', 'examples', '.ci'];
const lineLimit = 300;

/** Files that may be longer, each with the reason. One that no longer needs it fails the test. */
const longFiles: Readonly<Record<string, string>> = {
  'actors/ports.ts': 'the whole contract with the world, read as one page; types only',
};

/** Adapters that need two facilities for one thing, each with the reason. One that no longer does fails the test. */
const doubleAdapters: Readonly<Record<string, string>> = {
  'adapters/node-digest.ts': 'SHA-256 over canonical JSON is one thing',
};
/** Built-in modules that compute and touch nothing outside the process. */
const plainModules = /^node:(path|util|os|url|events|timers(\/promises)?|buffer|stream|string_decoder)$/;

/** Files that quote what was thrown, each with what stands between them and a reader. */
const speakers: Readonly<Record<string, string>> = {
  'actors/errors.ts': 'toFailure: for what the ports threw, which was redacted on its way in',
  'actors/redacted-errors.ts': 'the redaction itself',
  'adapters/cli/commands/call.ts': 'what a person typed',
  'adapters/cli/failures.ts': 'a bug: by shape, as no value is known any more',
  'adapters/cli/parse.ts': 'what a person typed',
  'adapters/links/child-run.ts': 'behind the link port',
  'adapters/links/handshake-error.ts': 'behind the link port',
  'adapters/links/http-status.ts': 'behind the link port',
  'adapters/links/request-table.ts': 'behind the link port',
  'adapters/state/store.ts': 'SQLite, which is given digests only',
  'adapters/vet/vet.ts': 'behind the vet port',
  'machines/thrown.ts': 'for what the ports threw, which was redacted on its way in',
};

interface Source {
  readonly file: string;
  readonly lines: readonly string[];
}

let sources: readonly Source[];

beforeAll(async () => {
  const files = await Promise.all(folders.map(listFiles));
  const root = (await readdir(repository)).filter((name) => /\.(ts|mjs|md|json)$/.test(name) && name !== 'package-lock.json');
  const names = [...files.flat(), ...root].filter(
    (file) => !file.startsWith('test/cases/') && file !== 'test/house-rules.test.ts',
  );
  sources = await Promise.all(
    names.map(async (file) => ({ file, lines: (await readFile(join(repository, file), 'utf8')).trimEnd().split('\n') })),
  );
});

test('finds the sources it judges', () => {
  expect(sources.map(({ file }) => file)).toEqual(
    expect.arrayContaining(['machines/codes.ts', 'actors/ports.ts', 'package.json']),
  );
});

test(`no source is longer than ${lineLimit} lines, but for the listed ones`, () => {
  const long = sources.filter(({ file, lines }) => /\.(ts|mjs)$/.test(file) && lines.length > lineLimit).map(({ file }) => file);
  expect(long.sort()).toEqual(Object.keys(longFiles).sort());
});

test.each([
  ['leaves work for later', /\b(TODO|FIXME|XXX|HACK)\b/],
  ['gives up types', /\bas any\b|<any>|: any\b|\bas unknown as\b/],
  ['silences a checker', /@ts-(ignore|nocheck)|eslint-disable/],
  [
    'names a workplace',
    /\/work\/(main|shared|\.library)\b|\bshared\/(design|style|protocol|threats|cases|peers|xstate-notes)\.md/,
  ],
  ['debugs', /(^|[^\w.])debugger;/],
] as const)('no source %s', (_what, pattern) => {
  expect(finds(pattern, (file) => /\.(ts|mjs|md)$/.test(file))).toEqual([]);
});

test('no test is skipped, singled out or left to be written', () => {
  const tests = (file: string) => /\.(test|property)\.ts$/.test(file);
  expect(finds(/\b(test|it|describe)\.(skip|only|todo|fails)\b|\bx(it|describe|test)\(/, tests)).toEqual([]);
});

test('machines and actors read no clock, throw no dice and print nothing', () => {
  const pure = (file: string) => /^(machines|actors)\//.test(file);
  const ambient = /\bDate\.now\b|\bnew Date\b|\bMath\.random\b|\bconsole\.\w+\(|\bprocess\.(env|hrtime|nextTick|on|cwd)\b/;
  expect(finds(ambient, pure)).toEqual([]);
});

test('what was thrown is put into words only where the words go through the redaction', () => {
  const words = /instanceof Error \?[^:]*\.(message|stack)|String\((error|thrown|reason|cause)\)|\bthrown\.message\b|\.stack\b/;
  const shipped = (file: string) => /^(machines|actors|adapters)\//.test(file) || file === 'index.ts';
  const speaking = new Set(finds(words, shipped).map((found) => found.slice(0, found.indexOf(':'))));
  expect([...speaking].sort()).toEqual(Object.keys(speakers).sort());
});

test('the core has its ports through the redaction alone, and nobody else is given the host\u2019s log', () => {
  const wrapped = finds(/\bredactedPorts\(|\bgiven\b/, (file) => file === 'actors/supervisor.ts');
  // `given` are the host's own: they are named where they come in and where they are wrapped.
  expect(wrapped.filter((found) => /\bports: given\b|\bgiven\.|\.\.\.given\b/.test(found))).toEqual([
    expect.stringContaining('{ ports: given, pool, ...options }'),
    expect.stringContaining('redactedPorts({ ...others, log: harmlessLog(given.log), '),
  ]);
  expect(finds(/\boptions\.log\b|\blog = silent\b/, (file) => file === 'index.ts')).toEqual([
    expect.stringContaining('redactedLog(options.log ?? silent, redaction)'),
  ]);
});

test('an adapter knows one vendor or one facility of the system', () => {
  const crowded = sources
    .filter(({ file, lines }) => file.startsWith('adapters/') && facilities(lines).size > 1)
    .map(({ file }) => file);
  expect(crowded.sort()).toEqual(Object.keys(doubleAdapters).sort());
});

test('a command that a test or the product runs takes its arguments as a list, not through a shell', () => {
  expect(finds(/\bshell: true\b|\bexecSync\(|\bexec\(['"`]/, (file) => /\.(ts|mjs)$/.test(file))).toEqual([]);
});

/** Packages and built-in modules that a source imports, `@scope/name` and `node:name` without what follows. */
function facilities(lines: readonly string[]): Set<string> {
  const imported = lines.flatMap((line) => /(?:from |import\()'([^.'][^']*)'/.exec(line)?.[1] ?? []);
  const outside = imported.filter((name) => !plainModules.test(name));
  return new Set(outside.map((name) => /^(@[^/]+\/)?[^/]+/.exec(name)?.[0] ?? name));
}

/** `file:line text` of every matching line. */
function finds(pattern: RegExp, applies: (file: string) => boolean): string[] {
  return sources
    .filter(({ file }) => applies(file))
    .flatMap(({ file, lines }) => lines.flatMap((line, at) => (pattern.test(line) ? [`${file}:${at + 1} ${line.trim()}`] : [])));
}

async function listFiles(folder: string): Promise<string[]> {
  const entries = await readdir(join(repository, folder), { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => relative(repository, join(entry.parentPath, entry.name)));
}
