import { describe, expect, test, vi } from 'vitest';
import { supervisorError } from '../actors/errors.js';
import type { Question } from '../actors/ports.js';
import { Interrupted } from '../adapters/cli/io.js';
import { run } from '../adapters/cli/run.js';
import { command, type Ran } from './support/fake-command.js';
import { fakeSupervisor, serverStatus, workspaceStatus } from './support/fake-supervisor.js';
import { fakeTerminal } from './support/terminal.js';

const project = serverStatus({
  id: 'project',
  layer: 'workspace',
  file: '/repo/.mcp.json',
  phase: 'idle',
  blockedBy: 'untrusted',
  enabled: false,
  pid: null,
  generation: 0,
});
const disabled = { ...project, blockedBy: 'disabled' } as const;
const approving = { ...project, blockedBy: null, phase: 'approving', enabled: true, fingerprint: 'abc' } as const;
const far = serverStatus({ id: 'far', transport: 'http', origin: 'https://mcp.test', phase: 'idle', blockedBy: 'remoteOff' });
const near = serverStatus({ id: 'near', transport: 'http', origin: 'http://127.0.0.1:80' });
const question: Question = {
  kind: 'server',
  nonce: 'n',
  server: 'project',
  fingerprint: 'abc',
  card: { server: 'project', layer: 'workspace', transport: 'stdio', fingerprint: 'abc', args: ['a\u001b[2J'], notes: [] },
};
const json = (ran: Ran): unknown => JSON.parse(ran.out);
const lines = (ran: Ran): string[] => ran.out.trimEnd().split('\n');

describe('trust and untrust', () => {
  const before = workspaceStatus([serverStatus(), project]);
  const after = workspaceStatus([serverStatus(), disabled], { trusted: true });

  test('trust says what stands open now, and that nothing was started (S002)', async () => {
    const ran = await command({ status: before, decisions: { 'trust true': after } }, 'trust');
    expect(ran).toMatchObject({ exit: 0, err: '', log: ['open', 'trust true', 'close'] });
    expect(lines(ran)).toEqual([
      '"/repo" is trusted on this computer. Trusting starts nothing by itself.',
      'Its servers:',
      '  project  idle  disabled  Run `mcp-supervisor enable project`.',
    ]);
  });

  test('trust shows the whole card of a server that was switched on before, escaped (S008)', async () => {
    const open = workspaceStatus([approving], { trusted: true });
    const ran = await command({ status: before, decisions: { 'trust true': open }, questions: [question] }, 'trust');
    expect(ran.out).toContain('  args         1: "a\\u001b[2J"');
    expect(ran.out).toContain('--approve abc');
  });

  test('trust says when it changed nothing, and when there is nothing', async () => {
    const { out } = await command({ status: workspaceStatus([], { trusted: true }) }, 'trust');
    expect(out).toContain('trusted on this computer, as before');
    expect(out).toContain('It brings no server.');
  });

  test('trust names a server of the workspace behind one of the user', async () => {
    const shadowed = [{ layer: 'workspace', why: 'it is switched off' }] as const;
    const { out } = await command({ status: workspaceStatus([serverStatus({ shadowed })], { trusted: true }) }, 'trust');
    expect(out).toContain('  files  ready');
  });

  test('trust is kept and exit 3 when a file is refused that now counts', async () => {
    const fault = { file: '/repo/.mcp.json', line: 2, column: 1, key: '', code: 'CONFIG_SYNTAX', message: 'Odd.' } as const;
    const config = { state: 'degraded', revision: 2, errors: [fault], warnings: [] } as const;
    const parts = { status: before, decisions: { 'trust true': workspaceStatus([], { trusted: true, config }) } };
    const ran = await command(parts, 'trust');
    expect(ran).toMatchObject({ exit: 3, err: 'error: /repo/.mcp.json:2:1 Odd. (CONFIG_SYNTAX)\n' });
    expect(await command(parts, 'trust', '--json')).toMatchObject({ exit: 3, err: '' });
    expect((await command({ ...parts, status: workspaceStatus([], { config }) }, 'untrust')).exit).toBe(0);
  });

  test('untrust says that nothing of the workspace has an effect any more', async () => {
    const ran = await command({ status: after, decisions: { 'trust false': before } }, 'untrust');
    expect(ran).toMatchObject({ exit: 0, err: '', log: ['open', 'trust false', 'close'] });
    expect(lines(ran)[0]).toBe('"/repo" is not trusted on this computer. Nothing in it has an effect.');
  });

  test('print the status that follows as JSON', async () => {
    const ran = await command({ status: before, decisions: { 'trust true': after } }, 'trust', '--json');
    expect(json(ran)).toEqual({ ok: true, ...after, questions: [] });
  });
});

describe('enable and disable', () => {
  test('enable says for whom the switch counts, shows the card that waits, and starts nothing', async () => {
    const decisions = { 'enable project': workspaceStatus([approving]) };
    const ran = await command({ status: workspaceStatus([disabled]), decisions, questions: [question] }, 'enable', 'project');
    expect(ran).toMatchObject({ exit: 0, err: '', log: ['open', 'enable project', 'close'] });
    expect(lines(ran).slice(0, 4)).toEqual([
      '"project" of layer "workspace" is switched on in this workspace on this computer.',
      'Read its card; then answer on a terminal (`mcp-supervisor test project`) or give --approve abc.',
      '',
      'Server "project" of layer "workspace", over stdio',
    ]);
  });

  test('enable names the gate that is still shut', async () => {
    const decisions = { 'enable project': workspaceStatus([{ ...project, enabled: true }]) };
    const { out } = await command({ status: workspaceStatus([project]), decisions }, 'enable', 'project');
    expect(out).toContain('run `mcp-supervisor trust`');
  });

  test('disable says which layer serves the id from now on', async () => {
    const on = { ...project, enabled: true, phase: 'ready', blockedBy: null } as const;
    const decisions = { 'disable project': workspaceStatus([serverStatus({ id: 'project' })]) };
    const ran = await command({ status: workspaceStatus([on]), decisions }, 'disable', 'project');
    expect(ran.log).toEqual(['open', 'disable project', 'close']);
    expect(lines(ran)).toEqual([
      '"project" of layer "workspace" is switched off in this workspace on this computer.',
      'The one of layer "user" serves this id now.',
    ]);
  });

  test('say when the switch stood there already', async () => {
    expect((await command({}, 'enable', 'files')).out).toBe(
      '"files" of layer "user" is switched on on this computer, as before.\n',
    );
  });

  test('print the server and its questions as JSON', async () => {
    const decisions = { 'enable project': workspaceStatus([approving]) };
    const parts = { status: workspaceStatus([disabled]), decisions, questions: [question] };
    expect(json(await command(parts, 'enable', 'project', '--json'))).toEqual({
      ok: true,
      server: approving,
      questions: [question],
    });
  });
});

describe('remote', () => {
  const off = workspaceStatus([serverStatus(), near, far]);
  const on = workspaceStatus([serverStatus(), near, { ...far, blockedBy: null }], { remoteEnabled: true });

  test('on is kept in the user file, lists each place outside this computer, and says what to check', async () => {
    const ran = await command({ status: off, decisions: { 'remote true': on } }, 'remote', 'on');
    expect(ran).toMatchObject({ exit: 0, err: '', log: ['open', 'remote true', 'close'] });
    expect(lines(ran)).toEqual([
      'Remote servers are on. Nothing was started by this.',
      'SERVER  LAYER  PLACE             SHUT BY',
      'far     user   https://mcp.test',
      expect.stringMatching(/operates it, how long it keeps/),
    ]);
  });

  test('off says what is closed', async () => {
    const { out } = await command({ status: on, decisions: { 'remote false': off } }, 'remote', 'off');
    expect(out).toContain('Remote servers are off');
    expect(out).toContain('https://mcp.test');
    expect((await command({}, 'remote', 'off')).out).toContain('No remote server is configured here.');
  });

  test('prints the places as JSON; one whose place is not known counts', async () => {
    const unknown = serverStatus({ id: 'odd', transport: 'sse', origin: null });
    const ran = await command({ status: workspaceStatus([near, far, unknown]) }, 'remote', 'on', '--json');
    const servers = [
      { id: 'far', layer: 'user', origin: 'https://mcp.test' },
      { id: 'odd', layer: 'user', origin: null },
    ];
    expect(json(ran)).toEqual({ ok: true, remoteEnabled: true, servers, notice: expect.any(String) as string });
  });
});

describe('remove', () => {
  test('needs --yes where nobody can be asked, and names the file it would edit', async () => {
    const ran = await command({}, 'remove', 'files');
    expect(ran).toMatchObject({ exit: 2, out: '', log: ['open', 'close'] });
    expect(ran.err).toContain('"files" of layer "user" from "/home/me/mcp.json"');
    expect(ran.err).toContain('--yes');
  });

  test('takes the entry out with --yes, and says from which file', async () => {
    const decisions = { 'remove files': workspaceStatus([]) };
    const ran = await command({ decisions }, 'remove', 'files', '--yes');
    expect(ran).toMatchObject({ exit: 0, err: '', log: ['open', 'remove files', 'close'] });
    expect(ran.out).toBe('Removed "files" of layer "user" from "/home/me/mcp.json".\n');
    const data = await command({ decisions }, 'remove', 'files', '--yes', '--json');
    expect(json(data)).toEqual({ ok: true, server: 'files', layer: 'user', file: '/home/me/mcp.json' });
  });

  test('says which layer serves the id from now on', async () => {
    const decisions = { 'remove project': workspaceStatus([serverStatus({ id: 'project' })]) };
    const { out } = await command({ status: workspaceStatus([project]), decisions }, 'remove', 'project', '--yes');
    expect(out).toContain('The one of layer "user" serves this id now.');
  });
});

describe('a decision that cannot be kept', () => {
  const lost = supervisorError('STORE_FAILED', 'The store is locked.');
  const broken = supervisorError('CONFIG_INVALID', 'The file is broken.');

  test.each([
    [['trust'], 'trust true', lost, 3],
    [['untrust'], 'trust false', lost, 3],
    [['enable', 'files'], 'enable files', lost, 3],
    [['disable', 'files'], 'disable files', supervisorError('STORE_UNSAFE', 'Open to others.'), 3],
    [['remote', 'on'], 'remote true', broken, 3],
    [['remote', 'off'], 'remote false', broken, 3],
    [['remove', 'files', '--yes'], 'remove files', supervisorError('CONFIG_UNREADABLE', 'Not writable.'), 3],
    [['remove', 'files', '--yes'], 'remove files', supervisorError('UNKNOWN_SERVER', 'Gone.'), 4],
    [['enable', 'nope'], '', lost, 4],
    [['disable', 'nope'], '', lost, 4],
    [['remove', 'nope', '--yes'], '', lost, 4],
  ] as const)(
    'after %j is said with its code and its exit code, and nothing is claimed (%s)',
    async (argv, line, error, exit) => {
      const decisions = { [line]: error };
      const people = await command({ decisions }, ...argv);
      expect(people).toMatchObject({ exit, out: '' });
      expect(people.log.at(-1)).toBe('close');
      const code = exit === 4 ? 'UNKNOWN_SERVER' : error.code;
      expect(people.err).toContain(code);
      const data = await command({ decisions }, ...argv, '--json');
      expect(data).toMatchObject({ exit, err: '' });
      expect(json(data)).toMatchObject({ ok: false, error: { code } });
    },
  );

  test.each([
    [['trust'], 'trust true'],
    [['disable', 'files'], 'disable files'],
    [['remote', 'off'], 'remote false'],
    [['remove', 'files', '--yes'], 'remove files'],
  ] as const)('while %j waits for it (%s) a signal and --timeout end the run, and nothing is claimed', async (argv, line) => {
    const never = new Promise<never>(() => undefined);
    const fake = fakeSupervisor({ decisions: { [line]: never } });
    const terminal = fakeTerminal(fake.create);
    const running = run(argv, terminal.io);
    await vi.waitFor(() => expect(fake.log).toContain(line));
    terminal.interrupt(new Interrupted('SIGINT', 130));
    expect(await running).toBe(130);
    expect(terminal.out() + terminal.err()).toBe('');
    expect(fake.log.at(-1)).toBe('close');

    const late = await command({ decisions: { [line]: never } }, ...argv, '--timeout', '1');
    expect(late).toMatchObject({ exit: 4, out: '', err: expect.stringContaining('NOT_READY') as string });
  });
});
