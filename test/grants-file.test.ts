import { lstat, mkdir, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { parse } from 'jsonc-parser';
import { describe, expect, test } from 'vitest';
import { createGrantsFile } from '../adapters/config/grants-file.js';
import { coded } from './support/state-kit.js';
import { temporaryDirectory } from './support/temporary-directory.js';

const TOOL = 'mcp__files__read_file';
const MORE = 'mcp__files__write-file';

async function place() {
  const home = await temporaryDirectory('grants-');
  const root = join(home, 'repo');
  await mkdir(root);
  const file = join(root, '.mcp-supervisor', 'permissions.local.json');
  const port = createGrantsFile({ hostDir: '.mcp-supervisor' });
  return {
    home,
    root,
    file,
    add: (tool: string) => port.add({ root }, tool),
    read: () => port.read({ root }),
    text: () => readFile(file, 'utf8'),
    write: async (text: string) => {
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, text);
    },
  };
}

describe('the list of remembered tools', () => {
  test('is made with the first of them, for its owner alone, and nothing is left beside it', async () => {
    const { file, add, read, text } = await place();
    expect(await read()).toEqual({ file, state: 'absent', tools: [], faults: [] });
    expect(await add(TOOL)).toEqual({ file });
    expect(await text()).toBe(`{\n  "allowMcpTools": [\n    "${TOOL}"\n  ]\n}\n`);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect((await stat(dirname(file))).mode & 0o777).toBe(0o700);
    await add(MORE);
    await add(TOOL);
    expect((await read()).tools.toSorted()).toEqual([TOOL, MORE]);
    expect(await readdir(dirname(file))).toEqual(['permissions.local.json']);
  });

  test.each([
    ['an empty object', '{}', `{"allowMcpTools":["${TOOL}"]}`],
    ['an empty list', '{ "allowMcpTools": [] }', `{ "allowMcpTools": ["${TOOL}"] }`],
    ['a list with a comment in it', '{"allowMcpTools": [\n  // none yet\n]}', `{"allowMcpTools": ["${TOOL}"\n  // none yet\n]}`],
    [
      'a list over lines, with a comma after the last',
      `{\n  "allowMcpTools": [\n    // mine\n    "${MORE}", // often\n  ],\n}\n`,
      `{\n  "allowMcpTools": [\n    // mine\n    "${TOOL}",\n    "${MORE}", // often\n  ],\n}\n`,
    ],
    [
      'keys of other programs',
      `{ "allow": ["*"], /* theirs */ "allowMcpTools": ["${MORE}"], "deny": { "allowMcpTools": ["x"] } }`,
      `{ "allow": ["*"], /* theirs */ "allowMcpTools": ["${TOOL}", "${MORE}"], "deny": { "allowMcpTools": ["x"] } }`,
    ],
    ['lines that end in CR LF', '{\r\n  "a": 1\r\n}', `{\r\n  "a": 1,\r\n  "allowMcpTools": [\r\n    "${TOOL}"\r\n  ]\r\n}`],
    ['a mark before UTF-8', '\ufeff{"a":1,"allowMcpTools":[]}', `\ufeff{"a":1,"allowMcpTools":["${TOOL}"]}`],
  ])('keeps all else of a file with %s', async (_what, before, after) => {
    const { write, add, text, read } = await place();
    await write(before);
    await add(TOOL);
    const now = await text();
    if (before === '{}') expect(parse(now)).toEqual(JSON.parse(after));
    else expect(now).toBe(after);
    expect((await read()).tools).toContain(TOOL);
  });

  test('says the same as before and the new name, whatever else stands in it', async () => {
    const { write, add, read, text } = await place();
    const names = fc.uniqueArray(fc.constantFrom('mcp__a__b', 'mcp__a__c', TOOL), { maxLength: 3 });
    const others = fc.dictionary(
      fc.string({ maxLength: 4 }).filter((key) => key !== '__proto__' && key !== 'allowMcpTools'),
      fc.jsonValue({ maxDepth: 2 }),
    );
    await fc.assert(
      fc.asyncProperty(
        others,
        fc.option(names, { nil: undefined }),
        fc.constantFrom(0, 2, '\t'),
        async (other, listed, indent) => {
          await write(JSON.stringify(listed === undefined ? other : { ...other, allowMcpTools: listed }, null, indent));
          await add(TOOL);
          const same = JSON.parse(JSON.stringify(other)) as object;
          expect(parse(await text())).toEqual({ ...same, allowMcpTools: expect.anything() as unknown });
          expect((await read()).tools.toSorted()).toEqual([...new Set([...(listed ?? []), TOOL])].toSorted());
        },
      ),
      { numRuns: 60 },
    );
  });
});

describe('a list with a fault', () => {
  const faults: readonly (readonly [string, string, string, number, number])[] = [
    ['no comma', `{\n  "allowMcpTools": ["${TOOL}" "x"]\n}`, 'CONFIG_SYNTAX', 2, 45],
    ['half a file', '{\n  "allowMcpTools": [', 'CONFIG_SYNTAX', 2, 21],
    ['zero bytes', '', 'CONFIG_SYNTAX', 1, 1],
    ['a key twice', `{ "allowMcpTools": ["${TOOL}"],\n "allowMcpTools": [] }`, 'CONFIG_DUPLICATE_KEY', 2, 2],
    ['a text in place of the list', `{ "allowMcpTools": "${TOOL}" }`, 'CONFIG_INVALID', 1, 20],
    ['a number among the names', `{ "allowMcpTools": ["${TOOL}", 7] }`, 'CONFIG_INVALID', 1, 46],
    ['a pattern', '{ "allowMcpTools": ["mcp__files__*"] }', 'CONFIG_INVALID', 1, 21],
    ['a name without its server', '{ "allowMcpTools": ["read_file"] }', 'CONFIG_INVALID', 1, 21],
    ['no object at all', '["mcp__files__read_file"]', 'CONFIG_INVALID', 1, 1],
  ];

  test.each(faults)('(%s) grants nothing, says where it is, and is not written to', async (_what, before, code, line, column) => {
    const { write, read, add, text } = await place();
    await write(before);
    expect(await read()).toMatchObject({ state: 'faulty', tools: [], faults: [{ code, line, column }] });
    await expect(add(MORE)).rejects.toEqual(coded('CONFIG_INVALID', 'not changed'));
    expect(await text()).toBe(before);
  });

  test('that is no file grants nothing and blocks nobody', async () => {
    const { file, read, add } = await place();
    await mkdir(file, { recursive: true });
    expect(await read()).toMatchObject({ state: 'faulty', tools: [], faults: [{ code: 'CONFIG_UNREADABLE' }] });
    await expect(add(TOOL)).rejects.toEqual(coded('CONFIG_UNREADABLE'));
  });
});

describe('a list that leads out of the workspace', () => {
  test('by its own link, or by that of its directory, is neither read nor written', async () => {
    for (const kind of ['file', 'directory', 'a link to nowhere'] as const) {
      const { home, file, read, add } = await place();
      const outside = join(home, 'outside');
      await mkdir(outside);
      const target = join(outside, 'permissions.local.json');
      if (kind === 'directory') await symlink(outside, dirname(file));
      else {
        await mkdir(dirname(file));
        await symlink(target, file);
      }
      if (kind !== 'a link to nowhere') await writeFile(target, `{ "allowMcpTools": ["${TOOL}"] }`);
      expect(await read()).toMatchObject({ state: 'faulty', tools: [], faults: [{ code: 'CONFIG_UNREADABLE' }] });
      await expect(add(MORE)).rejects.toEqual(coded('CONFIG_UNREADABLE'));
      expect(await readdir(outside)).toEqual(kind === 'a link to nowhere' ? [] : ['permissions.local.json']);
      if (kind !== 'a link to nowhere') expect(await readFile(target, 'utf8')).toBe(`{ "allowMcpTools": ["${TOOL}"] }`);
    }
  });

  test('is followed where it stays inside, and stays a link', async () => {
    const { root, file, read, add } = await place();
    await mkdir(dirname(file));
    await writeFile(join(root, 'mine.json'), '{}');
    await symlink('../mine.json', file);
    await add(TOOL);
    expect((await read()).tools).toEqual([TOOL]);
    expect((await lstat(file)).isSymbolicLink()).toBe(true);
    await rm(file);
    expect((await read()).state).toBe('absent');
  });

  test('takes no name that is none', async () => {
    const { add, read } = await place();
    for (const tool of ['read_file', 'mcp__a__*', 'mcp__', `mcp__${'a'.repeat(60)}`, 'mcp__a__b"'])
      await expect(add(tool)).rejects.toEqual(coded('CONFIG_INVALID'));
    expect((await read()).state).toBe('absent');
  });
});
