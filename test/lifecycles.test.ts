import { describe, expect, test } from 'vitest';
import type { ServerStatus, WorkspaceStatus } from '../actors/api.js';
import { textOf } from './support/real-workspace.js';
import { type TimedWorkspace, timedWorkspace } from './support/timed-workspace.js';

const one = ({ servers }: WorkspaceStatus, id: string): ServerStatus => {
  const found = servers.find((server) => server.id === id);
  if (found === undefined) throw new Error(`no server "${id}"`);
  return found;
};
const isAt =
  (id: string, phase: ServerStatus['phase']) =>
  (status: WorkspaceStatus): boolean =>
    one(status, id).phase === phase && one(status, id).stage === null;
const echo = async ({ workspace }: TimedWorkspace, id: string): Promise<string> =>
  textOf(await workspace.call(`mcp__${id}__echo`, { text: id }));

describe('a lazy server', () => {
  test('that was never listed is started once at load, listed, and left to idle; a call starts it again', async () => {
    await using here = await timedWorkspace({ files: { idleTimeout: 10_000 } });
    await here.until(isAt('files', 'ready'));
    const [first] = here.pids;
    await here.untilLater(1_000, isAt('files', 'idle'));
    expect(here.clock.now()).toBeGreaterThanOrEqual(10_000);
    expect(here.pids).toEqual([]);

    expect(here.workspace.tools().map(({ tool, cached }) => `${tool} ${String(cached)}`)).toContain('echo true');
    await here.workspace.reload();
    await here.clock.run(60_000);
    expect(one(here.workspace.status(), 'files')).toMatchObject({ phase: 'idle', generation: 1 });

    expect(await echo(here, 'files')).toBe('files');
    expect(one(here.workspace.status(), 'files')).toMatchObject({ phase: 'ready', generation: 2 });
    expect(here.pids).toHaveLength(1);
    expect(here.pids).not.toEqual([first]);
  });

  test('is not idle while it is used: its time begins anew with every call', async () => {
    await using here = await timedWorkspace({ files: { idleTimeout: 10_000 } });
    await here.until(isAt('files', 'ready'));
    for (let round = 0; round < 5; round += 1) {
      await here.clock.run(9_000);
      expect(await echo(here, 'files')).toBe('files');
    }
    expect(one(here.workspace.status(), 'files')).toMatchObject({ phase: 'ready', generation: 1 });
  });

  test('stays down when it dies with nobody waiting', async () => {
    await using here = await timedWorkspace({ files: {} });
    await here.until(isAt('files', 'ready'));
    for (const pid of here.pids) process.kill(pid, 'SIGKILL');
    await here.until(isAt('files', 'idle'));
    await here.clock.run(600_000);
    expect(here.pids).toEqual([]);
  });
});

test('an eager server starts at load, whatever is known of it, and idles out', async () => {
  await using here = await timedWorkspace({ files: { lifecycle: 'eager', idleTimeout: 10_000 } });
  await here.until(isAt('files', 'ready'));
  await here.untilLater(1_000, isAt('files', 'idle'));
  expect({ pids: here.pids, server: one(here.workspace.status(), 'files') }).toMatchObject({
    pids: [],
    server: { generation: 1 },
  });
});

describe('a server that is kept alive', () => {
  test('never idles out, and is started again unasked when it dies', async () => {
    await using here = await timedWorkspace({ files: { lifecycle: 'keep-alive', idleTimeout: 5_000 } });
    await here.until(isAt('files', 'ready'));
    const [first = 0] = here.pids;
    // Five times its idle time, and short of the first probe.
    await here.clock.run(25_000);
    expect(one(here.workspace.status(), 'files')).toMatchObject({ phase: 'ready', generation: 1, pid: first });

    process.kill(first, 'SIGKILL');
    await here.untilLater(50, (status) => isAt('files', 'ready')(status) && one(status, 'files').generation === 2);
    expect(here.pids).toHaveLength(1);
    expect(here.pids).not.toEqual([first]);
  });

  test('answers its health probe and lives on', async () => {
    await using here = await timedWorkspace({ files: { lifecycle: 'keep-alive' } });
    await here.until(isAt('files', 'ready'));
    for (let probe = 0; probe < 10; probe += 1) {
      await here.clock.run(30_000);
      // It answers in order: with this, the probe was answered as well.
      expect(await echo(here, 'files')).toBe('files');
    }
    await here.clock.run(10_000);
    expect(one(here.workspace.status(), 'files')).toMatchObject({ phase: 'ready', generation: 1, restarts: 0 });
  });

  test('that hangs fails its probe, is killed, and is replaced', async () => {
    await using here = await timedWorkspace({ files: { lifecycle: 'keep-alive' } });
    await here.until(isAt('files', 'ready'));
    const [hung = 0] = here.pids;
    process.kill(hung, 'SIGSTOP');
    await here.untilLater(1_000, (status) => isAt('files', 'ready')(status) && one(status, 'files').generation === 2);
    expect(here.pids).toHaveLength(1);
    expect(here.pids).not.toContain(hung);
    expect(one(here.workspace.status(), 'files')).toMatchObject({ restarts: 1, lastClose: { generation: 1, outcome: 'killed' } });
  });
});

describe('live slots', () => {
  test('the least recently used quiet server makes room, never one that is kept alive', async () => {
    // All of them are to be listed once, and there is no slot for the last.
    const servers = { kept: { lifecycle: 'keep-alive' }, older: {}, newer: {}, last: {} };
    await using here = await timedWorkspace(servers, { limits: { live: 3 } });
    await here.until((status) => ['kept', 'older', 'newer'].every((id) => isAt(id, 'ready')(status)));
    expect(one(here.workspace.status(), 'last')).toMatchObject({ phase: 'connecting', stage: 'slot' });
    // Used later than it was started: it is the other one that goes.
    await here.clock.run(100);
    expect(await echo(here, 'older')).toBe('older');
    await here.untilLater(500, isAt('last', 'ready'));
    const phases = here.workspace.status().servers.map(({ id, phase }) => `${id} ${phase}`);
    expect(phases.sort()).toEqual(['kept ready', 'last ready', 'newer idle', 'older ready']);
    expect(here.pids).toHaveLength(3);
  });

  test('a server in use is not closed for another one, which gets its slot when the call is over', async () => {
    await using here = await timedWorkspace({ busy: {}, next: {} }, { limits: { live: 1 } }, { discover: false });
    here.workspace.server('busy').restart();
    await here.until(isAt('busy', 'ready'));
    const call = here.workspace.call('mcp__busy__sleep', { ms: 1_000 });
    await here.until((status) => one(status, 'busy').callsInFlight === 1);
    here.workspace.server('next').restart();
    await here.until((status) => one(status, 'next').stage === 'slot');
    await here.clock.run(10_000);
    expect(one(here.workspace.status(), 'next')).toMatchObject({ phase: 'connecting', stage: 'slot' });
    expect(textOf(await call)).toBe('slept');
    await here.untilLater(500, isAt('next', 'ready'));
    expect(one(here.workspace.status(), 'busy').phase).toBe('idle');
    expect(here.pids).toHaveLength(1);
  });
});

test('several handles and sessions share one process, which ends with the last handle', async () => {
  await using here = await timedWorkspace({ files: {} });
  const second = await here.reopen();
  await here.until(isAt('files', 'ready'));
  const [pid] = here.pids;
  const asked = [here.workspace, second].flatMap((workspace) =>
    ['a', 'b'].map(async (session) => textOf(await workspace.call('mcp__files__pid', {}, { session }))),
  );
  expect(new Set(await Promise.all(asked))).toEqual(new Set([String(pid)]));

  // Ending a session ends its calls and nobody else's, through whichever handle.
  const mine = here.workspace.call('mcp__files__sleep', { ms: 60_000 }, { session: 'a' });
  const theirs = second.call('mcp__files__sleep', { ms: 200 }, { session: 'b' });
  await here.until((status) => one(status, 'files').callsInFlight === 2);
  second.endSession('a');
  await expect(mine).rejects.toMatchObject({ code: 'CALL_CANCELLED' });
  expect(textOf(await theirs)).toBe('slept');

  await here.workspace.close();
  expect(here.pids).toEqual([pid]);
  expect(second.status().servers.map(({ phase }) => phase)).toEqual(['ready']);
});
