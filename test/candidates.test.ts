import { describe, expect, test } from 'vitest';
import {
  type Candidate,
  type CandidateFacts,
  decideCandidates,
  defaultSwitch,
  diffCandidates,
  needsApproval,
  switchKey,
} from '../machines/candidates.js';
import { type CandidateKey, failure, isWorkspaceLayer, type LayerName } from '../machines/vocabulary.js';

const candidate = (layer: LayerName, overrides: Partial<Candidate> = {}): Candidate => ({
  id: 'files',
  layer,
  transport: 'stdio',
  lifecycle: 'lazy',
  configHash: 'h1',
  isRemote: false,
  refusal: null,
  idleTimeoutMs: 600_000,
  initTimeoutMs: 60_000,
  ...overrides,
});

const root = '/home/me/repo';

/** Everything open: trusted, remote on, the workspace's switches on, everything approved. */
const open = (candidates: readonly Candidate[], overrides: Partial<CandidateFacts> = {}): CandidateFacts => ({
  root,
  trusted: true,
  remoteEnabled: true,
  switches: new Map(candidates.map((one) => [switchKey(one, root), true])),
  approved: () => true,
  ...overrides,
});

const only = (...keys: readonly CandidateKey[]) => ({ approved: (key: CandidateKey) => keys.includes(key) });

function decide(candidates: readonly Candidate[], overrides: Partial<CandidateFacts> = {}) {
  const verdicts = decideCandidates(candidates, open(candidates, overrides));
  const gates = Object.fromEntries([...verdicts].map(([key, { shut }]) => [key, shut?.gate ?? null]));
  const effective = [...verdicts.values()].filter(({ isEffective }) => isEffective).map(({ key }) => key);
  return { verdicts, gates, effective };
}

const refusal = failure('REFUSED_ENV', 'LD_PRELOAD may not be set', 'remove it');

describe('gates', () => {
  const remote = candidate('workspace', { isRemote: true, transport: 'http', origin: 'https://a.example', refusal });
  const switchedOff = { switches: new Map<string, boolean>() };

  test('are tried in the order remote, trust, switch, refusal, and each says how to open it', () => {
    const shutBy = (overrides: Partial<CandidateFacts>) => decide([remote], overrides).verdicts.get('workspace/files')?.shut;
    expect(shutBy({ remoteEnabled: false, trusted: false, ...switchedOff })).toMatchObject({
      gate: 'remoteOff',
      failure: { code: 'REMOTE_OFF', hint: expect.stringContaining('"remote": { "enabled": true }') as string },
    });
    expect(shutBy({ trusted: false, ...switchedOff })).toMatchObject({
      gate: 'untrusted',
      failure: { code: 'UNTRUSTED', hint: expect.stringContaining('`mcp-supervisor trust`') as string },
    });
    expect(shutBy(switchedOff)).toMatchObject({
      gate: 'disabled',
      failure: { code: 'DISABLED', hint: 'Run `mcp-supervisor enable files`.' },
    });
    expect(shutBy({})).toEqual({ gate: 'refused', failure: refusal });
  });

  test('of a remote server in the user layer are shut while remote is off', () => {
    const user = candidate('user', { isRemote: true });
    expect(decide([user], { remoteEnabled: false }).gates).toEqual({ 'user/files': 'remoteOff' });
  });

  test('of user and plugin servers do not ask for trust or approval', () => {
    const two = [candidate('user', { id: 'a' }), candidate('plugin:kit', { id: 'b' })];
    const { gates, effective } = decide(two, { trusted: false, ...switchedOff, ...only() });
    expect(gates).toEqual({ 'user/a': null, 'plugin:kit/b': null });
    expect(effective).toEqual(['user/a', 'plugin:kit/b']);
  });

  test('shut for a user server that a person switched off', () => {
    expect(decide([candidate('user')], { switches: new Map([['mcp.disabled.user.files', false]]) }).gates).toEqual({
      'user/files': 'disabled',
    });
  });

  test('of a trusted workspace server are shut on a machine where nobody has switched it on', () => {
    const two = [candidate('workspace', { id: 'a' }), candidate('workspace-override', { id: 'b' })];
    expect(decide(two, switchedOff).gates).toEqual({ 'workspace/a': 'disabled', 'workspace-override/b': 'disabled' });
  });

  test('stay shut when the switch was set for another transport of the same id', () => {
    const switches = new Map([[switchKey(candidate('workspace'), root), true]]);
    const http = candidate('workspace', { transport: 'http', origin: 'https://a.example' });
    expect(decide([http], { switches }).gates).toEqual({ 'workspace/files': 'disabled' });
  });
});

describe('the stack of an id', () => {
  const user = candidate('user');
  const workspace = candidate('workspace', { configHash: 'h2' });
  const override = candidate('workspace-override', { configHash: 'h3' });
  const all = [override, user, workspace];

  test('is served by the highest that is approved; what lies below is shadowed', () => {
    const { gates, effective, verdicts } = decide(all);
    expect(effective).toEqual(['workspace-override/files']);
    expect(gates).toEqual({ 'user/files': 'shadowed', 'workspace/files': 'shadowed', 'workspace-override/files': null });
    expect(verdicts.get('user/files')?.shut?.failure).toMatchObject({
      code: 'SHADOWED',
      message: '"files" of the user layer is covered by the one of the workspace-override layer',
      hint: 'Give one of the two another id, or leave the other one switched off.',
    });
  });

  test("falls back to the user's while the workspace's waits for its approval", () => {
    const { gates, effective, verdicts } = decide([user, workspace], only());
    expect(effective).toEqual(['user/files']);
    expect(gates).toEqual({ 'user/files': null, 'workspace/files': null });
    expect(verdicts.get('workspace/files')).toMatchObject({ isEffective: false, needsApproval: true });
  });

  test('falls back past one that is refused', () => {
    const { effective, gates } = decide([user, { ...workspace, refusal }]);
    expect(effective).toEqual(['user/files']);
    expect(gates).toMatchObject({ 'workspace/files': 'refused' });
  });

  test('has none that serves it when all gates are shut', () => {
    expect(decide(all, { trusted: false, switches: new Map([['mcp.disabled.user.files', false]]) }).effective).toEqual([]);
  });

  test('names its own shut gate first for one that is also shadowed, but for a refusal', () => {
    const { gates } = decide([user, { ...workspace, refusal }, override], {
      switches: new Map([
        ['mcp.disabled.user.files', false],
        [switchKey(workspace, root), true],
        [switchKey(override, root), true],
      ]),
    });
    expect(gates).toEqual({ 'user/files': 'disabled', 'workspace/files': 'shadowed', 'workspace-override/files': null });
  });

  test('puts plugins above the user and below the workspace, the later one on top', () => {
    const plugins = [candidate('plugin:b'), candidate('plugin:a'), user];
    expect(decide(plugins).effective).toEqual(['plugin:a/files']);
    expect(decide([workspace, ...plugins]).effective).toEqual(['workspace/files']);
  });

  test('of one id does not touch another', () => {
    expect(decide([user, candidate('workspace', { id: 'web' })]).effective).toEqual(['user/files', 'workspace/web']);
  });
});

describe('switches', () => {
  test('start on for the user and plugins, off for what a workspace brings', () => {
    expect((['user', 'plugin:kit', 'workspace', 'workspace-override'] as const).map(defaultSwitch)).toEqual([
      true,
      true,
      false,
      false,
    ]);
  });

  test('of the user layer hold anywhere', () => {
    expect(switchKey(candidate('user'), '/one')).toBe('mcp.disabled.user.files');
    expect(switchKey(candidate('plugin:kit'), '/two')).toBe('mcp.disabled.plugin:kit.files');
  });

  test('of a workspace hold for one root, layer, transport and origin only', () => {
    const http = { transport: 'http', origin: 'https://a.example' } as const;
    const keys = [
      switchKey(candidate('workspace'), root),
      switchKey(candidate('workspace'), `${root}2`),
      switchKey(candidate('workspace-override'), root),
      switchKey(candidate('workspace', http), root),
      switchKey(candidate('workspace', { ...http, transport: 'sse' }), root),
      switchKey(candidate('workspace', { ...http, origin: 'https://b.example' }), root),
      switchKey(candidate('workspace', { transport: 'http' }), root),
      switchKey(candidate('workspace', { transport: 'http', configHash: 'h2' }), root),
    ];
    expect(keys[0]).toBe('mcp.disabled.workspace.files#stdio#/home/me/repo');
    expect(new Set(keys).size).toBe(keys.length);
  });

  test('of a workspace process survive a change of its arguments, which asks for approval anew anyway', () => {
    expect(switchKey(candidate('workspace', { configHash: 'h2' }), root)).toBe(switchKey(candidate('workspace'), root));
  });
});

test('only the layers of a workspace need approval', () => {
  const layers = ['user', 'plugin:workspace', 'workspace', 'workspace-override'] as const;
  expect(layers.map(needsApproval)).toEqual([false, false, true, true]);
  expect(layers.map(isWorkspaceLayer)).toEqual([false, false, true, true]);
});

describe('a reload', () => {
  const ids = (candidates: readonly Candidate[]) => candidates.map(({ id }) => id).join('');
  const diff = (before: readonly Candidate[], after: readonly Candidate[]) => {
    const { added, removed, changed, adjusted, kept } = diffCandidates(before, after);
    return { added: ids(added), removed: ids(removed), changed: ids(changed), adjusted: ids(adjusted), kept: ids(kept) };
  };
  const nothing = { added: '', removed: '', changed: '', adjusted: '', kept: '' };
  const one = (overrides: Partial<Candidate> = {}) => candidate('user', { id: 'a', ...overrides });

  test('adds what is new, removes what is gone and keeps the rest', () => {
    const [a, b, c] = ['a', 'b', 'c'].map((id) => candidate('user', { id }));
    expect(diff([a, b] as Candidate[], [b, c] as Candidate[])).toEqual({ ...nothing, added: 'c', removed: 'a', kept: 'b' });
  });

  test('takes the same id in another layer for another server', () => {
    expect(diff([one()], [candidate('workspace', { id: 'a' })])).toEqual({ ...nothing, added: 'a', removed: 'a' });
  });

  test.each<[string, Partial<Candidate>]>([
    ['what would run', { configHash: 'h2' }],
    ['the transport', { transport: 'http' }],
    ['the origin', { origin: 'https://a.example' }],
    ['being remote', { isRemote: true }],
    ['a refusal that is new', { refusal }],
  ])('restarts a server when %s changes', (_what, overrides) => {
    expect(diff([one()], [one(overrides)])).toEqual({ ...nothing, changed: 'a' });
    expect(diff([one(overrides)], [one()])).toEqual({ ...nothing, changed: 'a' });
  });

  test.each<[string, Partial<Candidate>]>([
    ['the idle time', { idleTimeoutMs: 1 }],
    ['the time to start', { initTimeoutMs: 1 }],
    ['the lifecycle', { lifecycle: 'eager' }],
  ])('restarts nothing when only %s changes', (_what, overrides) => {
    expect(diff([one()], [one(overrides)])).toEqual({ ...nothing, adjusted: 'a' });
  });

  test.each([
    ['the code', failure('REFUSED_CWD', refusal.message, refusal.hint)],
    ['the place', failure('REFUSED_ENV', 'line 9', refusal.hint)],
    ['the hint', failure('REFUSED_ENV', refusal.message, 'other')],
  ])('tells anew why a server is refused when %s changes', (_what, other) => {
    expect(diff([one({ refusal })], [one({ refusal: other })])).toEqual({ ...nothing, adjusted: 'a' });
  });

  test('keeps a refused server that is refused for the same reason', () => {
    expect(diff([one({ refusal })], [one({ refusal: { ...refusal } })])).toEqual({ ...nothing, kept: 'a' });
  });

  test('hands out the new entries, and the old ones of what is gone', () => {
    const [before, after, gone] = [one(), one({ idleTimeoutMs: 1 }), candidate('user', { id: 'b' })];
    const { adjusted, removed } = diffCandidates([before, gone], [after]);
    expect([adjusted[0], removed[0]]).toEqual([after, gone]);
  });
});
