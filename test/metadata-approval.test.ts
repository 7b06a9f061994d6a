import { describe, expect, test } from 'vitest';
import type { Workspace, WorkspaceOptions } from '../actors/api.js';
import { metadataKey } from '../actors/metadata-store.js';
import type { Metadata } from '../actors/ports.js';
import { toolItem } from './support/catalogue-kit.js';
import { outcomeOf } from './support/outcome.js';
import { layer, Simulation, server } from './support/simulated-ports.js';

/** What a former run kept: one tool called `old`. */
const kept = (fingerprint: string | null): Metadata => ({
  savedAtMs: Date.UTC(2026, 0, 1),
  ttlMs: null,
  fingerprint,
  lists: { tools: [toolItem('old')] },
});

async function search(workspace: Workspace) {
  const { structuredContent } = await workspace.gateway.run({ action: 'search', query: '' });
  return structuredContent?.['tools'];
}

describe('what is kept of a server that a workspace brings', () => {
  const ours: WorkspaceOptions = { trusted: true, enable: ['theirs'] };
  const FINGERPRINT = 'fingerprint of workspace-theirs-1';
  const owner = { id: 'theirs', layer: 'workspace', configHash: 'workspace-theirs-1' } as const;

  async function theirs(fingerprint: string | null, root = '/repo') {
    const sim = new Simulation();
    sim.layers = [layer('workspace', [server('theirs', { layer: 'workspace' })])];
    const key = metadataKey(owner, { ...sim.ports, root });
    await sim.db.saveMetadata(key, kept(fingerprint));
    return sim;
  }

  test.each([
    ['nobody approved', 'another', false],
    ['carries no fingerprint', null, false],
    ['was approved once', FINGERPRINT, true],
  ])('is shown only if it was approved on this machine: one that %s', async (_what, fingerprint, isShown) => {
    const sim = await theirs(fingerprint);
    await sim.db.saveApproved(FINGERPRINT);
    const { workspace, supervisor } = await sim.open({}, ours);
    const found = await search(workspace);
    expect(found).toEqual(isShown ? [expect.objectContaining({ marks: ['waits for approval', 'cached'] })] : []);
    await supervisor.close();
  });

  test('is not shown for another checkout of the same workspace', async () => {
    const sim = await theirs(FINGERPRINT, '/another');
    await sim.db.saveApproved(FINGERPRINT);
    const { workspace, supervisor } = await sim.open({}, ours);
    expect(await search(workspace)).toEqual([]);
    await supervisor.close();
  });

  test.each([
    ['untrusted', { enable: ['theirs'] }],
    ['switched off', { trusted: true }],
  ])('is not shown while it is %s', async (_what, options) => {
    const sim = await theirs(FINGERPRINT);
    await sim.db.saveApproved(FINGERPRINT);
    const { workspace, supervisor } = await sim.open({ discover: true }, options);
    expect([await search(workspace), sim.links]).toEqual([[], []]);
    await supervisor.close();
  });

  test('can be found while it waits for its approval, and a call of it asks for that instead of running anything', async () => {
    const sim = await theirs(FINGERPRINT);
    await sim.db.saveApproved(FINGERPRINT);
    const { workspace, supervisor } = await sim.open({ discover: true }, ours);
    expect(workspace.tools()).toMatchObject([{ name: 'mcp__theirs__old', cached: true, callable: false }]);
    const call = outcomeOf(workspace.call('mcp__theirs__old', {}, { byPerson: true }));
    await sim.settle();
    expect([call.state, workspace.questions().length, sim.links.length]).toEqual(['APPROVAL_NO_CHANNEL', 1, 0]);
    await supervisor.close();
  });

  test('S004 can be found after its files have changed, marked, and is listed anew once that is approved', async () => {
    const sim = await theirs(null);
    const { workspace, supervisor } = await sim.open({ discover: true, approvedFingerprints: [FINGERPRINT] }, ours);
    await sim.settle();
    expect(await search(workspace)).toMatchObject([{ name: 'mcp__theirs__echo', marks: [] }]);
    expect((await sim.db.metadata(metadataKey(owner, { ...sim.ports, root: '/repo' })))?.fingerprint).toBe(FINGERPRINT);

    sim.fingerprints.set('theirs', 'changed');
    workspace.server('theirs').restart();
    await sim.settle();
    expect(await search(workspace)).toMatchObject([{ name: 'mcp__theirs__echo', marks: ['waits for approval', 'cached'] }]);
    const call = outcomeOf(workspace.call('mcp__theirs__echo', {}, { byPerson: true }));
    await sim.settle();
    expect([call.state, sim.openLinks.length]).toEqual(['APPROVAL_NO_CHANNEL', 0]);

    const [question] = workspace.questions();
    expect(workspace.answer(String(question?.nonce), 'approve')).toBe(true);
    await sim.run(10);
    expect(await search(workspace)).toMatchObject([{ name: 'mcp__theirs__echo', marks: [] }]);
    await supervisor.close();
    expect(sim.remains()).toEqual([]);
  });
});
