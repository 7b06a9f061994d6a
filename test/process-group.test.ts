import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, test, vi } from 'vitest';
import type { StdioLaunch } from '../actors/ports.js';
import type { ProcessHandlers } from '../actors/wire-ports.js';
import { createNodeProcessPort } from '../adapters/node-process.js';
import {
  callTool,
  countPipes,
  findMarked,
  hostile,
  launchOf,
  marker,
  nobodyIsLeft,
  openLink,
  openReady,
} from './support/stdio-harness.js';

const directory = mkdtempSync(join(tmpdir(), 'process-group-'));
afterEach(() => {
  // What left its group on purpose is beyond the link; it must not be beyond the test.
  for (const pid of findMarked().alive) process.kill(pid, 'SIGKILL');
});

afterAll(() => rmSync(directory, { recursive: true, force: true }));

describe('closing a link', () => {
  test.each([
    ['B003: a server that ends on end of input', 'good', 'clean', 'by itself'],
    ['B003: a server that needs a moment to flush', 'slow-end', 'clean', 'by itself'],
    ['B001: a server that ignores end of input', 'ignore-eof', 'clean', 'SIGTERM'],
    ['a server that ignores SIGTERM too', 'ignore-term', 'killed', 'SIGKILL'],
    ['B008: a server that spins and ignores everything', 'spin', 'killed', 'SIGKILL'],
    ['B002: what a server started in its group', 'grandchild', 'killed', 'SIGKILL'],
  ])('%s leaves nobody', async (_what, mode, outcome, detail) => {
    const { link, heard } = await openReady(hostile(mode));
    expect(findMarked().alive).not.toEqual([]);
    expect(await link.close()).toEqual({ outcome, detail: expect.stringContaining(detail) as string });
    expect(findMarked()).toEqual({ alive: [], zombies: 0 });
    expect(heard.lost).toEqual([]);
  });

  test('twice is the same stop', async () => {
    const { link } = await openReady(hostile('good'));
    const first = link.close();
    expect(link.close()).toBe(first);
    await first;
  });

  test('a flush on end of input is read to the end', async () => {
    const { link } = await openReady(hostile('slow-end'));
    await link.close();
    expect(link.diagnosis().stderrTail).toBe('flushed');
  });

  test('B002: a server behind a shell that dies of SIGTERM at once is given the time to flush', async () => {
    const { command, args, ...launch } = hostile('slow-term');
    const { link } = await openReady({ ...launch, command: '/bin/sh', args: ['-c', '"$0" "$@"; true', command, ...args] });
    expect(findMarked().alive).toHaveLength(2);
    expect(await link.close()).toMatchObject({ outcome: 'clean' });
    expect(link.diagnosis().stderrTail).toBe('flushed');
    expect(findMarked().alive).toEqual([]);
  });

  test('S041: a grandchild that left the group and holds stdout delays neither the loss nor the close', async () => {
    const { link, heard } = await openReady(hostile('grandchild-setsid'));
    await vi.waitFor(() => expect(findMarked().alive).toHaveLength(2));
    process.kill(heard.opened[0] ?? 0, 'SIGKILL');
    await vi.waitFor(() => expect(heard.lost).toHaveLength(1));
    expect(heard.lost[0]?.message).toContain('SIGKILL');
    expect(await link.close()).toMatchObject({ outcome: 'clean' });
    expect(findMarked().alive).toHaveLength(1);
  });

  test('B002: when a leader dies by itself the rest of its group goes with it, before anybody closes', async () => {
    const { heard } = await openReady(hostile('grandchild'));
    await vi.waitFor(() => expect(findMarked().alive).toHaveLength(2));
    process.kill(heard.opened[0] ?? 0, 'SIGKILL');
    await nobodyIsLeft();
  });

  test('before the process has started ends it as well', async () => {
    const { link } = openLink(hostile('good'));
    await link.close();
    expect(findMarked().alive).toEqual([]);
  });

  test('B011 B012: fifty openings and closings leave no process, no zombie and no descriptor', async () => {
    await (await openReady(launchOf('echo-server.mjs'))).link.close();
    const before = countPipes();
    for (let round = 0; round < 10; round += 1) {
      const links = await Promise.all(Array.from({ length: 5 }, () => openReady(launchOf('echo-server.mjs'))));
      await Promise.all(links.map(({ link }) => callTool(link, 'echo', { text: 'hi' }).settled));
      await Promise.all(links.map(({ link }) => link.close()));
    }
    expect(findMarked()).toEqual({ alive: [], zombies: 0 });
    await vi.waitFor(() => expect(countPipes()).toBe(before));
  });

  test('B012: a start that fails leaves no descriptor', async () => {
    const before = countPipes();
    for (let round = 0; round < 20; round += 1) {
      const { link, heard } = openLink({ ...launchOf('echo-server.mjs'), command: '/nowhere' });
      await vi.waitFor(() => expect(heard.lost).toHaveLength(1));
      await link.close();
    }
    await vi.waitFor(() => expect(countPipes()).toBe(before));
  });
});

/** What a process told, and the end of it. */
function spawnHeard(launch: StdioLaunch, port = createNodeProcessPort()) {
  let out = '';
  const failures: unknown[] = [];
  const exits: (readonly [number | null, string | null])[] = [];
  const handlers: ProcessHandlers = {
    started: () => undefined,
    failed: (error) => void failures.push(error),
    stdout: (chunk) => {
      out += Buffer.from(chunk).toString();
    },
    stderr: () => undefined,
    exited: (code, signal) => void exits.push([code, signal]),
    inputFailed: () => undefined,
  };
  const child = port.spawn(launch, handlers);
  return { child, port, failures, exits, out: () => out };
}

const script = (source: string, ...args: string[]): StdioLaunch => ({
  transport: 'stdio',
  command: process.execPath,
  args: ['-e', source, '--', ...args, marker],
  cwd: directory,
  env: { ONLY: 'this' },
});

describe('a process', () => {
  test('gets exactly its environment, its arguments word for word and its directory', async () => {
    const words = ['; touch pwned', '$(id)', 'a\nb', '字'];
    const source = 'console.log(JSON.stringify([process.env, process.argv.slice(1), process.cwd()]))';
    const { exits, out } = spawnHeard(script(source, ...words));
    await vi.waitFor(() => expect(exits).toEqual([[0, null]]));
    expect(JSON.parse(out())).toEqual([{ ONLY: 'this' }, [...words, marker], directory]);
  });

  test('leads a group of its own', async () => {
    const { child, port } = spawnHeard(script('setInterval(() => {}, 1000)'));
    const stat = readFileSync(`/proc/${String(child.pid)}/stat`, 'utf8');
    expect(Number(stat.replace(/^.*\) /, '').split(' ')[2])).toBe(child.pid);
    await port.closeAll();
    expect(child.isGroupAlive()).toBe(false);
    expect(child.signalGroup('SIGKILL')).toBe(false);
  });

  test.each([
    ['ENOENT', { command: '/nowhere/at/all' }],
    ['ENOENT', { cwd: '/nowhere/at/all' }],
    ['EACCES', { command: import.meta.filename }],
    ['E2BIG', { env: { HUGE: 'x'.repeat(4_194_304) } }],
    ['ERR_INVALID_ARG_VALUE', { args: ['a\0b'] }],
  ])('S043: that cannot be started fails with %s, typed, later and once', async (code, part) => {
    const { failures, exits, child } = spawnHeard({ ...script(''), ...part });
    expect(failures).toEqual([]);
    await vi.waitFor(() => expect(failures).toHaveLength(1));
    expect(failures[0]).toMatchObject({ code: 'SPAWN_FAILED', message: expect.stringContaining(code) as string });
    expect([exits, child.pid, child.isGroupAlive()]).toEqual([[], null, false]);
  });

  test('a write to one that is gone is told and takes nobody down', async () => {
    const { child, exits } = spawnHeard(script(''));
    await vi.waitFor(() => expect(exits).toHaveLength(1));
    const written = vi.fn();
    child.write('x'.repeat(1_000_000), written);
    await vi.waitFor(() => expect(written).toHaveBeenCalledWith(expect.any(Error)));
    child.destroy();
  });

  test('counts the bytes that wait, not the characters', async () => {
    const { child, port } = spawnHeard(script('setInterval(() => {}, 1000)'));
    child.write('字'.repeat(1_000_000));
    expect(child.bufferedBytes).toBe(3_000_000);
    await port.closeAll();
  });

  test('all of a port are gone when closeAll settles, and the host is listened to only while there are any', async () => {
    const before = process.listenerCount('exit');
    const port = createNodeProcessPort();
    const children = [1, 2, 3].map(() => spawnHeard(script('setInterval(() => {}, 1000)'), port).child);
    expect(process.listenerCount('exit')).toBe(before + 1);
    await port.closeAll();
    expect(children.map((child) => child.isGroupAlive())).toEqual([false, false, false]);
    expect(process.listenerCount('exit')).toBe(before);
  });

  test('is one of many ports, and the host is listened to once for all of them', async () => {
    const before = process.listenerCount('exit');
    const started = Array.from({ length: 3 }, () => spawnHeard(script('setInterval(() => {}, 1000)')));
    expect(process.listenerCount('exit')).toBe(before + 1);
    const [first, ...others] = started;
    await first?.port.closeAll();
    expect(started.map(({ child }) => child.isGroupAlive())).toEqual([false, true, true]);
    await Promise.all(others.map(({ port }) => port.closeAll()));
    expect(process.listenerCount('exit')).toBe(before);
  });

  test('that cannot be ended is let go by closeAll, and no longer listens to the host', async () => {
    const before = process.listenerCount('exit');
    const { child, port } = spawnHeard(script('setInterval(() => {}, 1000)'), createNodeProcessPort({ platform: 'darwin' }));
    const kill = vi.spyOn(process, 'kill').mockReturnValue(true);
    await port.closeAll();
    kill.mockRestore();
    expect(process.listenerCount('exit')).toBe(before);
    expect(child.signalGroup('SIGKILL')).toBe(true);
  });

  test('B001: is killed by the time its host has exited without closing it', async () => {
    const { child, exits } = spawnHeard(script("process.on('SIGTERM', () => {}); setInterval(() => {}, 1000)"));
    const atExit = process.listeners('exit').at(-1);
    atExit?.call(process, 0);
    await vi.waitFor(() => expect(exits).toEqual([[null, 'SIGKILL']]));
    expect(child.isGroupAlive()).toBe(false);
    child.destroy();
  });

  test('B005 B007: on Windows is ended with its tree, and by its handle when taskkill cannot run', async () => {
    vi.stubEnv('PATH', directory);
    const { child, exits } = spawnHeard(script('setInterval(() => {}, 1000)'), createNodeProcessPort({ platform: 'win32' }));
    expect(child.signalGroup('SIGTERM')).toBe(true);
    expect(child.signalGroup('SIGKILL')).toBe(true);
    await vi.waitFor(() => expect(exits).toEqual([[null, 'SIGKILL']]));
    expect(child.isGroupAlive()).toBe(false);
    child.destroy();
  });
});
