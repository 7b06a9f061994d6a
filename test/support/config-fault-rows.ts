import { execFileSync } from 'node:child_process';
import { mkdir, open, symlink } from 'node:fs/promises';

/** Puts a fault in the place of a file that is not there. */
export type Fault = (file: string) => Promise<void>;
/** The layers that are files. */
export type Layer = 'user' | 'workspace' | 'workspace-override';

/** One fault, and the place that is told. */
export interface Row {
  readonly layer: Layer;
  readonly fault: string | Uint8Array | Fault;
  /** `null`: the file as a whole. */
  readonly at: readonly [line: number, column: number] | null;
  readonly key: string;
  readonly code: string;
}

const row = (layer: Layer, fault: Row['fault'], at: Row['at'], key: string, code: string): Row => ({
  layer,
  fault,
  at,
  key,
  code,
});
/** A fault of the file as a whole. */
export const unreadable = (layer: Layer, fault: Row['fault']): Row => row(layer, fault, null, '', 'CONFIG_UNREADABLE');
/** One entry `x`: its name stands in line 2, column 2, and what follows the colon from column 7 on. */
const entry = (body: string): string => `{"mcpServers":{\n "x": ${body}\n}}`;
const x = 'mcpServers.x';

export const pipe: Fault = async (file) => void execFileSync('mkfifo', [file]);
const sparse: Fault = async (file) => {
  const handle = await open(file, 'w');
  await handle.truncate(2 ** 31);
  await handle.close();
};
/** The first row of the table: whatever rejects a reload whole, in each layer where it differs. */
export const rejected: Readonly<Record<string, Row>> = {
  'a directory (S027)': unreadable('workspace', async (file) => {
    await mkdir(file);
  }),
  'a pipe (S027)': unreadable('user', pipe),
  'a pipe behind a link': unreadable('workspace', async (file) => {
    await pipe(`${file}.pipe`);
    await symlink(`${file}.pipe`, file);
  }),
  'a device (S027)': unreadable('workspace', (file) => symlink('/dev/zero', file)),
  'a link to nowhere (B068)': unreadable('user', (file) => symlink('gone.json', file)),
  'a link to itself': unreadable('workspace', (file) => symlink('.mcp.json', file)),
  'two gigabytes (S027)': unreadable('workspace', sparse),
  'more bytes than the cap': unreadable('user', `{}${' '.repeat(256 * 1024)}`),
  'no bytes (B066)': row('user', '', [1, 1], '', 'CONFIG_SYNTAX'),
  'half a file (B066)': row(
    'workspace',
    entry('{"command":"a","args":["b",').slice(0, -3),
    [2, 34],
    `${x}.args`,
    'CONFIG_SYNTAX',
  ),
  'a comma too few': row('user', entry('{"command":"a"\n"args":[]}'), [3, 1], x, 'CONFIG_SYNTAX'),
  'UTF-16 with its mark (B065)': row('user', Buffer.from('\ufeff{}', 'utf16le'), [1, 1], '', 'CONFIG_SYNTAX'),
  'UTF-16 of the other order (B065)': row('user', Buffer.from('\ufeff{}', 'utf16le').swap16(), [1, 1], '', 'CONFIG_SYNTAX'),
  'UTF-16 without a mark': row('workspace', Buffer.from('{}', 'utf16le'), [1, 2], '', 'CONFIG_SYNTAX'),
  'a byte that is no UTF-8': row('user', Buffer.from('{\n "\ufffd\xe9\xff": 1}', 'latin1'), [2, 3], '', 'CONFIG_SYNTAX'),
  'such a byte after a replacement character and a mark (B065)': row(
    'user',
    Buffer.concat([Buffer.from('\ufeff{"\ufffd'), Buffer.from([0xff]), Buffer.from('":1}')]),
    [1, 4],
    '',
    'CONFIG_SYNTAX',
  ),
  'a NUL byte': row('workspace', '{\n"a\0": 1}', [2, 3], '', 'CONFIG_SYNTAX'),
  'a second byte order mark': row('user', '\ufeff\ufeff{}', [1, 1], '', 'CONFIG_SYNTAX'),
  'a key that stands twice': row(
    'user',
    entry('{"command":"a",\n"command":"b"}'),
    [3, 1],
    `${x}.command`,
    'CONFIG_DUPLICATE_KEY',
  ),
  'a key that stands twice once it is unescaped': row(
    'workspace',
    entry('{"command":"a",\n"comm\\u0061nd":"b"}'),
    [3, 1],
    `${x}.command`,
    'CONFIG_DUPLICATE_KEY',
  ),
  'ids that are one once they are folded (S031)': row(
    'user',
    '{"mcpServers":{"x":{"command":"a"},\n"X":{"command":"a"}}}',
    [2, 1],
    'mcpServers.X',
    'CONFIG_DUPLICATE_KEY',
  ),
  'a prototype key (S027)': row('user', entry('{"command":"a",\n"__proto__":{}}'), [3, 1], `${x}.__proto__`, 'CONFIG_INVALID'),
  'a prototype key that is escaped': row(
    'workspace',
    entry('{"command":"a",\n"\\u005f_proto__":{}}'),
    [3, 1],
    `${x}.__proto__`,
    'CONFIG_INVALID',
  ),
  'more levels than the cap (S027)': row('user', `{"a":\n${'['.repeat(10_000)}`, [2, 64], '', 'CONFIG_INVALID'),
  'more words than the cap': row('user', `[\n${'0,'.repeat(10_000)}]`, [2, 20_000], '', 'CONFIG_INVALID'),
  'a list at the top': row('workspace', '\n[]', [2, 1], '', 'CONFIG_INVALID'),
  'a value of the wrong type (B072)': row('user', entry('{"command":"a","args":"b"}'), [2, 29], `${x}.args`, 'CONFIG_INVALID'),
  'an id of another alphabet (S031)': row(
    'user',
    '{"mcpServers":{\n"\u0430":{"command":"a"}}}',
    [2, 1],
    'mcpServers.\\u0430',
    'CONFIG_INVALID',
  ),
  'an id that is a path (S031)': row(
    'workspace',
    '{"mcpServers":{\n"../x":{"command":"a"}}}',
    [2, 1],
    'mcpServers.../x',
    'CONFIG_INVALID',
  ),
  'an id with a blank (B076)': row(
    'user',
    '{"mcpServers":{\n"My server":{"command":"a"}}}',
    [2, 1],
    'mcpServers.My server',
    'CONFIG_INVALID',
  ),
  'both command and url': row('user', entry('{"command":"a","url":"https://h.example/"}'), [2, 2], x, 'CONFIG_INVALID'),
  'neither command nor url': row('workspace-override', entry('{"args":[]}'), [2, 2], x, 'CONFIG_INVALID'),
  'a ".." segment': row('workspace', entry('{"command":"../a"}'), [2, 18], `${x}.command`, 'CONFIG_INVALID'),
  'a name and a password in a url (S026)': row(
    'workspace',
    entry('{"url":"https://u:p@h.example/"}'),
    [2, 14],
    `${x}.url`,
    'CONFIG_INVALID',
  ),
  'another word for a policy': row('user', '{"toolPolicies":{\n"x.y":"no"}}', [2, 7], 'toolPolicies.x.y', 'CONFIG_INVALID'),
  'another word for a policy of a workspace': row(
    'workspace',
    '{"toolPolicies":{\n"x.y":"never"}}',
    [2, 7],
    'toolPolicies.x.y',
    'CONFIG_INVALID',
  ),
  'another word for a policy in a tool list': row(
    'workspace',
    entry('{"command":"a","tools":{"*":true}}'),
    [2, 35],
    `${x}.tools.*`,
    'CONFIG_INVALID',
  ),
  'more names than a process is given': row(
    'workspace',
    entry(`{"command":"a","env":{${Array.from({ length: 1_001 }, (_, at) => `"A${at}":""`).join()}}}`),
    [2, 28],
    `${x}.env`,
    'CONFIG_INVALID',
  ),
};
