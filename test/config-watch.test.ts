import fs, { readdirSync, readFileSync } from 'node:fs';
import { mkdir, rename, rm, symlink, unlink, writeFile } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { dirname, join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { createDebounce } from '../adapters/config/debounce.js';
import { watchFiles } from '../adapters/config/watch-files.js';
import { watchPoints } from '../adapters/config/watch-points.js';
import { systemClock } from '../adapters/system-clock.js';
import { type ConfigFolder, configFolder, readAll, serverOf } from './support/config-files.js';
import { followTimers } from './support/own-timers.js';
import { VirtualClock } from './support/virtual-clock.js';

const text = (command: string): string => JSON.stringify({ mcpServers: { x: { command } } });

/** Watches a folder and reads it anew at every change, as a workspace does. */
async function watched(folder: ConfigFolder) {
  const commands: string[] = [];
  let reading = Promise.resolve();
  const watch = folder.config.watch({ root: folder.root }, () => {
    reading = reading.then(async () => {
      const { user, project } = await readAll(folder.config, folder.root);
      for (const layer of [user, project])
        commands.push(layer.state === 'valid' ? (layer.servers[0]?.command ?? 'none') : layer.state);
    });
  });
  return {
    sees: (command: string) => vi.waitFor(() => expect(commands).toContain(command), { timeout: 10_000 }),
    async [Symbol.asyncDispose]() {
      await watch.close();
      await reading;
    },
  };
}

/** Directories the system watches for this process. */
function watches(): number {
  const texts = readdirSync('/proc/self/fdinfo').map((fd) => {
    try {
      return readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8');
    } catch {
      return '';
    }
  });
  return texts.join('\n').match(/^inotify wd:/gm)?.length ?? 0;
}

describe('a change is told when the file', () => {
  test('is written in place, and again', async () => {
    await using folder = await configFolder();
    await folder.read({ project: text('a') });
    await using watch = await watched(folder);
    await writeFile(folder.projectFile, text('b'));
    await watch.sees('b');
    await writeFile(folder.projectFile, text('c'));
    await watch.sees('c');
  });

  test('is half written and then whole (B066)', async () => {
    await using folder = await configFolder();
    await folder.read({ project: text('a') });
    await using watch = await watched(folder);
    await writeFile(folder.projectFile, text('b').slice(0, 20));
    await watch.sees('rejected');
    await writeFile(folder.projectFile, text('b'));
    await watch.sees('b');
  });

  test('is replaced by rename, more than once', async () => {
    await using folder = await configFolder();
    await folder.read({ project: text('a') });
    await using watch = await watched(folder);
    for (const command of ['b', 'c', 'd']) {
      await writeFile(`${folder.projectFile}.tmp`, text(command));
      await rename(`${folder.projectFile}.tmp`, folder.projectFile);
      await watch.sees(command);
    }
  });

  test('is removed and made again', async () => {
    await using folder = await configFolder();
    await folder.read({ user: '{}', project: text('a') });
    await using watch = await watched(folder);
    await unlink(folder.projectFile);
    await watch.sees('absent');
    await writeFile(folder.projectFile, text('b'));
    await watch.sees('b');
  });

  test('appears in a directory that did not exist, which goes and comes back', async () => {
    await using folder = await configFolder();
    await using watch = await watched(folder);
    for (const command of ['a', 'b', 'c']) {
      await mkdir(dirname(folder.userFile));
      await writeFile(folder.userFile, text(command));
      await watch.sees(command);
      await rm(dirname(folder.userFile), { recursive: true });
    }
  });

  test('is a link whose target changes, and is pointed elsewhere (B068)', async () => {
    await using folder = await configFolder();
    const other = join(dirname(folder.root), 'other');
    for (const name of ['one', 'two']) {
      await mkdir(join(other, name), { recursive: true });
      await writeFile(join(other, name, 'mcp.json'), text(name));
    }
    await symlink('one', join(other, 'now'));
    await symlink(join(other, 'now', 'mcp.json'), folder.projectFile);
    await using watch = await watched(folder);
    await writeFile(join(other, 'one', 'mcp.json'), text('changed'));
    await watch.sees('changed');
    await symlink('two', join(other, 'next'));
    await rename(join(other, 'next'), join(other, 'now'));
    await watch.sees('two');
    await writeFile(join(other, 'two', 'mcp.json'), text('again'));
    await watch.sees('again');
  });
});

test('files beside it are none of its business', async () => {
  await using folder = await configFolder();
  await folder.read({ project: text('a') });
  let told = 0;
  const watch = folder.config.watch({ root: folder.root }, () => (told += 1));
  await writeFile(join(folder.root, 'other.json'), '{}');
  await writeFile(folder.projectFile, text('b'));
  await vi.waitFor(() => expect(told).toBe(1));
  expect(serverOf((await readAll(folder.config, folder.root)).project).command).toBe('b');
  await watch.close();
});

test('close leaves no watch and no timer, and nothing is told afterwards', async () => {
  await using folder = await configFolder();
  await folder.read({ project: text('a') });
  const clock = new VirtualClock();
  const fire = vi.fn();
  const before = watches();
  const watch = watchFiles([folder.projectFile, folder.userFile], fire, clock);
  expect(watches()).toBeGreaterThan(before);
  await writeFile(folder.projectFile, text('b'));
  await vi.waitFor(() => expect(clock.pending).toBe(2));
  await watch.close();
  expect(watches()).toBe(before);
  expect(clock.pending).toBe(0);
  clock.advance(10_000);
  expect(fire).not.toHaveBeenCalled();
});

test('a file that cannot be watched is looked at now and then', async () => {
  await using folder = await configFolder();
  await folder.read({ project: text('a') });
  const clock = new VirtualClock();
  const fire = vi.fn();
  // A watch of a directory that nobody may list fails like this.
  vi.spyOn(fs, 'watch').mockImplementation(() => {
    throw new Error('ENOSPC');
  });
  syncBuiltinESMExports();
  const watch = watchFiles([folder.projectFile], fire, clock);
  clock.advance(5_000);
  expect(fire).not.toHaveBeenCalled();
  await writeFile(folder.projectFile, text('longer'));
  clock.advance(2_500);
  expect(fire).toHaveBeenCalledOnce();
  await watch.close();
  expect(clock.pending).toBe(0);
  vi.restoreAllMocks();
  syncBuiltinESMExports();
});

test('an ancestor that is replaced does not blind the watch', async () => {
  await using folder = await configFolder();
  const home = dirname(folder.root);
  const file = join(home, 'a/b/c/mcp.json');
  for (const a of ['a', 'a.new']) {
    await mkdir(join(home, a, 'b/c'), { recursive: true });
    await writeFile(join(home, a, 'b/c/mcp.json'), a);
  }
  const clock = new VirtualClock();
  const fire = vi.fn();
  const watch = watchFiles([file], fire, clock);
  await rename(join(home, 'a'), join(home, 'a.old'));
  await rename(join(home, 'a.new'), join(home, 'a'));
  clock.advance(2_500);
  expect(fire).toHaveBeenCalledOnce();
  // From here on by event: the new directory is watched.
  await writeFile(file, 'written');
  await vi.waitFor(() => expect(clock.pending).toBe(2));
  clock.advance(200);
  expect(fire).toHaveBeenCalledTimes(2);
  await watch.close();
  expect(clock.pending).toBe(0);
});

test('a link that is a file again before it could be read throws nowhere, and is still watched', async () => {
  await using folder = await configFolder();
  await symlink('elsewhere.json', folder.projectFile);
  vi.spyOn(fs, 'readlinkSync').mockImplementation(() => {
    throw new Error('EINVAL');
  });
  syncBuiltinESMExports();
  const points = watchPoints(folder.projectFile);
  vi.restoreAllMocks();
  syncBuiltinESMExports();
  expect(points).toContainEqual({ dir: folder.root, name: '.mcp.json' });
});

test('the looks at files do not hold the process open', async () => {
  await using folder = await configFolder();
  const timers = followTimers();
  const watch = watchFiles([folder.projectFile], () => undefined, systemClock);
  const running = timers.running();
  await watch.close();
  timers.stop();
  expect(running).toEqual([]);
});

test('a loop of links is watched without walking it for ever', async () => {
  await using folder = await configFolder();
  await symlink('.mcp.json', folder.projectFile);
  expect(watchPoints(folder.projectFile).length).toBeLessThan(50);
});

describe('a burst of changes is told', () => {
  test('once, when 150 ms are quiet', () => {
    const clock = new VirtualClock();
    const fire = vi.fn();
    const debounce = createDebounce(fire, clock);
    for (let step = 0; step < 10; step += 1) {
      debounce.touch();
      clock.advance(149);
    }
    expect(fire).not.toHaveBeenCalled();
    clock.advance(1);
    clock.advance(10_000);
    expect(fire).toHaveBeenCalledOnce();
  });

  test('after 2 s at the latest, and never once it is stopped', () => {
    const clock = new VirtualClock();
    const fire = vi.fn();
    const debounce = createDebounce(fire, clock);
    for (let waited = 0; waited <= 2_000; waited += 100) {
      debounce.touch();
      clock.advance(100);
    }
    expect(fire).toHaveBeenCalledOnce();
    debounce.touch();
    debounce.stop();
    debounce.touch();
    clock.advance(10_000);
    expect(fire).toHaveBeenCalledOnce();
  });
});
