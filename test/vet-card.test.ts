import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { ApprovalCard, ServerDefinition } from '../actors/ports.js';
import { createNodeDigest } from '../adapters/node-digest.js';
import { createVet } from '../adapters/vet/vet.js';
import { temporaryDirectory } from './support/temporary-directory.js';

const digest = createNodeDigest();

/** The card of a workspace server whose program is an empty script of the name given. */
async function cardFor(changes: Partial<ServerDefinition>, salt?: () => Promise<string>): Promise<ApprovalCard> {
  const home = await temporaryDirectory('card-');
  const root = join(home, 'workspace');
  await mkdir(root);
  const program = changes.command ?? 'tool';
  await writeFile(join(home, program), '');
  await chmod(join(home, program), 0o755);
  const definition: ServerDefinition = {
    id: 'x',
    layer: 'workspace',
    transport: 'stdio',
    configHash: 'h',
    args: [],
    env: {},
    headers: {},
    credentialHeaders: [],
    isRemote: false,
    lifecycle: 'lazy',
    idleTimeoutMs: 1,
    timeoutMs: 1,
    initTimeoutMs: 1,
    maxTools: null,
    description: null,
    policies: [],
    approveTools: [],
    refusal: null,
    file: join(root, '.mcp.json'),
    line: 1,
    ...(changes.transport === undefined ? { command: program } : {}),
    ...changes,
  };
  const { card } = await createVet({
    env: { PATH: home },
    digest: salt === undefined ? digest : createNodeDigest(),
    marker: 'mark',
    ...(salt === undefined ? {} : { salt }),
  }).vet(definition, { root });
  if (card === null) throw new Error('a card was expected');
  return card;
}

test('shows everything in full, ordinary values in clear, sensitive ones as a digest (S007, S025)', async () => {
  const long = `${'x'.repeat(10_000)}; payload`;
  const card = await cardFor({
    args: [long, '\u202e\u001b[2J'],
    env: { MODE: 'fast', API_TOKEN: 'canary', PLAIN: 'Bearer canary', GIT_DIR: 'g' },
  });
  expect(card.args).toEqual([long, '\u202e\u001b[2J']);
  expect(card.env).toEqual([
    { name: 'MODE', value: 'fast', highlight: false },
    { name: 'API_TOKEN', digest: digest.keyed('canary'), highlight: false },
    { name: 'PLAIN', digest: digest.keyed('Bearer canary'), highlight: false },
    { name: 'GIT_DIR', value: 'g', highlight: true },
    { name: 'MCP_SUP_ID', value: 'mark', highlight: false },
  ]);
  expect(card.files?.[0]?.sha256).toMatch(/^[0-9a-f]{64}$/);
  expect(JSON.stringify(card)).not.toContain('canary');
});

test.each([
  ['npx', ['-y', 'package']],
  ['npx', ['--yes', 'package@latest']],
  ['uvx', ['package']],
  ['pnpm', ['dlx', 'package@^1.2.3']],
  ['npm', ['exec', '--', '@scope/package']],
  ['npx', ['-p', 'package', 'tool@1.2.3']],
  ['npx', ['-p', 'package@1.2.3', '--package=other', 'tool']],
  ['npx', ['--loglevel', 'package@1.2.3', 'other']],
  ['npx', ['https://h.example/package@1.2.3']],
  ['npx', ['github:user/package@1.2.3']],
  ['npx', ['user/package@1.2.3']],
  ['npx', ['alias@npm:other@1.2.3']],
  ['npx', ['package@1.2.3.x']],
  ['npm', ['exec', 'package@1.2.3', '--package=other']],
  ['npm', ['--silly', 'word', 'exec', 'other']],
  ['npm', ['init', 'app']],
  ['npm', ['create', 'app@latest']],
  ['yarn', ['create', 'app']],
  ['npm', ['install']],
  ['uvx', ['--with', 'other', 'package==1.2.3']],
  ['uvx', ['--from', 'git+https://h.example/a@1.2.3', 'tool']],
  ['uv', ['tool', 'run', 'package']],
  ['uv', ['run', 'serve']],
  ['pipx', ['run', '--spec', 'package', 'tool']],
  ['env', ['A=1', 'npx', 'package']],
  ['env', ['-S', 'npx package']],
  ['node', ['/usr/lib/node_modules/npm/bin/npx-cli.js', 'package']],
  ['npx-cli.js', ['package']],
])('says that %s %j downloads code (S016)', async (command, args) => {
  expect((await cardFor({ command, args })).notes.join()).toContain('downloads code');
});

test.each([
  ['npx', ['-y', '@scope/package@1.2.3']],
  ['uvx', ['package==1.2.3']],
  ['npm', ['start']],
  ['tool', ['npx']],
  ['npx', ['-p', 'package@1.2.3', '-p', '@scope/other@1.2.3-rc.1', 'tool']],
  ['npx', ['package@1.2.3', '--registry', 'word']],
  ['npm', ['exec', '--package=package@1.2.3', '--', 'tool', '-x']],
  ['npm', ['run', 'exec']],
  ['npm', ['init', '-y']],
  ['uvx', ['--from', 'package[extra]==1.2.3', '--with', 'other==1.2.3', 'tool']],
  ['uv', ['tool', 'run', 'package@1.2.3']],
  ['env', ['npx', 'package@1.2.3']],
])('does not say so of %s %j', async (command, args) => {
  expect((await cardFor({ command, args })).notes.join()).not.toContain('downloads code');
});

test.each([
  ['sh', ['-c', 'evil']],
  ['bash', ['-euxc', 'evil']],
  ['bash', ['-ce', 'evil']],
  ['fish', ['--command=evil']],
  ['pwsh', ['-enc', 'evil']],
  ['cmd', ['/d/s/c', 'evil']],
  ['env', ['-i', 'sh', '-xc', 'evil']],
  ['npx', ['-c', 'evil']],
])('says that %s %j runs a shell command line', async (command, args) => {
  expect((await cardFor({ command, args })).notes.join()).toContain('shell command line');
});

test('says whose rights are asked for, whatever sudo starts', async () => {
  expect((await cardFor({ command: 'sudo', args: ['node', 'a.js'] })).notes.join()).toContain('rights of another user');
});

test.each([
  ['node', ['-r./hook.js', 'a.js']],
  ['node', ['-pe', '1']],
  ['python3', ['-mpkg']],
])('says that %s %j brings code of its own', async (command, args) => {
  expect((await cardFor({ command, args })).notes.join()).toContain('code or modules');
});

test.each([
  ['?a=1&a=2&b=%2f+x&&c', '?a=1&a=2&b=%2f+x&&c'],
  ['?token=canary&a=1&token=other', '?token=DIGEST(canary)&a=1&token=DIGEST(other)'],
  ['?a=1&%74oken=canary', '?a=1&%74oken=DIGEST(canary)'],
  ['?ghp_0123456789abcdef', '?DIGEST(ghp_0123456789abcdef)'],
  ['?', '?'],
])('shows every part of the query %s as it is sent, secrets by their digest (S007)', async (query, shown) => {
  const { url } = await cardFor({ transport: 'http', url: `https://h.example/mcp${query}` });
  const expected = shown.replace(/DIGEST\((.*?)\)/g, (_match, value: string) => digest.keyed(value));
  expect(url).toBe(`https://h.example/mcp${expected}`);
});

test('of a remote server shows the url, header names and digests, and where arguments go', async () => {
  const card = await cardFor({
    transport: 'http',
    url: 'https://H.example:443/mcp?q=1',
    headers: { 'X-Org': 'canary' },
    isRemote: true,
  });
  expect(card).toMatchObject({
    transport: 'http',
    url: 'https://h.example/mcp?q=1',
    headers: [{ name: 'X-Org', digest: digest.keyed('canary') }],
  });
  expect(card.notes.join()).toContain('another machine');
  expect(JSON.stringify(card)).not.toContain('canary');
});

test('of a remote server has a fingerprint of canonical url, header names and values', async () => {
  const base = { transport: 'http', url: 'https://h.example/mcp', headers: { 'X-Org': 'a' } } as const;
  const { fingerprint } = await cardFor(base);
  expect((await cardFor({ ...base, url: 'https://H.example:443/mcp' })).fingerprint).toBe(fingerprint);
  for (const change of [
    { url: 'https://h.example/mcp/' },
    { headers: { 'X-Org': 'b' } },
    { headers: { 'X-Orb': 'a' } },
    { transport: 'sse' },
  ] as const) {
    expect((await cardFor({ ...base, ...change })).fingerprint).not.toBe(fingerprint);
  }
});

test('of a remote server has the same fingerprint in the next run on this machine, and another on the next machine', async () => {
  const remote = { transport: 'http', url: 'https://h.example/mcp', headers: { 'X-Org': 'a' } } as const;
  const on = async (salt: string) => (await cardFor(remote, () => Promise.resolve(salt))).fingerprint;
  const { fingerprint } = await cardFor(remote);
  expect(await on('one')).toBe(await on('one'));
  expect(new Set([await on('one'), await on('two'), fingerprint]).size).toBe(3);
  // Without the machine's own key there is still one, of this process alone.
  const broken = () => cardFor(remote, () => Promise.reject(new Error('disk')));
  expect((await broken()).fingerprint).not.toBe((await broken()).fingerprint);
});
