import { readdirSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import type { LayerReading, ServerDefinition } from '../actors/ports.js';
import { caseFile } from './support/case-file.js';
import { type ConfigFolder, configFolder, serverOf } from './support/config-files.js';

/** What a fixture of `test/cases` says of itself; only what these tests judge. */
interface Expected {
  readonly bug: string;
  readonly outcome: 'accept' | 'accept-with-warning' | 'partial' | 'reject' | 'needs-approval';
  readonly env?: Readonly<Record<string, string>>;
  readonly expect?: Readonly<Record<string, unknown>>;
  readonly servers?: Readonly<Record<string, 'ok' | 'config-error' | 'reported'>>;
  readonly forbidden?: readonly string[];
}

const directory = new URL('./cases/', import.meta.url);
const fixtures = readdirSync(directory).filter((name) => name.endsWith('.mcp.json'));
const expectedOf = (name: string): Expected => caseFile(`${name}.expect.json`) as Expected;
const decidedOtherwise = caseFile('decided-otherwise.json') as Record<string, string>;

async function readFixture(folder: ConfigFolder, name: string): Promise<LayerReading> {
  const bytes = await readFile(new URL(name, directory));
  return (await folder.read({ user: bytes })).user;
}

test('the fixtures are there', () => {
  expect(fixtures.length).toBeGreaterThan(10);
});

/** Rejected whole here where the report asks for less; each has a test of its own below. */
const rejectedWhole = ['B072', 'B082', 'B179'];

test('what is judged otherwise says why', () => {
  for (const bug of rejectedWhole) expect(decidedOtherwise[bug]).toMatch(/rejects the file whole/);
});

test.each(fixtures.filter((name) => !rejectedWhole.includes(expectedOf(name).bug)))(
  '%s, read as the user file, comes out as its report asks',
  async (name) => {
    const expected = expectedOf(name);
    await using folder = await configFolder(expected.env);
    const reading = await readFixture(folder, name);
    expect(reading.state).toBe(expected.outcome === 'reject' ? 'rejected' : 'valid');
    if (expected.outcome === 'reject')
      expect(reading.errors[0]).toMatchObject({ code: 'CONFIG_SYNTAX', line: expect.any(Number) as number });
    if (expected.outcome === 'accept')
      expect(reading.servers.map(({ refusal }) => refusal)).toEqual(reading.servers.map(() => null));
    if (expected.outcome === 'accept-with-warning') expect(reading.warnings).not.toEqual([]);
    for (const [id, state] of Object.entries(expected.servers ?? {})) {
      expect(serverOf(reading, id).refusal === null ? 'ok' : 'config-error').toBe(state);
    }
    for (const [path, value] of Object.entries(expected.expect ?? {})) expect(at(reading, path)).toEqual(value);
  },
);

test('an unset variable is named together with its field, and nothing of that server may start (B061)', async () => {
  await using folder = await configFolder({ EMPTY: '' });
  const reading = await readFixture(folder, 'B061-var-unset.mcp.json');
  expect(serverOf(reading, 'bad').refusal?.message).toMatch(/headers\.Authorization.*NOPE/);
  expect(serverOf(reading, 'good').env).toEqual({ E: '', D: 'd' });
});

test('every wrong type is told with its path, and the file is rejected whole (B072)', async () => {
  await using folder = await configFolder();
  const reading = await readFixture(folder, 'B072-wrong-types.mcp.json');
  expect(reading).toMatchObject({ state: 'rejected', servers: [] });
  expect(reading.errors.map(({ key }) => key.replace('mcpServers.', ''))).toEqual([
    't.timeout',
    't.idleTimeout',
    'u.args',
    'v.env.A',
    'x',
    'y',
  ]);
});

test('names of prototypes pollute nothing; a bad id rejects the file whole (B082)', async () => {
  await using folder = await configFolder();
  const reading = await readFixture(folder, 'B082-proto-names.mcp.json');
  expect(reading.state).toBe('rejected');
  expect(reading.errors.map(({ key }) => key)).toEqual(['mcpServers.__proto__']);
  expect(({} as { command?: string }).command).toBeUndefined();
  const { user } = await folder.read({
    user: { mcpServers: { constructor: { command: 'x' }, hasOwnProperty: { command: 'y' } } },
  });
  expect(user.servers.map(({ id, command }) => [id, command])).toEqual([
    ['constructor', 'x'],
    ['hasOwnProperty', 'y'],
  ]);
});

test('no value of a rejected file is in its faults (B179)', async () => {
  await using folder = await configFolder();
  const reading = await readFixture(folder, 'B179-secrets.mcp.json');
  const told = JSON.stringify([reading.errors, reading.warnings]);
  expect(reading.state).toBe('rejected');
  for (const secret of [...(expectedOf('B179-secrets.mcp.json').forbidden ?? []), 'SENTINEL-3'])
    expect(told).not.toContain(secret);
});

test('a fresh clone lists its servers as the workspace\u2019s own, each for a question of its own (B170)', async () => {
  await using folder = await configFolder();
  const project = readFileSync(new URL('B170-fresh-clone.mcp.json', directory), 'utf8');
  const { project: reading } = await folder.read({ project });
  expect(reading.servers.map(({ id, layer, isRemote }) => [id, layer, isRemote])).toEqual([
    ['normal-tool', 'workspace', false],
    ['remote', 'workspace', true],
  ]);
});

test('every field of the user file is expanded, once; a workspace file has variables in env values and headers only (B060)', async () => {
  const { env = {} } = expectedOf('B060-var-expand.mcp.json');
  await using folder = await configFolder(env);
  const user = await readFixture(folder, 'B060-var-expand.mcp.json');
  expect(serverOf(user, 's')).toMatchObject({ command: 'node', args: ['--x=abc', '$TOK', '${TOK}2'], env: { K: 'abc' } });
  expect(serverOf(user, 'h')).toMatchObject({ url: 'https://example.com/mcp', headers: { Authorization: 'Bearer abc' } });
  expect(decidedOtherwise['B060']).toMatch(/workspace file/);
  const { project } = await folder.read({
    user: { workspaceVariables: ['TOK'] },
    project: readFileSync(new URL('B060-var-expand.mcp.json', directory), 'utf8'),
  });
  expect(project.servers.map(({ id, refusal }) => [id, refusal?.code])).toEqual([
    ['h', 'CONFIG_PROJECT_SECRET'],
    ['s', 'REFUSED_COMMAND'],
  ]);
});

test('comments and trailing commas are read, and are still there after an edit (B063)', async () => {
  await using folder = await configFolder();
  const text = readFileSync(new URL('B063-trailing.mcp.json', directory), 'utf8');
  const { user } = await folder.read({ user: text });
  expect(serverOf(user, 'a')).toMatchObject({ command: 'x', args: ['1', '2'], refusal: null });
  await folder.config.setRemote(true);
  const edited = await readFile(folder.userFile, 'utf8');
  expect(edited).toContain('"a": { "command": "x", "args": ["1", "2",], },');
  expect(edited).toMatch(/\{ \/\/ user servers[^]*\/\* end \*\//);
  expect((await folder.read({})).user).toMatchObject({ state: 'valid', settings: { remoteEnabled: true } });
});

test('marks of comments and brackets inside strings are text (B064)', async () => {
  await using folder = await configFolder();
  const a = serverOf(await readFixture(folder, 'B064-tricky.mcp.json'), 'a');
  expect([a.url, a.headers]).toEqual(['https://h.example/*x*/p?q=//r', { X: 'a",}' }]);
  const args = { mcpServers: { b: { command: 'b', args: [',]', '\\', '// no', '/* no */'] } } };
  expect(serverOf((await folder.read({ user: args })).user, 'b').args).toEqual(args.mcpServers.b.args);
});

test('an entry is removed from the layer it is asked of, which shows the lower one again (B071)', async () => {
  await using folder = await configFolder();
  const entry = (command: string): object => ({ mcpServers: { x: { command } } });
  const before = await folder.read({ user: entry('mine'), project: entry('theirs') });
  expect([before.user, before.project].map((reading) => serverOf(reading).file)).toEqual([folder.userFile, folder.projectFile]);
  await folder.config.remove({ root: folder.root }, serverOf(before.project).layer, 'x');
  const after = await folder.read({});
  expect([after.user.servers.length, after.project.servers.length, serverOf(after.user).command]).toEqual([1, 0, 'mine']);
});

test('a name with a blank is no id: it is told with its place, and never becomes a name of a tool (B076)', async () => {
  await using folder = await configFolder();
  const { user } = await folder.read({ user: { mcpServers: { 'My server': { command: 'x' } } } });
  expect(user).toMatchObject({ state: 'rejected', servers: [] });
  expect(user.errors).toMatchObject([{ line: 3, column: 5, key: 'mcpServers.My server', code: 'CONFIG_INVALID' }]);
  expect(decidedOtherwise['B076']).toMatch(/description/);
});

interface Layers {
  readonly user: object;
  readonly workspace: object;
}

test('an entry that only switches is a fault, and "disabled" changes nothing (B069)', async () => {
  await using folder = await configFolder();
  const { user, workspace } = caseFile('B069-sticky-disable.layers.json') as Layers;
  const { user: mine, project } = await folder.read({ user, project: workspace });
  expect(mine.warnings[0]).toMatchObject({
    key: 'mcpServers.firecrawl.disabled',
    message: expect.stringContaining('`mcp-supervisor disable firecrawl`') as string,
  });
  expect(project).toMatchObject({ state: 'rejected', servers: [] });
});

test('the same id in two layers is two servers, nothing of one merged into the other (B172, S032)', async () => {
  await using folder = await configFolder();
  const { user, workspace } = caseFile('B172-shadow.layers.json') as Layers;
  const { user: mine, project } = await folder.read({ user, project: workspace });
  const [own, theirs] = [serverOf(mine, 'github'), serverOf(project, 'github')];
  expect(own).toMatchObject({ layer: 'user', transport: 'http', args: [] });
  expect(theirs).toMatchObject({ layer: 'workspace', transport: 'stdio', policies: [], headers: {} });
  expect(theirs.url).toBeUndefined();
  expect(theirs.configHash).not.toBe(own.configHash);
});

test('keys by which a workspace approves itself are ignored and told (B177)', async () => {
  await using folder = await configFolder();
  const { workspace } = caseFile('B177-self-approving.layers.json') as Layers;
  const { project } = await folder.read({ project: workspace });
  expect(serverOf(project, 's')).toMatchObject({ env: {}, policies: [], approveTools: [], lifecycle: 'lazy' });
  expect(project.warnings.map(({ key }) => key)).toEqual(
    expect.arrayContaining(['settings', 'mcpServers.s.trust', 'mcpServers.s.autoApprove', 'mcpServers.s.alwaysAllow']),
  );
});

/** `h.headers.Authorization` → that value of the server `h`. */
function at(reading: LayerReading, path: string): unknown {
  const [id = '', ...keys] = path.split('.');
  const server: ServerDefinition = serverOf(reading, id);
  return keys.reduce<unknown>((value, key) => (value as Record<string, unknown>)[key], server);
}
