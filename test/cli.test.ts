import { existsSync, realpathSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import type { Question, WorkspaceStatus } from '../actors/api.js';
import { type CommandEnd, isAlive, startCommand } from './support/run-command.js';
import { temporaryDirectory } from './support/temporary-directory.js';

const everything = join(import.meta.dirname, '../node_modules/@modelcontextprotocol/server-everything/dist/index.js');

interface Place {
  readonly workspace: string;
  readonly userConfig: string;
  /** Pids of the servers that were started, in order. */
  readonly started: () => Promise<number[]>;
  readonly run: (...argv: string[]) => Promise<CommandEnd>;
  readonly start: (...argv: string[]) => ReturnType<typeof startCommand>;
}

/** A workspace whose server `project` leaves its pid in a file before it does anything else. */
async function place(user: object = {}): Promise<Place> {
  const home = await temporaryDirectory('mcp-sup-cli-');
  const workspace = join(home, 'repo');
  const marks = join(home, 'started');
  await mkdir(workspace);
  const script = join(workspace, 'server.mjs');
  const source = `import { appendFileSync } from 'node:fs';
appendFileSync(${JSON.stringify(marks)}, process.pid + '\\n');
await import(${JSON.stringify(everything)});
`;
  await writeFile(script, source);
  await writeFile(
    join(workspace, '.mcp.json'),
    JSON.stringify({ mcpServers: { project: { command: 'node', args: ['server.mjs', 'stdio'] } } }),
  );
  const userConfig = join(home, 'user.json');
  await writeFile(userConfig, JSON.stringify(user));
  const common = ['--workspace', workspace, '--user-config', userConfig, '--state-dir', join(home, 'state')];
  const env = { PATH: process.env['PATH'], HOME: home };
  const start: Place['start'] = (...argv) => startCommand([...argv, ...common], env);
  return {
    workspace,
    userConfig,
    started: async () => (existsSync(marks) ? (await readFile(marks, 'utf8')).trim().split('\n').map(Number) : []),
    run: async (...argv) => (await start(...argv)).ended,
    start,
  };
}

type Status = WorkspaceStatus & { readonly questions: readonly Question[] };
const open = ['--trust', '--enable', 'project'];
const parsed = (end: CommandEnd): unknown => JSON.parse(end.out);
const statusOf = (end: CommandEnd) => parsed(end) as Status;

async function fingerprintIn({ run }: Place): Promise<string> {
  const [question] = statusOf(await run('status', '--json', ...open)).questions;
  if (question?.kind !== 'server') throw new Error('no card is open');
  return question.fingerprint;
}

// A test may be several runs of the command, each a process of its own.
describe('the way to a server of a workspace', { timeout: 120_000 }, () => {
  test('begins untrusted: shown, and nothing is started (S001)', async () => {
    const here = await place();
    const end = await here.run('status', '--json');
    expect(end).toMatchObject({ exit: 0, err: '' });
    expect(statusOf(end)).toMatchObject({
      workspace: { root: realpathSync(here.workspace), trusted: false, config: { state: 'valid' } },
      servers: [{ id: 'project', layer: 'workspace', phase: 'idle', blockedBy: 'untrusted', pid: null, generation: 0 }],
      questions: [],
    });
    expect(await here.started()).toEqual([]);
  });

  test('goes on switched off, for trust alone starts nothing (S002)', async () => {
    const here = await place();
    const end = await here.run('status', '--json', '--trust', '--connect');
    expect(statusOf(end)).toMatchObject({ workspace: { trusted: true }, servers: [{ phase: 'idle', blockedBy: 'disabled' }] });
    expect(await here.started()).toEqual([]);
  });

  test('leads to a question with the whole card', async () => {
    const here = await place();
    const status = statusOf(await here.run('status', '--json', ...open));
    expect(status.servers).toMatchObject([{ phase: 'approving', blockedBy: null, pid: null }]);
    expect(status.questions).toMatchObject([
      {
        kind: 'server',
        server: 'project',
        fingerprint: status.servers[0]?.fingerprint,
        card: { command: { written: 'node' }, args: ['server.mjs', 'stdio'], cwd: realpathSync(here.workspace) },
      },
    ]);
    expect(await here.started()).toEqual([]);
  });

  test('stops there where nobody can be asked: exit 4, nothing is started (S003)', async () => {
    const here = await place();
    const end = await here.run('test', 'project', '--json', ...open);
    expect(end.exit).toBe(4);
    expect(parsed(end)).toMatchObject({ ok: false, error: { code: 'APPROVAL_NO_CHANNEL', stage: 'approval' } });
    expect(await here.started()).toEqual([]);
  });

  test('ends connected for the fingerprint on the card, and nothing is left alive', async () => {
    const here = await place();
    const end = await here.run('test', 'project', '--json', ...open, '--approve', await fingerprintIn(here));
    expect(end).toMatchObject({ exit: 0, err: '' });
    expect(parsed(end)).toMatchObject({ ok: true, error: null, status: { phase: 'ready', generation: 1 } });
    const pids = await here.started();
    expect(pids).toHaveLength(1);
    expect(pids.filter(isAlive)).toEqual([]);
  });

  test('lets its tools be called once it is open, and found without a start after that', async () => {
    const here = await place();
    const approved = [...open, '--approve', await fingerprintIn(here)];
    const called = await here.run('call', 'mcp__project__echo', '{"message":"hi"}', ...approved);
    expect(called).toMatchObject({ exit: 0, out: 'Echo: hi\n', err: '' });
    const found = await here.run('search', 'echo', '--json', ...open);
    expect(parsed(found)).toMatchObject({ tools: [{ name: 'mcp__project__echo' }] });
  });

  test('is closed again for another fingerprint, and when the approved script has changed (S004, S005)', async () => {
    const here = await place();
    const fingerprint = await fingerprintIn(here);
    const other = await here.run(
      'test',
      'project',
      ...open,
      '--approve',
      fingerprint.replace(/.$/, fingerprint.endsWith('0') ? '1' : '0'),
    );
    await writeFile(join(here.workspace, 'server.mjs'), '// another program\n');
    const changed = await here.run('test', 'project', ...open, '--approve', fingerprint);
    expect([other.exit, changed.exit]).toEqual([4, 4]);
    expect(changed.err).toContain('APPROVAL_NO_CHANNEL');
    expect(await here.started()).toEqual([]);
  });
});

describe('one-shot commands', { timeout: 120_000 }, () => {
  const entry = { command: process.execPath, args: [everything, 'stdio'] };

  test('search and describe know what was listed before, and call reaches a real tool', async () => {
    const here = await place({ mcpServers: { every: entry } });
    expect((await here.run('search', 'echo')).exit).toBe(4);
    expect((await here.run('test', 'every')).exit).toBe(0);
    const found = await here.run('search', 'echo', '--json');
    expect(found.exit).toBe(0);
    expect(parsed(found)).toMatchObject({ tools: [{ name: 'mcp__every__echo' }] });
    const described = await here.run('describe', 'mcp__every__echo', '--json');
    expect(parsed(described)).toMatchObject({ server: 'every', tool: 'echo', inputSchema: { required: ['message'] } });
    const called = await here.run('call', 'mcp__every__echo', '{"message":"hi"}', '--json');
    expect(called.exit).toBe(0);
    expect(parsed(called)).toMatchObject({ ok: true, result: { content: [{ type: 'text', text: 'Echo: hi' }] }, spilled: [] });
  });

  test('a call that a policy denies is blocked, whoever types it', async () => {
    const here = await place({ mcpServers: { every: entry }, toolPolicies: { 'every.echo': 'deny' } });
    const end = await here.run('call', 'mcp__every__echo', '{"message":"hi"}', '--json');
    expect(end.exit).toBe(1);
    expect(parsed(end)).toMatchObject({ ok: false, error: { code: 'BLOCKED_BY_POLICY', retryable: false } });
  });

  test('a tool that does not exist is exit 1, a server that cannot start exit 4', async () => {
    const here = await place({
      mcpServers: { every: entry, broken: { command: process.execPath, args: ['-e', 'process.exit(3)'] } },
    });
    const [tool, server] = await Promise.all([
      here.run('call', 'mcp__every__nope', '--json'),
      here.run('test', 'broken', '--json'),
    ]);
    expect(tool.exit).toBe(1);
    expect(parsed(tool)).toMatchObject({ ok: false, error: { code: 'UNKNOWN_TOOL' } });
    expect(server.exit).toBe(4);
    expect(parsed(server)).toMatchObject({ ok: false, error: { code: 'EXITED_EARLY' } });
  });

  test('status and explain start nothing, not even what is to be kept alive', async () => {
    const here = await place({ mcpServers: { alive: { ...entry, lifecycle: 'keep-alive' } } });
    const [status, explained] = await Promise.all([here.run('status', '--json'), here.run('explain', 'alive', '--json')]);
    expect(statusOf(status).servers.find(({ id }) => id === 'alive')).toMatchObject({ pid: null, generation: 0 });
    expect(parsed(explained)).toMatchObject({ server: 'alive', layer: 'user' });
  });

  test('a user file that cannot be read as JSON is exit 3, with file, line and column', async () => {
    const here = await place();
    await writeFile(here.userConfig, '{\n  "mcpServers": }\n');
    const [status, call] = await Promise.all([here.run('status'), here.run('call', 'mcp__x__y', '--json')]);
    expect(status.exit).toBe(3);
    expect(status.out).toContain(`${here.userConfig}:2:`);
    expect(call.exit).toBe(3);
    expect(parsed(call)).toMatchObject({ ok: false, error: { code: 'CONFIG_SYNTAX', stage: 'config' } });
  });

  test('a test of a server that exits at once fails in the stage in which it did, and passes none after it', async () => {
    const here = await place({ mcpServers: { broken: { command: 'sh', args: ['-c', 'exit 3'] } } });
    const end = await here.run('test', 'broken', '--json');
    const { ok, stages } = parsed(end) as { ok: boolean; stages: { stage: string; ok: boolean }[] };
    expect(ok).toBe(false);
    expect(stages.filter((stage) => !stage.ok)).toHaveLength(1);
    expect(stages.at(-1)).toMatchObject({ ok: false });
    expect(['transport', 'initialize']).toContain(stages.at(-1)?.stage);
  });

  test('a slip of the command line is exit 2 with nothing on stdout', async () => {
    const here = await place();
    const ends = await Promise.all([here.run('nope'), here.run('authorize', 'x'), here.run('call', 'x', '{oops')]);
    expect(ends.map(({ exit, out }) => [exit, out])).toEqual([
      [2, ''],
      [2, ''],
      [2, ''],
    ]);
    expect(ends[1].err).toContain('This version does not have the command "authorize".');
  });

  test.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('%s ends the server that the command has started too, exit %i (B001)', async (signal, exit) => {
    const here = await place();
    const fingerprint = await fingerprintIn(here);
    const args = '{"duration":60,"steps":60}';
    const running = await here.start(
      'call',
      'mcp__project__trigger-long-running-operation',
      args,
      ...open,
      '--approve',
      fingerprint,
    );
    await vi.waitFor(async () => expect(await here.started()).toHaveLength(1), { timeout: 15_000 });
    running.child.kill(signal);
    const end = await running.ended;
    expect(end).toMatchObject({ exit, signal: null, out: '', err: '' });
    expect((await here.started()).filter(isAlive)).toEqual([]);
  });

  test('a reader that goes away is no crash', async () => {
    const here = await place({ mcpServers: { every: entry } });
    const running = await here.start('status', '--connect', '--json');
    running.child.stdout?.destroy();
    const end = await running.ended;
    expect(end.signal).toBeNull();
    expect(end.err).toBe('');
  });
});
