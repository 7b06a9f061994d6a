import { rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import type { Question, VetPort } from '../actors/ports.js';
import { layer, Simulation, server } from './support/simulated-ports.js';
import { executable, vetPlace } from './support/vet-place.js';

/** What happens to the disk at one moment between the card and the process; each look of the vet is one moment. */
interface Faults {
  /** After the person has read the card and before the yes arrives. */
  readonly beforeYes?: () => Promise<unknown>;
  /** After so many looks of the vet have ended, counted from 1. */
  readonly afterLook?: (count: number) => Promise<unknown>;
}

/** A workspace server vetted by the real vet on real files; its links are simulated, so that each start is seen. */
async function stand(command: string, faults: (place: Awaited<ReturnType<typeof vetPlace>>) => Faults) {
  const place = await vetPlace();
  await symlink(place.tool, join(place.bin, 'link'));
  await writeFile(join(place.root, 'server.js'), '1');
  const { beforeYes, afterLook } = faults(place);
  const cards: string[] = [];
  let looks = 0;
  const vet: VetPort = {
    vet: async (definition, scope) => {
      const vetted = await place.vet.vet(definition, scope);
      looks += 1;
      await afterLook?.(looks);
      return vetted;
    },
  };
  const approve = async (question: Question): Promise<string> => {
    if (question.kind === 'server') cards.push(`${question.card.command?.resolved} ${question.fingerprint}`);
    // The second card is left unanswered: what it shows is not the matter here.
    if (cards.length > 1) return new Promise(() => undefined);
    await beforeYes?.();
    return 'approve';
  };
  const sim = new Simulation();
  sim.layers = [layer('workspace', [server('x', { command, args: ['server.js'] })])];
  const supervisor = sim.supervisor({ approve }, { vet });
  const workspace = await supervisor.openWorkspace(place.root, { trusted: true, enable: ['x'] });
  await workspace.loaded;
  /** Files are read in their own time, everything else goes by the virtual clock: a second each time it is asked. */
  const reached = (holds: () => void) =>
    vi.waitFor(
      async () => {
        await sim.run(1_000);
        holds();
      },
      { timeout: 20_000 },
    );
  void workspace.connectAll();
  const end = async (): Promise<void> => {
    await supervisor.close();
    expect(sim.remains()).toEqual([]);
  };
  return { ...place, sim, cards, reached, end, status: () => workspace.server('x').status() };
}

describe('what was approved and is another thing before it is started', () => {
  const ways: readonly (readonly [string, string, (place: Awaited<ReturnType<typeof vetPlace>>) => Promise<unknown>])[] = [
    ['the executable (S018)', 'tool', ({ tool }) => writeFile(tool, '#!/bin/sh\nexec evil\n')],
    ['a script of the workspace (S018)', 'tool', ({ root }) => writeFile(join(root, 'server.js'), 'evil')],
    [
      'the file that a link leads to (S014)',
      'link',
      async ({ bin }) => {
        await rm(join(bin, 'link'));
        await symlink(await executable(join(bin, 'evil'), '#!evil'), join(bin, 'link'));
      },
    ],
    ['the executable, which is gone (S018)', 'tool', ({ tool }) => rm(tool)],
  ];
  test.each(ways)('is not started when it was swapped while the card was read: %s', async (_what, command, swap) => {
    const here = await stand(command, (place) => ({ beforeYes: () => swap(place) }));
    await here.reached(() => expect(here.cards.length === 2 || here.status().blockedBy === 'refused').toBe(true));
    expect(here.sim.links).toEqual([]);
    expect(here.cards[1]).not.toBe(here.cards[0]);
    await here.end();
  });

  test('starts when nothing was swapped, after a look of its own that follows the yes', async () => {
    const looks: string[] = [];
    const here = await stand('link', () => ({
      beforeYes: async () => void looks.push('yes'),
      afterLook: async () => void looks.push('look'),
    }));
    await here.reached(() => expect(here.status().phase).toBe('ready'));
    expect(looks).toEqual(['look', 'yes', 'look']);
    expect(here.sim.links.map(({ launch }) => launch)).toMatchObject([{ command: here.tool, args: ['server.js'] }]);
    await here.end();
  });
});
