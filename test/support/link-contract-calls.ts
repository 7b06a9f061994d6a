import { expect, vi } from 'vitest';
import { supervisorError } from '../../actors/errors.js';
import { Asked, type ContractCase, call, codeOf, type LinkRig, PATIENCE, textOf } from './link-contract.js';

const isModern = ({ engine, kind }: LinkRig): boolean => engine === 'client' && kind !== 'legacy';

let labels = 0;
/** A word that no other call uses. */
const newLabel = (): string => `label-${(labels += 1)}`;

/** Waits until the server has told this line. */
const until = (rig: LinkRig, line: string): Promise<void> => vi.waitFor(() => expect(rig.seen()).toContain(line), PATIENCE);

/** What the client said to a question of the server; thrown as the server's error when the question could not be put. */
async function answerTo(rig: LinkRig, method: string): Promise<unknown> {
  const said = JSON.parse(await textOf(call(rig.link, 'ask', { method }))) as { error?: unknown };
  if (typeof said.error === 'string') throw supervisorError('SERVER_ERROR', `${method} cannot be asked: ${said.error}`);
  return said;
}

/** What links promise about the handshake, calls and what a server says unasked. */
export const calls: readonly ContractCase[] = [
  {
    title: 'the handshake agrees on a revision, names the server and is made once',
    async run(rig) {
      const { link, heard, transport } = rig;
      const agreed = await link.handshake();
      expect(agreed).toEqual({
        ...(isModern(rig) ? { era: 'modern', protocolVersion: '2026-07-28' } : { era: 'legacy', protocolVersion: '2025-11-25' }),
        serverInfo: { name: 'contract', version: '1.2.3' },
        lists: ['tools', 'resources', 'resourceTemplates'],
        announces: true,
      });
      expect(await link.handshake()).toBe(agreed);
      expect(heard.opened).toEqual([transport === 'stdio' ? expect.any(Number) : null]);
      expect(heard.lost).toEqual([]);
    },
  },
  {
    title: 'a list is read page by page, with an empty cursor on the way (B085)',
    async run({ link }) {
      const uris: string[] = [];
      let cursor: string | undefined;
      do {
        const { result } = await new Asked(link, 'resources/list', cursor === undefined ? undefined : { cursor }).settled;
        const page = result as { resources: { uri: string }[]; nextCursor?: string };
        uris.push(...page.resources.map(({ uri }) => uri));
        cursor = page.nextCursor;
      } while (cursor !== undefined && uris.length < 10);
      expect(uris).toEqual([0, 1, 2, 3, 4].map((at) => `contract://${at}`));
    },
  },
  {
    title: 'a call gets the result of the server',
    async run({ link }) {
      const { result, problem } = await call(link, 'echo', { text: 'hello' }).settled;
      expect(problem).toBeUndefined();
      expect(result).toMatchObject({ content: [{ type: 'text', text: 'hello' }] });
    },
  },
  {
    title: 'a result that reports an error of the tool is a result (B110)',
    async run({ link }) {
      const { result, problem } = await call(link, 'fail').settled;
      expect(problem).toBeUndefined();
      expect(result).toMatchObject({ isError: true, content: [{ type: 'text', text: 'it did not work' }] });
    },
  },
  {
    title: 'an error of the protocol fails its call with the words, the code and the data of the server',
    async run({ link }) {
      const { problem, cause } = await new Asked(link, 'resources/read', { uri: 'contract://broken' }).settled;
      expect(problem).toMatchObject({ code: 'SERVER_ERROR', message: expect.stringContaining('out of paper') as string });
      expect(cause).toEqual({ code: -32_050, data: { tray: 2 } });
    },
  },
  {
    title: 'a method the server does not know fails that call alone',
    async run({ link }) {
      const { problem, cause } = await new Asked(link, 'contract/unknown').settled;
      expect(problem?.code).toBe('SERVER_ERROR');
      expect(cause).toMatchObject({ code: -32_601 });
      expect(await textOf(call(link, 'echo', { text: 'on it goes' }))).toBe('on it goes');
    },
  },
  {
    title: 'progress is told to the call it is about and to no other (B036)',
    async run({ link }) {
      const [three, five, none] = [
        call(link, 'progress', { steps: 3 }),
        call(link, 'progress', { steps: 5 }),
        call(link, 'fail'),
      ];
      expect([await textOf(three), await textOf(five)]).toEqual(['3 steps', '5 steps']);
      await none.settled;
      const steps = (total: number): object[] => Array.from({ length: total }, (_, at) => ({ progress: at + 1, total }));
      expect([three.progress, five.progress, none.progress]).toEqual([steps(3), steps(5), []]);
    },
  },
  {
    title: '64 calls at once, answered in another order, each get their own result',
    async run({ link }) {
      const key = newLabel();
      const order: number[] = [];
      const texts = Array.from({ length: 64 }, (_, at) => `${key} ${at} 字`);
      const asked = texts.map((text) => call(link, 'gather', { key, size: 64, text }));
      for (const [at, { settled }] of asked.entries()) void settled.then(() => order.push(at));
      expect(await Promise.all(asked.map(textOf))).toEqual(texts);
      expect(order).not.toEqual([...order].sort((a, b) => a - b));
      expect(asked.map(({ outcomes }) => outcomes.length)).toEqual(texts.map(() => 1));
    },
  },
  {
    title: 'arguments and results of 900 KB go through whole',
    async run({ link }) {
      const text = 'x'.repeat(900_000);
      expect((await textOf(call(link, 'echo', { text }))) === text).toBe(true);
    },
  },
  {
    title: 'every character comes back as it was sent (B027)',
    async run({ link }) {
      const text = '字 🗂 e\u0301 𝕌 \u2028\u2029 \u0000 \u202e \ufeff "\\"\r\n';
      expect(await textOf(call(link, 'echo', { text }))).toBe(text);
    },
  },
  {
    title: 'a call that is cancelled reaches the server, which ends it, and its reply is never told (B039)',
    async run(rig) {
      const { link } = rig;
      const [label, late] = [newLabel(), vi.fn()];
      const asked = call(link, 'hang', { label });
      await until(rig, `hangs ${label}`);
      link.forget(asked.id, late);
      await link.notifyCancelled(asked.id, 'no longer needed');
      await until(rig, `aborted ${label}`);
      await link.probe();
      expect(asked.outcomes).toEqual([]);
      expect(late).not.toHaveBeenCalled();
      // Over current HTTP the end of the stream is the cancellation, and a notification would be one too many.
      const isByStream = rig.transport === 'http' && isModern(rig);
      expect(rig.seen().includes(`got notifications/cancelled "${asked.id}"`)).toBe(!isByStream);
    },
  },
  {
    title: 'a late answer to a call that was forgotten is told once to who watches, and counted (B044)',
    async run(rig) {
      const { link } = rig;
      const [label, late, before] = [newLabel(), vi.fn(), link.diagnosis().lateAnswers];
      const asked = call(link, 'late', { label });
      await until(rig, `keeps ${label}`);
      link.forget(asked.id, late);
      await textOf(call(link, 'release', { label }));
      await vi.waitFor(() => expect(late.mock.calls).toEqual([['result']]), PATIENCE);
      await link.probe();
      expect(late).toHaveBeenCalledOnce();
      expect(link.diagnosis().lateAnswers - before).toBe(1);
      expect(asked.outcomes).toEqual([]);
    },
  },
  {
    title: 'a late answer that nobody watches for any more is counted and told to nobody',
    async run(rig) {
      const { link } = rig;
      const [label, late, before] = [newLabel(), vi.fn(), link.diagnosis().lateAnswers];
      const asked = call(link, 'late', { label });
      await until(rig, `keeps ${label}`);
      link.forget(asked.id, late);
      link.unwatch(asked.id);
      await textOf(call(link, 'release', { label }));
      await vi.waitFor(() => expect(link.diagnosis().lateAnswers - before).toBe(1), PATIENCE);
      expect(late).not.toHaveBeenCalled();
      expect(asked.outcomes).toEqual([]);
    },
  },
  {
    title: 'answers by ids of nobody, of the SDK and of other calls hurt nobody and are counted (B032)',
    async run(rig) {
      const { link } = rig;
      const label = newLabel();
      const settled = call(link, 'fail');
      await settled.settled;
      const open = call(link, 'late', { label });
      await until(rig, `keeps ${label}`);
      const before = link.diagnosis();
      const foreign = ['nobody', 424_242, 0, 1, '0', '1', 'server-discover-probe-1', Number(open.id.slice(1)), 'c999999'];
      expect(await textOf(call(link, 'stray', { ids: [...foreign, settled.id] }))).toBe('mine');
      const after = link.diagnosis();
      expect(after.foreignAnswers - before.foreignAnswers).toBe(foreign.length);
      expect(after.lateAnswers - before.lateAnswers).toBe(1);
      expect([open.outcomes, settled.outcomes.length]).toEqual([[], 1]);
      await textOf(call(link, 'release', { label }));
      expect(await textOf(open)).toBe(`late ${label}`);
    },
  },
  {
    title: 'an announced change of a list is told',
    on: 'own',
    async run(rig) {
      const { link, heard } = rig;
      const listening = isModern(rig) ? codeOf(link.listen()) : null;
      // The server may be ready to announce only some time after it answers.
      await vi.waitFor(
        async () => {
          await textOf(call(link, 'announce'));
          expect(heard.changed).toContain('tools');
        },
        { ...PATIENCE, interval: 100 },
      );
      expect(new Set(heard.changed)).toEqual(new Set(['tools']));
      await link.close();
      if (listening !== null) expect(await listening).toMatch(/^(nothing|LINK_LOST)$/);
    },
  },
  {
    title: 'a ping of the server is answered',
    run: async (rig) => expect(await answerTo(rig, 'ping')).toEqual({ result: {} }),
  },
  {
    title: 'roots, sampling and elicitation are not declared (S029)',
    run: async ({ link }) => expect(JSON.parse(await textOf(call(link, 'capabilities')))).toEqual({}),
  },
  {
    title: 'roots, sampling and elicitation are refused to a server that asks all the same (S029 S122)',
    async run(rig) {
      const refused = { error: -32_601 };
      expect([refused, { result: { roots: [] } }]).toContainEqual(await answerTo(rig, 'roots/list'));
      expect(await answerTo(rig, 'sampling/createMessage')).toEqual(refused);
      expect(await answerTo(rig, 'elicitation/create')).toEqual(refused);
    },
  },
  {
    title: 'a probe of a server that is there succeeds',
    run: async ({ link }) => expect(await codeOf(Promise.all([link.probe(), link.probe()]))).toBe('nothing'),
  },
];
