import { execFileSync } from 'node:child_process';
import { constants } from 'node:fs';
import { mkdir, open, readFile, rename, symlink, truncate, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { hasVariable } from '../adapters/config/expand.js';
import { readTextFile } from '../adapters/config/read-file.js';
import { readUrl } from '../adapters/config/url-rules.js';
import { watchFiles } from '../adapters/config/watch-files.js';
import { configFolder, readAll, serverOf } from './support/config-files.js';
import { temporaryDirectory } from './support/temporary-directory.js';
import { VirtualClock } from './support/virtual-clock.js';

const SECRET = 'sEcReT';

describe('a file that nobody trusts yet', () => {
  test('cannot hold the loop up with beginnings of variables that have no end', async () => {
    await using folder = await configFolder();
    // By an expression that looks for the end from each beginning, each of these takes longer than a test may.
    const args = ['${A:-'.repeat(45_000), '${A'.repeat(60_000)];
    for (const arg of args) {
      const { project } = await folder.read({ project: JSON.stringify({ mcpServers: { x: { command: 'a', args: [arg] } } }) });
      expect(project).toMatchObject({ state: 'valid', servers: [{ refusal: null }] });
    }
    const { user } = await folder.read({ user: JSON.stringify({ mcpServers: { x: { command: 'a', args: [args[0]] } } }) });
    expect(serverOf(user).refusal).toMatchObject({ code: 'CONFIG_INVALID' });
    expect([hasVariable(`${args[0] ?? ''}}`), hasVariable('${1} ${A} '), hasVariable('${A:-'), hasVariable('$A {B}')]).toEqual([
      true,
      true,
      false,
      false,
    ]);
  });

  test('has no url that is longer than any server takes', () => {
    expect(readUrl(`https://h.example/?${'a=b&'.repeat(3_000)}`)).toMatchObject({ rejects: false });
    expect(readUrl(`https://h.example/${'a'.repeat(8_000)}`)).toBeInstanceOf(URL);
  });

  test.each([
    ['a value whose name is missing', `{"mcpServers":{"x":{"command":"a","env":{"${SECRET}"}}}}`, 'mcpServers.x.env'],
    ['such a value after a good one', `{"mcpServers":{"x":{"env":{"A":"1","${SECRET}"},"command":"a"}}}`, 'mcpServers.x.env'],
    ['a quote too few', `{"mcpServers":{"x":{"env":{"A":"${SECRET}, "B":"${SECRET}","C":"${SECRET}"}}}}`, 'mcpServers.x.env'],
    ['one before a name', `{"mcpServers":{"x":{"env":{A":"${SECRET}","B":"${SECRET}"}}}}`, 'mcpServers.x.env'],
    [
      'a name and its value in one string',
      `{"mcpServers":{"x":{"command":"a","env":{"A=${SECRET}":""}}}}`,
      'mcpServers.x.env.A=...',
    ],
    [
      'the same of a header',
      `{"mcpServers":{"x":{"url":"https://h.example/","headers":{"Authorization: Bearer ${SECRET}":""}}}}`,
      'mcpServers.x.headers.Authorization:...',
    ],
    ['the same, twice', `{"mcpServers":{"x":{"env":{"A=${SECRET}":"","A=${SECRET}":""}}}}`, 'mcpServers.x.env.A=...'],
    ['the same beside another alphabet', `{"mcpServers":{"x":{"env":{"\u00e9=${SECRET}":""}}}}`, 'mcpServers.x.env.\\u00e9=...'],
  ])('says nothing of %s but where it stands', async (_what, text, key) => {
    await using folder = await configFolder();
    const { project, user } = await folder.read({ project: text, user: text });
    for (const { errors, warnings, state } of [project, user]) {
      expect([state, errors[0]?.key]).toEqual(['rejected', key]);
      expect(JSON.stringify([errors, warnings])).not.toContain(SECRET);
    }
    for (const edit of [folder.config.setRemote(true), folder.config.remove({ root: folder.root }, 'workspace', 'x')]) {
      const error: unknown = await edit.then(
        () => null,
        (reason: unknown) => reason,
      );
      expect(error).toMatchObject({ code: 'CONFIG_INVALID' });
      expect(String(error) + JSON.stringify(error)).not.toContain(SECRET);
    }
    expect(await readFile(folder.userFile, 'utf8')).toBe(text);
  });
});

describe('reading a file', () => {
  test('opens no pipe: whoever waits to write to it goes on waiting', async () => {
    const pipe = join(await temporaryDirectory('config-'), 'mcp.json');
    execFileSync('mkfifo', [pipe]);
    const reading = await readTextFile(pipe);
    expect(reading).toMatchObject({ state: 'faulty', code: 'CONFIG_UNREADABLE', message: 'is not a regular file' });
    // Without a reader, a writer that does not wait is refused.
    await expect(open(pipe, constants.O_WRONLY | constants.O_NONBLOCK)).rejects.toMatchObject({ code: 'ENXIO' });
  });

  test('that becomes a pipe, a directory or two gigabytes at any moment gives the text or a fault, and never waits', async () => {
    const dir = await temporaryDirectory('config-');
    const file = join(dir, 'mcp.json');
    await writeFile(file, '{}');
    const over = new AbortController();
    const swapping = (async () => {
      const others: readonly ((path: string) => Promise<void>)[] = [
        async (path) => void execFileSync('mkfifo', [path]),
        (path) => symlink('/dev/zero', path),
        (path) => symlink('nowhere', path),
        (path) => writeFile(path, '').then(() => truncate(path, 2 ** 31)),
        (path) => writeFile(path, '{}'),
      ];
      for (let turn = 0; !over.signal.aborted; turn += 1) {
        await others[turn % others.length]?.(`${file}.new`);
        await rename(`${file}.new`, file);
      }
    })();
    const readings = [];
    for (let turn = 0; turn < 200; turn += 1) readings.push(await readTextFile(file));
    over.abort();
    await swapping;
    for (const reading of readings) {
      if (reading.state === 'text') expect(reading.text).toBe('{}');
      else expect(reading).toMatchObject({ state: 'faulty', code: 'CONFIG_UNREADABLE' });
    }
  });

  test('that is written all the time gives one of the texts whole, or a fault', async () => {
    const file = join(await temporaryDirectory('config-'), 'mcp.json');
    const texts = ['a', 'b'].map((letter) => letter.repeat(100_000));
    await writeFile(file, texts[0] ?? '');
    const over = new AbortController();
    const writing = (async () => {
      for (let turn = 0; !over.signal.aborted; turn += 1)
        await writeFile(`${file}.new`, texts[turn % 2] ?? '').then(() => rename(`${file}.new`, file));
    })();
    for (let turn = 0; turn < 100; turn += 1) {
      const reading = await readTextFile(file);
      if (reading.state === 'text') expect(texts.includes(reading.text)).toBe(true);
      else expect(reading).toMatchObject({ code: 'CONFIG_UNREADABLE' });
    }
    over.abort();
    await writing;
  });

  test('behind a directory that is a link to nowhere is a fault, and one behind no directory at all is absent', async () => {
    const dir = await temporaryDirectory('config-');
    await symlink('away', join(dir, 'dotfiles'));
    expect(await readTextFile(join(dir, 'dotfiles/a/b/mcp.json'))).toMatchObject({ code: 'CONFIG_UNREADABLE' });
    expect(await readTextFile(join(dir, 'nothing/a/b/mcp.json'))).toEqual({ state: 'absent' });
    await mkdir(join(dir, 'away'));
    expect(await readTextFile(join(dir, 'dotfiles/a/b/mcp.json'))).toEqual({ state: 'absent' });
  });

  test.each([' a b ', 'a\nb', 'a\\b', '-a', 'a%20b', 'e\u0301 \u5bf8\u6b62', '${A}', 'a"b\'c`$(d)'])(
    'in a workspace called %j is reading like any other, and it is watched',
    async (name) => {
      const root = join(await temporaryDirectory('config-'), name);
      await mkdir(root);
      await using folder = await configFolder();
      const file = join(root, '.mcp.json');
      await writeFile(file, JSON.stringify({ mcpServers: { x: { command: 'a' } } }));
      expect(serverOf((await readAll(folder.config, root)).project)).toMatchObject({ command: 'a', file, line: 1 });
      const clock = new VirtualClock();
      const told = vi.fn();
      const watch = watchFiles([file], told, clock);
      await writeFile(file, '{}');
      await vi.waitFor(() => expect(clock.pending).toBe(2));
      clock.advance(150);
      expect(told).toHaveBeenCalledOnce();
      await watch.close();
    },
  );
});

test('a link anywhere on the way that is pointed elsewhere is told, and files beside it are not', async () => {
  const home = await temporaryDirectory('config-');
  for (const which of ['one', 'two']) {
    await mkdir(join(home, which, 'deep'), { recursive: true });
    await writeFile(join(home, which, 'deep/mcp.json'), which);
  }
  await symlink('one', join(home, 'now'));
  const file = join(home, 'now/deep/mcp.json');
  const clock = new VirtualClock();
  const seen: Promise<string>[] = [];
  const watch = watchFiles([file], () => void seen.push(readFile(file, 'utf8')), clock);
  const idle = clock.pending;
  for (const target of ['two', 'one', 'two']) {
    // As editors do beside the file they save: none of it is a change.
    for (const name of ['.mcp.json.swp', '4913', 'mcp.json~', '.#mcp.json']) await writeFile(join(dirname(file), name), '');
    await symlink(target, join(home, 'next'));
    await rename(join(home, 'next'), join(home, 'now'));
    await vi.waitFor(() => expect(clock.pending).toBe(idle + 1));
    clock.advance(150);
    await vi.waitFor(() => expect(clock.pending).toBe(idle));
  }
  expect(await Promise.all(seen)).toEqual(['two', 'one', 'two']);
  await watch.close();
  expect(clock.pending).toBe(0);
});
