import { describe, expect, test } from 'vitest';
import { configFolder, serverOf } from './support/config-files.js';

const stdio = { command: 'a' };
const http = { url: 'https://h.example/mcp' };
const x = (server: object): object => ({ mcpServers: { x: server } });

describe('in a workspace file one server is refused, and the rest goes on, for', () => {
  test.each([
    ['an Authorization header (S026)', { ...http, headers: { Authorization: 'Bearer v' } }, 'CONFIG_PROJECT_SECRET'],
    ['a credential header as a variable', { ...http, headers: { 'X-Api-Key': '${LISTED}' } }, 'CONFIG_PROJECT_SECRET'],
    ['a cookie', { ...http, headers: { cookie: 'a=b' } }, 'CONFIG_PROJECT_SECRET'],
    ['a well-known credential in any header', { ...http, headers: { 'X-A': 'ghp_0123456789abcdef' } }, 'CONFIG_PROJECT_SECRET'],
    ['a credential on a server that sends no headers', { ...stdio, headers: { 'X-Token': 'v' } }, 'CONFIG_PROJECT_SECRET'],
    ['a client secret (S026)', { ...http, oauth: { clientSecret: 'v' } }, 'CONFIG_PROJECT_SECRET'],
    ['a credential in the query (S026)', { url: 'https://h.example/?api_key=v' }, 'CONFIG_PROJECT_SECRET'],
    ['a variable in the url (S026)', { url: 'https://h.example/${LISTED}' }, 'REFUSED_URL'],
    ['a variable in args (S026)', { ...stdio, args: ['--a=${LISTED}'] }, 'CONFIG_PROJECT_SECRET'],
    ['a variable in the command', { command: '${LISTED}' }, 'REFUSED_COMMAND'],
    ['a variable the user did not list', { ...stdio, env: { A: '${UNLISTED}' } }, 'UNSET_VARIABLE'],
    ['one that has a default', { ...stdio, env: { A: '${UNLISTED:-d}' } }, 'UNSET_VARIABLE'],
    ['a listed variable that is not set', { ...stdio, env: { A: '${UNSET}' } }, 'UNSET_VARIABLE'],
    ['plain http to another machine', { url: 'http://h.example/' }, 'REFUSED_URL'],
    ['a fragment (S049)', { url: 'https://h.example/#a' }, 'REFUSED_URL'],
    ['another scheme (S049)', { url: 'ftp://h.example/' }, 'REFUSED_URL'],
    ['NODE_OPTIONS in any case (S020)', { ...stdio, env: { Node_Options: 'v' } }, 'REFUSED_ENV'],
  ])('%s', async (_what, server, code) => {
    await using folder = await configFolder({ LISTED: 'canary', UNLISTED: 'canary' });
    const { project } = await folder.read({
      user: { workspaceVariables: ['LISTED', 'UNSET'] },
      project: { mcpServers: { x: server, good: stdio } },
    });
    expect(project.state).toBe('valid');
    expect(serverOf(project, 'good').refusal).toBeNull();
    const { refusal } = serverOf(project);
    expect(refusal).toMatchObject({ code, stage: 'config', retryable: false });
    expect(refusal?.message).toMatch(/^mcpServers\.x\.\S+ \(.*\.mcp\.json:\d+:\d+\): /);
    expect(refusal?.hint).toBeDefined();
    expect(JSON.stringify(refusal)).not.toContain('canary');
  });

  test('the hint names the line that would allow it', async () => {
    await using folder = await configFolder({});
    const { project } = await folder.read({
      project: { mcpServers: { a: { ...stdio, env: { A: '${B}' } }, b: { url: 'http://h.example/' } } },
    });
    expect(serverOf(project, 'a').refusal?.hint).toContain(`"workspaceVariables": ["B"] to ${folder.userFile}`);
    expect(serverOf(project, 'b').refusal?.hint).toContain('"plaintextHosts"');
  });
});

describe('a workspace file', () => {
  test('may use listed variables in env values and harmless headers, once', async () => {
    await using folder = await configFolder({ A: '${B}', B: 'no' });
    const { project } = await folder.read({
      user: { workspaceVariables: ['A'] },
      project: { mcpServers: { x: { ...stdio, env: { C: '1${A}2' } }, y: { ...http, headers: { 'X-Org': '${A}' } } } },
    });
    expect(serverOf(project).env).toEqual({ C: '1${B}2' });
    expect(serverOf(project, 'y')).toMatchObject({ headers: { 'X-Org': '${B}' }, refusal: null });
  });

  test('is read for command args env url headers type; anything else is ignored with a warning', async () => {
    await using folder = await configFolder();
    const { project } = await folder.read({
      project: {
        remote: { enabled: true },
        limits: 'x',
        ...x({ ...stdio, cwd: '/', lifecycle: 'eager', timeout: 'x', disabled: false, approveTools: ['*'] }),
      },
    });
    expect(serverOf(project)).toMatchObject({ lifecycle: 'lazy', timeoutMs: 30_000, approveTools: ['*'], policies: [] });
    expect(serverOf(project).cwd).toBeUndefined();
    expect(project.settings).toBeNull();
    expect(project.warnings.map(({ key }) => key)).toEqual([
      'remote',
      'limits',
      'mcpServers.x.cwd',
      'mcpServers.x.lifecycle',
      'mcpServers.x.timeout',
      'mcpServers.x.disabled',
    ]);
  });

  test('may tighten tool policies and never loosen them', async () => {
    await using folder = await configFolder();
    const { project } = await folder.read({
      project: { toolPolicies: { 'x.c': 'deny', 'x.d': 'allow' }, ...x({ ...stdio, tools: { a: 'ask', b: 'allow' } }) },
    });
    expect(serverOf(project).policies).toEqual([
      { server: 'x', tool: 'a', verdict: 'ask', layer: 'workspace', place: { file: project.file, line: 10 } },
      { server: 'x', tool: 'c', verdict: 'deny', layer: 'workspace', place: { file: project.file, line: 3 } },
    ]);
    expect(project.warnings.map(({ key }) => key)).toEqual(['toolPolicies', 'mcpServers.x.tools']);
  });

  test.each([
    ['toolPolicies', { toolPolicies: { x: 'never' } }],
    ['tools', x({ ...stdio, tools: { a: true } })],
  ])('is rejected for another word in %s', async (_what, project) => {
    await using folder = await configFolder();
    expect((await folder.read({ project })).project).toMatchObject({ state: 'rejected', servers: [] });
  });

  test('is read apart from the user file: one may be rejected and the other valid', async () => {
    await using folder = await configFolder();
    const { user, project } = await folder.read({ user: '{', project: x(stdio) });
    expect([user.state, project.state]).toEqual(['rejected', 'valid']);
  });

  test('is another server than the same words in another workspace', async () => {
    await using one = await configFolder();
    await using other = await configFolder();
    const hashes = [
      serverOf((await one.read({ project: x(stdio) })).project),
      serverOf((await other.read({ project: x(stdio) })).project),
    ];
    expect(hashes[0]?.configHash).not.toBe(hashes[1]?.configHash);
  });

  test('that uses the key of another program says so instead of being empty (B073)', async () => {
    await using folder = await configFolder();
    const { project } = await folder.read({ project: { servers: { a: stdio } } });
    expect(project.warnings[0]).toMatchObject({ key: 'servers', code: 'CONFIG_UNKNOWN_FIELD', line: 2 });
  });
});

test('the override file has all per-server fields; its maxTools only lowers', async () => {
  await using folder = await configFolder();
  const { override } = await folder.read({
    user: { limits: { tools: 50 } },
    override: { mcpServers: { a: { ...stdio, cwd: 'sub', lifecycle: 'eager', maxTools: 500 }, b: { ...stdio, maxTools: 5 } } },
  });
  expect(serverOf(override, 'a')).toMatchObject({ layer: 'workspace-override', cwd: 'sub', lifecycle: 'eager', maxTools: 50 });
  expect(serverOf(override, 'b').maxTools).toBe(5);
});

test('an id that differs in case only from one of a lower layer is refused; the same id takes its place (S031)', async () => {
  await using folder = await configFolder();
  const { user, project, override } = await folder.read({
    user: { mcpServers: { Files: stdio } },
    project: { mcpServers: { files: stdio, Notes: stdio } },
    override: { mcpServers: { Files: stdio, notes: stdio } },
  });
  expect(user.servers.map(({ refusal }) => refusal)).toEqual([null]);
  expect(project.servers.map(({ refusal }) => refusal?.code)).toEqual(['CONFIG_DUPLICATE_KEY', undefined]);
  expect(serverOf(project, 'files').refusal?.message).toContain('"Files"');
  expect(serverOf(override, 'notes').refusal?.code).toBe('CONFIG_DUPLICATE_KEY');
});

test('a password in a url rejects a workspace file, variables beside it or not (S026)', async () => {
  await using folder = await configFolder();
  const { project } = await folder.read({ project: x({ url: 'https://u:pw@h.example/${X}' }) });
  expect(project.state).toBe('rejected');
  expect(JSON.stringify(project)).not.toContain('pw');
});

test('a disabled key is told what does switch a server', async () => {
  await using folder = await configFolder();
  const { project } = await folder.read({ project: x({ ...stdio, disabled: false }) });
  expect(project.warnings[0]?.message).toContain('`mcp-supervisor enable x`');
});

describe('in the user file', () => {
  test('every kind of variable is expanded once; unset refuses that server only', async () => {
    await using folder = await configFolder({ A: '${B}', E: '' });
    const { user } = await folder.read({
      user: {
        mcpServers: {
          x: { command: '${A:-c}', args: ['${E:-d}', '${E}', '$A'] },
          y: { ...stdio, args: ['${NOPE}'] },
          z: { ...stdio, args: ['${1}'] },
        },
      },
    });
    expect(serverOf(user)).toMatchObject({ command: '${B}', args: ['d', '', '$A'], refusal: null });
    expect(serverOf(user, 'y').refusal).toMatchObject({
      code: 'UNSET_VARIABLE',
      message: expect.stringContaining('NOPE') as string,
    });
    expect(serverOf(user, 'z').refusal).toMatchObject({ code: 'CONFIG_INVALID' });
  });

  test('what a variable makes wrong refuses that server and not the file', async () => {
    await using folder = await configFolder({ UP: '../a', LINE: 'a\r\nb', URL: 'https://u:p@h.example/' });
    const { user } = await folder.read({
      user: { mcpServers: { a: { command: '${UP}' }, b: { ...http, headers: { X: '${LINE}' } }, c: { url: '${URL}' } } },
    });
    expect(user.state).toBe('valid');
    expect(user.servers.map(({ refusal }) => refusal?.code)).toEqual(['REFUSED_COMMAND', 'CONFIG_INVALID', 'REFUSED_URL']);
  });

  test('a relative cwd is refused, names of ours are refused, dangerous ones warn', async () => {
    await using folder = await configFolder();
    const { user } = await folder.read({
      user: {
        mcpServers: {
          a: { ...stdio, cwd: 'b' },
          b: { ...stdio, env: { mcp_sup_id: '1' } },
          c: { ...stdio, env: { PATH: '/bin' } },
        },
      },
    });
    expect(user.servers.map(({ refusal }) => refusal?.code)).toEqual(['REFUSED_CWD', 'REFUSED_ENV', undefined]);
    expect(user.warnings.map(({ key, code }) => [key, code])).toEqual([['mcpServers.c.env.PATH', 'REFUSED_ENV']]);
  });

  test('plain http goes to this machine and to listed hosts, the latter with a standing warning (S045)', async () => {
    await using folder = await configFolder();
    const urls = [
      'http://127.1/',
      'http://0x7f000001/',
      'http://[::ffff:7f00:1]/',
      'http://localhost./',
      'http://0/',
      'http://plain.example/',
      'http://h.example/',
    ];
    const servers = Object.fromEntries(urls.map((url, index) => [`s${index}`, { url }]));
    const { user } = await folder.read({ user: { remote: { plaintextHosts: ['plain.example'] }, mcpServers: servers } });
    expect(user.servers.map(({ isRemote, refusal }) => [isRemote, refusal?.code])).toEqual([
      ...Array.from({ length: 5 }, () => [false, undefined]),
      [true, undefined],
      [true, 'REFUSED_URL'],
    ]);
    expect(user.warnings.map(({ key }) => key)).toEqual(['mcpServers.s5.url']);
  });
});

test('servers over the limit are refused, counted by id over all layers, the user first', async () => {
  await using folder = await configFolder();
  const many = Object.fromEntries(Array.from({ length: 31 }, (_, index) => [`s${index}`, stdio]));
  const project = { mcpServers: { s0: stdio, s31: stdio, s32: stdio } };
  const codes = (servers: readonly { readonly refusal: { readonly code: string } | null }[]) =>
    servers.map(({ refusal }) => refusal?.code);
  const { user, project: read } = await folder.read({ user: { mcpServers: many }, project });
  expect(codes(user.servers)).toEqual(Array.from({ length: 31 }, () => undefined));
  expect(codes(read.servers)).toEqual([undefined, undefined, 'CONFIG_LIMIT']);

  const raised = await folder.read({ user: { limits: { servers: 33 }, mcpServers: many }, project });
  expect(codes(raised.project.servers)).toEqual([undefined, undefined, undefined]);
});
