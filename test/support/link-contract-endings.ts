import { expect, vi } from 'vitest';
import { type Asked, type ContractCase, call, codeOf, type LinkRig, PATIENCE, textOf } from './link-contract.js';

/** Calls that the server has taken and does not answer. */
async function openCalls(rig: LinkRig, labels: readonly string[]): Promise<readonly Asked[]> {
  const asked = labels.map((label) => call(rig.link, 'hang', { label }));
  await vi.waitFor(() => expect(rig.seen()).toEqual(expect.arrayContaining(labels.map((label) => `hangs ${label}`))), PATIENCE);
  return asked;
}

/** Nothing is left of a closed link: no process, no connection, no timer. */
async function expectNothingLeft(rig: LinkRig): Promise<void> {
  await rig.isLeft();
  expect(rig.timers()).toEqual([]);
}

/** What links promise about their end. Every case has a server of its own. */
export const endings: readonly ContractCase[] = [
  {
    title: 'closing settles once, tells no reply and no loss, and leaves nothing',
    on: 'own',
    async run(rig) {
      const asked = await openCalls(rig, ['a', 'b', 'c']);
      const closing = rig.link.close();
      expect(rig.link.close()).toBe(closing);
      expect((await closing).outcome).toBe('clean');
      await expectNothingLeft(rig);
      expect(asked.map(({ outcomes }) => outcomes)).toEqual([[], [], []]);
      expect(rig.heard.lost).toEqual([]);
    },
  },
  {
    title: 'a closed link refuses a request before it returns, and every question after that',
    on: 'own',
    async run({ link }) {
      await link.close();
      const { outcomes } = call(link, 'echo', { text: 'too late' });
      expect(outcomes).toMatchObject([{ problem: { code: 'LINK_LOST' } }]);
      expect(await codeOf(link.probe())).toBe('PROBE_FAILED');
      expect(await codeOf(link.listen())).toBe('LINK_LOST');
      expect(await codeOf(link.notifyCancelled('c1', 'no longer needed'))).toBe('LINK_LOST');
    },
  },
  {
    title: 'closing in the middle of a handshake ends it, cancels no initialise, and leaves nothing',
    on: 'mute',
    async run(rig) {
      const handshake = codeOf(rig.link.handshake());
      await vi.waitFor(() => expect(rig.seen().join('\n')).toContain('got '), PATIENCE);
      await rig.link.close();
      expect(await handshake).toBe('LINK_LOST');
      await expectNothingLeft(rig);
      expect(rig.seen().join('\n')).not.toContain('cancelled');
      expect(rig.heard.lost).toEqual([]);
    },
  },
  {
    title: 'a server that dies under open calls is told once, or each call is, and no reply comes after the loss (B018)',
    on: 'own',
    async run(rig) {
      const { link, heard } = rig;
      await link.probe();
      const asked = await openCalls(rig, ['a', 'b', 'c']);
      const told = (): number => asked.flatMap(({ outcomes }) => outcomes).length;
      const toldAtLoss: number[] = [];
      heard.onLost = () => void toldAtLoss.push(told());
      call(link, 'die');
      await vi.waitFor(() => expect(heard.lost.length === 1 || told() === asked.length).toBe(true), { timeout: 20_000 });
      expect(await codeOf(link.probe())).toBe('PROBE_FAILED');
      await link.close();
      await expectNothingLeft(rig);
      const problems = asked.flatMap(({ outcomes }) => outcomes.map(({ problem }) => problem?.code));
      expect(new Set([...problems, 'LINK_LOST'])).toEqual(new Set(['LINK_LOST']));
      // Who asks once more over HTTP is told that nobody is there.
      for (const { code } of heard.lost) expect(['LINK_LOST', 'CONNECT_FAILED']).toContain(code);
      expect(Math.max(...asked.map(({ outcomes }) => outcomes.length))).toBeLessThanOrEqual(1);
      expect(heard.lost.length).toBeLessThanOrEqual(1);
      expect(toldAtLoss).toEqual(heard.lost.map(told));
    },
  },
  {
    title: 'a stream that breaks off under its call fails that call alone, and the link goes on',
    on: 'own',
    transports: ['http'],
    async run({ link, heard }) {
      const { problem } = await call(link, 'cut').settled;
      expect(problem).toMatchObject({ code: 'LINK_LOST', retryable: true });
      expect(await textOf(call(link, 'echo', { text: 'on it goes' }))).toBe('on it goes');
      expect(heard.lost).toEqual([]);
    },
  },
  {
    title: 'the one stream of everything breaking off loses the link once, and its replies stay untold',
    on: 'own',
    transports: ['sse'],
    async run(rig) {
      const { link, heard } = rig;
      const asked = await openCalls(rig, ['a']);
      void call(link, 'cut');
      await vi.waitFor(() => expect(heard.lost.map(({ code }) => code)).toEqual(['LINK_LOST']), PATIENCE);
      await link.close();
      await expectNothingLeft(rig);
      expect(asked.map(({ outcomes }) => outcomes)).toEqual([[]]);
      expect(heard.lost).toHaveLength(1);
    },
  },
];
