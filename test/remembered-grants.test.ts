import { describe, expect, test } from 'vitest';
import { outcomeOf } from './support/outcome.js';
import { ALWAYS, computer, NAME, echoRule as rule } from './support/remembering-computer.js';
import { layer, server } from './support/simulated-ports.js';

const ROOT = '/repo';

describe('an approval that is to be remembered', () => {
  test('is asked for once: later calls pass, in this run and in the next', async () => {
    const { run, asked, listed, sim } = computer();
    const first = await run();
    expect([await first.call(), await first.call()]).toEqual(['ok', 'ok']);
    expect(asked).toMatchObject([{ tool: NAME, canRemember: true, rule: 'ask, as no rule says otherwise' }]);
    expect(listed.files.get(ROOT)).toEqual([NAME]);
    expect([...(await sim.db.grants(ROOT)).keys()]).toEqual([NAME]);
    expect(first.workspace.server('files').explain(NAME).policy).toMatchObject({ verdict: 'allow', rule: 'a remembered grant' });
    await first.supervisor.close();
    const next = await run();
    expect(await next.call()).toBe('ok');
    expect(asked).toHaveLength(1);
  });

  test.each([
    ['approve'],
    [{ decision: 'approve' }],
    [{ decision: 'approve', remember: 'yes' }],
    [{ decision: 'approve', remember: false }],
  ])('is one that says so: %j is for one call', async (word) => {
    const { run, asked, listed, say } = computer();
    say(word);
    const { call } = await run();
    expect([await call(), await call()]).toEqual(['ok', 'ok']);
    expect(asked).toHaveLength(2);
    expect(listed.files.size).toBe(0);
  });

  test('is never a no', async () => {
    const { run, listed, sim, say } = computer();
    say({ decision: 'deny', remember: true });
    const { call } = await run();
    expect([await call(), await call()]).toEqual(['BLOCKED_BY_USER', 'BLOCKED_BY_USER']);
    expect([listed.files.size, (await sim.db.grants(ROOT)).size]).toEqual([0, 0]);
  });

  test('may be given by the nonce of its question', async () => {
    const { run, asked, sim, say } = computer();
    say(new Promise(() => undefined));
    const { workspace, call } = await run();
    const outcome = outcomeOf(workspace.call(NAME));
    await sim.settle();
    expect(workspace.answer(asked[0]?.nonce ?? '', ALWAYS)).toBe(true);
    await sim.settle();
    expect([outcome.state, await call()]).toEqual(['ok', 'ok']);
    expect(asked).toHaveLength(1);
  });

  test('is for a tool: what is read is asked about each time', async () => {
    const { run, asked, listed, sim } = computer();
    const { workspace } = await run();
    for (let at = 0; at < 2; at += 1) {
      void workspace.gateway.run({ action: 'read', server: 'files', uri: 'file:///a' });
      await sim.settle();
    }
    expect(asked).toMatchObject([{ canRemember: false }, { canRemember: false }]);
    expect(listed.files.size).toBe(0);
  });

  test('is not asked for where the workspace is not trusted, nor by the host’s own word, which is heard each time', async () => {
    const { run, asked, listed } = computer();
    const untrusted = await run({}, {});
    expect(await untrusted.call()).toBe('ok');
    expect(listed.reads).toBe(0);
    await untrusted.supervisor.close();
    const { call } = await run({ authorizeCall: () => 'ask' });
    expect([await call(), await call()]).toEqual(['ok', 'ok']);
    // The policy asks the first time, and what it would have said is remembered; the host asks all the same.
    expect(asked.map(({ canRemember }) => canRemember)).toEqual([false, true, false]);
  });

  test('that cannot be kept is one for that call, and said in the status', async () => {
    const { run, listed, asked } = computer();
    listed.isFull = true;
    const { call, workspace } = await run();
    expect([await call(), await call()]).toEqual(['ok', 'ok']);
    expect(asked).toHaveLength(2);
    expect(workspace.status().workspace.config).toMatchObject({
      state: 'valid',
      warnings: [{ code: 'CONFIG_UNREADABLE', message: expect.stringContaining(NAME) as string }],
    });
    listed.isFull = false;
    await call();
    expect(workspace.status().workspace.config.warnings).toEqual([]);
  });

  test('that the store refuses is none, though the file lists the tool', async () => {
    const { sim, listed, run, asked } = computer();
    const { db } = sim;
    const broken = { ...db, saveGrant: () => Promise.reject(new Error('the disk is full')) };
    const opened = await sim.open(
      { approve: (question) => (asked.push(question as (typeof asked)[number]), ALWAYS) },
      { trusted: true },
      { grants: listed, db: broken },
    );
    await opened.workspace.connectAll();
    for (let at = 0; at < 2; at += 1) {
      outcomeOf(opened.workspace.call(NAME));
      await sim.settle();
    }
    expect(asked).toHaveLength(2);
    expect(listed.files.get(ROOT)?.[0]).toBe(NAME);
    await opened.supervisor.close();
    expect(await (await run()).call()).toBe('ok');
    expect(asked).toHaveLength(3);
  });
});

describe('a remembered approval', () => {
  test('counts before an explicit ask of any layer, and never before a deny', async () => {
    const { sim, run, user, asked, say } = computer();
    const { call } = await run();
    await call();
    say('deny');
    sim.change([user([rule('ask')]), layer('workspace', [server('other', { policies: [rule('ask', 'workspace')] })])]);
    await sim.settle();
    expect(await call()).toBe('ok');
    sim.change([user([rule('allow'), rule('deny')])]);
    await sim.settle();
    expect(await call()).toBe('BLOCKED_BY_POLICY');
    expect(asked).toHaveLength(1);
  });

  test('is not brought along by a clone: a file alone is no yes', async () => {
    const { listed, run, asked, say } = computer();
    listed.files.set(ROOT, [NAME]);
    say('deny');
    expect(await (await run()).call()).toBe('BLOCKED_BY_USER');
    expect(asked).toHaveLength(1);
  });

  test('ends with its line at the next reading, and the same line written back by somebody else is no yes', async () => {
    const { sim, listed, run, asked, say, user } = computer();
    const { call, workspace } = await run();
    await call();
    say('deny');
    listed.files.set(ROOT, []);
    sim.change([user()]);
    await sim.settle();
    expect(await call()).toBe('BLOCKED_BY_USER');
    expect((await sim.db.grants(ROOT)).size).toBe(0);
    listed.files.set(ROOT, [NAME]);
    await workspace.reload();
    expect(await call()).toBe('BLOCKED_BY_USER');
    expect(asked).toHaveLength(3);
  });

  test('does not count while its file has a fault, which is told with its place, and does when it is mended', async () => {
    const { sim, listed, run, user, say } = computer();
    const { call, workspace } = await run();
    await call();
    say('deny');
    const file = '/repo/.mcp-supervisor/permissions.local.json';
    listed.fault = { file, line: 3, column: 7, key: 'allowMcpTools', code: 'CONFIG_SYNTAX', message: 'a comma is missing' };
    sim.change([user()]);
    await sim.settle();
    expect(await call()).toBe('BLOCKED_BY_USER');
    expect(workspace.status().workspace.config).toMatchObject({ state: 'valid', warnings: [{ file, line: 3, column: 7 }] });
    listed.fault = null;
    await workspace.reload();
    expect(await call()).toBe('ok');
  });

  test('counts while the workspace is trusted, and again once it is', async () => {
    const { sim, run, say } = computer();
    const { call, workspace } = await run();
    await call();
    say('deny');
    await workspace.setTrusted(false);
    expect(await call()).toBe('BLOCKED_BY_USER');
    await workspace.setTrusted(true);
    await sim.settle();
    expect(await call()).toBe('ok');
  });

  test('that another process gives or takes back is followed', async () => {
    const { sim, listed, run, say } = computer();
    const first = await run();
    await first.call();
    const grants = await sim.db.grants(ROOT);
    await sim.elsewhere((db) => db.forgetGrants(ROOT, [NAME]));
    say('deny');
    expect(await first.call()).toBe('BLOCKED_BY_USER');
    const [digest = ''] = grants.get(NAME) ?? [];
    listed.files.set(ROOT, [NAME]);
    await sim.elsewhere((db) => db.saveGrant(ROOT, NAME, digest));
    expect(await first.call()).toBe('ok');
  });

  test('is for one root', async () => {
    const { sim, listed, run, say, asked } = computer();
    const first = await run();
    await first.call();
    await first.supervisor.close();
    listed.files.set('/other', [NAME]);
    say('deny');
    const supervisor = sim.supervisor(
      { approve: (question) => (asked.push(question as (typeof asked)[number]), 'deny') },
      { grants: listed },
    );
    const other = await supervisor.openWorkspace('/other', { trusted: true });
    await other.connectAll();
    const outcome = outcomeOf(other.call(NAME));
    await sim.settle();
    expect(outcome.state).toBe('BLOCKED_BY_USER');
    expect(asked).toHaveLength(2);
  });

  test('is for what serves the id: the same tool of another layer or another origin is asked about', async () => {
    const { sim, run, user, say, asked } = computer();
    const { call, workspace } = await run();
    await call();
    say('deny');
    // A workspace's server of the same id with the same tool, which a person lets start.
    sim.change([user(), layer('workspace', [server('files', { approveTools: [] })])]);
    await sim.settle();
    await workspace.server('files').enable();
    await sim.settle();
    await workspace.connectAll();
    expect(workspace.status().servers).toMatchObject([{ layer: 'workspace', phase: 'ready' }]);
    expect(await call()).toBe('BLOCKED_BY_USER');
    const url = 'http://127.0.0.1:1/mcp';
    sim.behaviours.set(url, { answers: true });
    sim.change([user([], { transport: 'http', url, configHash: 'http' })]);
    await sim.settle();
    await workspace.connectAll();
    expect(await call()).toBe('BLOCKED_BY_USER');
    sim.change([user()]);
    await sim.settle();
    await workspace.connectAll();
    expect(await call()).toBe('ok');
    expect(asked).toHaveLength(3);
  });
});
