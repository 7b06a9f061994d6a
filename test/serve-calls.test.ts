import { expect, test, vi } from 'vitest';
import type { Ask, Question } from '../actors/ports.js';
import { approvalForm, decisionIn, takesForms } from '../adapters/serve/approval-form.js';
import { type CallLeg, type LegEnd, OpenCalls } from '../adapters/serve/open-calls.js';
import { createProgressGate } from '../adapters/serve/progress-gate.js';
import type { RunOptions, ServedResult } from '../adapters/serve/served-workspace.js';

const done = (text: string): ServedResult => ({ content: [{ type: 'text', text }] });
const accepted = { action: 'accept', content: { decision: 'approve' } };

/** Calls whose runs ask one question each and then say what was answered. */
function asking(openMax = 8) {
  const runs: RunOptions[] = [];
  let states = 0;
  const calls = new OpenCalls({
    run: async (request, options) => {
      runs.push(options);
      const ask = options.approve as Ask;
      const question = {
        kind: 'call',
        nonce: 'n',
        server: 'files',
        tool: 't',
        arguments: request,
        session: options.session,
        rule: 'ask',
        canRemember: false,
      } as const;
      return done(`${JSON.stringify(request)} ${String(await ask(question, { signal: options.signal, digestOf: String }))}`);
    },
    nonce: () => `state-${(states += 1)}`,
    now: () => 0,
    openMax,
  });
  return { calls, runs };
}

const leg = (over: Partial<CallLeg> = {}): CallLeg => ({
  request: { n: 1 },
  session: 's',
  signal: new AbortController().signal,
  onProgress: () => undefined,
  asking: 'returns',
  ...over,
});
const stateOf = (end: LegEnd): string => (end.kind === 'form' ? end.state : 'no form');
const textIn = (end: LegEnd): unknown => (end.kind === 'result' ? end.result.content[0]?.['text'] : 'a form');

test('an answer is good once, for the very call it was asked about, and for nobody who guesses (S127, S128, S129)', async () => {
  const { calls, runs } = asking();
  const state = stateOf(await calls.serve(leg()));
  const resumed = (over: Partial<CallLeg> = {}) => calls.serve(leg({ resumed: { state, answer: accepted }, ...over }));
  expect(textIn(await resumed({ resumed: { state: 'state-9', answer: accepted } }))).toContain('APPROVAL_STALE');
  expect(textIn(await resumed({ request: { n: 2 } }))).toContain('APPROVAL_STALE');
  const both = await Promise.all([resumed(), resumed()]);
  expect(both.map(textIn)).toEqual(['{"n":1} approve', expect.stringContaining('APPROVAL_STALE')]);
  expect(runs).toHaveLength(1);
  expect(calls.size).toBe(0);
});

test('a question that is withdrawn takes its form along, and what waits is told', async () => {
  const { calls, runs } = asking();
  const state = stateOf(await calls.serve(leg()));
  calls.close();
  expect(runs[0]?.signal.aborted).toBe(true);
  expect(textIn(await calls.serve(leg({ resumed: { state, answer: accepted } })))).toContain('APPROVAL_STALE');
  expect(textIn(await calls.serve(leg()))).toContain('SUPERVISOR_CLOSED');
});

test('calls that wait for an answer count as open', async () => {
  const { calls } = asking(2);
  await calls.serve(leg());
  await calls.serve(leg());
  expect(textIn(await calls.serve(leg()))).toContain('OVERLOADED');
});

test('a question about a server is no client’s to answer: it is a no, and nobody is sent a form', async () => {
  const server = { kind: 'server', nonce: 'n', server: 'files' } as Question;
  const calls = new OpenCalls({
    run: async (_request, { approve, signal }) => done(String(await approve?.(server, { signal, digestOf: String }))),
    nonce: () => 'state',
    now: () => 0,
    openMax: 1,
  });
  const asked = vi.fn(() => Promise.resolve(accepted));
  expect(textIn(await calls.serve(leg({ asking: asked })))).toBe('deny');
  expect(textIn(await calls.serve(leg()))).toBe('deny');
  expect(asked).not.toHaveBeenCalled();
});

test('a channel that fails has said no', async () => {
  const { calls } = asking();
  expect(textIn(await calls.serve(leg({ asking: () => Promise.reject(new Error('gone')) })))).toBe('{"n":1} deny');
});

test('a form offers to remember the yes where that can be done, and nowhere else', () => {
  const about = { kind: 'call', nonce: 'n', server: 'files', tool: 't', session: null, arguments: {}, rule: 'ask' } as const;
  const offered = (canRemember: boolean) => approvalForm({ ...about, canRemember }).requestedSchema.properties.decision;
  expect(offered(false)).toMatchObject({ enum: ['deny', 'approve'], default: 'deny' });
  expect(offered(true)).toMatchObject({ enum: ['deny', 'approve', 'always'], default: 'deny' });
  const always = { action: 'accept', content: { decision: 'always' } };
  expect(decisionIn(always)).toEqual({ decision: 'approve', remember: true });
  expect(decisionIn({ ...always, action: 'decline' })).toBe('deny');
});

test('a form hides nothing and lets nothing pass for another line; what it cannot show it counts', () => {
  const about = { kind: 'call', nonce: 'n', server: 'files', tool: 'mcp__files__rm', session: null } as const;
  const question = { ...about, rule: 'ask\nTool: harmless', canRemember: false };
  const { message } = approvalForm({ ...question, arguments: { path: 'a\nTool: harmless\u202e\u200b' } });
  expect(message.split('\n').filter((line) => line.startsWith('Tool:'))).toEqual(['Tool: mcp__files__rm']);
  expect(message).toContain('"path": "a\\nTool: harmless\\u202e\\u200b"');
  const long = approvalForm({ ...question, arguments: { text: 'x'.repeat(100_000) } });
  expect(long.message.length).toBeLessThan(20_000);
  expect(long.message).toMatch(/\d+ characters of the arguments are NOT shown/);
  expect(long.requestedSchema.properties.decision.default).toBe('deny');
});

test('only a form that was sent off with the word itself is a yes', () => {
  expect(decisionIn(accepted)).toBe('approve');
  for (const answer of [
    null,
    'approve',
    {},
    { action: 'accept' },
    { ...accepted, action: 'decline' },
    { action: 'accept', content: 'approve' },
  ])
    expect(decisionIn(answer)).toBe('deny');
});

test.each([
  [{ elicitation: {} }, true],
  [{ elicitation: { form: {} } }, true],
  [{ elicitation: { form: {}, url: {} } }, true],
  [{ elicitation: { url: {} } }, false],
  [{}, false],
  [undefined, false],
])('a client with %j takes forms: %s', (capabilities, takes) => expect(takesForms(capabilities)).toBe(takes));

test('progress that falls, that comes too soon or after the end does not pass', () => {
  let nowMs = 0;
  const passed: number[] = [];
  const gate = createProgressGate(
    () => nowMs,
    ({ progress }) => void passed.push(progress),
  );
  for (const progress of [1, 2, 3]) gate.report({ progress });
  nowMs = 20;
  for (const progress of [1, 4]) gate.report({ progress });
  gate.report({ progress: 9, total: 9 });
  gate.close();
  nowMs = 100;
  gate.report({ progress: 10 });
  expect(passed).toEqual([1, 4, 9]);
});
