import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { ServerStatus, Workspace, WorkspaceStatus } from '../actors/api.js';
import { createSupervisor } from '../index.js';
import { type Endpoint, json, older, resultOf, type Seen, said, startEndpoint } from './support/http-link-servers.js';
import { textOf, until, untilServer } from './support/real-workspace.js';
import { temporaryDirectory } from './support/temporary-directory.js';
import { timedWorkspace } from './support/timed-workspace.js';

/** An endpoint with sessions and one tool, which says with how many words of which session it was called. */
const web = (): Promise<Endpoint> => {
  const tool = { name: 'echo', inputSchema: { type: 'object' } };
  return startEndpoint(
    older((seen: Seen, response) => {
      if (seen.rpc.method === 'tools/list') json(response, 200, resultOf(seen, { tools: [tool] }));
      else if (seen.rpc.method === 'tools/call')
        json(response, 200, resultOf(seen, said(String(seen.headers['mcp-session-id']))));
      else return false;
      return true;
    }, 's1'),
  );
};

const one = ({ servers }: WorkspaceStatus, id: string): ServerStatus => {
  const found = servers.find((server) => server.id === id);
  if (found === undefined) throw new Error(`no server "${id}"`);
  return found;
};
const isAt =
  (id: string, phase: ServerStatus['phase']) =>
  (status: WorkspaceStatus): boolean =>
    one(status, id).phase === phase && one(status, id).stage === null;

test('a server over HTTP idles out, its session is ended, and a call begins another one', async () => {
  const endpoint = await web();
  await using here = await timedWorkspace({ web: { url: endpoint.url, idleTimeout: 10_000 } });
  await here.until(isAt('web', 'ready'));
  expect(endpoint.sent('DELETE')).toEqual([]);
  await here.untilLater(1_000, isAt('web', 'idle'));
  expect(here.clock.now()).toBeGreaterThanOrEqual(10_000);
  expect(endpoint.sent('DELETE').map(({ headers }) => headers['mcp-session-id'])).toEqual(['s1']);
  expect(one(here.workspace.status(), 'web').lastClose).toMatchObject({ generation: 1, outcome: 'clean' });

  expect(textOf(await here.workspace.call('mcp__web__echo'))).toBe('s1');
  expect(one(here.workspace.status(), 'web')).toMatchObject({ phase: 'ready', generation: 2 });
  expect(endpoint.asked('initialize')).toHaveLength(2);
});

test('with no free slot a process makes room for an endpoint and an endpoint for a process, the one least recently used', async () => {
  const [first, second] = [await web(), await web()];
  const servers = { web: { url: first.url }, files: {}, other: { url: second.url }, last: {} };
  await using here = await timedWorkspace(servers, { limits: { live: 2 } }, { discover: false });
  const start = async (id: string): Promise<void> => {
    here.workspace.server(id).restart();
    await here.untilLater(500, isAt(id, 'ready'));
  };
  const ready = (): string[] => here.workspace.status().servers.flatMap(({ id, phase }) => (phase === 'ready' ? [id] : []));
  await start('files');
  await here.clock.run(100);
  await start('web');
  await here.clock.run(100);
  await start('other');
  expect([ready().sort(), here.pids]).toEqual([['other', 'web'], []]);
  expect(first.sent('DELETE')).toEqual([]);
  await start('last');
  expect([ready().sort(), here.pids.length]).toEqual([['last', 'other'], 1]);
  expect([first.sent('DELETE').length, second.sent('DELETE').length]).toEqual([1, 0]);
});

test('several handles and sessions share one session with an endpoint, which ends with the last handle', async () => {
  const endpoint = await web();
  await using here = await timedWorkspace({ web: { url: endpoint.url } });
  const second = await here.reopen();
  await here.until(isAt('web', 'ready'));
  const asked = [here.workspace, second].flatMap((workspace) =>
    ['a', 'b'].map(async (session) => textOf(await workspace.call('mcp__web__echo', {}, { session }))),
  );
  expect(await Promise.all(asked)).toEqual(['s1', 's1', 's1', 's1']);
  expect([endpoint.asked('initialize').length, endpoint.asked('tools/call').length]).toEqual([1, 4]);
  await here.workspace.close();
  expect(endpoint.sent('DELETE')).toEqual([]);
  expect(textOf(await second.call('mcp__web__echo'))).toBe('s1');
});

/** The 16 live connections of a process. */
const SLOTS = 16;

test('the live slots are the process’s: what one supervisor holds, endpoints included, another one waits for', async () => {
  const endpoint = await web();
  const home = await temporaryDirectory('mcp-sup-pool-');
  const open = async (
    name: string,
    ids: readonly string[],
    lifecycle: string,
  ): Promise<{ workspace: Workspace; close: () => Promise<void> }> => {
    const root = join(home, name);
    await mkdir(root);
    const userConfig = join(home, `${name}.json`);
    const entries = ids.map((id) => [id, { url: endpoint.url, lifecycle, approveTools: ['*'] }] as const);
    await writeFile(userConfig, JSON.stringify({ mcpServers: Object.fromEntries(entries) }));
    const supervisor = createSupervisor({
      discover: lifecycle === 'keep-alive',
      paths: { userConfig, stateDir: join(home, `${name}-state`) },
    });
    onTestFinished(() => supervisor.close());
    const workspace = await supervisor.openWorkspace(root);
    await workspace.loaded;
    return { workspace, close: () => supervisor.close() };
  };
  const ids = Array.from({ length: SLOTS }, (_, at): string => `kept${at}`);
  const holder = await open('holder', ids, 'keep-alive');
  await until(holder.workspace, (status) => ids.every((id) => isAt(id, 'ready')(status)));

  const guest = await open('guest', ['late'], 'lazy');
  const call = guest.workspace.call('mcp__late__echo');
  await untilServer(guest.workspace, 'late', ({ stage }) => stage === 'slot');
  expect(endpoint.asked('initialize')).toHaveLength(SLOTS);
  await holder.close();
  expect(textOf(await call)).toBe('s1');
  expect(endpoint.asked('initialize')).toHaveLength(SLOTS + 1);
});
