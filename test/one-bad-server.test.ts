import { describe, expect, test, vi } from 'vitest';
import type { Workspace } from '../actors/api.js';
import { type Entry, realWorkspace, recordPhases, textOf, untilReady, untilServer } from './support/real-workspace.js';

const toolsOf = (workspace: Workspace, id: string): readonly string[] =>
  workspace
    .tools()
    .filter(({ server }) => server === id)
    .map(({ tool }) => tool)
    .sort();

describe('one of sixteen servers that hangs in its handshake', () => {
  test('keeps none of the others waiting', async () => {
    await using here = await realWorkspace();
    const good = Array.from({ length: 15 }, (_, at): [string, Entry] => [`good${at}`, here.fixture('echo-server.mjs')]);
    const workspace = await here.open({ user: { mcpServers: { ...Object.fromEntries(good), hung: here.hostile('hang-init') } } });
    const phases = recordPhases(workspace);
    const answers = await Promise.all(
      good.map(async ([id]) => {
        await untilReady(workspace, id);
        return textOf(await workspace.call(`mcp__${id}__echo`, { text: id }));
      }),
    );
    expect(answers).toEqual(good.map(([id]) => id));
    expect(workspace.server('hung').status()).toMatchObject({ phase: 'connecting', stage: 'initialize', generation: 1 });
    phases.stop();
    expect(phases.of('hung').at(-1)).toBe('connecting 1');
  });

  test('is given up when its time is over, and says so', async () => {
    await using here = await realWorkspace();
    const workspace = await here.open({ user: { mcpServers: { hung: { ...here.hostile('hang-init'), initTimeout: 300 } } } });
    const given = await untilServer(workspace, 'hung', ({ error, stage }) => error !== null && stage === null);
    expect(given).toMatchObject({ error: { code: 'INITIALIZE_TIMEOUT', stage: 'initialize', retryable: true }, pid: null });
  });
});

describe('a list', () => {
  test('B084: that never ends is read for exactly 100 pages, and what was read can be called', async () => {
    await using here = await realWorkspace();
    const workspace = await here.open({ user: { mcpServers: { it: here.hostile('endless-list') } } });
    expect(await untilReady(workspace, 'it')).toMatchObject({
      error: null,
      tools: { state: 'truncated', count: 100, reason: { code: 'LIST_TRUNCATED_PAGES' } },
      warnings: ['36 tools are past the limit and cannot be called'],
    });
    expect(textOf(await workspace.call('mcp__it__t0', { text: 'first' }))).toBe('first');
    expect(textOf(await workspace.call('mcp__it__t63', { text: 'last' }))).toBe('last');
    await expect(workspace.call('mcp__it__t64')).rejects.toMatchObject({ code: 'ITEM_OVER_LIMIT' });
    await expect(workspace.call('mcp__it__t100')).rejects.toMatchObject({ code: 'UNKNOWN_TOOL' });
  });

  test('B084: whose cursors go round in a circle ends there, and keeps what it had', async () => {
    await using here = await realWorkspace();
    const workspace = await here.open({ user: { mcpServers: { it: here.hostile('cursor-loop') } } });
    expect(await untilReady(workspace, 'it')).toMatchObject({
      error: null,
      tools: { state: 'truncated', count: 3, reason: { code: 'LIST_CURSOR_LOOP' } },
    });
    expect(toolsOf(workspace, 'it')).toEqual(['ta', 'tb', 'tfirst']);
    expect(textOf(await workspace.call('mcp__it__tb', { text: 'works' }))).toBe('works');
  });

  test('B085: whose next cursor is the empty text goes on with it', async () => {
    await using here = await realWorkspace();
    const workspace = await here.open({ user: { mcpServers: { it: here.hostile('empty-cursor') } } });
    expect(await untilReady(workspace, 'it')).toMatchObject({ tools: { state: 'complete', count: 2, reason: null } });
    expect(toolsOf(workspace, 'it')).toEqual(['one', 'two']);
  });

  test('whose second page is refused keeps the first, on a server that is ready', async () => {
    await using here = await realWorkspace();
    const workspace = await here.open({ user: { mcpServers: { it: here.hostile('page-2-fails') } } });
    expect(await untilReady(workspace, 'it')).toMatchObject({
      error: null,
      tools: { state: 'failed', count: 1, reason: { stage: 'call', message: expect.stringContaining('no page') as string } },
    });
    expect(textOf(await workspace.call('mcp__it__one', { text: 'kept' }))).toBe('kept');
  });

  test('whose second page kills the server keeps the first to be found, with the death named and counted', async () => {
    await using here = await realWorkspace();
    const workspace = await here.open({ user: { mcpServers: { it: here.hostile('page-2-dies') } } });
    const dead = await untilServer(workspace, 'it', ({ restarts, stage }) => restarts > 0 && stage === null);
    expect(dead).toMatchObject({
      error: { code: 'LINK_LOST', message: expect.stringContaining('exit code 6') as string },
      restarts: 1,
      generation: 1,
      tools: { state: 'failed', count: 1, reason: { code: 'LIST_FAILED', message: expect.stringContaining('page 2') as string } },
    });
    expect(workspace.tools()).toMatchObject([{ name: 'mcp__it__one', cached: true }]);
    const found = await workspace.gateway.run({ action: 'search', query: 'one' });
    expect(found.structuredContent).toMatchObject({ tools: [{ name: 'mcp__it__one' }], total: 1 });
  });

  test('B101: with one bad tool of fifty offers the other forty-nine, and names the bad one', async () => {
    await using here = await realWorkspace();
    const workspace = await here.open({ user: { mcpServers: { it: here.hostile('bad-tool') } } });
    expect(await untilReady(workspace, 'it')).toMatchObject({
      tools: { state: 'complete', count: 49, reason: null, skipped: [{ name: 'bad', code: 'ITEM_SCHEMA' }] },
    });
    expect(toolsOf(workspace, 'it')).toHaveLength(49);
    expect(textOf(await workspace.call('mcp__it__t49', { text: 'behind it' }))).toBe('behind it');
    await expect(workspace.call('mcp__it__bad')).rejects.toMatchObject({ code: 'UNKNOWN_TOOL' });
  });
});

describe('a server that talks where it should not', () => {
  test('B028: on stderr, megabytes of it, blocks nobody; the last of it can be read', async () => {
    await using here = await realWorkspace();
    const workspace = await here.open({ user: { mcpServers: { it: here.hostile('stderr-flood') } } });
    await untilReady(workspace, 'it');
    expect(textOf(await workspace.call('mcp__it__echo'))).toBe('still here');
    await vi.waitFor(() => expect(workspace.server('it').logs()).toContain('eeee'));
    expect(workspace.server('it').logs().length).toBeLessThan(1_048_576);
  });

  test.each([
    ['B022', 'a banner', 'banner'],
    ['B023', 'JSON that is no message', 'json-noise'],
  ])('%s: on stdout, with %s, is understood all the same', async (_id, _what, mode) => {
    await using here = await realWorkspace();
    const workspace = await here.open({ user: { mcpServers: { it: here.hostile(mode) } } });
    expect(await untilReady(workspace, 'it')).toMatchObject({ error: null, tools: { state: 'complete', count: 1 } });
    expect(textOf(await workspace.call('mcp__it__echo', { text: 'clear' }))).toBe('clear');
  });
});
