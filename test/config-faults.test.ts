import { mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Workspace, WorkspaceStatus } from '../actors/api.js';
import { type Fault, type Layer, pipe, type Row, rejected, unreadable } from './support/config-fault-rows.js';
import { type RealWorkspace, realWorkspace, until, untilReady, untilServer } from './support/real-workspace.js';

interface Running extends AsyncDisposable {
  readonly here: RealWorkspace;
  readonly workspace: Workspace;
  fileOf(layer: Layer): string;
  /** Every file as it should be, and read. */
  mend(): Promise<WorkspaceStatus>;
}

/** A real server of the user's, ready, and three files without a fault. */
async function running(): Promise<Running> {
  const here = await realWorkspace();
  const user = { remote: { enabled: true }, mcpServers: { kept: here.fixture('echo-server.mjs') } };
  const files: Readonly<Record<Layer, string>> = {
    user: here.userFile,
    workspace: here.projectFile,
    'workspace-override': join(here.root, '.mcp-supervisor/mcp.json'),
  };
  const workspace = await here.open({ user, workspace: { trusted: true, enable: ['x'] } });
  await untilReady(workspace, 'kept');
  return {
    here,
    workspace,
    fileOf: (layer) => files[layer],
    async mend() {
      await rm(dirname(files['workspace-override']), { recursive: true, force: true });
      await mkdir(dirname(files['workspace-override']));
      await rm(files.workspace, { recursive: true, force: true });
      await put(here.userFile, JSON.stringify(user));
      return workspace.reload();
    },
    [Symbol.asyncDispose]: () => here[Symbol.asyncDispose](),
  };
}

/** In the place of what was there, at once: a file that is absent for a moment is another configuration. */
async function put(file: string, fault: Row['fault']): Promise<void> {
  const made = `${file}.new`;
  if (typeof fault === 'function') await fault(made);
  else await writeFile(made, fault);
  await rename(made, file);
}

describe('a reload is rejected whole, the place is told, and what runs stays as it is, for', () => {
  let run: Running;
  beforeAll(async () => {
    run = await running();
  });
  afterAll(() => run[Symbol.asyncDispose]());

  async function check({ layer, at, key, code }: Row, breakIt: () => Promise<void>): Promise<void> {
    const before = await run.mend();
    expect(before.workspace.config).toMatchObject({ state: 'valid', errors: [], warnings: [] });
    await breakIt();
    const after = await run.workspace.reload();
    const [line, column] = at ?? [null, null];
    expect(after.workspace.config).toMatchObject({ state: 'rejected' });
    // The grants lie in the same directory: they only warn, of what keeps them from being read too.
    expect(after.workspace.config.warnings.filter(({ file }) => basename(file) !== 'permissions.local.json')).toEqual([]);
    const { message, ...place } = after.workspace.config.errors[0] ?? { message: '' };
    expect(place).toEqual({ file: run.fileOf(layer), line, column, key, code });
    expect(message).not.toBe('');
    expect(after.servers).toEqual(before.servers);
    expect(after.servers).toMatchObject([{ id: 'kept', phase: 'ready', generation: 1 }]);
    expect(run.here.pids).toEqual([after.servers[0]?.pid]);
    const { config: _now, ...about } = after.workspace;
    const { config: _then, ...as } = before.workspace;
    expect(about).toEqual(as);
  }

  test.each(Object.entries(rejected))('%s', async (_what, one) => {
    await check(one, () => put(run.fileOf(one.layer), one.fault));
  });

  test.each<readonly [string, Fault]>([
    ['a link to nowhere', (dir) => symlink('gone', dir)],
    ['a file', (dir) => writeFile(dir, '')],
    ['a pipe', pipe],
  ])('a directory that is %s', async (_what, make) => {
    const dir = dirname(run.fileOf('workspace-override'));
    await check(unreadable('workspace-override', ''), async () => {
      await rm(dir, { recursive: true });
      await make(dir);
    });
  });
});

/** The second row: one server is refused, and the rest goes on. */
const refused: Readonly<Record<string, readonly [layer: Layer, server: object, code: string]>> = {
  'a client secret (S026)': ['workspace', { url: 'https://h.example/', oauth: { clientSecret: 's' } }, 'CONFIG_PROJECT_SECRET'],
  'an Authorization header (S026)': [
    'workspace',
    { url: 'https://h.example/', headers: { Authorization: '${TOKEN}' } },
    'CONFIG_PROJECT_SECRET',
  ],
  'a credential in a query (S026)': ['workspace-override', { url: 'https://h.example/?api_key=s' }, 'CONFIG_PROJECT_SECRET'],
  'a variable that is not set': ['user', { command: 'a', args: ['${MCP_TEST_UNSET}'] }, 'UNSET_VARIABLE'],
  'a variable the user did not list': ['workspace', { command: 'a', env: { A: '${HOME}' } }, 'UNSET_VARIABLE'],
  'a variable in a url (S026)': ['workspace', { url: 'https://h.example/${HOME}' }, 'REFUSED_URL'],
  'a variable in args (S026)': ['workspace', { command: 'a', args: ['${HOME}'] }, 'CONFIG_PROJECT_SECRET'],
  'an environment name that changes what runs': ['workspace', { command: 'a', env: { LD_PRELOAD: 'a' } }, 'REFUSED_ENV'],
  'a working directory outside': ['workspace-override', { command: process.execPath, cwd: '/' }, 'REFUSED_CWD'],
  'a working directory that is not there': ['user', { command: process.execPath, cwd: '/nowhere/at/all' }, 'REFUSED_CWD'],
  'a command that is not there': ['user', { command: 'no-such-command-anywhere' }, 'REFUSED_COMMAND'],
  'plain http to another machine': ['user', { url: 'http://h.example/' }, 'REFUSED_URL'],
  'a url that is longer than any': ['workspace', { url: `https://h.example/${'a'.repeat(9_000)}` }, 'REFUSED_URL'],
};

describe('one server is refused, with a code and what would help, and the rest goes on, for', () => {
  let run: Running;
  beforeAll(async () => {
    run = await running();
  });
  afterAll(() => run[Symbol.asyncDispose]());

  test.each(Object.entries(refused))('%s', async (_what, [layer, server, code]) => {
    const before = await run.mend();
    const kept = layer === 'user' ? { kept: run.here.fixture('echo-server.mjs') } : {};
    const mcpServers = { ...kept, x: { ...server, lifecycle: 'eager' } };
    await put(run.fileOf(layer), JSON.stringify({ remote: { enabled: true }, mcpServers }));
    const { workspace } = await run.workspace.reload();
    expect(workspace.config).toMatchObject({ state: 'valid', errors: [] });
    const status = await untilServer(run.workspace, 'x', ({ blockedBy }) => blockedBy === 'refused');
    expect(status).toMatchObject({ phase: 'idle', generation: 0, pid: null, error: { code } });
    expect(status.error?.message).not.toBe('');
    expect(run.workspace.status().servers.filter(({ id }) => id === 'kept')).toEqual(before.servers);
    expect(run.here.pids).toEqual([before.servers[0]?.pid]);
  });

  test('a server past the limit', async () => {
    const before = await run.mend();
    const kept = run.here.fixture('echo-server.mjs');
    await put(
      run.here.userFile,
      JSON.stringify({ remote: { enabled: true }, limits: { servers: 1 }, mcpServers: { kept, x: kept } }),
    );
    await run.workspace.reload();
    const status = await untilServer(run.workspace, 'x', ({ blockedBy }) => blockedBy === 'refused');
    expect(status.error).toMatchObject({ code: 'CONFIG_LIMIT', hint: expect.stringContaining('"servers": 2') as string });
    expect(run.workspace.status().servers.filter(({ id }) => id === 'kept')).toEqual(before.servers);
  });
});

describe('the other rows:', () => {
  test('a key that nothing reads, and one that would switch a server, warn with their places and change nothing', async () => {
    await using run = await running();
    const before = run.workspace.status().servers;
    const kept = { ...run.here.fixture('echo-server.mjs'), disabled: true, extra: 1 };
    const text = JSON.stringify({ mcpServers: { kept } }, null, 1);
    await run.here.writeUser(text);
    const { workspace, servers } = await run.workspace.reload();
    const lineOf = (name: string): number => text.split('\n').findIndex((line) => line.includes(`"${name}"`)) + 1;
    expect(workspace.config).toMatchObject({
      state: 'valid',
      errors: [],
      warnings: ['disabled', 'extra'].map((name) => ({
        file: run.here.userFile,
        line: lineOf(name),
        column: 4,
        key: `mcpServers.kept.${name}`,
        code: 'CONFIG_UNKNOWN_FIELD',
      })),
    });
    expect(servers).toEqual(before);
  });

  test('a layer of an untrusted workspace warns of its faults and contributes nothing', async () => {
    await using here = await realWorkspace();
    await writeFile(here.projectFile, '{ "toolPolicies": { "kept.echo": "never" } }');
    const workspace = await here.open({ user: { mcpServers: { kept: here.fixture('echo-server.mjs') } } });
    await untilReady(workspace, 'kept');
    expect(workspace.status().workspace.config).toMatchObject({
      state: 'valid',
      errors: [],
      warnings: [{ file: here.projectFile, line: 1, column: 34, key: 'toolPolicies.kept.echo', code: 'CONFIG_INVALID' }],
    });
    await expect(workspace.call('mcp__kept__echo', { text: 'free' })).resolves.toBeDefined();
  });

  test('a bad layer at the first load contributes nothing, and the valid ones are taken', async () => {
    await using here = await realWorkspace();
    await here.writeProject('{ "mcpServers": ');
    const workspace = await here.open({
      user: { mcpServers: { kept: here.fixture('echo-server.mjs') } },
      workspace: { trusted: true },
    });
    await untilReady(workspace, 'kept');
    expect((await until(workspace, () => true)).workspace.config).toMatchObject({
      state: 'degraded',
      revision: 1,
      errors: [{ file: here.projectFile, line: 1, column: 17, key: 'mcpServers', code: 'CONFIG_SYNTAX' }],
    });
  });
});
