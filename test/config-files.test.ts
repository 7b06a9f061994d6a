import { execFileSync } from 'node:child_process';
import { mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { describe, expect, test } from 'vitest';
import { configFolder, readAll, serverOf } from './support/config-files.js';

const entry = (body: string): string => `{\n  "mcpServers": {\n    "x": ${body}\n  }\n}\n`;
const x = 'mcpServers.x';

/** What rejects a whole file: the text, and the place and key told. Line 3 is the entry, column 10 its value. */
const rejected: readonly (readonly [what: string, text: string, line: number, column: number, key: string, code: string])[] = [
  ['an empty file (S027)', '', 1, 1, '', 'CONFIG_SYNTAX'],
  ['a file that ends early', '{\n  "mcpServers": {\n    "x": {', 3, 11, 'mcpServers', 'CONFIG_SYNTAX'],
  ['a word that is no JSON', '{\n  "mcpServers": nope\n}', 2, 17, 'mcpServers', 'CONFIG_SYNTAX'],
  ['more after the end', '{}\n{}', 2, 1, '', 'CONFIG_SYNTAX'],
  ['a list at the top', '[]', 1, 1, '', 'CONFIG_INVALID'],
  ['a key that stands twice', entry('{\n"command": "a",\n"command": "b" }'), 5, 1, `${x}.command`, 'CONFIG_DUPLICATE_KEY'],
  ['an id that stands twice', '{"mcpServers": {"x": {"command":"a"},\n"x": {"command":"a"}}}', 2, 1, x, 'CONFIG_DUPLICATE_KEY'],
  [
    'ids that differ in case only',
    '{"mcpServers": {"x": {"command":"a"},\n"X": {"command":"a"}}}',
    2,
    1,
    'mcpServers.X',
    'CONFIG_DUPLICATE_KEY',
  ],
  ['__proto__', entry('{ "command": "a",\n"env": { "__proto__": "b" } }'), 4, 10, `${x}.env.__proto__`, 'CONFIG_INVALID'],
  ['nesting deeper than the cap', `{"a":\n${'['.repeat(64)}${']'.repeat(64)}}`, 2, 64, '', 'CONFIG_INVALID'],
  ['nesting of 10 000 levels', `{"a":${'['.repeat(10_000)}`, 1, 69, '', 'CONFIG_INVALID'],
  ['more words than the cap', `[${'1,'.repeat(12_000)}]`, 1, 20_001, '', 'CONFIG_INVALID'],
  ['half a surrogate pair', entry('{ "command": "a", "args": ["\\ud800"] }'), 3, 37, `${x}.args[0]`, 'CONFIG_INVALID'],
  ['an id with a blank', '{"mcpServers": {\n"a b": {"command":"a"}}}', 2, 1, 'mcpServers.a b', 'CONFIG_INVALID'],
  ['an id with two underscores', '{"mcpServers": {\n"a__b": {"command":"a"}}}', 2, 1, 'mcpServers.a__b', 'CONFIG_INVALID'],
  ['an empty id', '{"mcpServers": {\n"": {"command":"a"}}}', 2, 1, 'mcpServers.', 'CONFIG_INVALID'],
  [
    'an id of 33 bytes',
    `{"mcpServers": {\n"${'a'.repeat(33)}": {"command":"a"}}}`,
    2,
    1,
    `mcpServers.${'a'.repeat(33)}`,
    'CONFIG_INVALID',
  ],
  [
    'an id with a look-alike letter',
    '{"mcpServers": {\n"\u0430": {"command":"a"}}}',
    2,
    1,
    'mcpServers.\\u0430',
    'CONFIG_INVALID',
  ],
  ['mcpServers as a list', '{"mcpServers": []}', 1, 16, 'mcpServers', 'CONFIG_INVALID'],
  ['an entry that is text', entry('"npx"'), 3, 10, x, 'CONFIG_INVALID'],
  ['an entry that is null', entry('null'), 3, 10, x, 'CONFIG_INVALID'],
  ['an entry with neither command nor url', entry('{}'), 3, 5, x, 'CONFIG_INVALID'],
  ['an entry with both command and url', entry('{ "command": "a", "url": "https://h.example/" }'), 3, 5, x, 'CONFIG_INVALID'],
  ['a type that does not fit', entry('{ "command": "a", "type": "sse" }'), 3, 5, `${x}.type`, 'CONFIG_INVALID'],
  ['a type nobody knows', entry('{ "command": "a", "type": "ws" }'), 3, 36, `${x}.type`, 'CONFIG_INVALID'],
  ['an empty command', entry('{ "command": "" }'), 3, 23, `${x}.command`, 'CONFIG_INVALID'],
  ['a command with a ".." segment', entry('{ "command": "/a/../b" }'), 3, 23, `${x}.command`, 'CONFIG_INVALID'],
  ['a command with a NUL', entry('{ "command": "a\\u0000" }'), 3, 23, `${x}.command`, 'CONFIG_INVALID'],
  ['args that are text', entry('{ "command": "a", "args": "-y" }'), 3, 36, `${x}.args`, 'CONFIG_INVALID'],
  ['an arg that is a number', entry('{ "command": "a", "args": ["-y", 1] }'), 3, 43, `${x}.args[1]`, 'CONFIG_INVALID'],
  ['an env value that is a number', entry('{ "command": "a", "env": { "A": 1 } }'), 3, 42, `${x}.env.A`, 'CONFIG_INVALID'],
  ['an env name with = (S022)', entry('{ "command": "a", "env": { "A=B": "1" } }'), 3, 37, `${x}.env.A=...`, 'CONFIG_INVALID'],
  ['an empty env name (S022)', entry('{ "command": "a", "env": { "": "1" } }'), 3, 37, `${x}.env.`, 'CONFIG_INVALID'],
  [
    'a line end in an env name (S022)',
    entry('{ "command": "a", "env": { "A\\n": "1" } }'),
    3,
    37,
    `${x}.env.A\\u000a`,
    'CONFIG_INVALID',
  ],
  ['a NUL in an env value (S022)', entry('{ "command": "a", "env": { "A": "\\u0000" } }'), 3, 42, `${x}.env.A`, 'CONFIG_INVALID'],
  ['a user name in a url', entry('{ "url": "https://u:p@h.example/" }'), 3, 19, `${x}.url`, 'CONFIG_INVALID'],
  ['a password before a variable', entry('{ "url": "https://u:p@h.example/${X}" }'), 3, 19, `${x}.url`, 'CONFIG_INVALID'],
  ['a password in a default', entry('{ "url": "${X:-https://u:p@h.example/}" }'), 3, 19, `${x}.url`, 'CONFIG_INVALID'],
  ['a misspelt entry at the top', '{"a": {"comand": "x"}}', 1, 2, 'a', 'CONFIG_INVALID'],
  ['an entry at the top without command and url', '{"limits": {},\n"a": {"args": []}}', 2, 1, 'a', 'CONFIG_INVALID'],
  ['a misspelt mcpServers', '{"mcpservers": {"a": {"command": "x"}}}', 1, 2, 'mcpservers', 'CONFIG_INVALID'],
  ['a url that is relative', entry('{ "url": "/mcp" }'), 3, 19, `${x}.url`, 'CONFIG_INVALID'],
  ['a tab in a url (S049)', entry('{ "url": "https://h.example/\\t" }'), 3, 19, `${x}.url`, 'CONFIG_INVALID'],
  ['a backslash in a url (S049)', entry('{ "url": "https:\\\\\\\\h.example" }'), 3, 19, `${x}.url`, 'CONFIG_INVALID'],
  [
    'a header that stands twice',
    entry('{ "url": "https://h.example/", "headers": {\n"X-A": "1", "x-a": "2" } }'),
    4,
    13,
    `${x}.headers.x-a`,
    'CONFIG_DUPLICATE_KEY',
  ],
  [
    'a header name with a blank',
    entry('{ "url": "https://h.example/", "headers": {\n"X A": "1" } }'),
    4,
    1,
    `${x}.headers.X A`,
    'CONFIG_INVALID',
  ],
  [
    'a line end in a header',
    entry('{ "url": "https://h.example/", "headers": {\n"X": "1\\r\\nY: 2" } }'),
    4,
    6,
    `${x}.headers.X`,
    'CONFIG_INVALID',
  ],
  ['a lifecycle nobody knows', entry('{ "command": "a", "lifecycle": "always" }'), 3, 41, `${x}.lifecycle`, 'CONFIG_INVALID'],
  ['a timeout in words (B072)', entry('{ "command": "a", "timeout": "30s" }'), 3, 39, `${x}.timeout`, 'CONFIG_INVALID'],
  ['an idleTimeout of nought', entry('{ "command": "a", "idleTimeout": 0 }'), 3, 43, `${x}.idleTimeout`, 'CONFIG_INVALID'],
  ['a fraction of maxTools', entry('{ "command": "a", "maxTools": 1.5 }'), 3, 40, `${x}.maxTools`, 'CONFIG_INVALID'],
  [
    'a tool policy of another word',
    entry('{ "command": "a", "tools": { "*": "yes" } }'),
    3,
    44,
    `${x}.tools.*`,
    'CONFIG_INVALID',
  ],
  [
    'oauth with a port too high',
    entry('{ "url": "https://h.example/", "oauth": {\n"callbackPort": 65536 } }'),
    4,
    17,
    `${x}.oauth.callbackPort`,
    'CONFIG_INVALID',
  ],
  ['a remote switch in words', '{ "remote": { "enabled": "yes" } }', 1, 26, 'remote.enabled', 'CONFIG_INVALID'],
  [
    'a plaintext host with a port',
    '{ "remote": { "plaintextHosts": ["h.example:80"] } }',
    1,
    34,
    'remote.plaintextHosts[0]',
    'CONFIG_INVALID',
  ],
  ['a variable that is no name', '{ "workspaceVariables": ["$A"] }', 1, 26, 'workspaceVariables[0]', 'CONFIG_INVALID'],
  ['more pages than the cap', '{ "limits": { "pages": 101 } }', 1, 24, 'limits.pages', 'CONFIG_INVALID'],
  ['more items than the cap', '{ "limits": { "items": 10001 } }', 1, 24, 'limits.items', 'CONFIG_INVALID'],
  ['a restart option of nought', '{ "restart": { "windowMs": 0 } }', 1, 28, 'restart.windowMs', 'CONFIG_INVALID'],
  ['a backoff floor above the cap', '{ "restart": { "backoffFloorMs": 40000 } }', 1, 14, 'restart', 'CONFIG_INVALID'],
  ['a policy for every server', '{ "toolPolicies": { "*": "deny" } }', 1, 21, 'toolPolicies.*', 'CONFIG_INVALID'],
  ['a policy of another word', '{ "toolPolicies": { "x.y": "never" } }', 1, 28, 'toolPolicies.x.y', 'CONFIG_INVALID'],
];

describe('the user file is rejected whole, with place and key, for', () => {
  test.each(rejected)('%s', async (_what, text, line, column, key, code) => {
    await using folder = await configFolder();
    const { user } = await folder.read({ user: text });
    expect(user).toMatchObject({ state: 'rejected', servers: [], settings: null });
    expect(user.errors[0]).toMatchObject({ file: folder.userFile, line, column, key, code });
  });

  test('every fault at once, siblings too (B072)', async () => {
    await using folder = await configFolder();
    const { user } = await folder.read({
      user: { mcpServers: { a: 'npx', b: { command: 'ok' }, c: { command: 'x', args: 1, timeout: 'x' } } },
    });
    expect(user.errors.map(({ key }) => key)).toEqual(['mcpServers.a', 'mcpServers.c.args', 'mcpServers.c.timeout']);
  });

  test('lines end in LF, CRLF or CR alone', async () => {
    await using folder = await configFolder();
    const { user } = await folder.read({ user: '{\r"a": 1,\r\n"b": 2,\n"mcpServers": 3}' });
    expect(user.errors[0]).toMatchObject({ line: 4, column: 15 });
  });
});

describe('a file that cannot be read is a fault, not an empty configuration', () => {
  const unreadable = { state: 'rejected', errors: [{ line: null, column: null, key: '', code: 'CONFIG_UNREADABLE' }] };

  test('an absent file is absent', async () => {
    await using folder = await configFolder();
    expect(await folder.read({})).toMatchObject({
      user: { state: 'absent' },
      project: { state: 'absent' },
      override: { state: 'absent' },
    });
  });

  test('a directory, a pipe, a device and a dangling link are refused without waiting on them (S027, B068)', async () => {
    await using folder = await configFolder();
    await mkdir(dirname(folder.userFile));
    await mkdir(folder.userFile);
    execFileSync('mkfifo', [folder.projectFile]);
    await mkdir(dirname(folder.overrideFile));
    await symlink('/dev/zero', folder.overrideFile);
    expect(await readAll(folder.config, folder.root)).toMatchObject({
      user: unreadable,
      project: unreadable,
      override: unreadable,
    });

    await rm(folder.overrideFile);
    await symlink('nowhere.json', folder.overrideFile);
    expect((await readAll(folder.config, folder.root)).override).toMatchObject(unreadable);
  });

  test('a file over the size cap is refused (S027)', async () => {
    await using folder = await configFolder();
    const { user } = await folder.read({ user: `{}${' '.repeat(256 * 1024)}` });
    expect(user).toMatchObject(unreadable);
  });

  test('UTF-16 and broken UTF-8 are refused at the first byte that does not fit (B065)', async () => {
    await using folder = await configFolder();
    await folder.read({ user: '{}' });
    await writeFile(folder.userFile, Buffer.from('\ufeff{}', 'utf16le'));
    expect((await readAll(folder.config, folder.root)).user.errors[0]).toMatchObject({
      line: 1,
      column: 1,
      code: 'CONFIG_SYNTAX',
    });
    await writeFile(folder.userFile, Buffer.concat([Buffer.from('{\n "a'), Buffer.from([0xff]), Buffer.from('": 1}')]));
    expect((await readAll(folder.config, folder.root)).user.errors[0]).toMatchObject({
      line: 2,
      column: 4,
      code: 'CONFIG_SYNTAX',
    });
  });

  test('a link to a file elsewhere is followed (B068)', async () => {
    await using folder = await configFolder();
    await writeFile(`${folder.root}/elsewhere.json`, entry('{ "command": "a" }'));
    await mkdir(dirname(folder.userFile));
    await symlink(`${folder.root}/elsewhere.json`, folder.userFile);
    expect(serverOf((await readAll(folder.config, folder.root)).user).command).toBe('a');
  });
});
