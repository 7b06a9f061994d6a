import { describe, expect, test } from 'vitest';
import type { SupervisorOptions } from '../actors/api.js';
import type { PolicyRule, Question, UserSettings } from '../actors/ports.js';
import { caseFile } from './support/case-file.js';
import { outcomeOf } from './support/outcome.js';
import { layer, Simulation, server } from './support/simulated-ports.js';

const NAME = 'mcp__files__echo';
const rule = (verdict: PolicyRule['verdict'], tool: string | null = null, from: PolicyRule['layer'] = 'user'): PolicyRule => ({
  server: 'files',
  tool,
  verdict,
  layer: from,
});

interface Setting {
  readonly options?: SupervisorOptions;
  readonly rules?: readonly PolicyRule[];
  readonly approveTools?: readonly string[];
  readonly limits?: UserSettings['limits'];
  readonly tools?: readonly string[];
}

/** One ready server whose tool is asked about, unless the test says otherwise; it answers by itself. */
async function start({ options = {}, rules = [], approveTools = [], limits = {}, tools = ['echo'] }: Setting = {}) {
  const sim = new Simulation();
  sim.behaviours.set('files', { answers: true, tools });
  sim.layers = [layer('user', [server('files', { approveTools })], { toolPolicies: rules, limits })];
  const opened = await sim.open(options);
  await opened.workspace.connectAll();
  const { workspace } = opened;
  const call = (...args: Parameters<typeof workspace.call>) => outcomeOf(workspace.call(...args));
  return { sim, ...opened, call };
}

/** A channel that answers what it is told to, and what it was asked. */
function channel(answer: unknown) {
  const asked: Question[] = [];
  const approve = (question: Question): unknown => {
    asked.push(question);
    if (answer instanceof Error) throw answer;
    return answer;
  };
  return { asked, approve };
}

describe('a name that is called', () => {
  test.each([
    ['echo'],
    ['mcp__files__ECHO'],
    ['mcp__files__echo '],
    ['mcp__files__ech'],
    ['files.echo'],
    ['mcp__other__echo'],
    [''],
    ['__proto__'],
  ])('S099 has to be exactly a full name of the catalogue, so %j is unknown', async (name) => {
    const { call, sim } = await start({ approveTools: ['*'] });
    const outcome = call(name);
    await sim.settle();
    expect(outcome.state).toBe('UNKNOWN_TOOL');
    expect(sim.link('files').calls).toEqual([]);
  });

  test('is sent as the server’s own name, with the arguments as they are', async () => {
    const { workspace, sim } = await start({ approveTools: ['*'] });
    const result = await workspace.call(NAME, { path: 'a', deep: [{ b: null }] });
    expect(result).toEqual({ content: [] });
    expect(sim.link('files').calls.map(({ method, params }) => ({ method, params }))).toEqual([
      { method: 'tools/call', params: { name: 'echo', arguments: { path: 'a', deep: [{ b: null }] } } },
    ]);
  });

  test.each([[[]], ['text'], [null], [7]])('takes an object of arguments, and %j is INVALID_ARGUMENTS', async (args) => {
    const { call, sim } = await start({ approveTools: ['*'] });
    const outcome = call(NAME, args);
    await sim.settle();
    expect(outcome.state).toBe('INVALID_ARGUMENTS');
    expect(sim.link('files').calls).toEqual([]);
  });

  test('B174 has to be listed now, in these letters, and be allowed: nothing else is sent to the server', async () => {
    const { call, sim } = await start({ tools: ['a', 'c'], rules: [rule('allow'), rule('deny', 'c')] });
    const outcomes = ['a', 'b', 'c', 'A', 'C', 'a ', ' a', 'a\u0000'].map((name) => call(`mcp__files__${name}`));
    await sim.settle();
    const unknown = Array.from({ length: 5 }, () => 'UNKNOWN_TOOL');
    expect(outcomes.map(({ state }) => state)).toEqual(['ok', 'UNKNOWN_TOOL', 'BLOCKED_BY_POLICY', ...unknown]);
    // Taken off the list, it is no tool any more.
    sim.link('files').behaviour.page = { tools: [] };
    sim.link('files').announce('tools');
    await sim.run(1_000);
    const gone = call('mcp__files__a');
    await sim.settle();
    expect(gone.state).toBe('UNKNOWN_TOOL');
    expect(sim.link('files').calls.map(({ params }) => params)).toEqual([{ name: 'a', arguments: {} }]);
  });

  test('past the limit of tools is not called', async () => {
    const { call, sim } = await start({ approveTools: ['*'], limits: { tools: 1 }, tools: ['echo', 'more'] });
    const over = call('mcp__files__more');
    const first = call(NAME);
    await sim.settle();
    expect([over.state, first.state]).toEqual(['ITEM_OVER_LIMIT', 'ok']);
  });
});

describe('a policy', () => {
  test('that allows a tool lets it pass without a question', async () => {
    const { asked, approve } = channel('approve');
    const { call, sim } = await start({ options: { approve }, rules: [rule('allow', 'ec*')] });
    const outcome = call(NAME);
    await sim.settle();
    expect(outcome.state).toBe('ok');
    expect(asked).toEqual([]);
  });

  test('that denies a tool asks nobody, and a person who types the call does not get past it', async () => {
    const { asked, approve } = channel('approve');
    const { call, sim } = await start({ options: { approve }, rules: [rule('allow'), rule('deny', 'echo')] });
    const outcomes = [call(NAME), call(NAME, {}, { byPerson: true })];
    await sim.settle();
    expect(outcomes.map(({ state }) => state)).toEqual(['BLOCKED_BY_POLICY', 'BLOCKED_BY_POLICY']);
    expect(asked).toEqual([]);
    expect(sim.link('files').calls).toEqual([]);
  });

  test('B175 denies in what a client is shown, in what is explained and in the call alike', async () => {
    const { allowed, denied } = caseFile('B175-deny.policy.json.expect.json') as Record<'allowed' | 'denied', string[]>;
    const { policy, tools } = caseFile('B175-deny.policy.json') as {
      readonly policy: Record<'allow' | 'deny', string[]>;
      readonly tools: string[];
    };
    const rules = [...policy.allow.map((tool) => rule('allow', tool)), ...policy.deny.map((tool) => rule('deny', tool))];
    const { workspace, call, sim } = await start({ rules, tools });
    expect(workspace.gateway.tools().map(({ tool }) => tool)).toEqual(allowed.toSorted());
    const explained = tools.filter((tool) => workspace.server('files').explain(tool).policy?.verdict === 'deny');
    expect(explained.toSorted()).toEqual(denied.toSorted());
    const outcomes = tools.map((tool) => ({ tool, outcome: call(`mcp__files__${tool}`) }));
    await sim.settle();
    const ended = (state: string) => outcomes.filter(({ outcome }) => outcome.state === state).map(({ tool }) => tool);
    expect([ended('ok'), ended('BLOCKED_BY_POLICY')]).toEqual([allowed, denied]);
  });

  test('has keys for reads and prompts too', async () => {
    const { workspace, sim } = await start({
      rules: [rule('allow', 'resources/*'), rule('deny', 'resources/read'), rule('allow', 'prompts/get')],
    });
    const read = workspace.gateway.run({ action: 'read', server: 'files', uri: 'file:///a' });
    await sim.settle();
    expect((await read).structuredContent).toMatchObject({ blocked: true, code: 'BLOCKED_BY_POLICY' });
    sim.change([layer('user', [server('files', { approveTools: [] })], { toolPolicies: [rule('allow', 'resources/read')] })]);
    await sim.settle();
    const allowed = workspace.gateway.run({ action: 'read', server: 'files', uri: 'file:///a' });
    await sim.settle();
    await allowed;
    expect(sim.link('files').calls.map(({ method }) => method)).toEqual(['resources/read']);
  });

  test('that asks is answered by the person who typed the call', async () => {
    const { call, sim } = await start();
    const outcome = call(NAME, {}, { byPerson: true });
    await sim.settle();
    expect(outcome.state).toBe('ok');
  });

  test('that asks where nobody can be asked names the line that would allow the call', async () => {
    const { call, sim } = await start();
    const outcome = call(NAME);
    await sim.settle();
    expect(outcome.state).toBe('APPROVAL_NO_CHANNEL');
    expect(outcome.error?.hint).toContain('"toolPolicies": { "files.echo": "allow" }');
  });
});

describe('a question about a call', () => {
  test.each([['approve'], [{ decision: 'approve' }], [Promise.resolve('approve')]])('is answered yes by %j', async (answer) => {
    const { approve, asked } = channel(answer);
    const { call, sim } = await start({ options: { approve } });
    const outcome = call(NAME, { a: 1 }, { session: 'one' });
    await sim.settle();
    expect(outcome.state).toBe('ok');
    expect(asked).toMatchObject([{ kind: 'call', server: 'files', tool: NAME, arguments: { a: 1 }, session: 'one' }]);
  });

  test.each([
    [true],
    ['yes'],
    ['Approve'],
    ['approve '],
    [1],
    [undefined],
    [null],
    [{}],
    [{ decision: 'yes' }],
    [{ decision: true }],
    [['approve']],
    [new Error('the channel broke')],
  ])('S009 is answered no by %j', async (answer) => {
    const { approve } = channel(answer);
    const { call, sim } = await start({ options: { approve } });
    const outcome = call(NAME);
    await sim.settle();
    expect(outcome.state).toBe('BLOCKED_BY_USER');
    expect(sim.link('files').calls).toEqual([]);
  });

  test('S009 is answered no by a channel that rejects', async () => {
    const { call, sim } = await start({ options: { approve: () => Promise.reject(new Error('the channel broke')) } });
    const outcome = call(NAME);
    await sim.settle();
    expect(outcome.state).toBe('BLOCKED_BY_USER');
  });

  test('S128 is about one call: the next one is asked about again', async () => {
    const { approve, asked } = channel('approve');
    const { call, sim } = await start({ options: { approve } });
    call(NAME, { a: 1 });
    await sim.settle();
    call(NAME, { a: 2 });
    await sim.settle();
    expect(asked).toHaveLength(2);
    expect(new Set(asked.map(({ nonce }) => nonce)).size).toBe(2);
  });

  test('that is never answered ends after its time, and the channel is told', async () => {
    const signals: AbortSignal[] = [];
    const approve: SupervisorOptions['approve'] = (_question, { signal }) => {
      signals.push(signal);
      return new Promise(() => undefined);
    };
    const { call, sim, workspace } = await start({ options: { approve } });
    const outcome = call(NAME, {}, { timeoutMs: 1_000 });
    await sim.run(299_999);
    expect(outcome.state).toBe('open');
    expect(workspace.questions()).toHaveLength(1);
    await sim.run(1);
    expect(outcome.state).toBe('APPROVAL_TIMEOUT');
    expect(signals[0]?.aborted).toBe(true);
    expect(workspace.questions()).toEqual([]);
  });

  test('can be answered by its nonce instead, once, and by no other', async () => {
    const { approve } = channel(new Promise(() => undefined));
    const { call, sim, workspace } = await start({ options: { approve } });
    const outcome = call(NAME);
    await sim.settle();
    const nonce = workspace.questions()[0]?.nonce ?? '';
    expect(workspace.answer('nonce-of-another', 'approve')).toBe(false);
    expect(workspace.answer(nonce, 'approve')).toBe(true);
    expect(workspace.answer(nonce, 'approve')).toBe(false);
    await sim.settle();
    expect(outcome.state).toBe('ok');
  });
});
