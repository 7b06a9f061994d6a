import { describe, expect, test } from 'vitest';
import { opened } from './support/explained.js';
import { layer, server } from './support/simulated-ports.js';

describe('a name', () => {
  const rule = {
    server: 'files',
    tool: 'write_*',
    verdict: 'deny',
    layer: 'user',
    place: { file: 'user.json', line: 8 },
  } as const;
  const ask = { server: 'files', tool: null, verdict: 'ask', layer: 'user' } as const;

  async function listed(settings: Parameters<typeof layer>[2] = {}, over: Parameters<typeof server>[1] = {}) {
    const context = await opened([layer('user', [server('files', over), server('other')], settings)]);
    await context.workspace.server('files').test();
    return context;
  }

  test.each(['mcp__files__write_file', 'write_file', 'files.write_file'])(
    '"%s" is the tool, with the rule that decides and where it stands',
    async (name) => {
      const { explain } = await listed({ toolPolicies: [rule] });
      expect(explain(name)).toMatchObject({
        subject: 'files.write_file',
        server: 'files',
        tool: { name: 'mcp__files__write_file', tool: 'write_file', state: 'listed', cached: false, reasons: [] },
        policy: { verdict: 'deny', rule: 'deny "files.write_*" of user', layer: 'user', file: 'user.json', line: 8 },
        onDemand: { does: 'refuse', failure: { code: 'BLOCKED_BY_POLICY' } },
      });
    },
  );

  test('of a glob in approveTools is decided where its entry stands, of no rule nowhere', async () => {
    const { explain } = await listed({}, { approveTools: ['read_*'], line: 5 });
    expect(explain('read_file').policy).toMatchObject({ verdict: 'allow', layer: 'user', file: 'mcp.json', line: 5 });
    expect(explain('write_file').policy).toMatchObject({ verdict: 'ask', layer: null, file: null, line: null });
    expect(explain('write_file').onDemand).toMatchObject({ does: 'ask' });
  });

  test.each(['resources/read', 'prompts/get'])('"files.%s" has rules of its own and is no tool', async (what) => {
    const { explain } = await listed({ toolPolicies: [ask] });
    expect(explain(`files.${what}`)).toMatchObject({ tool: null, policy: { verdict: 'ask', rule: 'ask "files" of user' } });
  });

  test('that several servers have gives an explanation for each', async () => {
    const { sim, workspace } = await listed();
    sim.behaviours.set('other', { answers: true, tools: ['read_file'] });
    await workspace.server('other').test();
    expect(workspace.explain('read_file').map(({ subject }) => subject)).toEqual(['files.read_file', 'other.read_file']);
  });

  test('works with the server down, by what was listed before', async () => {
    const { sim, explain } = await listed();
    sim.link('files').die();
    await sim.settle();
    expect(explain('read_file')).toMatchObject({
      phase: 'idle',
      tool: { state: 'listed', cached: true },
      onDemand: { does: 'start' },
    });
  });

  test('of a tool past the limit, of one with another definition, and of one that is not listed says so', async () => {
    const { sim, workspace, explain } = await listed({ limits: { tools: 1 } });
    expect(explain('write_file')).toMatchObject({
      tool: { reasons: [{ code: 'ITEM_OVER_LIMIT', hint: expect.stringContaining('"limits"') as string }] },
      onDemand: { does: 'refuse', failure: { code: 'ITEM_OVER_LIMIT' } },
    });
    expect(explain('files.nothing')).toMatchObject({
      tool: { name: null, state: 'unlisted', reasons: [{ code: 'UNKNOWN_TOOL' }] },
      onDemand: { does: 'refuse', failure: { code: 'UNKNOWN_TOOL' } },
    });
    expect(explain('other.nothing')).toMatchObject({
      tool: { state: 'unlisted', reasons: [{ code: 'NOT_READY', hint: '`mcp-supervisor test other` lists them.' }] },
    });
    sim.behaviours.set('files', { answers: true, tools: ['read_file'], description: 'another one' });
    await workspace.server('files').test();
    expect(explain('read_file')).toMatchObject({
      tool: { reasons: [{ code: 'APPROVAL_STALE' }] },
      policy: { verdict: 'ask', rule: 'ask, as the definition has changed' },
      onDemand: { does: 'ask' },
    });
  });

  test('that nothing has is refused with the nearest names, none of them of a server that may not run yet', async () => {
    const { sim, workspace } = await listed();
    const message = (name: string) => {
      try {
        return workspace.explain(name);
      } catch (error) {
        return error;
      }
    };
    expect(message('fiels')).toMatchObject({ code: 'UNKNOWN_SERVER', hint: 'Did you mean "files"?' });
    expect(message('read_fil')).toMatchObject({ hint: 'Did you mean "read_file"?' });
    expect(message('completely-else')).toMatchObject({ hint: '`mcp-supervisor status` lists the servers.' });
    sim.change([layer('workspace', [server('files', { configHash: 'theirs' })])]);
    await workspace.reload();
    await workspace.setTrusted(true);
    expect(message('read_fil')).toMatchObject({ hint: '`mcp-supervisor status` lists the servers.' });
  });
});

test('the host’s own check is named where there is one, and is not asked', async () => {
  let asked = 0;
  const authorizeCall = () => {
    asked += 1;
  };
  const { explain } = await opened([layer('user', [server('files')])], { authorizeCall });
  expect(explain('files.read_file').policy).toMatchObject({ isHostAsked: true });
  expect(asked).toBe(0);
});
