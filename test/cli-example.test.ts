import { expect, test, vi } from 'vitest';
import { Interrupted } from '../adapters/cli/io.js';
import { run } from '../adapters/cli/run.js';
import { command } from './support/fake-command.js';
import { fakeSupervisor, serverStatus, workspaceStatus } from './support/fake-supervisor.js';
import { fakeTerminal } from './support/terminal.js';

const shut = serverStatus({ id: 'project', layer: 'workspace', phase: 'idle', blockedBy: 'untrusted', pid: null, generation: 0 });
const listed = (state: 'complete' | 'truncated', count: number) => ({ state, count, reason: null, skipped: [] });
const ready = (id: string) => serverStatus({ id });
const servers = [ready('everything'), ready('filesystem'), ready('memory'), { ...shut, tools: { ...shut.tools, count: 0 } }];

test('example --once walks search, description and call, and exits 0 when all of it worked', async () => {
  const ran = await command({ status: workspaceStatus(servers) }, 'example', '--once');
  expect(ran).toMatchObject({ exit: 0, err: '' });
  expect(ran.log.map((step) => /"action":"(\w+)"/.exec(step)?.[1] ?? step)).toEqual([
    'open',
    'connectAll',
    'search',
    'describe',
    'call',
    'close',
  ]);
  expect(ran.out).toContain('All of it worked.');
});

test.each([
  ['a server that is not ready', [serverStatus({ id: 'memory', phase: 'failed' })]],
  ['a server whose list of tools is not complete', [serverStatus({ id: 'memory', tools: listed('truncated', 2) })]],
  ['a server without tools', [serverStatus({ id: 'memory', tools: listed('complete', 0) })]],
  ['a gate that is not shut', [serverStatus({ id: 'project' })]],
])('example --once exits 4 for %s', async (_what, [odd]) => {
  const status = workspaceStatus(servers.map((server) => (server.id === odd?.id ? odd : server)));
  const ran = await command({ status }, 'example', '--once');
  expect(ran.exit).toBe(4);
  expect(ran.err).toContain(odd?.id);
  expect(ran.out).not.toContain('All of it worked.');
});

test('example redraws its table in place on a terminal, until it is interrupted', async () => {
  const fake = fakeSupervisor({ status: workspaceStatus([serverStatus({ phase: 'connecting' })]) });
  const terminal = fakeTerminal(fake.create, { tty: true });
  const running = run(['example'], terminal.io);
  await vi.waitFor(() => expect(terminal.out()).toContain('connecting'));
  fake.status$.next(workspaceStatus());
  await vi.waitFor(() => expect(terminal.out()).toMatch(/\u001b\[\d+F\u001b\[0J/));
  terminal.interrupt(new Interrupted('SIGINT', 130));
  expect(await running).toBe(130);
  expect(fake.status$.observed).toBe(false);
});

test('example says each change once where there is no terminal', async () => {
  const fake = fakeSupervisor({ status: workspaceStatus([serverStatus({ phase: 'connecting' }), shut]) });
  const terminal = fakeTerminal(fake.create);
  const running = run(['example'], terminal.io);
  await vi.waitFor(() => expect(terminal.out()).toContain('files  connecting'));
  fake.status$.next(workspaceStatus([serverStatus(), shut]));
  fake.status$.next(workspaceStatus([shut]));
  terminal.interrupt(new Interrupted('SIGTERM', 143));
  expect(await running).toBe(143);
  expect(terminal.out().trimEnd().split('\n')).toEqual([
    'files  connecting',
    expect.stringMatching(/^project {2}idle {2}untrusted {2}.*--trust/),
    'files  ready  2 tools, pid 4242, generation 1',
    'files removed',
  ]);
});
