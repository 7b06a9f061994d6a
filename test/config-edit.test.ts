import { chmod, lstat, mkdir, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { withKey, withoutKey } from '../adapters/config/edit-document.js';
import { writeAtomically } from '../adapters/shared/atomic-write.js';
import { type ConfigFolder, configFolder } from './support/config-files.js';
import { outcomeOf } from './support/outcome.js';

const TWO = `{
  // All of them.
  "mcpServers": {
    "a": { "command": "a" }, // about a
    // about b
    "b": {
      "command": "b", /* inside */
    },
  }
}
`;

const remove = ({ config, root }: ConfigFolder, id: string, layer: Parameters<typeof config.remove>[1] = 'user') =>
  config.remove({ root }, layer, id);

const modeOf = async (path: string): Promise<string> => ((await stat(path)).mode & 0o777).toString(8);

/** What lies beside the file: nothing may be left there. */
const beside = (file: string): Promise<string[]> => readdir(dirname(file));

describe('taking an entry out of a text', () => {
  const [a, b] = [
    ['s', 'a'],
    ['s', 'b'],
  ];
  test.each([
    ['the only one', '{ "s": { "a": 1 } }', a, '{ "s": { } }'],
    ['the first of a line', '{ "s": { "a": 1, "b": 2 } }', a, '{ "s": { "b": 2 } }'],
    ['the last of a line', '{ "s": { "a": 1, "b": 2 } }', b, '{ "s": { "a": 1 } }'],
    ['a packed one', '{"s":{"a":1,"b":2}}', b, '{"s":{"a":1}}'],
    ['the first of several lines', '{"s": {\n  "a": 1,\n  "b": 2\n}}', a, '{"s": {\n  "b": 2\n}}'],
    ['the last of several lines', '{"s": {\n  "a": 1,\n  "b": 2\n}}', b, '{"s": {\n  "a": 1\n}}'],
    ['one with a trailing comma', '{"s": {\n  "a": 1,\n  "b": 2,\n}}', b, '{"s": {\n  "a": 1,\n}}'],
    ['one between comments', '{"s": {\n  // x\n  "a": 1, // y\n  "b": 2\n}}', a, '{"s": {\n  // x\n  // y\n  "b": 2\n}}'],
    ['one whose comma is far away', '{"s": {"a": 1 /* x */ , "b": 2}}', a, '{"s": {/* x */  "b": 2}}'],
    ['one after a comment with a comma', '{"s": {"a": 1 /* , */, "b": 2}}', b, '{"s": {"a": 1 /* , */ }}'],
    ['one in lines that end in CR LF', '{"s": {\r\n  "a": 1,\r\n  "b": 2\r\n}}', a, '{"s": {\r\n  "b": 2\r\n}}'],
  ])('%s leaves the rest as it was', (_what, before, path, after) => {
    expect(withoutKey(before, path)).toBe(after);
  });

  test('that is not there changes nothing', () => {
    expect(withoutKey('{ "s": { "a": 1 } }', ['s', 'c'])).toBeNull();
    expect(withoutKey('[]', ['s', 'c'])).toBeNull();
  });
});

describe('setting a switch in a text', () => {
  const remote = ['remote', 'enabled'];
  test.each([
    ['that is there', '{ "remote": { "enabled": false /* for now */ } }', '{ "remote": { "enabled": true /* for now */ } }'],
    [
      'in an object that is there',
      '{\n\t"remote": {\n\t\t"x": 1\n\t}\n}',
      '{\n\t"remote": {\n\t\t"x": 1,\n\t\t"enabled": true\n\t}\n}',
    ],
    ['that is new', '{\n    "a": 1,\n}\n', '{\n    "a": 1,\n    "remote": {\n        "enabled": true\n    },\n}\n'],
    ['in an empty file', '{}', '{\n  "remote": {\n    "enabled": true\n  }\n}'],
    ['in lines that end in CR LF', '{\r\n  "a": 1\r\n}', '{\r\n  "a": 1,\r\n  "remote": {\r\n    "enabled": true\r\n  }\r\n}'],
  ])('%s leaves the rest as it was', (_what, before, after) => {
    expect(withKey(before, remote, true)).toBe(after);
  });
});

describe('an entry that is removed', () => {
  test('leaves the comments, the layout, the mode and nothing else', async () => {
    await using folder = await configFolder();
    await folder.read({ user: TWO });
    await chmod(folder.userFile, 0o640);
    await expect(remove(folder, 'a')).resolves.toEqual({ file: folder.userFile });
    expect(await readFile(folder.userFile, 'utf8')).toBe(
      TWO.replace('    "a": { "command": "a" }, // about a', '    // about a'),
    );
    expect(await modeOf(folder.userFile)).toBe('640');
    expect(await beside(folder.userFile)).toEqual(['mcp.json']);
    await remove(folder, 'b');
    const { user } = await folder.read({});
    expect(user).toMatchObject({ state: 'valid', servers: [] });
    expect(await readFile(folder.userFile, 'utf8')).toMatch(/All of them[^]*about a[^]*about b/);
  });

  test('keeps the byte order mark and the line ends', async () => {
    await using folder = await configFolder();
    const text = `\ufeff${TWO.replaceAll('\n', '\r\n')}`;
    await folder.read({ user: text });
    await remove(folder, 'b');
    const left = await readFile(folder.userFile, 'utf8');
    expect(left.startsWith('\ufeff{\r\n')).toBe(true);
    expect(left.replaceAll('\r\n', '')).not.toMatch(/[\r\n]/);
    expect(left).not.toContain('"b"');
  });

  test('may stand at the top of a file without "mcpServers"', async () => {
    await using folder = await configFolder();
    await folder.read({ project: '{ "x": { "command": "x" }, "y": { "command": "y" } }' });
    await remove(folder, 'x', 'workspace');
    expect(await readFile(folder.projectFile, 'utf8')).toBe('{ "y": { "command": "y" } }');
  });

  test('is taken out of the file of its own layer, and of no other', async () => {
    await using folder = await configFolder();
    const same = { mcpServers: { x: { command: 'x' } } };
    await folder.read({ user: same, project: same, override: same });
    await expect(remove(folder, 'x', 'workspace-override')).resolves.toEqual({ file: folder.overrideFile });
    const { user, project, override } = await folder.read({});
    expect([user, project, override].map(({ servers }) => servers.length)).toEqual([1, 1, 0]);
  });

  test('twice at once is removed once, and two at once are both', async () => {
    await using folder = await configFolder();
    await folder.read({ user: TWO });
    const outcomes = [remove(folder, 'a'), remove(folder, 'b'), remove(folder, 'a')].map(outcomeOf);
    await expect(remove(folder, 'c')).rejects.toMatchObject({ code: 'UNKNOWN_SERVER' });
    expect(outcomes.map(({ state }) => state)).toEqual(['ok', 'ok', 'UNKNOWN_SERVER']);
    expect((await folder.read({})).user.servers).toEqual([]);
  });

  test('behind a link is taken out of the file the link leads to', async () => {
    await using folder = await configFolder();
    const kept = join(folder.root, 'dotfiles.json');
    await mkdir(dirname(folder.userFile));
    await writeFile(kept, TWO);
    await symlink(kept, folder.userFile);
    await remove(folder, 'a');
    expect((await lstat(folder.userFile)).isSymbolicLink()).toBe(true);
    expect(await readFile(kept, 'utf8')).not.toContain('"a"');
    expect(await beside(folder.userFile)).toEqual(['mcp.json']);
  });
});

describe('a file that is not edited', () => {
  test.each([
    ['is not JSON', '{ "mcpServers": { "a": { "command": "a" } }', 'CONFIG_INVALID'],
    ['is empty', '', 'CONFIG_INVALID'],
    ['has a key twice', '{ "mcpServers": { "a": { "command": "a" } }, "mcpServers": {} }', 'CONFIG_INVALID'],
    ['has an entry with a fault', '{ "mcpServers": { "a": { "command": "a" }, "b": {} } }', 'CONFIG_INVALID'],
    ['has no such entry', '{ "mcpServers": { "b": { "command": "b" } } }', 'UNKNOWN_SERVER'],
    ['names a setting, not an entry', '{ "a": 1, "mcpServers": {} }', 'UNKNOWN_SERVER'],
  ])('because it %s stays as it is, and says why', async (_why, text, code) => {
    await using folder = await configFolder();
    await folder.read({ user: text });
    await expect(remove(folder, 'a')).rejects.toMatchObject({
      code,
      message: expect.stringContaining(folder.userFile) as string,
    });
    if (code === 'CONFIG_INVALID') await expect(folder.config.setRemote(true)).rejects.toMatchObject({ code });
    expect(await readFile(folder.userFile, 'utf8')).toBe(text);
    expect(await beside(folder.userFile)).toEqual(['mcp.json']);
  });

  test('is one that is not there, one that is no file, and a plugin’s', async () => {
    await using folder = await configFolder();
    await expect(remove(folder, 'a')).rejects.toMatchObject({ code: 'UNKNOWN_SERVER' });
    await mkdir(folder.userFile, { recursive: true });
    await expect(remove(folder, 'a')).rejects.toMatchObject({ code: 'CONFIG_UNREADABLE' });
    await expect(remove(folder, 'a', 'plugin:p')).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  });

  test('is one of a workspace that leads out of it', async () => {
    await using folder = await configFolder();
    await folder.read({ user: TWO });
    await symlink(folder.userFile, folder.projectFile);
    await expect(remove(folder, 'a', 'workspace')).rejects.toMatchObject({ code: 'CONFIG_UNREADABLE' });
    expect(await readFile(folder.userFile, 'utf8')).toBe(TWO);
  });
});

describe('the remote switch in the user’s file', () => {
  test('makes a file of its own, which only its owner reads, where there is none', async () => {
    await using folder = await configFolder();
    await expect(folder.config.setRemote(true)).resolves.toEqual({ file: folder.userFile });
    expect([await modeOf(folder.userFile), await modeOf(dirname(folder.userFile))]).toEqual(['600', '700']);
    expect((await folder.read({})).user.settings?.remoteEnabled).toBe(true);
  });

  test('goes on and off again, and the file is the same as before', async () => {
    await using folder = await configFolder();
    const text = TWO.replace('{\n', '{\n  "remote": { "enabled": false }, // careful\n');
    await folder.read({ user: text });
    await folder.config.setRemote(true);
    expect(await readFile(folder.userFile, 'utf8')).toBe(text.replace('false', 'true'));
    await folder.config.setRemote(false);
    expect(await readFile(folder.userFile, 'utf8')).toBe(text);
  });

  test('that says so already leaves the file alone', async () => {
    await using folder = await configFolder();
    await folder.read({ user: { remote: { enabled: true } } });
    const { ino, mtimeMs } = await stat(folder.userFile);
    await folder.config.setRemote(true);
    expect(await stat(folder.userFile)).toMatchObject({ ino, mtimeMs });
  });
});

describe('an atomic write', () => {
  test('does nothing to a file that is another by now, and leaves nothing beside it', async () => {
    await using folder = await configFolder();
    await folder.read({ project: 'theirs' });
    const { projectFile: file } = folder;
    expect(await writeAtomically({ file, content: 'ours', expected: 'older' })).toBe(false);
    expect(await writeAtomically({ file, content: 'ours', expected: null })).toBe(false);
    expect(await readFile(file, 'utf8')).toBe('theirs');
    expect(await beside(file)).toEqual(['.mcp.json']);
    expect(await writeAtomically({ file, content: 'ours', expected: 'theirs' })).toBe(true);
    expect(await readFile(file, 'utf8')).toBe('ours');
    await rm(file);
    await expect(writeAtomically({ file, content: 'new', expected: 'ours' })).rejects.toMatchObject({ code: 'ENOENT' });
    expect(await beside(file)).toEqual([]);
  });
});
