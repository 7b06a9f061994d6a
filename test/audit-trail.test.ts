import { describe, expect, test } from 'vitest';
import type { SupervisorOptions, WorkspaceOptions } from '../actors/api.js';
import type { AuditEntry, PolicyRule, Question } from '../actors/ports.js';
import { createNodeDigest } from '../adapters/node-digest.js';
import { outcomeOf } from './support/outcome.js';
import { layer, Simulation, server } from './support/simulated-ports.js';

const NAME = 'mcp__files__echo';
const digest = createNodeDigest();
const rule = (verdict: PolicyRule['verdict']): PolicyRule => ({ server: 'files', tool: 'echo', verdict, layer: 'user' });
const user = (...rules: PolicyRule[]) => layer('user', [server('files', { approveTools: [] })], { toolPolicies: rules });

/** A workspace whose audit is read as soon as it is told, as a careless host's own would be. */
async function start(rules: readonly PolicyRule[], options: SupervisorOptions = {}, workspaceOptions: WorkspaceOptions = {}) {
  const sim = new Simulation();
  const entries: AuditEntry[] = [];
  sim.behaviours.set('files', { answers: true });
  sim.layers = [user(...rules)];
  const audit = { record: (entry: AuditEntry) => void entries.push(JSON.parse(JSON.stringify(entry)) as AuditEntry) };
  const opened = await sim.open({ audit, ...options }, workspaceOptions);
  await opened.workspace.connectAll();
  const call = async (...args: Parameters<typeof opened.workspace.call>): Promise<string> => {
    const outcome = outcomeOf(opened.workspace.call(...args));
    await sim.settle();
    return outcome.state;
  };
  const of = (event: AuditEntry['event']) => entries.filter((entry) => entry.event === event);
  return { sim, entries, of, call, ...opened };
}

describe('the audit of a workspace', () => {
  test('S155 has one record of each start, with what it was approved as', async () => {
    const approve = (): string => 'approve';
    const { sim, of, workspace } = await start([], { approve }, { trusted: true, enable: ['own'] });
    expect(of('start')).toEqual([
      {
        workspace: digest.ofJson('/repo'),
        event: 'start',
        server: 'files',
        layer: 'user',
        transport: 'stdio',
        generation: 1,
        config: 'user-files-1',
        fingerprint: null,
      },
    ]);
    sim.change([user(), layer('workspace', [server('own')])]);
    await sim.settle();
    await workspace.connectAll();
    expect(of('answer')).toMatchObject([
      { about: 'server', server: 'own', fingerprint: 'fingerprint of user-own-1', answer: 'approve', tool: null },
    ]);
    expect(of('start')[1]).toMatchObject({ server: 'own', layer: 'workspace', fingerprint: 'fingerprint of user-own-1' });
    workspace.server('own').restart();
    await sim.settle();
    expect(of('start')).toHaveLength(3);
  });

  test.each([
    ['allow', 'ok', 'allow "files.echo" of user'],
    ['deny', 'BLOCKED_BY_POLICY', 'deny "files.echo" of user'],
  ] as const)('S155 has one record of each call that a policy decides: %s', async (verdict, end, words) => {
    const { of, call } = await start([rule(verdict)]);
    expect(await call(NAME, { path: 'SECRET' }, { session: 'one' })).toBe(end);
    expect(of('call')).toEqual([
      {
        workspace: digest.ofJson('/repo'),
        event: 'call',
        server: 'files',
        layer: 'user',
        tool: NAME,
        session: digest.ofJson('one'),
        arguments: digest.ofJson({ path: 'SECRET' }),
        verdict,
        rule: words,
        byPerson: false,
      },
    ]);
    expect(of('answer')).toEqual([]);
  });

  test.each([
    ['approve', 'ok', 'approve'],
    ['no', 'BLOCKED_BY_USER', 'deny'],
    [new Promise(() => undefined), 'APPROVAL_TIMEOUT', 'timeout'],
  ])('S155 has the verdict and the answer of a call that is asked about: %s', async (word, end, answer) => {
    const { sim, of, workspace } = await start([rule('ask')], { approve: () => word, approvalTimeoutMs: 1_000 });
    const outcome = outcomeOf(workspace.call(NAME, { path: 'SECRET' }));
    await sim.run(1_000);
    expect(outcome.state).toBe(end);
    const args = digest.ofJson({ path: 'SECRET' });
    expect(of('call')).toMatchObject([{ verdict: 'ask', arguments: args, session: null }]);
    expect(of('answer')).toMatchObject([{ about: 'call', tool: NAME, arguments: args, answer, fingerprint: null }]);
  });

  test('has the host’s own word, and who typed the call', async () => {
    const words = ['deny', 'allow'];
    const { of, call } = await start([rule('allow')], { authorizeCall: () => words.shift() });
    await call(NAME);
    await call(NAME, {}, { byPerson: true });
    expect(of('call')).toMatchObject([
      { verdict: 'deny', rule: 'deny by the host', byPerson: false },
      { verdict: 'allow', byPerson: true },
    ]);
  });

  test('has each decision on trust, a switch or remote servers when it takes effect, whoever decided it', async () => {
    const { sim, of, workspace, supervisor } = await start([]);
    await workspace.setTrusted(true);
    await workspace.setTrusted(true);
    await sim.elsewhere((db) => db.setTrusted('/repo', false));
    await workspace.server('files').disable();
    await sim.elsewhere((db) => db.setSwitch('mcp.disabled.plugin:p.files', false));
    await sim.elsewhere((db) => db.setSwitch('mcp.disabled.workspace.files#stdio#/another', true));
    await sim.elsewhere((db) => db.setSwitch('mcp.disabled.workspace.files#stdio#/repo', true));
    await supervisor.setRemote(true);
    await supervisor.setRemote(false);
    await sim.settle();
    expect(of('trust')).toMatchObject([{ trusted: true }, { trusted: false }]);
    expect(of('switch')).toMatchObject([
      { server: 'files', layer: 'user', on: false },
      { server: 'files', layer: 'plugin:p', on: false },
      { server: 'files', layer: 'workspace', on: true },
    ]);
    expect(of('remote')).toMatchObject([{ on: true }, { on: false }]);
    await supervisor.close();
  });

  test('has the host’s word on trust, and not what this computer remembers', async () => {
    expect((await start([], {}, { trusted: true })).of('trust')).toMatchObject([{ trusted: true }]);
    const sim = new Simulation();
    await sim.db.setTrusted('/repo', true);
    const entries: AuditEntry[] = [];
    await sim.open({ audit: { record: (entry) => void entries.push(entry) } });
    expect(entries).toEqual([]);
  });

  test('has no argument, result, session or path in it, whatever they are (S155)', async () => {
    const { sim, entries, call, workspace } = await start([rule('allow')], { approve: () => 'approve' }, { trusted: true });
    const odd = [{ a: 'SECRET\ud800' }, { long: 'SECRET'.repeat(20_000) }, { a: Number.NaN, b: 'SECRET' }];
    for (const args of odd) expect(await call(NAME, args, { session: 'SECRET\udc00' })).toBe('ok');
    const circular: { [key: string]: unknown } = { a: 'SECRET' };
    circular['self'] = circular;
    await call(NAME, circular as never, { session: 'SECRET' });
    void workspace.gateway.run({ action: 'read', server: 'files', uri: 'file:///SECRET' });
    await sim.settle();
    expect(JSON.stringify(entries)).not.toMatch(/SECRET|repo"/);
    const digests = entries.flatMap((entry) => (entry.event === 'call' ? [entry.arguments] : []));
    expect(digests).toHaveLength(5);
    expect(digests.every((one) => /^[0-9a-f]{64}$/.test(one))).toBe(true);
    expect(new Set(digests).size).toBe(5);
  });
});

describe('an audit of a host', () => {
  test('that throws changes nothing, and what it did not take is counted in the status (S154)', async () => {
    const audit = {
      record: () => {
        throw new Error('no room');
      },
    };
    const { call, workspace } = await start([rule('allow')], { audit });
    expect(await call(NAME)).toBe('ok');
    expect(workspace.status().workspace.warnings).toEqual(["2 audit records could not be kept (the host's audit threw)"]);
  });

  test('that is null takes nothing, and nobody else does', async () => {
    const sim = new Simulation();
    const recorded: AuditEntry[] = [];
    const audit = {
      record: (entry: AuditEntry) => void recorded.push(entry),
      lost: () => ({ count: 0, reason: null }),
      close: () => Promise.resolve(),
    };
    sim.layers = [user(rule('allow'))];
    sim.behaviours.set('files', { answers: true });
    const { workspace } = await sim.open({ audit: null }, { trusted: true }, { audit });
    await workspace.connectAll();
    const outcome = outcomeOf(workspace.call(NAME));
    await sim.settle();
    expect([outcome.state, recorded]).toEqual(['ok', []]);
  });

  test('is told of a call in the turn it is made in, and the call waits for nothing', async () => {
    const order: string[] = [];
    const audit = { record: ({ event }: AuditEntry) => void order.push(event) };
    const { sim, workspace } = await start([rule('allow')], { audit });
    order.length = 0;
    const outcome = outcomeOf(workspace.call(NAME));
    order.push(...sim.link('files').calls.map(({ method }) => method));
    expect(order).toEqual(['call', 'tools/call']);
    await sim.settle();
    expect(outcome.state).toBe('ok');
  });
});

test('a question about a call says why it is asked', async () => {
  const asked: Question[] = [];
  const { call } = await start([rule('ask')], { approve: (question) => asked.push(question) });
  await call(NAME);
  expect(asked).toMatchObject([{ rule: 'ask "files.echo" of user', canRemember: false }]);
});
