import { describe, expect, test } from 'vitest';
import type { SupervisorOptions, WorkspaceStatus } from '../actors/api.js';
import type { Question } from '../actors/ports.js';
import { outcomeOf } from './support/outcome.js';
import { layer, Simulation, server } from './support/simulated-ports.js';

const NAME = 'mcp__files__echo';

/** "files" stands in the user's file and in the workspace's; both are switched on. */
async function start(options: SupervisorOptions = {}, trusted = true, enable: readonly string[] = ['files']) {
  const sim = new Simulation();
  sim.layers = [
    layer('user', [server('files')]),
    layer('workspace', [server('files', { layer: 'workspace', configHash: 'theirs', approveTools: ['*'] })]),
  ];
  sim.behaviours.set('files', { answers: true });
  const opened = await sim.open(options, { trusted, enable });
  return { sim, ...opened, status: () => opened.workspace.server('files').status() };
}

const openHashes = (sim: Simulation) => sim.openLinks.map(({ options }) => options.configHash);

describe('an id that the user and the workspace both define', () => {
  test('is served by the user’s until the workspace’s is approved, then by that one alone', async () => {
    const { sim, workspace, status } = await start();
    await expect(workspace.call(NAME)).resolves.toBeDefined();
    expect(status()).toMatchObject({ layer: 'user', phase: 'ready', shadowed: [{ layer: 'workspace' }] });
    sim.link('files').behaviour.answers = false;
    const open = outcomeOf(workspace.call(NAME));
    await sim.settle();
    expect(workspace.answer(workspace.questions()[0]?.nonce ?? '', 'approve')).toBe(true);
    await sim.settle();
    expect(open.state).toBe('SHADOWED');
    expect(status()).toMatchObject({ layer: 'workspace', shadowed: [{ layer: 'user' }] });
    expect(status().shadowed[0]?.why).toContain('covered');
    // What the user allows binds to the user's own server only.
    await expect(workspace.call(NAME)).rejects.toMatchObject({ code: 'APPROVAL_NO_CHANNEL' });
    await expect(workspace.call(NAME, {}, { byPerson: true })).resolves.toBeDefined();
    expect(openHashes(sim)).toEqual(['theirs']);
  });

  test('goes back to the user’s when the workspace is no longer trusted, with nothing of the other left', async () => {
    const { sim, workspace, status } = await start({ approvedFingerprints: ['fingerprint of theirs'] });
    await workspace.connectAll();
    expect(openHashes(sim)).toEqual(['theirs']);
    sim.behaviours.set('files', { answers: true, tools: ['mine'] });
    void workspace.setTrusted(false);
    await sim.settle();
    expect(workspace.tools()).toEqual([]);
    expect(status()).toMatchObject({ layer: 'user', phase: 'idle', blockedBy: null });
    await workspace.connectAll();
    expect(workspace.tools().map(({ tool }) => tool)).toEqual(['mine']);
    expect(openHashes(sim)).toEqual(['user-files-1']);
  });

  test('is not served by what is denied, and is explained', async () => {
    const { sim, workspace, status } = await start({ approve: () => 'deny' });
    await sim.settle();
    expect(status()).toMatchObject({ layer: 'user', phase: 'idle' });
    await expect(workspace.call(NAME)).resolves.toBeDefined();
    expect(workspace.server('files').explain()).toMatchObject({ server: 'files', layer: 'user', phase: 'ready', error: null });
  });
});

test('switching an id on means the workspace’s entry that is off, though the user’s serves the id; switching it off what serves', async () => {
  const { sim, workspace, status } = await start({}, true, []);
  await workspace.call(NAME);
  await workspace.server('files').enable();
  await sim.settle();
  expect(workspace.questions()).toMatchObject([{ kind: 'server', fingerprint: 'fingerprint of theirs' }]);
  expect(status()).toMatchObject({ layer: 'user', phase: 'ready' });
  await workspace.server('files').disable();
  await sim.settle();
  expect(await sim.db.switches()).toEqual(
    new Map([
      ['mcp.disabled.workspace.files#stdio#/repo', true],
      ['mcp.disabled.user.files', false],
    ]),
  );
});

describe('trust', () => {
  test('that the host withholds is not given by what the machine remembers, and trusting starts nothing', async () => {
    const sim = new Simulation();
    sim.layers = [layer('workspace', [server('theirs', { layer: 'workspace' })])];
    await sim.db.setTrusted('/repo', true);
    const refused = await sim.open({}, { trusted: false, enable: ['theirs'] });
    expect(refused.workspace.server('theirs').status()).toMatchObject({ blockedBy: 'untrusted', fingerprint: null });
    expect(refused.workspace.server('theirs').explain()).toMatchObject({
      gates: [
        { gate: 'remote', state: 'open', failure: null },
        { gate: 'trust', state: 'shut', failure: { code: 'UNTRUSTED' } },
        { gate: 'enabled', state: 'open', failure: null },
        { gate: 'refusals', state: 'open', failure: null },
        { gate: 'approval', state: 'untried', failure: null },
      ],
    });
    await refused.supervisor.close();
    const remembered = await sim.open({}, { enable: ['theirs'] });
    expect(remembered.workspace.server('theirs').status()).toMatchObject({ phase: 'approving' });
    void remembered.workspace.setTrusted(false);
    void remembered.workspace.setTrusted(true);
    void remembered.workspace.setTrusted(false);
    await sim.settle();
    expect(remembered.workspace.server('theirs').status()).toMatchObject({ phase: 'idle', blockedBy: 'untrusted' });
    expect(remembered.workspace.questions()).toEqual([]);
    expect(await sim.db.trusted('/repo')).toBe(false);
    expect(sim.links).toEqual([]);
  });

  test('that is taken back by the host inside its own answer to a question wins over the answer', async () => {
    const asked: Question[] = [];
    const approve = (question: Question): unknown => {
      asked.push(question);
      void workspace.setTrusted(false);
      return 'approve';
    };
    const { sim, workspace, status } = await start({ approve }, false);
    void workspace.setTrusted(true);
    await sim.settle();
    expect(asked).toHaveLength(1);
    expect(status()).toMatchObject({ layer: 'user', phase: 'idle' });
    expect(sim.links).toEqual([]);
    expect(workspace.status().workspace.trusted).toBe(false);
  });
});

test('whoever is asked finds the server as one that waits for the answer', async () => {
  const sim = new Simulation();
  sim.layers = [layer('workspace', [server('theirs', { layer: 'workspace' })])];
  const seen: unknown[] = [];
  const approve = (): unknown => seen.push(workspace.server('theirs').status().phase, workspace.questions().length);
  const { workspace } = await sim.open({ approve }, { trusted: false, enable: ['theirs'] });
  void workspace.setTrusted(true);
  await sim.settle();
  expect(seen).toEqual(['approving', 1]);
});

describe('more servers than there are slots', () => {
  const ids = Array.from({ length: 17 }, (_, at) => `s${String(at).padStart(2, '0')}`);

  async function crowd() {
    const sim = new Simulation();
    sim.layers = [
      layer(
        'user',
        ids.map((id) => server(id)),
      ),
    ];
    for (const id of ids) sim.behaviours.set(id, { answers: true });
    const opened = await sim.open();
    for (const id of ids.slice(0, 16)) {
      await opened.workspace.server(id).test();
      await sim.run(10);
    }
    return { sim, ...opened };
  }

  test('are 16 live ones: the next takes the place of the one that was not used for longest', async () => {
    const { sim, workspace } = await crowd();
    await sim.run(10_000);
    await workspace.call('mcp__s00__echo');
    const call = outcomeOf(workspace.call('mcp__s16__echo'));
    await sim.settle();
    expect(call.state).toBe('ok');
    expect(sim.openLinks).toHaveLength(16);
    expect(workspace.server('s01').status()).toMatchObject({ phase: 'idle', error: null });
    expect(workspace.server('s00').status().phase).toBe('ready');
  });

  test('wait until one of the others has had its slot for 5 s', async () => {
    const { sim, workspace } = await crowd();
    const call = outcomeOf(workspace.call('mcp__s16__echo'));
    await sim.run(4_800);
    expect(workspace.server('s16').status()).toMatchObject({ phase: 'connecting', stage: 'slot' });
    expect(sim.openLinks).toHaveLength(16);
    await sim.run(200);
    expect(call.state).toBe('ok');
    expect(sim.openLinks).toHaveLength(16);
  });

  test('wait for as long as every one of the others is in use', async () => {
    const { sim, workspace } = await crowd();
    for (const id of ids.slice(0, 16)) {
      sim.link(id).behaviour.answers = false;
      outcomeOf(workspace.call(`mcp__${id}__echo`));
    }
    const call = outcomeOf(workspace.call('mcp__s16__echo'));
    await sim.run(20_000);
    expect(call.state).toBe('open');
    expect(sim.openLinks).toHaveLength(16);
    sim.link('s09').answer(sim.link('s09').calls[0]?.id ?? '');
    await sim.run(100);
    expect(call.state).toBe('ok');
    expect(workspace.server('s09').status().phase).toBe('idle');
  });
});

describe('connecting all', () => {
  test('demands every server with open gates and settles when none is on its way any more', async () => {
    const sim = new Simulation();
    sim.layers = [
      layer('user', [server('good'), server('slow'), server('dies'), server('far', { isRemote: true })]),
      layer('workspace', [server('theirs', { layer: 'workspace' })]),
    ];
    sim.behaviours.set('slow', { shakes: false });
    sim.behaviours.set('dies', { opens: false });
    const { workspace } = await sim.open({}, { trusted: true, enable: ['theirs'] });
    let status: WorkspaceStatus | undefined;
    void workspace.connectAll().then((settled) => {
      status = settled;
    });
    await sim.settle();
    sim.link('dies').die();
    await sim.settle();
    expect(status).toBeUndefined();
    sim.link('slow').shake();
    await sim.settle();
    const phases = status?.servers.map(({ id, phase, blockedBy }) => [id, phase, blockedBy]);
    expect(phases).toEqual([
      ['dies', 'backoff', null],
      ['far', 'idle', 'remoteOff'],
      ['good', 'ready', null],
      ['slow', 'ready', null],
      ['theirs', 'approving', null],
    ]);
  });
});
