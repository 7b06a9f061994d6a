import { describe, expect, test } from 'vitest';
import type { WorkspaceOptions } from '../actors/api.js';
import { type ConfigFolder, configFolder } from './support/config-files.js';
import { Simulation } from './support/simulated-ports.js';

type Plugins = WorkspaceOptions['plugins'];

/** A workspace on real files and simulated servers. */
async function start(folder: ConfigFolder, plugins: Plugins, options: WorkspaceOptions = {}) {
  const sim = new Simulation();
  const supervisor = sim.supervisor({}, { config: folder.config });
  const workspace = await supervisor.openWorkspace(folder.root, { ...options, ...(plugins === undefined ? {} : { plugins }) });
  await workspace.loaded;
  await sim.settle();
  return { sim, supervisor, workspace };
}

const command = (name: string, more: object = {}) => ({ command: name, ...more });
/** Links are named by what they run. */
const running = (sim: Simulation): readonly string[] => sim.openLinks.map((link) => link.server).toSorted();

describe('a server that the host gives in code', () => {
  test('starts switched on and unasked, in a workspace that nobody trusts', async () => {
    await using folder = await configFolder();
    const { sim, supervisor, workspace } = await start(folder, [{ name: 'git', servers: { log: command('git-log') } }]);
    const { servers } = await workspace.connectAll();
    expect(servers).toMatchObject([{ id: 'log', layer: 'plugin:git', enabled: true, phase: 'ready', blockedBy: null }]);
    expect([running(sim), workspace.questions()]).toEqual([['git-log'], []]);
    await workspace.server('log').disable();
    await sim.settle();
    expect(workspace.server('log').status()).toMatchObject({ enabled: false, blockedBy: 'disabled' });
    expect(await sim.db.switches()).toEqual(new Map([['mcp.disabled.plugin:git.log', false]]));
    await expect(workspace.server('log').remove()).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
    await supervisor.close();
    expect(sim.remains()).toEqual([]);
  });

  test('stands above the user’s of the same id, the later plugin on top, and below an approved one of the workspace', async () => {
    await using folder = await configFolder();
    await folder.read({
      user: { mcpServers: { x: command('users') } },
      project: { mcpServers: { x: command('projects') } },
    });
    const plugins = ['low', 'high'].map((name) => ({ name, servers: { x: command(name) } }));
    const { sim, supervisor, workspace } = await start(folder, plugins, { trusted: true, enable: ['x'] });
    await workspace.connectAll();
    await sim.settle();
    expect(running(sim)).toEqual(['high']);
    expect(workspace.server('x').status()).toMatchObject({
      layer: 'plugin:high',
      shadowed: [{ layer: 'user' }, { layer: 'plugin:low' }, { layer: 'workspace' }],
    });
    expect(workspace.answer(workspace.questions()[0]?.nonce ?? '', 'approve')).toBe(true);
    await sim.settle();
    await workspace.connectAll();
    expect([running(sim), workspace.server('x').status().layer]).toEqual([['projects'], 'workspace']);
    await supervisor.close();
  });

  test('is read as one of the user’s own: every variable, a secret, and what it allows, for itself alone', async () => {
    await using folder = await configFolder({ TOKEN: 'SENTINEL' });
    const git = {
      x: { url: 'https://h.example/${TOKEN}', headers: { Authorization: '${TOKEN}' }, approveTools: ['*'] },
      y: command('git', { tools: { '*': 'allow' } }),
      rel: command('git', { cwd: 'inside' }),
    };
    await folder.read({ user: { remote: { enabled: true }, mcpServers: { y: command('users') } } });
    const { sim, supervisor, workspace } = await start(folder, [{ name: 'git', servers: git }]);
    await workspace.connectAll();
    expect(sim.openLinks.map(({ launch }) => launch)).toMatchObject([
      { command: 'git' },
      { url: 'https://h.example/SENTINEL', headers: { Authorization: 'SENTINEL' } },
    ]);
    const policyOf = (id: string) => workspace.server(id).explain('echo').policy;
    expect([policyOf('x'), policyOf('y')]).toMatchObject([{ verdict: 'allow' }, { verdict: 'allow' }]);
    expect(workspace.server('rel').status()).toMatchObject({
      blockedBy: 'refused',
      error: { code: 'REFUSED_CWD', message: 'mcpServers.rel.cwd (plugin:git): is not an absolute path' },
    });
    // With the plugin's own server off, the user's serves the id; the plugin has not spoken for that one.
    await workspace.server('y').disable();
    await sim.settle();
    expect(workspace.server('y').status().layer).toBe('user');
    expect(policyOf('y')).toMatchObject({ verdict: 'ask' });
    await supervisor.close();
  });

  test('does not count towards the limit on servers, and takes no place of the others', async () => {
    await using folder = await configFolder();
    await folder.read({
      user: { limits: { servers: 2 }, mcpServers: { u: command('u') } },
      project: { mcpServers: { p: command('p'), q: command('q') } },
    });
    const servers = Object.fromEntries(['a', 'b', 'c'].map((id) => [id, command(id)]));
    const { supervisor, workspace } = await start(folder, [{ name: 'many', servers }], { trusted: true, enable: ['p', 'q'] });
    const refused = workspace.status().servers.filter(({ blockedBy }) => blockedBy === 'refused');
    expect(refused).toMatchObject([{ id: 'q', error: { code: 'CONFIG_LIMIT' } }]);
    await supervisor.close();
  });

  test('may not pass for another by its case, and is told of keys nothing reads, without a place in a file', async () => {
    await using folder = await configFolder();
    await folder.read({ user: { mcpServers: { files: command('users') } } });
    const servers = { Files: command('a'), z: command('z', { wish: 1 }) };
    const { supervisor, workspace } = await start(folder, [{ name: 'p', servers }]);
    expect(workspace.server('Files').status()).toMatchObject({
      blockedBy: 'refused',
      error: { code: 'CONFIG_DUPLICATE_KEY', message: expect.stringContaining('(plugin:p)') as string },
    });
    expect(workspace.status().workspace.config.warnings).toEqual([
      {
        file: 'plugin:p',
        line: null,
        column: null,
        key: 'mcpServers.z.wish',
        code: 'CONFIG_UNKNOWN_FIELD',
        message: expect.any(String) as string,
      },
    ]);
    await supervisor.close();
  });
});

describe('plugins that are not as they should be', () => {
  const cycle: Record<string, unknown> = {};
  cycle['self'] = cycle;
  const throwing = Object.defineProperty({}, 'x', {
    enumerable: true,
    get: () => {
      throw new Error('SENTINEL');
    },
  });
  const revoked = Proxy.revocable({}, {});
  revoked.revoke();
  const million = Object.fromEntries(Array.from({ length: 1_000_000 }, (_, at) => [`s${at}`, null]));
  const of = (servers: unknown): unknown => [{ name: 'p', servers }];

  test.each<readonly [string, unknown, RegExp]>([
    ['no list', { name: 'p' }, /"plugins" is no list/],
    ['null', [null], /plugins\[0\]/],
    ['a bad name', [{ name: 'a/b', servers: {} }], /plugins\[0\]\.name/],
    ['a long name', [{ name: 'a'.repeat(33), servers: {} }], /plugins\[0\]\.name/],
    ['a name twice', [1, 2].map(() => ({ name: 'p', servers: {} })), /two plugins are called "p"/],
    ['too many', Array.from({ length: 65 }, (_, at) => ({ name: `p${at}`, servers: {} })), /more than 64/],
    ['servers that are a list', of([]), /servers: expected an object/],
    ['a function', of({ x: { command: () => 'x' } }), /servers\.x\.command: JSON has no such value/],
    ['a number that is none', of({ x: { timeout: Number.NaN } }), /servers\.x\.timeout: JSON has no such value/],
    ['a Map', of(new Map()), /servers: is no plain object/],
    ['a cycle', of(cycle), /nested deeper/],
    ['a getter that throws', of(throwing), /servers\.x: cannot be read/],
    ['a proxy that is gone', of(revoked.proxy), /servers/],
    ['a million entries', of(million), /more than 20000 values/],
    ['a long text', of({ x: { command: 'x'.repeat(2_000_000) } }), /characters/],
    ['half a character', of({ x: { command: '\ud800' } }), /surrogate/],
    ['a prototype as a key', of(JSON.parse('{"x":{"command":"x","__proto__":{}}}')), /plugin:p: .*__proto__/],
    ['a bad id', of({ a__b: { command: 'x' } }), /plugin:p: mcpServers\.a__b/],
    ['neither command nor url', of({ x: {} }), /plugin:p: mcpServers\.x: has neither/],
    ['a wrong policy', of({ x: { command: 'x', tools: { '*': 'yes' } } }), /plugin:p: mcpServers\.x\.tools/],
  ])('%s: the workspace is not opened, and nothing is left of it', async (_what, plugins, message) => {
    await using folder = await configFolder();
    const sim = new Simulation();
    const supervisor = sim.supervisor({}, { config: folder.config });
    const opening = supervisor.openWorkspace(folder.root, { plugins: plugins as NonNullable<Plugins> });
    const error: unknown = await opening.catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      name: 'SupervisorError',
      code: 'CONFIG_INVALID',
      message: expect.stringMatching(message) as string,
    });
    expect(String(error)).not.toContain('SENTINEL');
    expect(sim.remains()).toEqual([]);
    await expect(supervisor.openWorkspace(folder.root)).resolves.toBeDefined();
    await supervisor.close();
  });
});

describe('a workspace that runs with plugins', () => {
  test('is the same for the same plugins, however they are written, and a conflict for others', async () => {
    await using folder = await configFolder();
    const { supervisor, workspace, sim } = await start(folder, [{ name: 'p', servers: { x: { command: 'x', args: ['1'] } } }]);
    const open = (plugins: Plugins) => supervisor.openWorkspace(folder.root, plugins === undefined ? {} : { plugins });
    const same = { name: 'p', servers: { x: { args: ['1'], command: 'x', env: undefined } } };
    expect((await open([same])).status()).toEqual(workspace.status());
    for (const other of [
      [],
      [{ name: 'q', servers: same.servers }],
      [{ name: 'p', servers: {} }],
      [same, { name: 'q', servers: {} }],
    ])
      await expect(open(other)).rejects.toMatchObject({ code: 'WORKSPACE_CONFLICT' });
    await supervisor.close();
    expect(sim.remains()).toEqual([]);
  });

  test('keeps what it was given, whatever the host does to its object later', async () => {
    await using folder = await configFolder();
    const given = { name: 'p', servers: { x: { command: 'x' } } as Record<string, object> };
    const { supervisor, workspace } = await start(folder, [given]);
    given.servers['y'] = { command: 'y' };
    const { servers } = await workspace.reload();
    expect(servers.map(({ id }) => id)).toEqual(['x']);
    await supervisor.close();
  });
});
