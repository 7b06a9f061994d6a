import { describe, expect, test } from 'vitest';
import type { Ports } from '../actors/ports.js';
import { outcomeOf } from './support/outcome.js';
import { layer, Simulation, server } from './support/simulated-ports.js';

const closed = { code: 'SUPERVISOR_CLOSED' };
const theirs = layer('workspace', [server('theirs', { layer: 'workspace' })]);

function simulation(): Simulation {
  const sim = new Simulation();
  sim.layers = [layer('user', [server('files')]), theirs];
  sim.behaviours.set('files', { answers: true });
  return sim;
}

describe('a root that is opened as its last handle is given up', () => {
  const turns = Array.from({ length: 12 }, (_, at) => at);

  test.each(turns)('%i microtasks before is a live workspace, never a dead one', async (count) => {
    const sim = simulation();
    const supervisor = sim.supervisor();
    const first = await supervisor.openWorkspace('/repo');
    await first.loaded;
    const opening = supervisor.openWorkspace('/repo');
    for (let at = 0; at < count; at += 1) await Promise.resolve();
    const closing = first.close();
    const second = await opening;
    await Promise.all([closing, second.loaded]);
    expect(second.status().servers.map(({ id }) => id)).toEqual(['files', 'theirs']);
    await expect(second.call('mcp__files__echo')).resolves.toEqual({ content: [] });
    await supervisor.close();
    expect(sim.remains()).toEqual([]);
  });

  test.each(turns)('%i microtasks after is a live workspace, never a dead one', async (count) => {
    const sim = simulation();
    const supervisor = sim.supervisor();
    const first = await supervisor.openWorkspace('/repo');
    await first.loaded;
    const closing = first.close();
    for (let at = 0; at < count; at += 1) await Promise.resolve();
    const second = await supervisor.openWorkspace('/repo');
    await Promise.all([closing, second.loaded]);
    await expect(second.call('mcp__files__echo')).resolves.toEqual({ content: [] });
    await supervisor.close();
    expect(sim.remains()).toEqual([]);
  });

  test('with other options is a conflict that leaves the first one as it was', async () => {
    const sim = simulation();
    const { supervisor, workspace } = await sim.open();
    await expect(supervisor.openWorkspace('/repo', { trusted: true })).rejects.toMatchObject({ code: 'WORKSPACE_CONFLICT' });
    await workspace.close();
    // A handle that was counted and never given out would keep it running.
    expect(sim.remains()).toEqual([]);
  });
});

describe('a handle that was given up', () => {
  async function start() {
    const sim = simulation();
    const approve = () => new Promise(() => undefined);
    const { supervisor, workspace: gone } = await sim.open({ approve }, { trusted: true, enable: ['theirs'] });
    const kept = await supervisor.openWorkspace('/repo', { trusted: true, enable: ['theirs'] });
    await kept.connectAll();
    await sim.settle();
    await gone.close();
    return { sim, supervisor, gone, kept };
  }

  test('trusts nothing and takes no trust back', async () => {
    const { gone, kept, sim } = await start();
    for (const trusted of [false, true]) expect(() => gone.setTrusted(trusted)).toThrow(expect.objectContaining(closed));
    await sim.settle();
    expect(kept.status().workspace.trusted).toBe(true);
    expect(await sim.db.trusted('/repo')).not.toBe(false);
  });

  test('answers no question of those who go on', async () => {
    const { gone, kept, sim } = await start();
    const nonce = kept.questions()[0]?.nonce ?? '';
    expect(gone.answer(nonce, 'approve')).toBe(false);
    await sim.settle();
    expect(sim.links.map(({ server: id }) => id)).toEqual(['files']);
    expect(kept.answer(nonce, 'deny')).toBe(true);
  });

  test('does nothing to a server, by whichever of its methods', async () => {
    const { gone, kept, sim } = await start();
    const before = kept.server('files').status();
    const files = gone.server('files');
    expect(() => files.restart()).toThrow(expect.objectContaining(closed));
    await expect(files.test({ force: true })).rejects.toMatchObject(closed);
    await expect(files.enable()).rejects.toMatchObject(closed);
    await expect(files.disable()).rejects.toMatchObject(closed);
    await sim.settle();
    expect(kept.server('files').status()).toEqual(before);
    expect(await sim.db.switches()).toEqual(new Map());
  });
});

describe('closing with a port that cannot be closed', () => {
  const failing: readonly (readonly [string, Partial<Ports>])[] = [
    ['rejects', { fs: { ...new Simulation().ports.fs, close: () => Promise.reject(new Error('EACCES')) } }],
    [
      'throws',
      {
        fs: {
          ...new Simulation().ports.fs,
          close: () => {
            throw new Error('EACCES');
          },
        },
      },
    ],
  ];
  test.each(failing)('that %s still ends the others, and then is STORE_FAILED', async (_what, ports) => {
    const sim = simulation();
    const ended: string[] = [];
    const end = (name: string) => async (): Promise<void> => {
      // The last of them takes longest: whoever closes has to wait for it all the same.
      for (let at = 0; at < 20; at += 1) await Promise.resolve();
      ended.push(name);
    };
    const { supervisor } = await sim.open({}, {}, { ...ports, db: { ...sim.db, close: end('db') }, close: end('adapters') });
    const closing = outcomeOf(supervisor.close());
    await sim.settle();
    expect(closing.state).toBe('STORE_FAILED');
    expect(closing.error?.message).toContain('EACCES');
    expect(ended).toEqual(['db', 'adapters']);
    expect(sim.remains()).toEqual([]);
  });
});
