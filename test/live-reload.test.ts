import { rename, writeFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import type { Workspace, WorkspaceStatus } from '../actors/api.js';
import { caseFile } from './support/case-file.js';
import {
  type Entry,
  lives,
  type RealWorkspace,
  realWorkspace,
  recordPhases,
  textOf,
  until,
  untilAllReady,
  untilReady,
  untilServer,
} from './support/real-workspace.js';
import { failureOf } from './support/stdio-harness.js';

interface Running {
  readonly workspace: Workspace;
  readonly one: Entry;
  readonly two: Entry;
}

/** Two servers, ready. */
async function twoServers(here: RealWorkspace): Promise<Running> {
  const one = here.fixture('echo-server.mjs', '--name=one');
  const two = here.fixture('echo-server.mjs', '--name=two');
  const workspace = await here.open({ user: { mcpServers: { one, two } } });
  await untilAllReady(workspace, 'one', 'two');
  return { workspace, one, two };
}

const isRejected = ({ workspace }: WorkspaceStatus): boolean => workspace.config.state === 'rejected';
const isTaken =
  (revision: number) =>
  ({ workspace: { config } }: WorkspaceStatus): boolean =>
    config.state === 'valid' && config.revision === revision;

describe('a user file that is broken while its servers run', () => {
  test('B066: half written, is shown with its place, and changes nothing; nor does mending it', async () => {
    await using here = await realWorkspace();
    const { workspace, one, two } = await twoServers(here);
    const before = lives(workspace);
    const phases = recordPhases(workspace);
    const whole = JSON.stringify({ mcpServers: { one, two } }, null, 2);
    const half = whole.slice(0, whole.indexOf('"two"'));

    await here.writeUser(half);
    const broken = await until(workspace, isRejected);
    expect(broken.workspace.config).toMatchObject({
      revision: 1,
      errors: [
        {
          file: here.userFile,
          line: half.split('\n').length,
          column: expect.any(Number) as number,
          key: expect.any(String) as string,
          code: 'CONFIG_SYNTAX',
        },
      ],
    });
    expect(broken.servers.map(({ id, phase }) => `${id} ${phase}`)).toEqual(['one ready', 'two ready']);
    expect(lives(workspace)).toEqual(before);
    expect(textOf(await workspace.call('mcp__one__echo', { text: 'on' }))).toBe('on');

    await here.writeUser(whole);
    const mended = await until(workspace, isTaken(2));
    expect(mended.workspace.config).toMatchObject({ errors: [], warnings: [] });
    expect(lives(workspace)).toEqual(before);
    phases.stop();
    expect([phases.of('one'), phases.of('two')]).toEqual([['ready 1'], ['ready 1']]);
  });

  test('B072: with a value of the wrong type, names file, line, column and key, and keeps the whole of what ran', async () => {
    await using here = await realWorkspace();
    const { workspace, one, two } = await twoServers(here);
    const before = lives(workspace);
    // The other server is gone from the file; as the file is rejected whole, it stays.
    const text = JSON.stringify({ mcpServers: { one: { ...one, args: 'not a list' } } }, null, 2);
    const line = text.split('\n').findIndex((row) => row.includes('not a list')) + 1;
    await here.writeUser(text);
    const { workspace: about } = await until(workspace, isRejected);
    expect(about.config.errors).toMatchObject([
      { file: here.userFile, line, column: 15, key: 'mcpServers.one.args', code: 'CONFIG_INVALID' },
    ]);
    expect(lives(workspace)).toEqual(before);
    await here.writeUser({ mcpServers: { one, two } });
    await until(workspace, isTaken(2));
    expect(lives(workspace)).toEqual(before);
  });

  test('still tightens: a new deny of a valid user file counts although another layer is rejected', async () => {
    await using here = await realWorkspace();
    const one = here.fixture('echo-server.mjs');
    const workspace = await here.open({ user: { mcpServers: { one } }, workspace: { trusted: true } });
    await untilReady(workspace, 'one');
    await here.writeProject('{ "mcpServers": ');
    await until(workspace, isRejected);
    await here.writeUser({ mcpServers: { one }, toolPolicies: { 'one.echo': 'deny' } });
    await expect
      .poll(() => failureOf(workspace.call('mcp__one__echo', { text: 'x' })), { timeout: 10_000 })
      .toBe('BLOCKED_BY_POLICY');
    expect(textOf(await workspace.call('mcp__one__pid'))).toBe(String(workspace.server('one').status().pid));
    expect(workspace.server('one').status()).toMatchObject({ phase: 'ready', generation: 1 });
  });
});

describe('one server changed in the user file', () => {
  test('is the only one that starts anew', async () => {
    await using here = await realWorkspace();
    const { workspace, one, two } = await twoServers(here);
    const before = lives(workspace);
    const phases = recordPhases(workspace);
    await here.writeUser({ mcpServers: { one, two: { ...two, args: [...two.args, '--changed'] } } });
    const changed = await untilServer(workspace, 'two', ({ phase, generation }) => phase === 'ready' && generation === 2);
    expect(before['two']).not.toContain(`pid ${String(changed.pid)} `);
    expect(lives(workspace)['one']).toBe(before['one']);
    phases.stop();
    expect(phases.of('one')).toEqual(['ready 1']);
    expect(here.pids).toHaveLength(2);
  });

  test('in what needs no start, its description and its policies, keeps its process', async () => {
    await using here = await realWorkspace();
    const { workspace, one, two } = await twoServers(here);
    const before = lives(workspace);
    await here.writeUser({ mcpServers: { one: { ...one, description: 'the first', tools: { echo: 'deny' } }, two } });
    await until(workspace, isTaken(2));
    expect(lives(workspace)).toEqual(before);
    await expect(workspace.call('mcp__one__echo', { text: 'x' })).rejects.toMatchObject({ code: 'BLOCKED_BY_POLICY' });
    expect(textOf(await workspace.call('mcp__two__echo', { text: 'free' }))).toBe('free');
  });

  test('by a call in flight is no reason to wait: the call ends with the old process', async () => {
    await using here = await realWorkspace();
    const { workspace, one, two } = await twoServers(here);
    const call = failureOf(workspace.call('mcp__two__sleep', { ms: 600_000 }));
    await untilServer(workspace, 'two', ({ callsInFlight }) => callsInFlight === 1);
    await here.writeUser({ mcpServers: { one, two: { ...two, args: [...two.args, '--changed'] } } });
    expect(await call).toBe('LINK_LOST');
    await untilServer(workspace, 'two', ({ phase, generation }) => phase === 'ready' && generation === 2);
  });
});

/** One of the edits of a fixture, with commands that run. */
interface ReloadCase {
  readonly before: { readonly mcpServers: Readonly<Record<string, { readonly args: readonly string[] }>> };
  readonly edits: readonly [
    { readonly after: { readonly mcpServers: Readonly<Record<string, { readonly args: readonly string[] }>> } },
  ];
}

describe('three servers in the user file', () => {
  test('start anew one by one: the changed one alone, none for order or comments, and the removed one stops (B181)', async () => {
    await using here = await realWorkspace();
    const { before, edits } = caseFile('B181-one-of-three.reload.json') as ReloadCase;
    const runnable = ({ mcpServers }: ReloadCase['before']): Record<string, Entry> =>
      Object.fromEntries(
        Object.entries(mcpServers).map(([id, one]) => [id, { ...one, ...here.fixture('echo-server.mjs', ...one.args) }]),
      );
    const workspace = await here.open({ user: { mcpServers: runnable(before) } });
    await untilAllReady(workspace, 'a', 'b', 'c');
    const first = lives(workspace);

    const edited = runnable(edits[0].after);
    await here.writeUser({ mcpServers: edited });
    await untilServer(workspace, 'a', ({ phase, generation }) => phase === 'ready' && generation === 2);
    const second = lives(workspace);
    expect(second).toMatchObject({ b: first['b'], c: first['c'] });

    const reversed = Object.fromEntries(Object.entries(edited).reverse());
    await here.writeUser(`// another order\n${JSON.stringify({ mcpServers: reversed })}`);
    await until(workspace, isTaken(3));
    expect(lives(workspace)).toEqual(second);

    const { c: _removed, ...rest } = edited;
    await here.writeUser({ mcpServers: { ...rest, d: here.fixture('echo-server.mjs', 'd') } });
    await untilReady(workspace, 'd');
    await expect.poll(() => here.pids, { timeout: 10_000 }).toHaveLength(3);
    expect(lives(workspace)).toMatchObject({ a: second['a'], b: second['b'] });
    expect(Object.keys(lives(workspace))).toEqual(['a', 'b', 'd']);
  });
});

describe('servers that come and go with the file', () => {
  test('one taken out fails its call in flight with SERVER_REMOVED, and its process and tools are gone (B182)', async () => {
    await using here = await realWorkspace();
    const { workspace, one } = await twoServers(here);
    const before = lives(workspace);
    const call = failureOf(workspace.call('mcp__two__sleep', { ms: 600_000 }));
    await untilServer(workspace, 'two', ({ callsInFlight }) => callsInFlight === 1);
    await here.writeUser({ mcpServers: { one } });
    expect(await call).toBe('SERVER_REMOVED');
    await until(workspace, ({ servers }) => servers.length === 1);
    await expect.poll(() => here.pids, { timeout: 10_000 }).toHaveLength(1);
    expect(workspace.tools().map(({ server }) => server)).not.toContain('two');
    await expect(workspace.call('mcp__two__echo')).rejects.toMatchObject({ code: 'UNKNOWN_TOOL' });
    expect(() => workspace.server('two').status()).toThrow(expect.objectContaining({ code: 'UNKNOWN_SERVER' }) as Error);
    expect(lives(workspace)).toEqual({ one: before['one'] });
  });

  test('one put in is started, listed and can be called', async () => {
    await using here = await realWorkspace();
    const { workspace, one, two } = await twoServers(here);
    const before = lives(workspace);
    await here.writeUser({ mcpServers: { one, two, three: here.fixture('echo-server.mjs', '--name=three') } });
    expect(await untilReady(workspace, 'three')).toMatchObject({ generation: 1, tools: { state: 'complete', count: 3 } });
    expect(textOf(await workspace.call('mcp__three__echo', { text: 'new' }))).toBe('new');
    expect(lives(workspace)).toMatchObject(before);
  });

  test.each([
    ['replaced by a finished one', replaceWhole],
    ['emptied and then written in two pieces', writeInPieces],
    ['moved away, and written anew in its place', moveAway],
  ])('a file that is %s, as editors do, is taken as soon as it is whole', async (_how, save) => {
    await using here = await realWorkspace();
    const { workspace, one, two } = await twoServers(here);
    const before = lives(workspace);
    const three = here.fixture('echo-server.mjs', '--name=three');
    await save(here.userFile, JSON.stringify({ mcpServers: { one, two, three } }, null, 2));
    await untilReady(workspace, 'three');
    // And is still watched.
    await save(here.userFile, JSON.stringify({ mcpServers: { one, two } }, null, 2));
    await until(workspace, ({ servers }) => servers.length === 2);
    expect(lives(workspace)).toEqual(before);
  });
});

async function replaceWhole(file: string, text: string): Promise<void> {
  await writeFile(`${file}.new`, text);
  await rename(`${file}.new`, file);
}

async function writeInPieces(file: string, text: string): Promise<void> {
  await writeFile(file, '');
  await writeFile(file, text.slice(0, 40));
  await writeFile(file, text);
}

async function moveAway(file: string, text: string): Promise<void> {
  await rename(file, `${file}~`);
  await writeFile(file, text);
}
