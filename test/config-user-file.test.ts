import { expect, test } from 'vitest';
import { RESTART_OPTIONS } from '../adapters/config/settings.js';
import { defaultRestartPolicy } from '../machines/restart-policy.js';
import { configFolder, serverOf } from './support/config-files.js';

test('one entry, with every field and with none', async () => {
  await using folder = await configFolder();
  const full = {
    type: 'stdio',
    command: 'a',
    args: ['b'],
    env: { C: 'd' },
    cwd: '/tmp',
    lifecycle: 'keep-alive',
    idleTimeout: 1,
    timeout: 2,
    initTimeout: 3,
    tools: { 'read_*': 'allow', rm: 'deny' },
    approveTools: ['x*'],
    description: 'e',
    maxTools: 4,
  };
  const { user } = await folder.read({ user: { mcpServers: { full, bare: { command: 'a' } } } });
  expect(user).toMatchObject({ state: 'valid', errors: [], warnings: [] });
  expect(serverOf(user, 'full')).toMatchObject({
    id: 'full',
    layer: 'user',
    transport: 'stdio',
    command: 'a',
    args: ['b'],
    env: { C: 'd' },
    cwd: '/tmp',
    lifecycle: 'keep-alive',
    idleTimeoutMs: 1,
    timeoutMs: 2,
    initTimeoutMs: 3,
    approveTools: ['x*'],
    description: 'e',
    maxTools: 4,
    refusal: null,
    line: 3,
    policies: [
      { server: 'full', tool: 'read_*', verdict: 'allow', layer: 'user' },
      { server: 'full', tool: 'rm', verdict: 'deny', layer: 'user' },
    ],
  });
  expect(serverOf(user, 'bare')).toMatchObject({
    args: [],
    env: {},
    headers: {},
    lifecycle: 'lazy',
    idleTimeoutMs: 600_000,
    timeoutMs: 30_000,
    initTimeoutMs: 60_000,
    maxTools: null,
    isRemote: false,
    file: folder.userFile,
  });
});

test('the transport follows from the fields, and streamable-http is http', async () => {
  await using folder = await configFolder();
  const url = 'https://h.example/mcp';
  const { user } = await folder.read({
    user: { mcpServers: { a: { url }, b: { url, type: 'streamable-http' }, c: { url, type: 'sse' } } },
  });
  expect(user.servers.map(({ transport, isRemote }) => [transport, isRemote])).toEqual([
    ['http', true],
    ['http', true],
    ['sse', true],
  ]);
});

test('entries may stand at the top of the file, without mcpServers', async () => {
  await using folder = await configFolder();
  const { user } = await folder.read({ user: { x: { command: 'a' }, remote: { enabled: true } } });
  expect(serverOf(user).command).toBe('a');
  expect(user.settings?.remoteEnabled).toBe(true);
});

test('settings, and what holds without them', async () => {
  await using folder = await configFolder();
  const { user } = await folder.read({
    user: {
      remote: { enabled: true, plaintextHosts: ['H.example', '[::2]'] },
      workspaceVariables: ['A'],
      limits: { servers: 40, tools: 128, live: 20, pages: 10, items: 100 },
      restart: { windowMs: 1_000 },
      toolPolicies: { files: 'ask', 'files.a.b': 'deny' },
    },
  });
  expect(user.settings).toEqual({
    remoteEnabled: true,
    plaintextHosts: ['h.example', '[::2]'],
    workspaceVariables: ['A'],
    limits: { servers: 40, tools: 128, live: 20, pages: 10, items: 100 },
    restart: { windowMs: 1_000 },
    toolPolicies: [
      { server: 'files', tool: null, verdict: 'ask', layer: 'user', place: { file: user.file, line: 23 } },
      { server: 'files', tool: 'a.b', verdict: 'deny', layer: 'user', place: { file: user.file, line: 24 } },
    ],
  });
  const bare = await folder.read({ user: '{}' });
  expect(bare.user.settings).toMatchObject({
    remoteEnabled: false,
    plaintextHosts: [],
    workspaceVariables: [],
    limits: {},
    restart: {},
  });
});

test('the restart options are those of the restart policy', () => {
  expect([...RESTART_OPTIONS].sort()).toEqual(Object.keys(defaultRestartPolicy).sort());
});

test('unknown keys only warn, and "disabled" names the switch', async () => {
  await using folder = await configFolder();
  const { user } = await folder.read({
    user: { extra: 1, limits: { wishes: 3 }, mcpServers: { x: { command: 'a', disabled: true, autoApprove: [] } } },
  });
  expect(user.state).toBe('valid');
  expect(user.warnings.map(({ key, code }) => [key, code])).toEqual([
    ['limits.wishes', 'CONFIG_UNKNOWN_FIELD'],
    ['extra', 'CONFIG_UNKNOWN_FIELD'],
    ['mcpServers.x.disabled', 'CONFIG_UNKNOWN_FIELD'],
    ['mcpServers.x.autoApprove', 'CONFIG_UNKNOWN_FIELD'],
  ]);
  expect(user.warnings.find(({ key }) => key.endsWith('disabled'))?.message).toContain('`mcp-supervisor disable x`');
});

test('the hash follows what would run and nothing else', async () => {
  await using folder = await configFolder();
  const hash = async (server: object): Promise<string> =>
    serverOf((await folder.read({ user: { mcpServers: { x: server } } })).user).configHash;
  const base = { command: 'a', args: ['b'], env: { A: '1', B: '2' } };
  const same = await hash(base);
  expect(await hash({ env: { B: '2', A: '1' }, args: ['b'], command: 'a', timeout: 5, description: 'x' })).toBe(same);
  for (const change of [{ command: 'c' }, { args: ['b', ''] }, { env: { A: '1' } }, { cwd: '/tmp' }]) {
    expect(await hash({ ...base, ...change })).not.toBe(same);
  }
});
