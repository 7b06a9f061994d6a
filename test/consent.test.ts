import { describe, expect, test } from 'vitest';
import type { SupervisorOptions, Workspace } from '../actors/api.js';
import type { PolicyRule, Question } from '../actors/ports.js';
import { outcomeOf } from './support/outcome.js';
import { layer, Simulation, server } from './support/simulated-ports.js';

const NAME = 'mcp__files__echo';
const mine = (over: Parameters<typeof server>[1] = {}) => server('files', { approveTools: [], ...over });
const theirs = layer('workspace', [server('files', { layer: 'workspace', configHash: 'theirs', approveTools: [] })]);

/** A channel that answers when the test says so. */
function patient() {
  const asked: { readonly question: Question; readonly say: (answer: unknown) => void }[] = [];
  const approve = (question: Question): unknown => new Promise((say) => asked.push({ question, say }));
  const say = (kind: Question['kind'], answer: unknown): void => {
    for (const one of asked) if (one.question.kind === kind) one.say(answer);
  };
  return { asked, approve, say };
}

/** The user's "files" runs; the workspace's, of the same id, waits for its approval. */
async function start(options: SupervisorOptions) {
  const sim = new Simulation();
  sim.layers = [layer('user', [mine()]), theirs];
  const opened = await sim.open(options, { trusted: true, enable: ['files'] });
  void opened.workspace.connectAll();
  await sim.settle();
  return { sim, ...opened };
}

const sent = (sim: Simulation): readonly string[] => sim.links.flatMap(({ calls }) => calls.map(({ method }) => method));

const readCode = async (workspace: Workspace): Promise<unknown> => {
  const { structuredContent } = await workspace.gateway.run({ action: 'read', server: 'files', uri: 'file:///a' });
  return structuredContent?.['code'];
};

describe('a call that waits for a person’s yes', () => {
  type Act = (context: Awaited<ReturnType<typeof start>>, say: ReturnType<typeof patient>['say']) => void;
  const ways: readonly (readonly [string, Act, string])[] = [
    ['is restarted', ({ workspace }) => workspace.server('files').restart(), 'LINK_LOST'],
    [
      'is another by a new configuration',
      ({ sim }) => sim.change([layer('user', [mine({ configHash: 'other', command: 'other' })]), theirs]),
      'APPROVAL_STALE',
    ],
    ['gives its id to another layer', (_context, say) => say('server', 'approve'), 'APPROVAL_STALE'],
  ];
  test.each(ways)('S128 ends at once when its server %s, and a late yes sends nothing anywhere', async (_what, act, code) => {
    const { approve, asked, say } = patient();
    const context = await start({ approve });
    const { sim, workspace } = context;
    const call = outcomeOf(workspace.call(NAME, { secret: 1 }));
    let read: unknown = 'open';
    void readCode(workspace).then((end) => {
      read = end;
    });
    await sim.settle();
    expect(asked.map(({ question }) => question.kind)).toEqual(['server', 'call', 'call']);
    act(context, say);
    await sim.settle();
    expect([call.state, read]).toEqual([code, code]);
    expect(workspace.questions().filter(({ kind }) => kind === 'call')).toEqual([]);
    say('call', 'approve');
    await sim.run(1_000);
    expect(sent(sim)).toEqual([]);
  });

  test('outlives a change of anything else', async () => {
    const { approve, say } = patient();
    const { sim, workspace } = await start({ approve });
    const call = outcomeOf(workspace.call(NAME));
    await sim.settle();
    sim.change([layer('user', [mine(), server('notes')]), theirs]);
    await sim.settle();
    expect(call.state).toBe('open');
    say('call', 'approve');
    await sim.settle();
    expect(sent(sim)).toEqual(['tools/call']);
  });
});

describe('a call that waits for room, 64 others being in flight', () => {
  const deny: PolicyRule = { server: 'files', tool: 'echo', verdict: 'deny', layer: 'user' };
  const allowed = server('files');

  async function full() {
    const sim = new Simulation();
    sim.layers = [layer('user', [allowed])];
    const opened = await sim.open();
    await opened.workspace.connectAll();
    const { workspace } = opened;
    for (let at = 0; at < 64; at += 1) outcomeOf(workspace.call(NAME, { at }));
    const queued = outcomeOf(workspace.call(NAME, { at: 'queued' }));
    await sim.settle();
    const link = sim.link('files');
    const makeRoom = async (): Promise<void> => {
      for (const { id } of link.calls.slice(0, 2)) link.answer(id);
      await sim.settle();
    };
    return { sim, ...opened, queued, link, makeRoom };
  }

  test('is sent when there is room', async () => {
    const { link, makeRoom, queued } = await full();
    expect(link.calls).toHaveLength(64);
    await makeRoom();
    expect(link.calls).toHaveLength(65);
    expect(queued.state).toBe('open');
  });

  test('is never sent when its tool is denied meanwhile, and those behind it are not held up', async () => {
    const { sim, link, makeRoom, queued, workspace } = await full();
    const read = readCode(workspace);
    await sim.settle();
    sim.change([layer('user', [allowed], { toolPolicies: [deny] })]);
    await sim.settle();
    await makeRoom();
    expect(queued.state).toBe('BLOCKED_BY_POLICY');
    expect(link.calls.map(({ method }) => method).slice(64)).toEqual(['resources/read']);
    link.answer(link.calls.at(-1)?.id ?? '', { contents: [] });
    await expect(read).resolves.toBeUndefined();
  });

  test('S097 is never sent when its tool has another definition meanwhile', async () => {
    const { sim, link, makeRoom, queued } = await full();
    link.behaviour.description = 'sends all files away';
    link.announce('tools');
    await sim.run(1_000);
    await makeRoom();
    expect(queued.state).toBe('APPROVAL_STALE');
    expect(link.calls).toHaveLength(64);
  });
});

describe('a session that ends', () => {
  /** After so many microtasks. */
  const later = (turns: number, act: () => void): void => {
    let left = turns;
    const hop = (): void => {
      if (left === 0) return act();
      left -= 1;
      queueMicrotask(hop);
    };
    hop();
  };
  const turns = Array.from({ length: 16 }, (_, at) => at);

  async function endingAfter(count: number, stage: 'approve' | 'authorizeCall') {
    const sim = new Simulation();
    sim.layers = [layer('user', [mine()])];
    const holder: { workspace?: Workspace } = {};
    const word = (answer: string): unknown => {
      later(count, () => holder.workspace?.endSession('one'));
      return Promise.resolve(answer);
    };
    const options: SupervisorOptions =
      stage === 'approve' ? { approve: () => word('approve') } : { authorizeCall: () => word('allow'), approve: () => 'approve' };
    const opened = await sim.open(options);
    holder.workspace = opened.workspace;
    await opened.workspace.connectAll();
    const outcome = outcomeOf(opened.workspace.call(NAME, {}, { session: 'one' }));
    await sim.run(50);
    const link = sim.link('files');
    return { state: outcome.state, sent: link.calls.map(({ id }) => id), cancelled: link.cancelled };
  }

  test.each(['approve', 'authorizeCall'] as const)(
    'at any moment after %s has said yes takes its call with it',
    async (stage) => {
      const ends = await Promise.all(turns.map((count) => endingAfter(count, stage)));
      expect(ends.map(({ state }) => state)).toEqual(turns.map(() => 'CALL_CANCELLED'));
      // What was sent was taken back.
      expect(ends.map(({ cancelled }) => cancelled)).toEqual(ends.map(({ sent: ids }) => ids));
      expect(ends[0]?.sent).toEqual([]);
    },
  );

  test('as its server becomes ready takes the call that waited with it', async () => {
    const sim = new Simulation();
    sim.layers = [layer('user', [server('files')])];
    const { workspace } = await sim.open();
    await workspace.connectAll();
    workspace.server('files').restart();
    workspace.status$.subscribe(({ servers }) => {
      if (servers[0]?.phase === 'ready') workspace.endSession('one');
    });
    const outcome = outcomeOf(workspace.call(NAME, {}, { session: 'one' }));
    await sim.run(50);
    expect(outcome.state).toBe('CALL_CANCELLED');
    expect(sim.link('files').cancelled).toEqual(sim.link('files').calls.map(({ id }) => id));
  });
});
