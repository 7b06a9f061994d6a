import { readFileSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Question, ServerStatus, WorkspaceStatus } from '../actors/api.js';
import { type CommandEnd, type CommandRun, isAlive, startCommand } from './support/run-command.js';
import { temporaryDirectory } from './support/temporary-directory.js';

const everything = join(import.meta.dirname, '../node_modules/@modelcontextprotocol/server-everything/dist/index.js');

interface Place {
  readonly workspace: string;
  readonly projectFile: string;
  readonly userFile: string;
  readonly stateDir: string;
  /** Pids of the servers that were started. */
  readonly started: () => number[];
  readonly start: (...argv: string[]) => Promise<CommandRun>;
  readonly run: (...argv: string[]) => Promise<CommandEnd>;
  /** What a later invocation sees of one server. */
  readonly server: (id: string) => Promise<ServerStatus | undefined>;
  readonly status: () => Promise<WorkspaceStatus & { readonly questions: readonly Question[] }>;
}

const PROJECT_FILE = `{
  // of the project
  "mcpServers": {
    "project": { "command": "node", "args": ["server.mjs", "stdio"] }
  }
}
`;

async function place(user = '{}'): Promise<Place> {
  const home = await temporaryDirectory('mcp-sup-kept-');
  const workspace = join(home, 'repo');
  const marks = join(home, 'started');
  const userFile = join(home, 'user.json');
  const stateDir = join(home, 'state');
  const projectFile = join(workspace, '.mcp.json');
  await mkdir(workspace);
  const source = `import { appendFileSync } from 'node:fs';
appendFileSync(${JSON.stringify(marks)}, process.pid + '\\n');
await import(${JSON.stringify(everything)});
`;
  await Promise.all([
    writeFile(marks, ''),
    writeFile(join(workspace, 'server.mjs'), source),
    writeFile(projectFile, PROJECT_FILE),
    writeFile(userFile, user),
  ]);
  const common = ['--workspace', workspace, '--user-config', userFile, '--state-dir', stateDir];
  const start: Place['start'] = (...argv) => startCommand([...argv, ...common], { PATH: process.env['PATH'], HOME: home });
  const run: Place['run'] = async (...argv) => (await start(...argv)).ended;
  const status: Place['status'] = async () =>
    JSON.parse((await run('status', '--json')).out) as Awaited<ReturnType<Place['status']>>;
  return {
    workspace,
    projectFile,
    userFile,
    stateDir,
    started: () => readFileSync(marks, 'utf8').split('\n').filter(Boolean).map(Number),
    start,
    run,
    server: async (id) => (await status()).servers.find((server) => server.id === id),
    status,
  };
}

const parsed = (end: CommandEnd): unknown => JSON.parse(end.out);

// A test is several runs of the command, each a process of its own.
describe('a decision', { timeout: 120_000 }, () => {
  test('of trust is seen by the next run, and so is its end; neither starts anything (S001, S002)', async () => {
    const here = await place();
    expect(await here.server('project')).toMatchObject({ blockedBy: 'untrusted' });
    const trusted = await here.run('trust');
    expect(trusted).toMatchObject({ exit: 0, err: '' });
    expect(trusted.out).toContain('Trusting starts nothing by itself.');
    expect(trusted.out).toContain('Run `mcp-supervisor enable project`.');
    expect(await here.status()).toMatchObject({ workspace: { trusted: true }, servers: [{ blockedBy: 'disabled' }] });
    expect(parsed(await here.run('untrust', '--json'))).toMatchObject({ ok: true, workspace: { trusted: false } });
    expect(await here.server('project')).toMatchObject({ blockedBy: 'untrusted' });
    expect(here.started()).toEqual([]);
  });

  test('of a switch is seen by the next run; then what would run is a question, and stays one (S003)', async () => {
    const here = await place();
    await here.run('trust');
    const enabled = await here.run('enable', 'project');
    expect(enabled).toMatchObject({ exit: 0, err: '' });
    expect(enabled.out).toContain('Server "project" of layer "workspace", over stdio');
    const { servers, questions } = await here.status();
    expect(servers).toMatchObject([{ enabled: true, phase: 'approving' }]);
    expect(questions).toMatchObject([{ kind: 'server', server: 'project' }]);
    expect(here.started()).toEqual([]);
    expect((await here.run('disable', 'project')).exit).toBe(0);
    expect(await here.server('project')).toMatchObject({ enabled: false, blockedBy: 'disabled' });
  });

  test('leads to a call, with the approval that every run needs anew', async () => {
    const here = await place();
    await here.run('trust');
    await here.run('enable', 'project');
    const fingerprint = (await here.server('project'))?.fingerprint ?? 'none';
    const called = await here.run('call', 'mcp__project__echo', '{"message":"hi"}', '--approve', fingerprint);
    expect(called).toMatchObject({ exit: 0, out: 'Echo: hi\n' });
    expect((await here.run('call', 'mcp__project__echo', '{"message":"hi"}')).exit).toBe(4);
    expect(here.started()).toHaveLength(1);
    expect(here.started().filter(isAlive)).toEqual([]);
  });

  test('of a switch of the user keeps a call out until it is on again', async () => {
    const here = await place(JSON.stringify({ mcpServers: { every: { command: 'node', args: [everything, 'stdio'] } } }));
    expect((await here.run('disable', 'every')).exit).toBe(0);
    expect(await here.server('every')).toMatchObject({ enabled: false, blockedBy: 'disabled' });
    expect((await here.run('call', 'mcp__every__echo', '{"message":"hi"}')).exit).toBe(4);
    expect((await here.run('enable', 'every')).exit).toBe(0);
    expect((await here.run('call', 'mcp__every__echo', '{"message":"hi"}')).exit).toBe(0);
  });

  test('of remote servers goes into the user file, whose comments stay, and lists where calls would go', async () => {
    const here = await place('{\n  // mine\n  "mcpServers": { "far": { "url": "https://mcp.invalid/x" } }\n}\n');
    expect(await here.server('far')).toMatchObject({ blockedBy: 'remoteOff' });
    const on = await here.run('remote', 'on');
    expect(on).toMatchObject({ exit: 0, err: '' });
    expect(on.out).toContain('https://mcp.invalid');
    expect(on.out).toContain('how long it keeps what it is sent');
    expect(await readFile(here.userFile, 'utf8')).toMatch(/\/\/ mine/);
    expect(await here.status()).toMatchObject({ workspace: { remoteEnabled: true } });
    expect(parsed(await here.run('remote', 'off', '--json'))).toMatchObject({ remoteEnabled: false, servers: [{ id: 'far' }] });
    expect(await here.status()).toMatchObject({ workspace: { remoteEnabled: false } });
  });

  test('to remove a server needs --yes here, and takes out that entry alone', async () => {
    const here = await place();
    const refused = await here.run('remove', 'project');
    expect(refused).toMatchObject({ exit: 2, out: '' });
    expect(refused.err).toContain(here.projectFile);
    expect(await readFile(here.projectFile, 'utf8')).toBe(PROJECT_FILE);
    expect((await here.run('remove', 'project', '--yes')).exit).toBe(0);
    expect(await readFile(here.projectFile, 'utf8')).toContain('// of the project');
    expect((await here.status()).servers).toEqual([]);
    expect((await here.run('remove', 'project', '--yes')).exit).toBe(4);
  });

  test('is kept from each of two runs at once', async () => {
    const here = await place(JSON.stringify({ mcpServers: { every: { command: 'node', args: [everything, 'stdio'] } } }));
    const ends = await Promise.all([here.run('trust'), here.run('disable', 'every'), here.run('enable', 'project')]);
    expect(ends.map(({ exit, err }) => [exit, err])).toEqual(ends.map(() => [0, '']));
    const { workspace, servers } = await here.status();
    expect(workspace.trusted).toBe(true);
    expect(servers.map(({ id, enabled }) => [id, enabled])).toEqual([
      ['every', false],
      ['project', true],
    ]);
  });

  test('that cannot be kept is exit 3: a user file that is broken, a state folder that is none', async () => {
    const here = await place();
    await writeFile(here.userFile, '{ "remote": ');
    const remote = await here.run('remote', 'on', '--json');
    expect(remote.exit).toBe(3);
    expect(parsed(remote)).toMatchObject({ ok: false, error: { stage: 'config' } });
    expect(await readFile(here.userFile, 'utf8')).toBe('{ "remote": ');
    await rm(here.stateDir, { recursive: true, force: true });
    await writeFile(here.stateDir, 'a file');
    const trust = await here.run('trust', '--json');
    expect(trust.exit).toBe(3);
    expect(parsed(trust)).toMatchObject({ ok: false });
  });
});

describe('the output', () => {
  const SIZE = 600_000;
  const long = `process.stdin.setEncoding('utf8');
let text = '';
process.stdin.on('data', (chunk) => {
  text += chunk;
  for (let end = text.indexOf('\\n'); end >= 0; end = text.indexOf('\\n')) {
    answer(JSON.parse(text.slice(0, end)));
    text = text.slice(end + 1);
  }
});
function answer({ id, method, params }) {
  if (id === undefined) return;
  const send = (body) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, ...body }) + '\\n');
  if (method === 'initialize') {
    const info = { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'long', version: '1' } };
    return send({ result: info });
  }
  if (method === 'tools/list') return send({ result: { tools: [{ name: 'all', inputSchema: { type: 'object' } }] } });
  if (method === 'tools/call') return send({ result: { content: [{ type: 'text', text: 'x'.repeat(${SIZE}) }] } });
  send({ error: { code: -32601, message: 'unknown' } });
}
`;
  const withLong = async (): Promise<Place> => {
    const script = join(await temporaryDirectory('mcp-sup-long-'), 'long.mjs');
    await writeFile(script, long);
    return place(JSON.stringify({ mcpServers: { long: { command: 'node', args: [script] } } }));
  };

  test('is whole however long it is and however slowly it is read', async () => {
    const here = await withLong();
    const running = await here.start('call', 'mcp__long__all');
    running.child.stdout?.pause();
    const read = new Promise<void>((resolve) => running.child.stdout?.once('readable', resolve));
    running.child.stdout?.resume();
    await read;
    const end = await running.ended;
    expect(end).toMatchObject({ exit: 0, err: '' });
    expect(end.out).toBe(`${'x'.repeat(SIZE)}\n`);
  });

  test('that nobody reads ends the run with 141 and takes its servers along', async () => {
    const here = await withLong();
    const running = await here.start('call', 'mcp__long__all');
    running.child.stdout?.destroy();
    expect(await running.ended).toMatchObject({ exit: 141, signal: null, err: '' });
  });
});
