import { describe, expect, test } from 'vitest';
import type { DbPort, HttpLaunch, ServerDefinition } from '../actors/ports.js';
import type { LayerName } from '../machines/vocabulary.js';
import { caseFile } from './support/case-file.js';
import { layer, Simulation, server } from './support/simulated-ports.js';

interface Entry {
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** All its headers are credentials, unless they are called otherwise. */
function entry({ url, headers = {} }: Entry, over: Partial<ServerDefinition> = {}): ServerDefinition {
  const credentialHeaders = Object.keys(headers).filter((name) => name !== 'Accept-Language');
  const configHash = JSON.stringify([url, headers]);
  return server('n', { transport: 'http', url, headers, credentialHeaders, configHash, ...over });
}

class Scene {
  readonly sim = new Simulation();
  readonly #db: Partial<DbPort>;

  constructor(db: Partial<DbPort> = {}) {
    this.#db = db;
  }

  /** One run of a host with this entry: what was sent where, and what the status warns of. */
  async run(given: Entry, layerName: LayerName = 'user', root = '/repo', isApproved = true) {
    const { sim } = this;
    sim.layers = [layer(layerName, [entry(given, { layer: layerName })])];
    const configHash = JSON.stringify([given.url, given.headers ?? {}]);
    const supervisor = sim.supervisor(
      { approvedFingerprints: isApproved ? [`fingerprint of ${configHash}`] : [] },
      { db: { ...sim.db, ...this.#db, close: () => Promise.resolve() } },
    );
    const workspace = await supervisor.openWorkspace(root, { trusted: true, enable: ['n'] });
    await workspace.loaded;
    await workspace.connectAll();
    await sim.settle();
    const { phase, warnings } = workspace.server('n').status();
    const { url, headers } = (sim.links.at(-1)?.launch ?? {}) as Partial<HttpLaunch>;
    await supervisor.close();
    return { phase, url, headers, warnings };
  }
}

const secret = { Authorization: 'Bearer SENTINEL' };
const there = { url: 'https://a.example/mcp', headers: secret };
const elsewhere = { url: 'https://evil.example/mcp', headers: secret };

describe('a credential', () => {
  test('stays with the URL it was given for: another one does not get it, and the old one still does (B163)', async () => {
    const { before, after } = caseFile('B163-url-edit.reload.json') as Record<'before' | 'after', { mcpServers: { n: Entry } }>;
    const scene = new Scene();
    const [old, edited] = [before.mcpServers.n, after.mcpServers.n].map(({ url }) => ({ url, headers: secret }));
    if (old === undefined || edited === undefined) throw new Error('two entries were expected');
    expect(await scene.run(old)).toMatchObject({ phase: 'ready', headers: secret, warnings: [] });
    expect(await scene.run(edited)).toEqual({
      phase: 'ready',
      url: edited.url,
      headers: {},
      warnings: [expect.stringMatching(/"Authorization" was given for another URL.*mcp-supervisor test n/)],
    });
    expect(await scene.run(old)).toMatchObject({ headers: secret, warnings: [] });
  });

  test.each([
    ['another path', 'https://a.example/other'],
    ['another query', 'https://a.example/mcp?x=1'],
    ['another port', 'https://a.example:8443/mcp'],
    ['another scheme', 'http://a.example/mcp'],
  ])('does not follow to %s', async (_what, url) => {
    const scene = new Scene();
    await scene.run(there);
    expect(await scene.run({ url, headers: secret })).toMatchObject({ url, headers: {} });
  });

  test.each(['HTTPS://A.Example/mcp', 'https://a.example:443/mcp'])('is for the same endpoint written %s', async (url) => {
    const scene = new Scene();
    await scene.run(there);
    expect(await scene.run({ url, headers: secret })).toMatchObject({ headers: secret, warnings: [] });
  });

  test('does not follow under another name either, and takes no other header with it', async () => {
    const scene = new Scene();
    await scene.run(there);
    const headers = { 'X-Token': secret.Authorization, 'Accept-Language': 'en' };
    expect(await scene.run({ ...elsewhere, headers })).toMatchObject({
      headers: { 'Accept-Language': 'en' },
      warnings: [expect.stringContaining('"X-Token"')],
    });
  });

  test('of a new value was given together with the URL it stands beside', async () => {
    const scene = new Scene();
    await scene.run(there);
    const headers = { authorization: 'Bearer other' };
    expect(await scene.run({ ...elsewhere, headers })).toMatchObject({ headers, warnings: [] });
    expect(await scene.run({ ...there, headers })).toMatchObject({ headers: {} });
  });

  test('is given anew after the server was started once without it', async () => {
    const scene = new Scene();
    await scene.run(there);
    await scene.run(elsewhere);
    await scene.run({ url: elsewhere.url });
    expect(await scene.run(elsewhere)).toMatchObject({ headers: secret, warnings: [] });
  });

  test('is not given anew by a definition without it that nobody approved', async () => {
    const scene = new Scene();
    await scene.run(there, 'workspace');
    expect(await scene.run({ url: elsewhere.url }, 'workspace', '/repo', false)).toMatchObject({ phase: 'approving' });
    expect(await scene.run(elsewhere, 'workspace')).toMatchObject({ phase: 'ready', headers: {} });
  });

  test('belongs to no URL that was only asked about', async () => {
    const scene = new Scene();
    expect(await scene.run(elsewhere, 'workspace', '/repo', false)).toMatchObject({ phase: 'approving' });
    expect(await scene.run(there, 'workspace')).toMatchObject({ phase: 'ready', headers: secret, warnings: [] });
  });

  test('of one layer or one workspace says nothing of another’s', async () => {
    const scene = new Scene();
    await scene.run(there, 'workspace', '/one');
    expect(await scene.run(elsewhere, 'workspace', '/two')).toMatchObject({ headers: secret });
    expect(await scene.run(elsewhere, 'workspace', '/one')).toMatchObject({ headers: {} });
    expect(await scene.run(elsewhere, 'plugin:p')).toMatchObject({ headers: secret });
  });

  test('is not sent to a URL that was changed under a running server', async () => {
    const { sim } = new Scene();
    sim.layers = [layer('user', [entry(there)])];
    const { supervisor, workspace } = await sim.open();
    await workspace.connectAll();
    sim.change([layer('user', [entry(elsewhere)])]);
    await sim.settle();
    await workspace.connectAll();
    expect(sim.openLinks.map(({ launch }) => launch)).toMatchObject([{ url: elsewhere.url, headers: {} }]);
    await supervisor.close();
  });

  test('is kept as a digest only', async () => {
    const saved: unknown[] = [];
    const { sim } = new Scene();
    const scene = new Scene({
      credentials: (owner) => sim.db.credentials(owner),
      saveCredentials: async (owner, origins) => void saved.push(owner, ...origins.entries()),
    });
    await scene.run(there);
    expect(saved).toHaveLength(2);
    expect(JSON.stringify([saved, scene.sim.log])).not.toMatch(/SENTINEL|a\.example/);
  });
});

describe('where it is remembered', () => {
  const broken = () => Promise.reject(new Error('disk'));
  test.each(['salt', 'credentials', 'saveCredentials'] as const)(
    'a store whose %s fails sends none, and warns (B166)',
    async (method) => {
      const scene = new Scene({ [method]: broken });
      expect(await scene.run(there)).toMatchObject({
        phase: 'ready',
        headers: {},
        warnings: [expect.stringMatching(/"Authorization" is not sent/)],
      });
      expect(scene.sim.log.map(({ event }) => event)).toContain('store.failed');
      expect(await scene.run({ url: there.url, headers: { 'Accept-Language': 'en' } })).toMatchObject({
        headers: { 'Accept-Language': 'en' },
        warnings: [],
      });
    },
  );
});
