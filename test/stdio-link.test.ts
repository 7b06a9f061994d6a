import { describe, expect, test, vi } from 'vitest';
import { ask, callTool, failureOf, hostile, launchOf, openReady, textResult } from './support/stdio-harness.js';

describe('what comes on stdout', () => {
  test.each([
    ['banner', 2],
    ['json-noise', 7],
  ])('B022 B023: %s is skipped, counted and shown', async (mode, noiseLines) => {
    const { link } = await openReady(hostile(mode));
    expect((await callTool(link, 'echo').settled).result).toEqual(textResult('ok'));
    expect(link.diagnosis().noiseLines).toBe(noiseLines);
    expect(link.diagnosis().stderrTail).toMatch(/^\[stdout\] (Hostile Server|- start)/);
  });

  test.each([
    ['B025', 'crlf', 'crlf'],
    ['B027', 'split-utf8', '字🗂é'],
    ['B023', 'blank-lines', 'blank'],
  ])('%s: %s is read as it was meant', async (_id, mode, said) => {
    const { link } = await openReady(hostile(mode));
    expect((await callTool(link, 'echo').settled).result).toEqual(textResult(said));
    expect(link.diagnosis().noiseLines).toBe(0);
  });

  test.each(['first', 'last'])('a line of 8 MiB with its id %s reaches the call that waits for it', async (id) => {
    const { link } = await openReady(hostile('big-line', `--id=${id}`));
    const { result } = await callTool(link, 'echo', { bytes: 8_388_608 }).settled;
    expect((result as { content: [{ text: string }] }).content[0].text).toHaveLength(8_388_608);
  });

  test('B026: a line over 64 MiB fails its call, and the next call works', async () => {
    const { link, heard } = await openReady(hostile('big-line'));
    const { problem } = await callTool(link, 'echo', { bytes: 68_000_000 }).settled;
    expect(problem?.code).toBe('MESSAGE_TOO_LARGE');
    expect((await callTool(link, 'echo', { bytes: 3 }).settled).result).toEqual(textResult('xxx'));
    expect(heard.lost).toEqual([]);
  });

  test('B026 S157: output that never ends its line loses the link with a bounded memory', async () => {
    const { link, heard } = await openReady(hostile('no-newline'));
    const before = process.memoryUsage.rss();
    void callTool(link, 'echo');
    await vi.waitFor(() => expect(heard.lost.map(({ code }) => code)).toEqual(['MESSAGE_TOO_LARGE']), { timeout: 20_000 });
    expect(process.memoryUsage.rss() - before).toBeLessThan(200 * 1_048_576);
  });

  test.each(['deep-answer', 'wide-answer'])('S104 S159: %s fails its call before it is parsed', async (mode) => {
    const { link } = await openReady(hostile(mode));
    expect((await callTool(link, 'echo').settled).problem?.code).toBe('MESSAGE_TOO_LARGE');
  });
});

describe('an answer', () => {
  test('that is an error carries the words, the code and the data of the server', async () => {
    const { link } = await openReady(hostile('error-answer'));
    const { problem, cause } = await callTool(link, 'echo').settled;
    expect(problem).toMatchObject({ code: 'SERVER_ERROR', message: 'out of paper' });
    expect(cause).toEqual({ code: -32_050, data: { tray: 2 } });
  });

  test.each(['null-result', 'array-result'])('that is no object (%s) is invalid', async (mode) => {
    const { link } = await openReady(hostile(mode));
    expect((await callTool(link, 'echo').settled).problem?.code).toBe('RESULT_INVALID');
  });

  test('given twice counts once, and the second is counted as late', async () => {
    const { link } = await openReady(hostile('duplicate'));
    expect((await callTool(link, 'echo').settled).result).toEqual(textResult('first'));
    await vi.waitFor(() => expect(link.diagnosis().lateAnswers).toBe(1));
  });

  test('to nobody is counted and hurts nobody', async () => {
    const { link } = await openReady(hostile('foreign-id'));
    expect((await callTool(link, 'echo').settled).result).toEqual(textResult('mine'));
    expect(link.diagnosis().foreignAnswers).toBe(2);
  });

  test('B044: that comes late is told once to who watches, and the link goes on', async () => {
    const { link } = await openReady(hostile('late-answer'));
    const { id } = callTool(link, 'echo');
    const late = vi.fn();
    link.forget(id, late);
    await link.notifyCancelled(id, 'no longer needed');
    await vi.waitFor(() => expect(late.mock.calls).toEqual([['result']]));
    expect(link.diagnosis().lateAnswers).toBe(1);
    await link.probe();
  });

  test('that comes after the watch ended is counted and told to nobody', async () => {
    const { link } = await openReady(hostile('late-answer'));
    const { id } = callTool(link, 'echo');
    const late = vi.fn();
    link.forget(id, late);
    link.unwatch(id);
    await link.notifyCancelled(id, 'no longer needed');
    await vi.waitFor(() => expect(link.diagnosis().lateAnswers).toBe(1));
    expect(late).not.toHaveBeenCalled();
  });

  test('B045: given up by an older server fails at once with its reason', async () => {
    const { link } = await openReady(hostile('cancels-call'));
    expect((await callTool(link, 'echo').settled).problem).toMatchObject({
      code: 'SERVER_ERROR',
      message: expect.stringContaining('too busy') as string,
    });
  });

  test('written just before the process exits still arrives, before the loss is told', async () => {
    const { link, heard } = await openReady(hostile('answer-and-die'));
    expect((await callTool(link, 'echo').settled).result).toEqual(textResult('last words'));
    await vi.waitFor(() => expect(heard.lost.map(({ code }) => code)).toEqual(['LINK_LOST']));
  });
});

describe('a request', () => {
  const slow = { steps: 3, stepMs: 5 };

  test('B036: reports progress without having asked for it, in the modern era', async () => {
    const { link } = await openReady(launchOf('modern-server.mjs'));
    const { settled, progress } = callTool(link, 'slow', slow);
    expect((await settled).result).toMatchObject(textResult('done'));
    expect(progress).toEqual([1, 2, 3].map((step) => ({ progress: step, total: 3 })));
  });

  test('B037: of a server that only ever makes progress stays open, and each step is told', async () => {
    const { link } = await openReady(hostile('progress-forever'));
    const { progress } = callTool(link, 'echo');
    await vi.waitFor(() => expect(progress.length).toBeGreaterThan(3));
  });

  test('B039: cancelled in the modern era reaches the tool', async () => {
    const { link } = await openReady(launchOf('modern-server.mjs'));
    const { id } = callTool(link, 'hang');
    link.forget(id, () => undefined);
    await link.notifyCancelled(id, 'no longer needed');
    await vi.waitFor(() => expect(link.diagnosis().stderrTail).toContain('hang was cancelled'));
  });

  test('keeps the caller’s own _meta beside ours', async () => {
    const { link } = await openReady(launchOf('modern-server.mjs'));
    const { result } = await ask(link, 'tools/call', { name: 'echo', arguments: { text: 'x' }, _meta: { mine: 1 } }).settled;
    expect(result).toMatchObject(textResult('x'));
  });

  test.each([
    ['a cycle', () => cyclic()],
    ['a BigInt', () => ({ n: 1n })],
    ['an array', () => [1]],
  ])('with %s for parameters is refused and nothing is sent', async (_what, params) => {
    const { link } = await openReady(hostile('good'));
    expect((await ask(link, 'tools/call', params()).settled).problem?.code).toBe('INVALID_ARGUMENTS');
  });

  test('S169: to a server that does not read is refused once 4 MiB wait', async () => {
    const { link } = await openReady(hostile('never-read'));
    const text = 'x'.repeat(1_048_576);
    const replies = Array.from({ length: 12 }, () => callTool(link, 'echo', { text }));
    const { problem } = await Promise.race(replies.map(({ settled }) => settled));
    expect(problem?.code).toBe('BACKPRESSURE');
  });

  test('64 at once are each answered with their own result', async () => {
    const { link } = await openReady(launchOf('echo-server.mjs'));
    const texts = Array.from({ length: 64 }, (_, at) => `text ${at} 字`);
    const replies = await Promise.all(texts.map((text) => callTool(link, 'echo', { text }).settled));
    expect(replies.map(({ result }) => result)).toEqual(texts.map(textResult));
  });

  test('on a closed link is refused before it returns', async () => {
    const { link } = await openReady(hostile('good'));
    await link.close();
    const failed = vi.fn();
    link.request('tools/list', undefined, { result: vi.fn(), failed, progress: vi.fn() });
    expect(failed).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ code: 'LINK_LOST' }));
  });
});

describe('a server', () => {
  test('B018: that dies in a call loses the link once, and its open calls hear nothing from the link', async () => {
    const { link, heard } = await openReady(hostile('die-in-call'));
    const replied = vi.fn();
    for (let call = 0; call < 3; call += 1)
      link.request('tools/call', {}, { result: replied, failed: replied, progress: replied });
    await vi.waitFor(() => expect(heard.lost).toHaveLength(1));
    expect(heard.lost[0]).toMatchObject({ code: 'LINK_LOST', message: expect.stringContaining('exit code 137') as string });
    await link.close();
    expect(replied).not.toHaveBeenCalled();
    expect(heard.lost).toHaveLength(1);
  });

  test('B028 S162: that floods stderr is drained, answers, and keeps a bounded tail', async () => {
    const { link, heard } = await openReady(hostile('stderr-flood'));
    expect((await callTool(link, 'echo').settled).result).toEqual(textResult('still here'));
    expect(link.diagnosis().stderrTail.length).toBeLessThanOrEqual(65_536);
    expect(heard.stderr).toBe(1);
  });

  test('that asks for a ping gets it, and for roots it is told that there are none to have', async () => {
    const { link } = await openReady(hostile('asks-back'));
    const { result } = await callTool(link, 'echo').settled;
    const { content } = result as { content: [{ text: string }] };
    expect(JSON.parse(content[0].text)).toEqual({ q1: {}, q2: -32_601 });
  });

  test('that announces changes names the lists they concern', async () => {
    const { link, heard } = await openReady(hostile('list-changed'));
    await callTool(link, 'echo').settled;
    expect(heard.changed).toEqual(['tools', 'resources', 'resourceTemplates', 'prompts']);
  });

  test('of the modern era announces changes to who listens, until the link ends', async () => {
    const { link, heard } = await openReady(launchOf('modern-server.mjs'));
    const listening = link.listen();
    await callTool(link, 'addTool', { name: 'added' }).settled;
    await vi.waitFor(() => expect(heard.changed).toContain('tools'));
    await link.close();
    await listening;
  });

  test.each([
    ['modern', launchOf('modern-server.mjs')],
    ['older', launchOf('echo-server.mjs')],
  ])('of the %s era answers a probe', async (_era, launch) => {
    const { link } = await openReady(launch);
    await link.probe();
  });

  test('B092: that answers a ping with an error is alive', async () => {
    const { link } = await openReady(hostile('ping-error'));
    await link.probe();
  });

  test('that dies instead of answering a probe fails it', async () => {
    const { link } = await openReady(hostile('good'));
    const probing = failureOf(link.probe());
    await link.close();
    expect(await probing).toBe('PROBE_FAILED');
  });
});

function cyclic(): object {
  const value: { self?: object } = {};
  value.self = value;
  return value;
}
