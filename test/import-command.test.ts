import { chmod, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { run } from '../adapters/cli/run.js';
import { fakeSupervisor } from './support/fake-supervisor.js';
import { openTerminal } from './support/pseudo-terminal.js';
import { temporaryDirectory } from './support/temporary-directory.js';
import { fakeTerminal } from './support/terminal.js';

const fixture = (name: string): string => new URL(`./fixtures/import/${name}`, import.meta.url).pathname;
const cursor = { mcpServers: { notes: { command: 'notes', env: { NOTES_TOKEN: 'sentinel-1' }, autoApprove: ['read'] } } };

let home: string;
let userFile: string;

beforeEach(async () => {
  home = await temporaryDirectory('mcp-sup-import-');
  userFile = join(home, '.config', 'mcp-supervisor', 'mcp.json');
});

function terminal(tty: boolean) {
  return fakeTerminal(fakeSupervisor().create, { tty, env: { HOME: home, XDG_CONFIG_HOME: join(home, '.config') } });
}

async function ran(...argv: readonly string[]) {
  const { io, out, err } = terminal(false);
  const exit = await run(['import', ...argv], io);
  return { exit, out: out(), err: err() };
}

/** Runs it on a terminal; each answer is typed when its question is on the screen. */
async function typed(argv: readonly string[], answers: readonly (readonly [question: string, answer: string])[]) {
  const { io, stdin, out, err } = terminal(true);
  const running = run(['import', ...argv], io);
  for (const [question, answer] of answers) {
    await vi.waitFor(() => expect(err()).toContain(question), { timeout: 10_000 });
    stdin.write(`${answer}\n`);
  }
  const exit = await running;
  return { exit, out: out(), err: err() };
}

async function put(file: string, content: string | object): Promise<string> {
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, typeof content === 'string' ? content : JSON.stringify(content));
  return file;
}

const written = (): Promise<string> => readFile(userFile, 'utf8');
const source = (content: string | object): Promise<string> => put(join(home, 'theirs.json'), content);

describe('what is written', () => {
  test('is shown and nothing more where nobody can be asked and --yes is not given', async () => {
    const { exit, out, err } = await ran(await source(cursor));
    expect(exit).toBe(0);
    expect(out).toContain('"notes" is added');
    expect(out).toContain('lost autoApprove: which calls are allowed unasked is decided here anew');
    expect(out).toContain('+    "notes": {');
    expect(err).toContain('--yes');
    await expect(stat(userFile)).rejects.toMatchObject({ code: 'ENOENT' });
  });

  test('is a new file that nobody else can read, with the secret in it and not on the screen', async () => {
    const { exit, out, err } = await ran(await source(cursor), '--yes');
    expect(exit).toBe(0);
    expect(JSON.parse(await written())).toEqual({
      mcpServers: { notes: { command: 'notes', env: { NOTES_TOKEN: 'sentinel-1' } } },
    });
    expect((await stat(userFile)).mode & 0o777).toBe(0o600);
    expect(out + err).not.toContain('sentinel');
    expect(out).toContain('note env.NOTES_TOKEN: is written as it stands');
  });

  test('keeps comments and layout, and closes a file that was open to others', async () => {
    await put(userFile, '{\n\t// mine\n\t"mcpServers": {\n\t\t"a": { "command": "a" } // about a\n\t}\n}\n');
    await chmod(userFile, 0o644);
    expect((await ran(await source({ mcpServers: { b: { command: 'b' } } }), '--yes')).exit).toBe(0);
    expect(await written()).toBe(
      '{\n\t// mine\n\t"mcpServers": {\n\t\t"a": { "command": "a" }, // about a\n\t\t"b": {\n\t\t\t"command": "b"\n\t\t}\n\t}\n}\n',
    );
    expect((await stat(userFile)).mode & 0o777).toBe(0o600);
    expect(await readdir(dirname(userFile))).toEqual(['mcp.json']);
  });

  test('is nothing when it is there already, and a server that differs is replaced with --replace alone', async () => {
    const theirs = await source({ mcpServers: { a: { type: 'stdio', command: 'a', args: [] }, b: { command: 'new' } } });
    const mine = '{ "mcpServers": { "a": { "command": "a" }, "b": { "command": "old" } } }';
    await put(userFile, mine);
    const { out } = await ran(theirs, '--yes');
    expect(out).toContain('"a" is there already');
    expect(out).toContain('"b" is left out: your file has another server of this id');
    expect(out).toContain('nothing to write');
    expect(await written()).toBe(mine);
    expect((await ran(theirs, '--yes', '--replace')).out).toContain('"b" is replaced');
    expect(JSON.parse(await written())).toEqual({ mcpServers: { a: { command: 'a' }, b: { command: 'new' } } });
    expect((await ran(theirs, '--yes', '--replace')).out).toContain('nothing to write');
  });

  test('is nothing that our own reader would refuse', async () => {
    const servers = {
      up: { command: '../x' },
      user: { url: 'https://me:sentinel-2@a.test/' },
      sock: { url: 'unix:///s' },
      fine: { command: 'x' },
    };
    const { exit, out } = await ran(await source({ servers }), '--yes');
    expect(exit).toBe(0);
    expect(out).toMatch(/"up" is left out.*has a "\.\." segment/);
    expect(out).toMatch(/"user" is left out.*credentials do not belong in a URL/);
    expect(out).toMatch(/"sock" is left out.*is not an https URL/);
    expect(JSON.parse(await written())).toEqual({ mcpServers: { fine: { command: 'x' } } });
    expect(out).not.toContain('sentinel');
  });

  test('is no file that is too large to be read again', async () => {
    const args = Array.from({ length: 900 }, () => 'x'.repeat(400));
    const { exit, err } = await ran(await source({ mcpServers: { big: { command: 'x', args } } }), '--yes');
    expect(exit).toBe(3);
    expect(err).toContain('would be larger than');
    await expect(stat(userFile)).rejects.toMatchObject({ code: 'ENOENT' });
  });

  test('stops at the limit of servers, and ids that differ in case only are told apart', async () => {
    const many = Object.fromEntries(Array.from({ length: 33 }, (_, at) => [`s${at}`, { command: 'x' }]));
    const { out } = await ran(await source({ mcpServers: { ...many, S0: { command: 'y' } } }), '--yes');
    expect(out).toMatch(/"s32" is left out.*: more than 32 servers/);
    expect(out).toContain('"s0" is there, which differs in case only');
    expect(Object.keys((JSON.parse(await written()) as { mcpServers: object }).mcpServers)).toHaveLength(32);
  });
});

describe('a file that is not whole', () => {
  test.each([
    ['half written', '{\n "mcpServers": {\n  "a": {\n   "command": "x",\n   "a{'],
    ['empty', ''],
    ['of a wrong type', '{"mcpServers": {"a": {"command": 1}}}'],
  ])('of the user, %s, is not touched: exit 3 (B066)', async (_what, text) => {
    await put(userFile, text);
    const { exit, out, err } = await ran(await source(cursor), '--yes');
    expect([exit, out]).toEqual([3, '']);
    expect(err).toContain('the file was not changed');
    expect(await written()).toBe(text);
  });

  test.each([
    ['not there', null, 'CONFIG_UNREADABLE'],
    ['no JSON', '{ "mcpServers": sentinel-3', 'CONFIG_SYNTAX'],
    ['no TOML', '[mcp_servers.a]\ncommand = sentinel-3', 'CONFIG_SYNTAX'],
    ['with a key twice', '{ "mcpServers": {}, "mcpServers": {} }', 'CONFIG_DUPLICATE_KEY'],
    ['of no known shape (B073)', '{ "tools": {} }', 'CONFIG_INVALID'],
  ])('of theirs, %s, is refused with its code: exit 3', async (_what, text, code) => {
    const file = join(home, 'theirs.json');
    if (text !== null) await put(file, text);
    const people = await ran(file, '--yes');
    expect([people.exit, people.out]).toEqual([3, '']);
    expect(people.err).toContain(code);
    expect(people.err).not.toContain('sentinel');
    const data = await ran(file, '--json');
    expect(JSON.parse(data.out)).toMatchObject({ ok: false, error: { code } });
  });

  test('among those of this computer is a warning, and the others are read', async () => {
    await put(join(home, '.cursor', 'mcp.json'), '{');
    await put(join(home, '.gemini', 'settings.json'), { theme: 'x' });
    await put(join(home, '.codex', 'config.toml'), '[mcp_servers.c]\ncommand = "c"\n');
    const { exit, out, err } = await ran('--yes');
    expect(exit).toBe(0);
    expect(err).toContain('warning: ');
    expect(err).toContain(join('.cursor', 'mcp.json'));
    expect(out).toContain('(Codex)');
    expect(JSON.parse(await written())).toEqual({ mcpServers: { c: { command: 'c' } } });
  });
});

describe('on a terminal', () => {
  test('it is written after a yes, and not after anything else: exit 1', async () => {
    const file = await source(cursor);
    const no = await typed([file], [['Write this to', 'maybe']]);
    expect(no.exit).toBe(1);
    expect(no.err).toContain('BLOCKED_BY_USER');
    await expect(stat(userFile)).rejects.toMatchObject({ code: 'ENOENT' });
    const yes = await typed([file], [['Write this to', 'y']]);
    expect(yes.exit).toBe(0);
    expect(await written()).toContain('"notes"');
  });

  test('one of several files is taken, or all, or none', async () => {
    await put(join(home, '.cursor', 'mcp.json'), cursor);
    await put(join(home, '.codex', 'config.toml'), '[mcp_servers.c]\ncommand = "c"\n');
    const none = await typed([], [['A number, or all', '3']]);
    expect(none.exit).toBe(1);
    const one = await typed(
      [],
      [
        ['A number, or all', '2'],
        ['Write this to', 'y'],
      ],
    );
    expect(one.exit).toBe(0);
    expect(one.err).toContain('2  ');
    expect(JSON.parse(await written())).toEqual({ mcpServers: { c: { command: 'c' } } });
    const all = await typed(
      [],
      [
        ['A number, or all', 'all'],
        ['Write this to', 'y'],
      ],
    );
    expect(all.exit).toBe(0);
    expect(Object.keys((JSON.parse(await written()) as { mcpServers: object }).mcpServers)).toEqual(['c', 'notes']);
  });

  test('of its own a person is shown what was found, says which, and says yes', { timeout: 300_000 }, async () => {
    await put(join(home, '.cursor', 'mcp.json'), cursor);
    await put(join(home, '.codex', 'config.toml'), '[mcp_servers.c]\ncommand = "c"\n');
    const { type, see, screen } = await openTerminal(home, home);
    type('mcp-supervisor import');
    expect(await see('A number, or all: ')).toContain('(Codex): 1 server');
    type('1');
    expect(await see('[y/N] ')).toContain('+    "notes": {');
    type('y');
    expect(await see('\n$ ')).toContain('Written to');
    expect(await written()).toContain('sentinel-1');
    expect(screen()).not.toContain('sentinel');
  });

  test('a file that changes while the question is open is not written over', async () => {
    const { io, stdin, err } = terminal(true);
    const running = run(['import', await source(cursor)], io);
    await vi.waitFor(() => expect(err()).toContain('Write this to'), { timeout: 10_000 });
    await put(userFile, '{ "mcpServers": {} }');
    stdin.write('y\n');
    expect(await running).toBe(3);
    expect(err()).toContain('has changed since it was shown');
    expect(await written()).toBe('{ "mcpServers": {} }');
  });

  test('what a file says obeys nothing (S094)', async () => {
    const { out } = await ran(await source({ mcpServers: { 'a\u001b[2J\u202e': { command: 'x\u202ey', 'k\u0007': 1 } } }));
    expect(out).not.toMatch(/[\u0007\u001b\u202e]/);
    expect(out).toContain('\\u001b');
  });
});

test('as data it is the plan with every server, and nothing is asked', async () => {
  const { exit, out, err } = await ran(fixture('windsurf/mcp_config.json'), '--json');
  expect([exit, err]).toEqual([0, '']);
  expect(JSON.parse(out)).toMatchObject({
    ok: true,
    written: false,
    file: userFile,
    faults: [],
    servers: [
      { program: 'Windsurf', place: 'mcpServers', name: 'search', id: 'search', action: 'added', why: null },
      { name: 'off', id: null, action: 'skipped', notes: [] },
    ],
    diff: expect.stringContaining('+      "url": "https://search.test/mcp"') as string,
  });
  expect(JSON.parse((await ran(fixture('windsurf/mcp_config.json'), '--json', '--yes')).out)).toMatchObject({ written: true });
  expect(await written()).toContain('sentinel-header');
});

test('no fixture of any program shows a secret of its own', async () => {
  const files = [
    'claude_desktop_config.json',
    '.claude.json',
    '.vscode/mcp.json',
    '.cursor/mcp.json',
    'windsurf/mcp_config.json',
  ];
  for (const file of [...files, '.gemini/settings.json', 'codex/config.toml', 'opencode/opencode.jsonc', 'zed/settings.json']) {
    const { exit, out, err } = await ran(fixture(file));
    expect([exit, (out + err).includes('sentinel')], file).toEqual([0, false]);
  }
});

test('with nothing to find it says so', async () => {
  expect(await ran()).toMatchObject({ exit: 0, out: expect.stringContaining('No server of another program') as string });
});
