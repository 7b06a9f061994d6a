import { describe, expect, test, vi } from 'vitest';
import type { TestReport } from '../actors/api.js';
import { failure, supervisorError } from '../actors/errors.js';
import type { Question } from '../actors/ports.js';
import { run } from '../adapters/cli/run.js';
import type { Code } from '../machines/codes.js';
import { command, type Ran } from './support/fake-command.js';
import { fakeSupervisor, serverStatus, workspaceStatus } from './support/fake-supervisor.js';
import { fakeTerminal } from './support/terminal.js';

const shut = serverStatus({ id: 'project', layer: 'workspace', phase: 'idle', blockedBy: 'untrusted', pid: null, generation: 0 });
const failedTest = (code: Code): TestReport => ({
  ok: false,
  server: 'project',
  stages: [{ stage: 'approval', ok: false, tookMs: 1 }],
  error: failure(code, 'Not from here.', 'Do this.'),
  status: shut,
});
const question: Question = {
  kind: 'server',
  nonce: 'n',
  server: 'project',
  fingerprint: 'abc',
  card: { server: 'project', layer: 'workspace', transport: 'stdio', fingerprint: 'abc', notes: [] },
};
const json = (ran: Ran): unknown => JSON.parse(ran.out);

describe('what needs no library', () => {
  test.each([
    [['--help'], 0],
    [['--version'], 0],
    [['nope'], 2],
    [['help', 'remote'], 0],
    [['remote'], 2],
    [['authorize', 'x'], 2],
    [['call', 'x', '{'], 2],
    [['call', 'x', '[]'], 2],
  ])('%j exits %i without loading it', async (argv, exit) => {
    const load = vi.fn();
    const terminal = fakeTerminal(fakeSupervisor().create);
    expect(await run(argv, { ...terminal.io, load })).toBe(exit);
    expect(load).not.toHaveBeenCalled();
    expect(exit === 0 ? terminal.err() : terminal.out()).toBe('');
  });

  test('a workspace that is no directory is a slip of the command line', async () => {
    const ran = await command({}, 'status', '--workspace', 'no-such-dir');
    expect(ran).toMatchObject({ exit: 2, log: [], out: '' });
    expect(ran.err).toContain('no-such-dir');
  });

  test('a user file that was named has to exist', async () => {
    const ran = await command({}, 'status', '--json', '--user-config', 'no-such-file');
    expect(ran).toMatchObject({ exit: 3, log: [] });
    expect(json(ran)).toMatchObject({ ok: false, error: { code: 'CONFIG_UNREADABLE', stage: 'config' } });
  });
});

describe('the flags of a run', () => {
  test('reach the library, and nothing else does', async () => {
    const fake = fakeSupervisor();
    const { io } = fakeTerminal(fake.create);
    await run(['status', '--trust', '--enable', 'files', '--approve', 'f1', '--state-dir', 'state'], io);
    expect(fake.given.workspace).toEqual({ trusted: true, enable: ['files'] });
    expect(fake.given.options).toEqual({ approvedFingerprints: ['f1'], discover: false, paths: { stateDir: `${io.cwd}/state` } });
  });

  test('leave trust to what the machine remembers when --trust is not given', async () => {
    const fake = fakeSupervisor();
    await run(['status'], fakeTerminal(fake.create).io);
    expect(fake.given.workspace).toEqual({ enable: [] });
  });

  test('open a channel for questions only on a terminal, and only for commands that connect', async () => {
    const asks = async (tty: boolean, ...argv: string[]): Promise<boolean> => {
      const fake = fakeSupervisor();
      await run(argv, fakeTerminal(fake.create, { tty }).io);
      return fake.given.options?.approve !== undefined;
    };
    expect(await asks(true, 'test', 'files')).toBe(true);
    expect(await asks(false, 'test', 'files')).toBe(false);
    expect(await asks(true, 'status')).toBe(false);
    expect(await asks(true, 'status', '--connect')).toBe(true);
  });

  test('are said aloud when they name a server that is not there', async () => {
    expect((await command({}, 'status', '--enable', 'nope')).err).toContain('--enable "nope": no server has this id.');
  });
});

describe('status', () => {
  test('prints the workspace, its servers and the open questions as JSON, and starts nothing', async () => {
    const status = workspaceStatus([serverStatus(), shut]);
    const ran = await command({ status, questions: [question] }, 'status', '--json');
    expect(json(ran)).toEqual({ ...status, questions: [question] });
    expect(ran).toMatchObject({ exit: 0, err: '', log: ['open', 'close'] });
  });

  test('shows people the card that waits, and the flag that answers it', async () => {
    const asked = serverStatus({ id: 'project', phase: 'approving', fingerprint: 'abc' });
    const { out } = await command({ status: workspaceStatus([asked]), questions: [question] }, 'status');
    expect(out).toContain('Server "project" of layer "workspace"');
    expect(out).toContain('--approve abc');
  });

  test('connects with --connect, and a server that fails is no failure of the status', async () => {
    const connected = workspaceStatus([serverStatus({ phase: 'failed', error: failure('SPAWN_FAILED', 'no') })]);
    const ran = await command({ connected }, 'status', '--connect', '--json');
    expect(ran.log).toEqual(['open', 'connectAll', 'close']);
    expect(ran.exit).toBe(0);
    expect(json(ran)).toMatchObject({ servers: [{ phase: 'failed' }] });
  });
});

describe('a configuration that was refused', () => {
  const errors = [
    { file: '/repo/.mcp.json', line: 2, column: 5, key: 'mcpServers', code: 'CONFIG_SYNTAX', message: 'Odd.' },
  ] as const;
  const status = workspaceStatus([serverStatus()], { config: { state: 'degraded', revision: 1, errors, warnings: [] } });

  test('is shown by status, exit 3', async () => {
    const ran = await command({ status }, 'status');
    expect(ran.exit).toBe(3);
    expect(ran.out).toContain('/repo/.mcp.json:2:5');
  });

  test.each([
    ['call', 'mcp__files__read'],
    ['test', 'files'],
  ])('starts nothing for %s, since a deny may be in what could not be read', async (...argv) => {
    const ran = await command({ status }, ...argv, '--json');
    expect(ran).toMatchObject({ exit: 3, log: ['open', 'close'] });
    expect(json(ran)).toMatchObject({
      ok: false,
      error: { code: 'CONFIG_SYNTAX', message: expect.stringContaining(':2:5') as string },
    });
  });
});

describe('call', () => {
  test('calls with the arguments as typed, approved by who typed it', async () => {
    const call = vi.fn(async () => ({ content: [{ type: 'text', text: 'hello' }] }));
    const ran = await command({ call }, 'call', 'mcp__files__read', '{"path":"a"}', '--timeout', '5000');
    expect(ran).toMatchObject({ exit: 0, out: 'hello\n' });
    expect(call).toHaveBeenCalledWith('mcp__files__read', { path: 'a' }, expect.objectContaining({ byPerson: true }));
  });

  test('connects the one server in the name, and no other', async () => {
    const status = workspaceStatus([serverStatus({ phase: 'idle' }), serverStatus({ id: 'other', phase: 'idle' })]);
    const { log } = await command({ status }, 'call', 'mcp__files__read');
    expect(log).toEqual(['open', 'test files', 'call mcp__files__read {}', 'close']);
  });

  test('connects all when the name fits two servers, none when it fits no server', async () => {
    const status = workspaceStatus([serverStatus({ id: 'a', phase: 'idle' }), serverStatus({ id: 'a_', phase: 'idle' })]);
    expect((await command({ status }, 'call', 'mcp__a___x')).log).toContain('connectAll');
    expect((await command({ status }, 'call', 'mcp__b__x')).log).toEqual(['open', 'call mcp__b__x {}', 'close']);
  });

  test('prints the result as JSON', async () => {
    const ran = await command({}, 'call', 'mcp__files__read', '--json');
    expect(json(ran)).toEqual({ ok: true, result: { content: [{ type: 'text', text: 'found' }] }, spilled: [] });
  });

  test('exits 1 when the tool answers with an error, which is an answer', async () => {
    const result = { isError: true, content: [{ type: 'text', text: 'no such file' }] };
    const ran = await command({ call: async () => result }, 'call', 'mcp__files__read', '--json');
    expect(json(ran)).toMatchObject({ ok: true, result });
    expect(ran.exit).toBe(1);
  });

  test('says with five keys why a call was blocked, exit 1', async () => {
    const call = async (): Promise<never> => {
      throw supervisorError('BLOCKED_BY_POLICY', 'Denied.');
    };
    const ran = await command({ call }, 'call', 'mcp__files__read', '--json');
    const error = { code: 'BLOCKED_BY_POLICY', stage: 'call', message: 'Denied.', hint: null, retryable: false };
    expect(ran.exit).toBe(1);
    expect(json(ran)).toEqual({ ok: false, error });
  });

  test('exits 4 with the gate that is shut, and calls nothing', async () => {
    const parts = { status: workspaceStatus([shut]), test: async () => failedTest('UNTRUSTED') };
    const ran = await command(parts, 'call', 'mcp__project__x');
    expect(ran).toMatchObject({ exit: 4, out: '', err: 'UNTRUSTED (trust): Not from here.\nDo this.\n' });
    expect(ran.log).not.toContain('call mcp__project__x {}');
  });
});

describe('test and explain', () => {
  test('test is exit 0 for a server that answers', async () => {
    const ran = await command({}, 'test', 'files', '--json');
    expect(ran.exit).toBe(0);
    expect(json(ran)).toMatchObject({ ok: true, server: 'files', error: null, status: { phase: 'ready' } });
  });

  test('test without a channel is exit 4 with the card that waits', async () => {
    const parts = { status: workspaceStatus([shut]), questions: [question], test: async () => failedTest('APPROVAL_NO_CHANNEL') };
    const people = await command(parts, 'test', 'project');
    expect(people.exit).toBe(4);
    expect(people.err).toContain('APPROVAL_NO_CHANNEL');
    expect(people.err).toContain('Server "project" of layer "workspace"');
    const ran = await command(parts, 'test', 'project', '--json');
    expect(json(ran)).toMatchObject({ ok: false, error: { code: 'APPROVAL_NO_CHANNEL', hint: 'Do this.' } });
  });

  test('test of an unknown server is exit 4', async () => {
    expect(await command({}, 'test', 'nope')).toMatchObject({
      exit: 4,
      err: expect.stringContaining('UNKNOWN_SERVER') as string,
    });
  });

  test('explain starts nothing, for a server as for a tool', async () => {
    const explained = { mcp__files__read: { subject: 'files.read' } };
    const [server, tool] = [
      await command({}, 'explain', 'files', '--json'),
      await command({ explained }, 'explain', 'mcp__files__read', '--json'),
    ];
    expect([server, tool]).toMatchObject([
      { exit: 0, log: ['open', 'close'] },
      { exit: 0, log: ['open', 'close'] },
    ]);
    expect([json(server), json(tool)]).toMatchObject([{ subject: 'files' }, { subject: 'files.read', phase: 'ready' }]);
  });
});
