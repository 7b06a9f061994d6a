import { describe, expect, test } from 'vitest';
import { checkedMetadata, freshForMs, TTL_MS_MAX, TTL_MS_MIN, ttlMsOf } from '../actors/metadata-check.js';
import type { DbPort, Metadata, ServerDefinition } from '../actors/ports.js';
import { createNodeDigest } from '../adapters/node-digest.js';
import { caseFile } from './support/case-file.js';
import { toolItem } from './support/catalogue-kit.js';
import { outcomeOf } from './support/outcome.js';
import { layer, Simulation, server } from './support/simulated-ports.js';
import { VirtualClock } from './support/virtual-clock.js';

const HASH = 'user-files-1';
const TOOL = 'mcp__files__old';
const DAY_MS = 24 * 3_600_000;
const digest = createNodeDigest();

/** What a former run kept: one tool called `old`. */
const kept = (over: Partial<Metadata> = {}): Metadata => ({
  savedAtMs: Date.UTC(2026, 0, 1) - DAY_MS,
  ttlMs: null,
  fingerprint: null,
  lists: { tools: [toolItem('old')], resources: [] },
  ...over,
});

/** A user's server, and what a former run kept of it. */
async function withKept(metadata: Metadata | null, definition: Partial<ServerDefinition> = {}) {
  const sim = new Simulation();
  sim.layers = [layer('user', [server('files', definition)])];
  if (metadata !== null) await sim.db.saveMetadata(HASH, metadata);
  return sim;
}

const search = async (workspace: Awaited<ReturnType<Simulation['open']>>['workspace'], query = '') => {
  const { structuredContent } = await workspace.gateway.run({ action: 'search', query });
  return (structuredContent?.['tools'] ?? []) as readonly { name: string; marks: readonly string[] }[];
};

describe('what is kept of a server', () => {
  test('is all its lists at once, with the shortest time any page called itself fresh', async () => {
    const sim = await withKept(null);
    const saved: Metadata[] = [];
    const db: DbPort = {
      ...sim.db,
      saveMetadata: (_key, metadata) => Promise.resolve(void saved.push(metadata)),
    };
    sim.behaviours.set('files', { page: { ttlMs: 90_000 }, handshake: { lists: ['tools', 'resources'] } });
    const { workspace, supervisor } = await sim.open({}, {}, { db });
    await workspace.connectAll();
    await sim.settle();
    expect(saved).toEqual([
      {
        savedAtMs: sim.clock.epoch(),
        ttlMs: 90_000,
        fingerprint: null,
        lists: {
          tools: [expect.objectContaining({ key: 'echo' })],
          resources: [],
          prompts: [],
          resourceTemplates: [],
        },
      },
    ]);
    await supervisor.close();
  });

  const both = { handshake: { lists: ['tools', 'resources'] } } as const;
  const noResources = { ...both, page: { resources: 'none' } };
  const resource = { key: 'r:1', definition: { uri: 'r:1', name: 'one' } };
  const keysIn = async (sim: Simulation) => {
    const { lists } = (await sim.db.metadata(HASH)) as Metadata;
    return [lists.tools?.map(({ key }) => key), lists.resources?.map(({ key }) => key)];
  };

  test('is not lost where one of its lists cannot be read any more', async () => {
    const sim = await withKept(null);
    sim.behaviours.set('files', { ...both, page: { resources: [resource.definition] } });
    const { workspace, supervisor } = await sim.open();
    await workspace.connectAll();
    await sim.settle();
    expect(await keysIn(sim)).toEqual([['echo'], ['r:1']]);
    sim.behaviours.set('files', { ...noResources, tools: ['other'] });
    workspace.server('files').restart();
    await sim.run(10);
    expect(workspace.server('files').status()).toMatchObject({ generation: 2, resources: { state: 'failed' } });
    expect(await keysIn(sim)).toEqual([['other'], ['r:1']]);
    await supervisor.close();
  });

  test('can be searched as soon as the workspace says that it is loaded', async () => {
    const sim = await withKept(kept({ lists: { tools: [toolItem('old')] } }));
    let tell = (): void => undefined;
    const told = new Promise<void>((resolve) => void (tell = resolve));
    const db: DbPort = { ...sim.db, metadata: (key) => told.then(() => sim.db.metadata(key)) };
    const supervisor = sim.supervisor({}, { db });
    const workspace = await supervisor.openWorkspace('/repo');
    const loaded = outcomeOf(workspace.loaded);
    await sim.settle();
    expect(loaded.state).toBe('open');
    tell();
    await sim.settle();
    expect([loaded.state, ...workspace.tools().map(({ tool }) => tool)]).toEqual(['ok', 'old']);
    await supervisor.close();
  });

  test('is not lost where the first walk of a run fails, however late the db tells of it', async () => {
    const sim = await withKept(kept({ lists: { tools: [toolItem('old')], resources: [resource] } }));
    let tell = (): void => undefined;
    const told = new Promise<void>((resolve) => void (tell = resolve));
    const db: DbPort = { ...sim.db, metadata: (key) => told.then(() => sim.db.metadata(key)) };
    sim.behaviours.set('files', noResources);
    const supervisor = sim.supervisor({}, { db });
    const workspace = await supervisor.openWorkspace('/repo');
    const loaded = outcomeOf(workspace.loaded);
    await sim.run(2_000);
    expect(loaded.state).toBe('ok');
    await workspace.connectAll();
    expect(workspace.server('files').status()).toMatchObject({ resources: { state: 'failed' } });
    tell();
    await sim.settle();
    expect(await keysIn(sim)).toEqual([['echo'], ['r:1']]);
    const { structuredContent } = await workspace.gateway.run({ action: 'resources' });
    expect(structuredContent).toMatchObject({ resources: [{ uri: 'r:1', cached: true }] });
    await supervisor.close();
  });

  test('is on its way to the db before the supervisor has closed', async () => {
    const sim = await withKept(null);
    let finish = (): void => undefined;
    const db: DbPort = { ...sim.db, saveMetadata: () => new Promise((resolve) => void (finish = resolve)) };
    const { workspace, supervisor } = await sim.open({}, {}, { db });
    await workspace.connectAll();
    await sim.settle();
    const closing = outcomeOf(supervisor.close());
    await sim.settle();
    expect(closing.state).toBe('open');
    finish();
    await sim.settle();
    expect([closing.state, sim.remains()]).toEqual(['ok', []]);
  });

  test('is given up where the db takes for ever', async () => {
    const sim = await withKept(null);
    const db: DbPort = { ...sim.db, saveMetadata: () => new Promise(() => undefined) };
    const { workspace, supervisor } = await sim.open({}, {}, { db });
    await workspace.connectAll();
    await sim.settle();
    const closing = outcomeOf(supervisor.close());
    await sim.run(5_000);
    expect([closing.state, sim.remains()]).toEqual(['ok', []]);
  });

  test('costs nothing but a word in the log where the db cannot be used', async () => {
    const sim = await withKept(null);
    const broken = () => Promise.reject(new Error('the disk is full'));
    const { workspace, supervisor } = await sim.open({}, {}, { db: { ...sim.db, metadata: broken, saveMetadata: broken } });
    await workspace.connectAll();
    await sim.settle();
    expect(workspace.tools()).toMatchObject([{ name: 'mcp__files__echo', cached: false }]);
    expect(sim.log.filter(({ event }) => event === 'metadata.failed')).toHaveLength(2);
    await supervisor.close();
  });
});

describe('a read of what is kept', () => {
  test('finds it with its server down, marks it, and starts nothing while it is fresh', async () => {
    const sim = await withKept(kept());
    const { workspace, supervisor } = await sim.open({ discover: true });
    expect(await search(workspace, 'old')).toMatchObject([{ name: TOOL, marks: ['cached'] }]);
    await sim.run(5 * DAY_MS);
    expect(sim.links).toEqual([]);
    await supervisor.close();
    expect(sim.remains()).toEqual([]);
  });

  test.each([
    ['is past its time', { savedAtMs: Date.UTC(2026, 0, 1) - TTL_MS_MAX }],
    ['was saved in the future', { savedAtMs: Date.UTC(2026, 0, 1) + 1 }],
    ['was saved at no time at all', { savedAtMs: Number.NaN }],
    ['is past the time its server gave', { savedAtMs: Date.UTC(2026, 0, 1) - 120_000, ttlMs: 120_000 }],
  ])('waits for nothing where it %s; its server is listed anew, once', async (_what, over) => {
    const sim = await withKept(kept(over), { idleTimeoutMs: 1_000 });
    const { workspace, supervisor } = await sim.open({ discover: true }, {}, {});
    expect((await search(workspace)).map(({ name }) => name)).toContain('mcp__files__echo');
    expect(sim.links).toHaveLength(1);
    await sim.run(10_000);
    expect([sim.openLinks.length, sim.links.length]).toEqual([0, 1]);
    await supervisor.close();
    expect(sim.remains()).toEqual([]);
  });

  test('shows what is past its time until its server has answered', async () => {
    const sim = await withKept(kept({ savedAtMs: 0 }));
    sim.behaviours.set('files', { shakes: false });
    const { workspace, supervisor } = await sim.open({ discover: true });
    expect(sim.links).toHaveLength(1);
    expect(await search(workspace)).toMatchObject([{ name: TOOL, marks: ['cached'] }]);
    await supervisor.close();
  });

  test('starts nothing in a run that discovers nothing, however old it is', async () => {
    const sim = await withKept(kept({ savedAtMs: 0 }));
    const { workspace, supervisor } = await sim.open({ discover: false });
    expect(await search(workspace)).toMatchObject([{ name: TOOL }]);
    await sim.run(8 * DAY_MS);
    expect(sim.links).toEqual([]);
    await supervisor.close();
  });
});

describe('lists that grow old while the host runs', () => {
  test('are read anew once for each span of their time, and a server that fails is not tried in between', async () => {
    const sim = await withKept(kept({ savedAtMs: Date.UTC(2026, 0, 1) }), { idleTimeoutMs: 1_000 });
    const { supervisor } = await sim.open({ discover: true });
    await sim.run(TTL_MS_MAX - 1);
    expect(sim.links).toEqual([]);
    sim.behaviours.set('files', { lists: false });
    await sim.run(1);
    expect(sim.links).toHaveLength(1);
    await sim.run(TTL_MS_MAX - 1);
    expect([sim.openLinks.length, sim.links.length]).toEqual([0, 1]);
    await sim.run(1);
    expect(sim.links).toHaveLength(2);
    await supervisor.close();
    expect(sim.remains()).toEqual([]);
  });

  test('are not read anew while a gate is shut, and are once it opens', async () => {
    const sim = await withKept(kept({ savedAtMs: Date.UTC(2026, 0, 1) }));
    const { workspace, supervisor } = await sim.open({ discover: true });
    await workspace.server('files').disable();
    await sim.run(2 * TTL_MS_MAX);
    expect([sim.links, await search(workspace)]).toEqual([[], []]);
    await workspace.server('files').enable();
    await sim.settle();
    expect(sim.links).toHaveLength(1);
    await supervisor.close();
  });

  test('B096 are usable however short a time their server gives, which counts as a minute at least', async () => {
    const { cases } = caseFile('B096-ttl.pages.json') as { cases: { result: { ttlMs?: number } }[] };
    const spans = cases.map(({ result: { ttlMs } }) => ttlMsOf({ ttlMs: ttlMs ?? null }));
    expect(spans).toEqual([TTL_MS_MAX, TTL_MS_MIN, TTL_MS_MIN, 300_000].slice(0, spans.length));
    for (const { result } of cases) {
      const sim = await withKept(null, { idleTimeoutMs: 1_000 });
      sim.behaviours.set('files', { page: result.ttlMs === undefined ? {} : { ttlMs: result.ttlMs } });
      const { workspace, supervisor } = await sim.open();
      await workspace.connectAll();
      await sim.run(10_000);
      expect(await search(workspace)).toMatchObject([{ name: 'mcp__files__echo', marks: ['cached'] }]);
      await supervisor.close();
    }
  });

  test('have a time between a minute and seven days', () => {
    expect([-5, 0, 59_999, 60_000, 90_000, TTL_MS_MAX + 1, Number.POSITIVE_INFINITY].map((ttlMs) => ttlMsOf({ ttlMs }))).toEqual([
      60_000,
      60_000,
      60_000,
      60_000,
      90_000,
      TTL_MS_MAX,
      TTL_MS_MAX,
    ]);
    expect(freshForMs({ savedAtMs: 1_000, ttlMs: 60_000 }, 31_000)).toBe(30_000);
    expect(freshForMs({ savedAtMs: 1_000, ttlMs: 60_000 }, 61_000)).toBe(0);
    expect(freshForMs({ savedAtMs: 1_000, ttlMs: 60_000 }, 999)).toBe(0);
  });
});

describe('what the db gives back', () => {
  const deps = { clock: new VirtualClock(), digest };
  const checked = (raw: unknown) => checkedMetadata('s', raw, deps);

  test('B100 is nothing where it is nothing that was ever kept', async () => {
    for (const raw of [undefined, null, '', 0, [], {}, { lists: null }, { lists: [] }]) expect(await checked(raw)).toBeNull();
  });

  test('is verified as a list of the server itself: what does not pass is left out, what stands twice is taken once', async () => {
    const items = [
      toolItem('good'),
      { key: 'lies', definition: { name: 'good', inputSchema: { type: 'object' } } },
      { key: 'schema', definition: { name: 'schema', inputSchema: { type: 'string' } } },
      { key: 'bare' },
      null,
      'x',
    ];
    const metadata = await checked({ savedAtMs: 'x', ttlMs: 'y', fingerprint: 3, lists: { tools: items, prompts: {} } });
    expect(metadata).toEqual({ savedAtMs: Number.NaN, ttlMs: null, fingerprint: null, lists: { tools: [toolItem('good')] } });
  });

  test('is verified in slices, with a turn of the event loop after each', async () => {
    const clock = new VirtualClock();
    const items = Array.from({ length: 1_000 }, (_, at) => toolItem(`t${at}`));
    const checking = outcomeOf(checkedMetadata('s', kept({ lists: { tools: items } }), { clock, digest }));
    await Promise.resolve();
    expect([checking.state, clock.pending]).toEqual(['open', 1]);
    await clock.run(0);
    expect(checking.state).toBe('ok');
  });
});
