import { expect, test, vi } from 'vitest';
import { EraMemory, type EraStore } from '../adapters/links/negotiation.js';
import type { Session } from '../adapters/links/session.js';
import type { Era } from '../machines/vocabulary.js';

/** What a handshake of this era leaves behind; the rest of a session is none of the memory's business. */
const sessionOf = (era: Era, isLateModern = false): Session => ({
  hasProbed: true,
  hasInitialized: era === 'legacy',
  isLateModern,
  connect: async () => undefined,
  handshake: () => ({ era, protocolVersion: 'x', serverInfo: null, lists: [], announces: false }),
  requestMeta: () => ({}),
  listen: async () => undefined,
  receive: () => false,
  close: () => undefined,
});

function storeOf(eras: Record<string, Era>): {
  store: EraStore;
  era: ReturnType<typeof vi.fn>;
  saveEra: ReturnType<typeof vi.fn>;
} {
  const era = vi.fn(async (hash: string) => eras[hash] ?? null);
  const saveEra = vi.fn(async () => undefined);
  return { store: { era, saveEra }, era, saveEra };
}

test('what another run has learnt is asked for once', async () => {
  const { store, era } = storeOf({ old: 'legacy', new: 'modern' });
  const memory = new EraMemory(store);
  for (let times = 0; times < 3; times += 1) {
    expect([await memory.isLegacy('old'), await memory.isLegacy('new'), await memory.isLegacy('none')]).toEqual([
      true,
      false,
      false,
    ]);
  }
  expect(era).toHaveBeenCalledTimes(3);
});

test('what a handshake shows is kept, and taken back when it fails', async () => {
  const { store, saveEra, era } = storeOf({});
  const memory = new EraMemory(store);
  memory.learn('a', sessionOf('legacy'));
  memory.learn('b', sessionOf('modern'));
  memory.learn('c', sessionOf('legacy', true));
  expect([await memory.isLegacy('a'), await memory.isLegacy('b'), await memory.isLegacy('c')]).toEqual([true, false, false]);
  memory.forget('a');
  memory.forget('b');
  expect(await memory.isLegacy('a')).toBe(false);
  expect(saveEra.mock.calls).toEqual([
    ['a', 'legacy'],
    ['b', 'modern'],
    ['c', null],
    ['a', null],
  ]);
  expect(era).not.toHaveBeenCalled();
});

test('a store that fails is done without', async () => {
  const broken = { era: () => Promise.reject(new Error('no')), saveEra: () => Promise.reject(new Error('no')) };
  const memory = new EraMemory(broken);
  expect(await memory.isLegacy('a')).toBe(false);
  memory.learn('a', sessionOf('legacy'));
  expect(await memory.isLegacy('a')).toBe(true);
});

test('of too many servers the oldest are forgotten', async () => {
  const memory = new EraMemory();
  for (let index = 0; index < 1_025; index += 1) memory.learn(`hash ${index}`, sessionOf('legacy'));
  expect([await memory.isLegacy('hash 0'), await memory.isLegacy('hash 1'), await memory.isLegacy('hash 1024')]).toEqual([
    false,
    true,
    true,
  ]);
});
