import { describe, expect, test } from 'vitest';
import { caseFile } from './support/case-file.js';
import { computer, NAME, echoRule as rule } from './support/remembering-computer.js';

describe('a tool whose definition changes after it was remembered', () => {
  test('B173 is asked about in the next session, though its name was allowed for good, and is not sent unasked', async () => {
    const { sim, run, asked, say } = computer();
    const { session1, session2 } = caseFile('B173-rug-pull.tools.json') as Record<'session1' | 'session2', { tools: object[] }>;
    const name = 'mcp__files__send_email';
    sim.behaviours.set('files', { answers: true, page: session1 });
    const before = await run();
    expect(await before.call(name)).toBe('ok');
    expect(await before.call(name)).toBe('ok');
    expect(asked).toHaveLength(1);
    await before.supervisor.close();
    sim.behaviours.set('files', { answers: true, page: session2 });
    say('deny');
    const after = await run();
    expect(await after.call(name)).toBe('BLOCKED_BY_USER');
    expect(asked[1]?.rule).toBe('ask, as the definition is not the one that was remembered');
    expect(sim.link('files').calls).toEqual([]);
  });

  test('S097 is asked about after one byte of its description, while the others stay', async () => {
    const { sim, run, relist, asked } = computer();
    sim.behaviours.set('files', { answers: true, tools: ['echo', 'more'] });
    const { call } = await run();
    await call();
    await call('mcp__files__more');
    const tool = (name: string, description: string) => ({ name, description, inputSchema: { type: 'object' } });
    const { behaviour } = sim.link('files');
    behaviour.page = { tools: [tool('echo', 'says it again.'), tool('more', 'says it again')] };
    await relist('says it again');
    asked.length = 0;
    expect([await call(), await call('mcp__files__more')]).toEqual(['ok', 'ok']);
    expect(asked).toMatchObject([{ tool: NAME, rule: 'ask, as the definition is not the one that was remembered' }]);
  });

  test('S098 to and fro is asked about once for each definition', async () => {
    const { run, relist, asked } = computer();
    const { call } = await run();
    for (let at = 0; at < 6; at += 1) {
      expect(await call()).toBe('ok');
      await relist(at % 2 === 0 ? 'B' : 'says it again');
    }
    expect(asked).toHaveLength(2);
  });

  test('S107 says of itself that it only reads, and is asked about like the others', async () => {
    const { sim, run, asked, say, user } = computer();
    const annotations = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false };
    const inputSchema = { type: 'object' };
    sim.behaviours.set('files', {
      answers: true,
      page: {
        tools: [
          { name: 'echo', inputSchema, annotations },
          { name: 'plain', inputSchema },
        ],
      },
    });
    say('deny');
    const { call, workspace } = await run();
    expect([await call(), await call('mcp__files__plain')]).toEqual(['BLOCKED_BY_USER', 'BLOCKED_BY_USER']);
    expect(asked).toHaveLength(2);
    const policy = (tool: string) => workspace.server('files').explain(tool).policy;
    expect(policy('echo')).toEqual(policy('plain'));
    sim.change([user([rule('deny')])]);
    await sim.settle();
    expect(await call()).toBe('BLOCKED_BY_POLICY');
  });
});
