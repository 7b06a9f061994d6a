import { describe, expect, test } from 'vitest';
import type { Explanation } from '../actors/api.js';
import type { ConfigFault, LayerReading } from '../actors/ports.js';
import { failure } from '../machines/vocabulary.js';
import { opened } from './support/explained.js';
import { outcomeOf } from './support/outcome.js';
import { layer, rejectedLayer, server } from './support/simulated-ports.js';

const theirs = layer('workspace', [server('theirs')]);
const gatesIn = ({ gates }: Explanation) => gates.map(({ gate, state, failure: shut }) => [gate, state, shut?.code ?? null]);

describe('the gates of a server', () => {
  const trusted = { trusted: true } as const;
  const enabled = { trusted: true, enable: ['theirs'] } as const;
  const refusal = failure('REFUSED_ENV', '.mcp.json:4: NODE_OPTIONS', 'Take the name out.');
  const far = layer('workspace', [server('theirs', { isRemote: true, transport: 'http', url: 'https://far.example/' })]);
  const refused = layer('workspace', [server('theirs', { refusal })]);

  test.each([
    ['remote', [far], enabled, 'REMOTE_OFF', /`mcp-supervisor remote on`.*"remote": \{ "enabled": true \}/],
    ['trust', [theirs], {}, 'UNTRUSTED', /`mcp-supervisor trust`/],
    ['enabled', [theirs], trusted, 'DISABLED', /`mcp-supervisor enable theirs`/],
    ['refusals', [refused], enabled, 'REFUSED_ENV', /Take the name out/],
    ['approval', [theirs], enabled, 'APPROVAL_NO_CHANNEL', /`mcp-supervisor test theirs`.*`--approve fingerprint of/],
  ] as const)(
    'name %s as the first that is shut, with its code and what opens it',
    async (gate, layers, options, code, opens) => {
      const { sim, explain } = await opened(layers, {}, options);
      await sim.settle();
      const { gates, onDemand } = explain('theirs');
      expect(gates.map((one) => one.gate)).toEqual(['remote', 'trust', 'enabled', 'refusals', 'approval']);
      const shut = gates.find(({ state }) => state !== 'open');
      expect(shut).toMatchObject({ gate, state: 'shut', failure: { code } });
      expect(shut?.failure?.hint).toMatch(opens);
      expect(onDemand).toMatchObject({ does: 'refuse', failure: { code } });
      expect(sim.links).toEqual([]);
    },
  );

  test('behind a shut one are told as they would be found, so that one look shows the whole way', async () => {
    const { explain } = await opened([far]);
    expect(gatesIn(explain('theirs'))).toEqual([
      ['remote', 'shut', 'REMOTE_OFF'],
      ['trust', 'shut', 'UNTRUSTED'],
      ['enabled', 'shut', 'DISABLED'],
      ['refusals', 'open', null],
      ['approval', 'untried', null],
    ]);
  });

  test('are shut by a refusal that is found only when it is looked at what would run', async () => {
    const { sim, workspace, explain } = await opened([layer('user', [server('files')])]);
    sim.vetting = new Error('no such command');
    await expect(workspace.call('mcp__files__read_file')).rejects.toMatchObject({ code: 'REFUSED_COMMAND' });
    const { gates, error } = explain('files');
    expect(gates[3]).toMatchObject({ gate: 'refusals', state: 'shut', failure: { code: 'REFUSED_COMMAND' } });
    expect(gates[3]?.failure?.hint).toBe('Change its entry: mcp.json:1.');
    expect(error).toMatchObject({ code: 'REFUSED_COMMAND', stage: 'config' });
  });

  test('tell a denial from a question that is still open', async () => {
    const asking = await opened([theirs], { approve: () => new Promise(() => undefined) }, enabled);
    await asking.sim.settle();
    const open = asking.explain('theirs');
    expect(open.gates[4]).toMatchObject({ state: 'shut', failure: { code: 'NOT_READY' } });
    expect(open.onDemand.does).toBe('wait');
    const denied = await opened([theirs], { approve: () => 'deny' }, enabled);
    await denied.sim.settle();
    const shut = denied.explain('theirs');
    expect(shut.gates[4]).toMatchObject({ state: 'shut', failure: { code: 'APPROVAL_DENIED' } });
    expect(shut.gates[4]?.failure?.hint).toContain('`mcp-supervisor test theirs`');
    expect(shut.onDemand).toMatchObject({ does: 'refuse', failure: { code: 'APPROVAL_DENIED' } });
  });

  test('are all open once it runs, and a call is sent', async () => {
    const { workspace, explain } = await opened([theirs], { approve: () => 'approve' }, enabled);
    await workspace.connectAll();
    expect(gatesIn(explain('theirs')).every(([, state]) => state === 'open')).toBe(true);
    expect(explain('theirs')).toMatchObject({ phase: 'ready', onDemand: { does: 'send' } });
  });
});

describe('the layers that name an id', () => {
  test('are the one that serves it and the shadowed ones, each with its place, and why', async () => {
    const over = layer('workspace-override', [server('files', { configHash: 'over', file: 'over.json', line: 9 })]);
    const { explain } = await opened([
      layer('user', [server('files', { line: 4 })]),
      layer('workspace', [server('files', { configHash: 'theirs', file: '.mcp.json', line: 7 })]),
      over,
    ]);
    expect(explain('files')).toMatchObject({
      layer: 'user',
      file: 'mcp.json',
      line: 4,
      shadowed: [
        { layer: 'workspace', file: '.mcp.json', line: 7, code: 'UNTRUSTED' },
        { layer: 'workspace-override', file: 'over.json', line: 9, code: 'UNTRUSTED' },
      ],
    });
  });

  test('include files that were not taken: an id that only such a file names is explained by its fault', async () => {
    const broken: LayerReading = { ...rejectedLayer('workspace'), named: ['lost', 'files'] };
    const { explain, workspace } = await opened([layer('user', [server('files')]), broken], {}, { trusted: true });
    const lost = explain('lost');
    expect(lost).toMatchObject({
      server: 'lost',
      layer: 'workspace',
      file: 'workspace.json',
      stage: 'config',
      error: { code: 'CONFIG_SYNTAX', stage: 'config', message: expect.stringContaining('workspace.json:3:5') as string },
      faults: [{ severity: 'error', file: 'workspace.json', line: 3, column: 5, code: 'CONFIG_SYNTAX' }],
      onDemand: { does: 'refuse', failure: { code: 'CONFIG_SYNTAX' } },
    });
    expect(gatesIn(lost).every(([, state]) => state === 'untried')).toBe(true);
    expect(workspace.server('lost').explain()).toEqual(lost);
    expect(explain('files').shadowed).toMatchObject([{ layer: 'workspace', code: 'CONFIG_INVALID' }]);
  });

  test('include an untrusted file with a fault, whose faults are warnings', async () => {
    const { explain } = await opened([{ ...rejectedLayer('workspace'), named: ['lost'] }]);
    expect(explain('lost')).toMatchObject({
      stage: 'config',
      error: { code: 'CONFIG_SYNTAX' },
      faults: [{ severity: 'warning', code: 'CONFIG_SYNTAX' }],
    });
  });

  test('keep a new entry waiting while another file has a fault, and say which', async () => {
    const { sim, explain, workspace } = await opened([layer('user', [server('files')])], {}, { trusted: true });
    sim.change([layer('user', [server('files'), server('new', { line: 12 })]), rejectedLayer('workspace')]);
    await workspace.reload();
    expect(explain('new')).toMatchObject({
      layer: 'user',
      line: 12,
      stage: 'config',
      error: { code: 'CONFIG_SYNTAX', message: expect.stringContaining('workspace.json:3:5') as string },
    });
  });
});

test('of the warnings of the configuration those are told that concern the server', async () => {
  const warning = (key: string): ConfigFault => ({
    file: 'user.json',
    line: 2,
    column: 3,
    key,
    code: 'CONFIG_UNKNOWN_FIELD',
    message: 'no',
  });
  const keys = ['mcpServers.files.x', 'mcpServers.filesystem.x', 'toolPolicies.files.read', 'toolPolicies.other', 'limits.x'];
  const { explain } = await opened([{ ...layer('user', [server('files')]), warnings: keys.map(warning) }]);
  expect(explain('files').faults.map(({ key, severity }) => [severity, key])).toEqual([
    ['warning', 'mcpServers.files.x'],
    ['warning', 'toolPolicies.files.read'],
  ]);
});

describe('what went wrong', () => {
  test('is told with the next try, in ms and as an instant, the deaths that count, and how the last life ended', async () => {
    const kept = layer('user', [server('files', { lifecycle: 'keep-alive' })]);
    const { sim, workspace, explain } = await opened([kept], { discover: true });
    await workspace.connectAll();
    sim.link('files').die();
    await sim.settle();
    const { phase, retry, restarts, lastClose, error, onDemand } = explain('files');
    expect(phase).toBe('backoff');
    expect(retry).toEqual({ atMs: sim.clock.epoch() + (retry?.inMs ?? 0), inMs: expect.any(Number) as number });
    expect(retry?.inMs).toBeGreaterThan(0);
    expect(restarts).toEqual({ count: 1, max: 5, windowMs: 120_000 });
    expect(lastClose).toMatchObject({ generation: 1 });
    expect(error).toMatchObject({ stage: 'call', code: 'LINK_LOST' });
    expect(onDemand).toMatchObject({ does: 'start', failure: null });
  });

  test('too often is refused to a call, until one more try is admitted', async () => {
    const { sim, workspace, explain } = await opened([layer('user', [server('dies', { lifecycle: 'keep-alive' })])]);
    sim.behaviours.set('dies', { opens: false });
    void workspace.connectAll();
    for (let death = 0; death < 6; death += 1) {
      await sim.run(15_000);
      sim.link('dies').die();
    }
    await sim.settle();
    expect(explain('dies')).toMatchObject({
      phase: 'failed',
      retry: null,
      restarts: { count: 6, max: 5 },
      onDemand: { does: 'refuse', failure: { code: 'RESTART_INTENSITY' } },
    });
    await sim.run(60_000);
    expect(explain('dies')).toMatchObject({ phase: 'failed', onDemand: { does: 'start', failure: null } });
  });

  test('may be that all live slots are taken: its place in the line is told', async () => {
    const ids = ['one', 'two', 'three'];
    const { sim, workspace, explain } = await opened([
      layer(
        'user',
        ids.map((id) => server(id)),
        { limits: { live: 1 } },
      ),
    ]);
    for (const id of ids) {
      sim.behaviours.set(id, { answers: false });
      outcomeOf(workspace.call(`mcp__${id}__echo`));
      await sim.settle();
    }
    expect(explain('one').slot).toBeNull();
    expect(explain('two')).toMatchObject({ stage: 'slot', slot: { position: 1, capacity: 1 }, onDemand: { does: 'wait' } });
    expect(explain('three').slot).toEqual({ position: 2, capacity: 1 });
  });
});
