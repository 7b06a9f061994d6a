import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openOffline } from '../actors/offline.js';
import type { ServerDefinition } from '../actors/ports.js';
import { createFileConfig } from '../adapters/config/file-config.js';
import { createNodeDigest } from '../adapters/node-digest.js';
import { createStateDb } from '../adapters/state/state-db.js';
import { systemClock } from '../adapters/system-clock.js';
import { toolItem } from './support/catalogue-kit.js';
import { startCommand } from './support/run-command.js';
import { layer, Simulation, server } from './support/simulated-ports.js';
import { temporaryDirectory } from './support/temporary-directory.js';

const repository = join(import.meta.dirname, '..');

describe('a look into what is kept', () => {
  /** Servers of every kind, each listed in a former run where its gates let it. */
  async function world() {
    const sim = new Simulation();
    const remote: Partial<ServerDefinition> = { transport: 'http', url: 'https://far.example/mcp', isRemote: true };
    sim.layers = [
      layer('user', [server('files'), server('off'), server('few', { maxTools: 1 }), server('far', remote), server('never')]),
      layer('workspace', [server('theirs', { layer: 'workspace' }), server('files', { layer: 'workspace' })]),
    ];
    for (const id of ['files', 'off', 'few', 'far'])
      await sim.db.saveMetadata(`user-${id}-1`, metadataOf([`read_${id}`, 'read', `a.b ${id}`]));
    for (const id of ['theirs', 'files']) {
      const key = sim.ports.digest.ofJson([`workspace-${id}-1`, '/repo']);
      await sim.db.saveMetadata(key, metadataOf(['read_theirs', 'steal'], `fingerprint of workspace-${id}-1`));
      await sim.db.saveApproved(`fingerprint of workspace-${id}-1`);
      await sim.db.setSwitch(`mcp.disabled.workspace.${id}#stdio#/repo`, true);
    }
    await sim.db.setSwitch('mcp.disabled.user.off', false);
    return sim;
  }

  const metadataOf = (names: readonly string[], fingerprint: string | null = null) => ({
    savedAtMs: Date.UTC(2026, 0, 1),
    ttlMs: null,
    fingerprint,
    lists: { tools: names.map((name) => toolItem(name, { description: `${name} of a server` })) },
  });

  test.each([[true], [false]])(
    'finds what a running workspace finds with all its servers down (trusted: %s)',
    async (trusted) => {
      const sim = await world();
      await sim.db.setTrusted('/repo', trusted);
      const { workspace, supervisor } = await sim.open();
      const offline = await openOffline('/repo', sim.ports);
      const names = workspace.tools().map(({ name }) => name);
      const requests = [
        ...['', 'read', 'read files', 'mcp__few__read', 'nothing like it'].map((query) => ({ action: 'search', query })),
        { action: 'search', query: 'read', limit: 2 },
        { action: 'search', query: 'read', server: 'few' },
        { action: 'search', query: 'read', server: 'nobody' },
        ...names.map((name) => ({ action: 'describe', name })),
        { action: 'describe', name: 'mcp__files__reed' },
      ];
      expect(names).toContain('mcp__files__read_files');
      expect(names.includes('mcp__theirs__steal')).toBe(trusted);
      for (const request of requests) expect(await offline.gateway.run(request)).toEqual(await workspace.gateway.run(request));
      expect(names.map((name) => offline.tool(name))).toEqual(workspace.tools());
      expect(sim.links).toEqual([]);
      await supervisor.close();
    },
  );

  test('says of each server what keeps it from being found', async () => {
    const sim = await world();
    const { status } = await openOffline('/repo', sim.ports);
    expect(status.servers.map(({ id, blockedBy, tools: { state, count } }) => [id, blockedBy, state, count])).toEqual([
      ['far', 'remoteOff', 'unknown', 0],
      ['few', null, 'complete', 3],
      ['files', null, 'complete', 3],
      ['never', null, 'unknown', 0],
      ['off', 'disabled', 'unknown', 0],
      ['theirs', 'untrusted', 'unknown', 0],
    ]);
  });

  test('takes what was said for this look only, and keeps nothing of it', async () => {
    const sim = await world();
    const { status, tool } = await openOffline('/repo', sim.ports, { trusted: true, enable: ['off'] });
    expect(status.servers.filter(({ blockedBy }) => blockedBy !== null).map(({ id }) => id)).toEqual(['far']);
    expect([tool('mcp__off__read')?.callable, tool('mcp__theirs__steal')?.callable]).toEqual([true, false]);
    expect(await sim.db.trusted('/repo')).toBeNull();
  });

  test('calls nothing', async () => {
    const { gateway } = await openOffline('/repo', (await world()).ports);
    const called = await gateway.run({ action: 'call', name: 'mcp__files__read' });
    expect(called).toMatchObject({ isError: true, structuredContent: { code: 'NOT_READY' } });
    const read = await gateway.run({ action: 'read', server: 'files', uri: 'x://y' });
    expect(read).toMatchObject({ isError: true, structuredContent: { code: 'NOT_READY' } });
  });
});

describe('the command', () => {
  const digest = createNodeDigest();

  /** A user's server whose program is not there any more, with what it was listed with. */
  async function place(names: readonly string[] | null) {
    const home = await temporaryDirectory('mcp-sup-offline-');
    const root = join(home, 'workspace');
    await mkdir(root);
    const user = join(home, 'user.json');
    const stateDir = join(home, 'state');
    await writeFile(user, JSON.stringify({ mcpServers: { files: { command: join(home, 'gone') } } }));
    if (names !== null) {
      const config = createFileConfig({ userConfigFile: user, hostDir: '.x', env: {}, clock: systemClock, digest });
      const readings = await config.read({ root });
      const hash = readings.flatMap(({ servers }) => servers)[0]?.configHash;
      const db = createStateDb({ dir: stateDir, clock: systemClock });
      const tools = names.map((name) => toolItem(name, { description: `does ${name}` }));
      await db.saveMetadata(String(hash), { savedAtMs: Date.now(), ttlMs: null, fingerprint: null, lists: { tools } });
      await db.close();
    }
    const options = ['--workspace', root, '--user-config', user, '--state-dir', stateDir];
    const run = async (argv: readonly string[], env: NodeJS.ProcessEnv = {}) => {
      const { ended } = await startCommand([...argv, ...options], { PATH: process.env['PATH'], HOME: home, ...env });
      return ended;
    };
    return { home, stateDir, run };
  }

  test('answers a search with every server stopped and its program gone', async () => {
    const { run } = await place(['read_file', 'write_file', 'read']);
    const found = await run(['search', 'read file', '--json']);
    expect(found).toMatchObject({ exit: 0, err: '' });
    expect(JSON.parse(found.out)).toEqual({
      tools: [
        { name: 'mcp__files__read_file', server: 'files', description: 'does read_file', marks: ['cached'] },
        { name: 'mcp__files__read', server: 'files', description: 'does read', marks: ['cached'] },
      ],
      total: 2,
      nextCursor: null,
      notSearched: [],
    });
    const people = await run(['search', 'write']);
    expect(people).toMatchObject({ exit: 0, out: '1 tool\nmcp__files__write_file [cached]: does write_file\n', err: '' });
  });

  test('describes a tool with its server stopped and its program gone', async () => {
    const { run } = await place(['read_file']);
    const described = await run(['describe', 'mcp__files__read_file', '--json']);
    expect(JSON.parse(described.out)).toMatchObject({ name: 'mcp__files__read_file', tool: 'read_file', cached: true });
    const people = await run(['describe', 'mcp__files__read_file']);
    expect(people.out).toMatch(/^mcp__files__read_file \(read_file on files, as last listed\)\ndoes read_file\n/);
    expect(await run(['describe', 'mcp__files__nope'])).toMatchObject({
      exit: 1,
      err: expect.stringMatching(/UNKNOWN_TOOL/) as string,
    });
  });

  test('says of a server that was never listed how it is listed, makes nothing, and is exit 4 when that is all there is', async () => {
    const { run, stateDir } = await place(null);
    const found = await run(['search', 'x']);
    expect(found).toMatchObject({
      exit: 4,
      err: expect.stringMatching(/files \(not listed yet\).*mcp-supervisor status --connect/) as string,
    });
    const data = await run(['search', 'x', '--json']);
    expect(JSON.parse(data.out)).toMatchObject({ tools: [], notSearched: [{ id: 'files', why: 'not listed yet' }] });
    const described = await run(['describe', 'mcp__files__x']);
    expect(described).toMatchObject({ exit: 4, err: expect.stringMatching(/NOT_READY.*\nmcp-supervisor test files/) as string });
    await expect(stat(stateDir)).rejects.toMatchObject({ code: 'ENOENT' });
  });

  test('of a search loads no engine, no statechart and no stream: only what reads files, digests and the state', async () => {
    const { run, home } = await place(['read_file']);
    const record = join(home, 'loaded.txt');
    const hook = `import { appendFileSync } from 'node:fs';
      export async function load(url, context, next) { appendFileSync(${JSON.stringify(record)}, url + '\\n'); return next(url, context); }`;
    const register = `import { register } from 'node:module'; register(${JSON.stringify(dataUrl(hook))});`;
    expect(await run(['search', 'read', '--json'], { NODE_OPTIONS: `--import=${dataUrl(register)}` })).toMatchObject({ exit: 0 });
    const loaded = (await readFile(record, 'utf8')).trim().split('\n');
    expect(loaded.filter((url) => url.includes('/dist/actors/offline.js'))).toHaveLength(1);
    const packages = loaded.flatMap((url) => /\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1] ?? []);
    expect(new Set(packages)).toEqual(new Set(['canonicalize', 'jsonc-parser', 'libsql']));
  });
});

const dataUrl = (text: string): string => `data:text/javascript,${encodeURIComponent(text)}`;

test('nothing that a search can reach imports an engine, a statechart, a stream or a queue, now or later', async () => {
  const seen = new Set<string>();
  const packages = new Set<string>();
  const walk = async (file: string, onlyStatic = false): Promise<void> => {
    if (seen.has(file)) return;
    seen.add(file);
    const text = await readFile(join(repository, file), 'utf8');
    const fixed = text.matchAll(/^(?:import|export)\s(?!type\b)[^;']*?from '([^']+)'|^import '([^']+)'/gm);
    const lazy = onlyStatic ? [] : text.matchAll(/(?<!typeof )import\('([^']+)'\)/g);
    for (const [, one, other] of [...fixed, ...lazy]) {
      const name = one ?? other ?? '';
      if (name.startsWith('.')) await walk(join(dirname(file), name).replace(/\.js$/, '.ts'), onlyStatic);
      else if (!name.startsWith('node:')) packages.add(/^(?:@[^/]+\/)?[^/]+/.exec(name)?.[0] ?? name);
    }
  };
  for (const file of ['search', 'describe']) await walk(`adapters/cli/commands/${file}.ts`);
  // What starts the command loads each command when it is its turn: of those only the two above count.
  await walk('adapters/cli/main.ts', true);
  expect([...seen]).toEqual(
    expect.arrayContaining(['adapters/cli/run.ts', 'actors/offline.ts', 'actors/catalogue.ts', 'machines/candidates.ts']),
  );
  expect([...seen].filter((file) => !file.includes('/'))).toEqual([]);
  expect([...packages].sort()).toEqual(['canonicalize', 'jsonc-parser', 'libsql']);
});
