import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { Ask, Question, SupervisorOptions } from '../actors/api.js';
import { outcomeOf } from './support/outcome.js';
import { layer, Simulation, server } from './support/simulated-ports.js';

const theirs = (id: string) => server(id, { layer: 'workspace' });
const everyone = { trusted: true, enable: ['a', 'b'] };

/** A trusted workspace that brings servers along, all switched on. */
async function opened(options: SupervisorOptions, ids: readonly string[] = ['a']) {
  const sim = new Simulation();
  sim.layers = [layer('workspace', ids.map(theirs))];
  const { supervisor, workspace } = await sim.open(options, everyone);
  void workspace.connectAll();
  await sim.settle();
  return { sim, supervisor, workspace, of: (id: string) => workspace.server(id).status() };
}

describe('a question about a server', () => {
  test('stays open where nobody can be asked, CI or not, and what waits for it fails at once (S003)', async () => {
    vi.stubEnv('CI', 'true');
    onTestFinished(() => void vi.unstubAllEnvs());
    const { sim, supervisor, workspace, of } = await opened({});
    await sim.run(3_600_000);
    expect(of('a')).toMatchObject({ phase: 'approving', pid: null });
    expect(workspace.questions()).toMatchObject([{ kind: 'server', server: 'a' }]);
    expect(await workspace.server('a').test()).toMatchObject({ ok: false, error: { code: 'APPROVAL_NO_CHANNEL' } });
    expect(sim.links).toEqual([]);
    await supervisor.close();
    expect(sim.remains()).toEqual([]);
  });

  const refusing: readonly (readonly [string, Ask])[] = [
    ['throws', () => Promise.reject(new Error('no window'))],
    [
      'throws at once',
      () => {
        throw new Error('no window');
      },
    ],
  ];
  test.each(refusing)('is answered no by a channel that %s (S003)', async (_what, approve) => {
    const { sim, supervisor, workspace, of } = await opened({ approve });
    expect(of('a')).toMatchObject({ phase: 'idle', blockedBy: 'denied', error: { code: 'APPROVAL_DENIED' } });
    expect([workspace.questions(), sim.links]).toEqual([[], []]);
    await supervisor.close();
  });

  test('is answered no by time: at its deadline and not before, and the channel is told (S003)', async () => {
    const signals: AbortSignal[] = [];
    const late: ((answer: string) => void)[] = [];
    const approve: Ask = (_question, { signal }) => {
      signals.push(signal);
      return new Promise((answer) => late.push(answer));
    };
    const { sim, supervisor, workspace, of } = await opened({ approve, approvalTimeoutMs: 5_000 });
    await sim.run(4_999);
    expect([of('a').phase, signals[0]?.aborted]).toEqual(['approving', false]);
    await sim.run(1);
    expect(of('a')).toMatchObject({ phase: 'idle', blockedBy: 'denied', error: { code: 'APPROVAL_TIMEOUT' } });
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
    expect(workspace.questions()).toEqual([]);
    // A yes after the deadline is nobody's.
    for (const answer of late) answer('approve');
    await sim.run(60_000);
    expect([of('a').blockedBy, sim.links]).toEqual(['denied', []]);
    await supervisor.close();
    expect(sim.remains()).toEqual([]);
  });

  const noes: readonly (readonly [string, unknown])[] = [
    ['true', true],
    ['1', 1],
    ['"yes"', 'yes'],
    ['"Approve"', 'Approve'],
    ['"approve "', 'approve '],
    ['undefined', undefined],
    ['null', null],
    ['a list', ['approve']],
    ['a String', Object('approve')],
    ['{ approve: true }', { approve: true }],
    ['{ decision: true }', { decision: true }],
    ['{ decision: "allow" }', { decision: 'allow' }],
    ['a function', () => 'approve'],
  ];
  test.each(noes)('is answered no by %s, from a channel as by its nonce (S009)', async (_what, word) => {
    const asked = await opened({ approve: () => word });
    expect(asked.of('a')).toMatchObject({ phase: 'idle', blockedBy: 'denied' });
    expect(asked.sim.links).toEqual([]);
    await asked.supervisor.close();

    const { sim, supervisor, workspace, of } = await opened({});
    expect(workspace.answer(workspace.questions()[0]?.nonce ?? '', word as 'approve')).toBe(true);
    await sim.settle();
    expect(of('a')).toMatchObject({ phase: 'idle', blockedBy: 'denied' });
    expect(sim.links).toEqual([]);
    await supervisor.close();
  });

  test('is not answered by the nonce of another question, and each nonce counts once (S009)', async () => {
    const { sim, supervisor, workspace, of } = await opened({}, ['a', 'b']);
    const [a, b] = workspace.questions();
    if (a === undefined || b === undefined) throw new Error('two questions were expected');
    expect(a.nonce).not.toBe(b.nonce);
    expect(workspace.answer(b.nonce, 'approve')).toBe(true);
    expect(workspace.answer(b.nonce, 'approve')).toBe(false);
    await sim.settle();
    expect([of('a').phase, of('b').phase]).toEqual(['approving', 'ready']);
    expect(sim.links.map((link) => link.server)).toEqual(['b']);
    await supervisor.close();
    expect(workspace.answer(a.nonce, 'approve')).toBe(false);
  });

  test('is not got round by a call: of two servers the one that was approved serves, and a call never says yes (B171)', async () => {
    const asked: Question[] = [];
    const late: ((answer: string) => void)[] = [];
    const approve: Ask = (question) => {
      asked.push(question);
      if (question.server === 'b') return new Promise((answer) => late.push(answer));
      return 'approve';
    };
    const { sim, supervisor, workspace, of } = await opened({ approve }, ['a', 'b']);
    const [mine, typed] = [
      outcomeOf(workspace.call('mcp__a__echo')),
      outcomeOf(workspace.call('mcp__b__echo', {}, { byPerson: true })),
    ];
    const read = workspace.gateway.run({ action: 'read', server: 'b', uri: 'x://y' });
    await sim.settle();
    expect([of('a').phase, of('b').phase]).toEqual(['ready', 'approving']);
    expect(sim.links.map((link) => [link.server, link.calls.length])).toEqual([['a', 1]]);
    sim.link('a').answer(sim.link('a').calls[0]?.id ?? '');
    for (const answer of late) answer('deny');
    expect(await read).toMatchObject({ isError: true });
    await sim.settle();
    expect([mine.state, typed.state]).toEqual(['ok', 'APPROVAL_DENIED']);
    expect(sim.links.map((link) => link.server)).toEqual(['a']);
    // Each was asked about once, on a card of its own.
    const cards = asked.flatMap((question) => (question.kind === 'server' ? [question.card.server] : []));
    expect(cards).toEqual(['a', 'b']);
    await supervisor.close();
    expect(sim.remains()).toEqual([]);
  });

  test('lets a host compare a pasted value with what the card shows of a secret, in both places (S025)', async () => {
    const heard: string[] = [];
    const approve: Ask = (_question, { digestOf }) => {
      heard.push(digestOf('hunter2'), digestOf('hunter3'));
      return 'deny';
    };
    const { supervisor, workspace } = await opened({ approve });
    expect(heard).toEqual([workspace.digestOf('hunter2'), workspace.digestOf('hunter3')]);
    expect(heard[0]).toMatch(/^[0-9a-f]{12}$/);
    expect(heard[0]).not.toBe(heard[1]);
    await supervisor.close();
  });
});
