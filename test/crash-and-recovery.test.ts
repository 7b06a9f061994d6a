import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import type { Workspace } from '../actors/api.js';
import {
  isReady,
  type RealWorkspace,
  realWorkspace,
  recordPhases,
  textOf,
  untilAllReady,
  untilReady,
  untilServer,
} from './support/real-workspace.js';
import { failureOf } from './support/stdio-harness.js';

/** Restarts that come soon enough for a test. */
const QUICK = { backoffBaseMs: 200, backoffFloorMs: 100, backoffCapMs: 400 };

/** A log a fixture can write: how often it was sent this. */
async function newLog(here: RealWorkspace): Promise<{ flag: string; count: (method: string) => Promise<number> }> {
  const file = join(here.home, 'messages.log');
  await writeFile(file, '');
  const count = async (method: string): Promise<number> =>
    (await readFile(file, 'utf8')).split('\n').filter((line) => line.endsWith(` ${method}`)).length;
  return { flag: `--log=${file}`, count };
}

function killServer(workspace: Workspace, id: string): void {
  const { pid } = workspace.server(id).status();
  if (pid === null) throw new Error(`${id} does not run`);
  process.kill(pid, 'SIGKILL');
}

describe('a server that is killed with twenty calls in flight', () => {
  test('fails all of them, waits, and is ready on its next generation; the others never leave ready', async () => {
    await using here = await realWorkspace();
    const log = await newLog(here);
    const workspace = await here.open({
      user: {
        mcpServers: {
          victim: here.hostile('hang-call', log.flag),
          one: here.fixture('echo-server.mjs'),
          two: here.fixture('modern-server.mjs'),
        },
        restart: QUICK,
      },
    });
    await untilAllReady(workspace, 'victim', 'one', 'two');
    const phases = recordPhases(workspace);
    const first = workspace.server('victim').status();

    const settled: string[] = [];
    const calls = Array.from({ length: 20 }, () =>
      failureOf(workspace.call('mcp__victim__echo', { text: 'x' })).then((code) => settled.push(`${code} in ${phaseNow()}`)),
    );
    const phaseNow = (): string => workspace.server('victim').status().phase;
    // On their way to the server, not only counted here.
    await vi.waitFor(async () => expect(await log.count('tools/call')).toBe(20), { timeout: 10_000 });
    expect(workspace.server('victim').status().callsInFlight).toBe(20);

    killServer(workspace, 'victim');
    await Promise.all(calls);
    // Nobody had to wait for the next start, let alone for a deadline.
    expect(settled).toEqual(Array.from({ length: 20 }, () => 'LINK_LOST in backoff'));

    const next = await untilServer(workspace, 'victim', (now) => isReady(now) && now.generation === 2);
    expect(next.pid).not.toBe(first.pid);
    expect(next).toMatchObject({ restarts: 1, callsInFlight: 0, error: null, lastClose: { generation: 1 } });
    phases.stop();
    const resting = phases.of('victim').filter((phase) => !phase.startsWith('connecting'));
    expect(resting).toEqual(['ready 1', 'backoff 1', 'ready 2']);
    expect([phases.of('one'), phases.of('two')]).toEqual([['ready 1'], ['ready 1']]);
    expect(await log.count('initialize')).toBe(2);
    expect(await log.count('tools/call')).toBe(20);
  });

  test('says when it is tried again and why, and answers calls made meanwhile once it is back', async () => {
    await using here = await realWorkspace();
    const workspace = await here.open({
      user: {
        mcpServers: { it: { ...here.hostile('good'), lifecycle: 'keep-alive' } },
        restart: { backoffBaseMs: 500, backoffFloorMs: 400 },
      },
    });
    await untilReady(workspace, 'it');
    killServer(workspace, 'it');
    const waiting = await untilServer(workspace, 'it', ({ phase, stage }) => phase === 'backoff' && stage === null);
    expect(waiting).toMatchObject({
      error: { code: 'LINK_LOST', retryable: true, message: expect.stringContaining('SIGKILL') as string },
      retryAtMs: expect.any(Number) as number,
      pid: null,
    });
    expect(textOf(await workspace.call('mcp__it__echo', { text: 'after' }))).toBe('after');
    expect(workspace.server('it').status()).toMatchObject({ phase: 'ready', generation: 2, retryAtMs: null, error: null });
  });
});

describe('a server that nobody waits for', () => {
  test('stays down when it dies lazy, and comes back by itself when it is kept alive', async () => {
    await using here = await realWorkspace();
    const workspace = await here.open({
      user: {
        mcpServers: { lazy: here.hostile('good'), kept: { ...here.hostile('good'), lifecycle: 'keep-alive' } },
        restart: QUICK,
      },
    });
    await untilAllReady(workspace, 'lazy', 'kept');
    killServer(workspace, 'lazy');
    killServer(workspace, 'kept');
    expect(await untilServer(workspace, 'kept', (now) => isReady(now) && now.generation === 2)).toMatchObject({ restarts: 1 });
    expect(await untilServer(workspace, 'lazy', ({ phase, stage }) => phase === 'idle' && stage === null)).toMatchObject({
      generation: 1,
      pid: null,
      tools: { state: 'complete', count: 1 },
    });
    // Its tools are known, and a call is reason enough to start it.
    expect(workspace.tools().find(({ server }) => server === 'lazy')).toMatchObject({ cached: true, callable: true });
    expect(textOf(await workspace.call('mcp__lazy__echo', { text: 'awake' }))).toBe('awake');
    expect(workspace.server('lazy').status()).toMatchObject({ phase: 'ready', generation: 2 });
  });
});

describe('a server that cannot stay up', () => {
  test('B013: that shakes hands, lists and ends is started a bounded number of times, then has failed', async () => {
    await using here = await realWorkspace();
    const log = await newLog(here);
    const it = { ...here.hostile('exit-after-list', log.flag), lifecycle: 'keep-alive' };
    const workspace = await here.open({
      user: {
        mcpServers: { it, other: here.fixture('echo-server.mjs') },
        restart: { intensity: 2, backoffBaseMs: 60, backoffFloorMs: 50, backoffCapMs: 60 },
      },
    });
    const failed = await untilServer(workspace, 'it', ({ phase, stage }) => phase === 'failed' && stage === null);
    expect(failed).toMatchObject({
      generation: 3,
      pid: null,
      restarts: 3,
      error: { code: 'RESTART_INTENSITY', retryable: true },
    });
    expect(await log.count('initialize')).toBe(3);
    await expect(workspace.call('mcp__it__echo', { text: 'x' })).rejects.toMatchObject({ code: 'RESTART_INTENSITY' });
    expect(await log.count('initialize')).toBe(3);
    expect(textOf(await workspace.call('mcp__other__echo', { text: 'fine' }))).toBe('fine');

    // A person's restart is a new beginning.
    workspace.server('it').restart();
    await untilServer(workspace, 'it', ({ phase, generation }) => phase === 'failed' && generation === 6);
  });

  test('B014: that ends before its handshake says so, with its exit code', async () => {
    await using here = await realWorkspace();
    const workspace = await here.open({
      user: {
        mcpServers: { it: { ...here.hostile('exit-before-init'), lifecycle: 'keep-alive' } },
        restart: { intensity: 1, backoffBaseMs: 60, backoffFloorMs: 50, backoffCapMs: 60 },
      },
    });
    const seen: (string | undefined)[] = [];
    const subscription = workspace.status$.subscribe(({ servers }) => seen.push(servers[0]?.error?.message));
    await untilServer(workspace, 'it', ({ phase }) => phase === 'failed');
    subscription.unsubscribe();
    expect(seen).toContainEqual(expect.stringContaining('exit code 3'));
  });

  test('B018: that dies in every call fails each one at once, and the next call finds it up again', async () => {
    await using here = await realWorkspace();
    const log = await newLog(here);
    const it = { ...here.hostile('die-in-call', log.flag), timeout: 600_000 };
    const workspace = await here.open({ user: { mcpServers: { it }, restart: QUICK } });
    await untilReady(workspace, 'it');
    for (const generation of [1, 2, 3]) {
      await expect(workspace.call('mcp__it__echo', { text: 'x' })).rejects.toMatchObject({
        code: 'LINK_LOST',
        message: expect.stringContaining('exit code 137') as string,
      });
      expect(await log.count('tools/call')).toBe(generation);
    }
  });
});
