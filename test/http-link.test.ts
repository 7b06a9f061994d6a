import { describe, expect, test, vi } from 'vitest';
import { launchAt, startEverything, startModern } from './support/http-link-servers.js';
import { ask, callTool, openLink, openReady, textResult } from './support/stdio-harness.js';

describe('Streamable HTTP with a published server of the older era', () => {
  test('lists, calls, hears progress and ends its session', async () => {
    const url = await startEverything('streamableHttp');
    const { link, heard } = openLink(launchAt(url));
    expect(await link.handshake()).toMatchObject({
      era: 'legacy',
      protocolVersion: '2025-11-25',
      lists: ['tools', 'resources', 'resourceTemplates', 'prompts'],
    });
    expect(heard.opened).toEqual([null]);
    const { result } = await ask(link, 'tools/list').settled;
    expect((result as { tools: unknown[] }).tools).toHaveLength(13);
    expect((await callTool(link, 'echo', { message: 'hi' }).settled).result).toEqual(textResult('Echo: hi'));
    const slow = callTool(link, 'trigger-long-running-operation', { duration: 0.2, steps: 2 });
    expect((await slow.settled).problem).toBeUndefined();
    expect(slow.progress.map(({ progress }) => progress)).toEqual([1, 2]);
    await link.probe();
    expect(await link.close()).toEqual({
      outcome: 'clean',
      detail: 'The server answered the end of its session with HTTP 200.',
    });
    expect(heard.lost).toEqual([]);
  });
});

describe('Streamable HTTP with a server on the current SDK', () => {
  test.each(['stateless', 'reject'] as const)(
    'of the newer era (older one: %s) agrees on it, lists and calls',
    async (legacy) => {
      const { url } = await startModern(legacy);
      const { link } = openLink(launchAt(url));
      expect(await link.handshake()).toEqual({
        era: 'modern',
        protocolVersion: '2026-07-28',
        serverInfo: { name: 'modern', version: '2.0.0' },
        lists: ['tools'],
        announces: true,
      });
      const { result } = await ask(link, 'tools/list').settled;
      expect((result as { tools: { name: string }[] }).tools.map(({ name }) => name)).toEqual(['echo', 'slow', 'hang']);
      for (const text of ['plain', 'ünï ✓', ' edge ', '=?base64?eA==?=', '']) {
        expect((await callTool(link, 'echo', { text }).settled).result).toMatchObject(textResult(text));
      }
      const slow = callTool(link, 'slow', { steps: 3 });
      expect((await slow.settled).result).toMatchObject(textResult('done'));
      expect(slow.progress.map(({ progress }) => progress)).toEqual([1, 2, 3]);
      await link.probe();
      expect(await link.close()).toEqual({ outcome: 'clean', detail: 'There was no session to end.' });
    },
  );

  test('hears that a list changed, as long as it listens', async () => {
    const server = await startModern('reject');
    const { link, heard } = await openReady(launchAt(server.url));
    let hasEnded = false;
    const listening = link.listen().finally(() => {
      hasEnded = true;
    });
    await vi.waitFor(() => {
      server.announce();
      expect(heard.changed).toContain('tools');
    });
    expect(hasEnded).toBe(false);
    await link.close();
    await Promise.allSettled([listening]);
    expect(hasEnded).toBe(true);
  });

  test('B039 B040: ends the stream of a cancelled call, which the tool hears of', async () => {
    const server = await startModern('reject');
    const { link } = await openReady(launchAt(server.url));
    const { id } = callTool(link, 'hang');
    expect((await callTool(link, 'slow', { steps: 1 }).settled).problem).toBeUndefined();
    link.forget(id, () => undefined);
    await link.notifyCancelled(id, 'not needed');
    await vi.waitFor(() => expect(server.aborted).toEqual(['hang']));
  });

  test('64 at once are each answered with their own result', async () => {
    const { url } = await startModern('reject');
    const { link } = await openReady(launchAt(url));
    await ask(link, 'tools/list').settled;
    const texts = Array.from({ length: 64 }, (_, index) => `text ${index}`);
    const answers = await Promise.all(texts.map((text) => callTool(link, 'echo', { text }).settled));
    answers.forEach(({ result }, index) => expect(result).toMatchObject(textResult(`text ${index}`)));
  });
});
