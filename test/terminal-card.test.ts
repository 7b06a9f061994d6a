import { PassThrough } from 'node:stream';
import { describe, expect, test, vi } from 'vitest';
import type { ApprovalCard, Question } from '../actors/ports.js';
import { renderQuestion } from '../adapters/cli/approval-card.js';
import { createTerminalPrompt, type TerminalPrompt } from '../adapters/cli/terminal-prompt.js';

const card: ApprovalCard = {
  server: 'project',
  layer: 'workspace',
  transport: 'stdio',
  fingerprint: 'f'.repeat(64),
  command: { written: 'node', resolved: '/usr/bin/node' },
  args: ['server.js', '--port=1'],
  cwd: '/repo',
  env: [
    { name: 'MODE', value: 'fast', highlight: false },
    { name: 'EDITOR', value: 'vi', highlight: true },
    { name: 'API_TOKEN', digest: '0123456789ab', highlight: false },
  ],
  files: [{ path: '/repo/server.js', sha256: 'a'.repeat(64) }],
  notes: ['downloads code at every start'],
};
const question = (over: Partial<ApprovalCard> = {}): Question => {
  const whole = { ...card, ...over };
  return { kind: 'server', nonce: 'n-1', server: whole.server, fingerprint: whole.fingerprint, card: whole };
};

describe('the approval card', () => {
  test('shows everything that will run, secrets only as digests', () => {
    expect(renderQuestion(question())).toEqual([
      'Server "project" of layer "workspace", over stdio',
      '  command      "/usr/bin/node"',
      '               written as "node"',
      '  args         1: "server.js"',
      '               2: "--port=1"',
      '  cwd          "/repo"',
      '  env          "MODE" = "fast"',
      '               "EDITOR" = "vi"  (!) can change what runs',
      '               "API_TOKEN" is a secret, digest 0123456789ab',
      `  files        "/repo/server.js" sha256 ${'a'.repeat(64)}`,
      '  note         downloads code at every start',
      '  compare      type = and a value to see whether it has one of these digests',
      `  fingerprint  ${'f'.repeat(64)}`,
    ]);
  });

  test('shows a remote server by its URL and the digests of its headers', () => {
    const { server, layer, fingerprint } = card;
    const remote: ApprovalCard = {
      server,
      layer,
      transport: 'http',
      fingerprint,
      url: 'https://x.test/mcp?team=a\u202eb',
      headers: [
        { name: 'Authorization', digest: 'd1' },
        { name: 'X-A', digest: 'd2' },
      ],
      notes: [],
    };
    expect(renderQuestion({ ...question(), card: remote } as Question)).toEqual([
      'Server "project" of layer "workspace", over http',
      '  url          "https://x.test/mcp?team=a\\u202eb"',
      '  headers      "Authorization" is a secret, digest d1',
      '               "X-A" is a secret, digest d2',
      '  compare      type = and a value to see whether it has one of these digests',
      `  fingerprint  ${fingerprint}`,
    ]);
  });

  test('shows a payload at the end of 10,000 characters, uncut (S007)', () => {
    const long = `${'x'.repeat(10_000)};curl evil`;
    expect(renderQuestion(question({ args: [long] })).join('\n')).toContain(`"${long}"`);
  });

  test('shows CR LF, ANSI, direction overrides, zero widths and gaps as what they are, on one line (S008)', () => {
    const args = [`a\r\n\u001b[2K\u202e\u200b${' '.repeat(500)}b`];
    const lines = renderQuestion(question({ args }));
    expect(lines).toContain('  args         1: "a\\r\\n\\u001b[2K\\u202e\\u200b\\[500 spaces]b"');
    expect(lines).toHaveLength(renderQuestion(question({ args: ['a'] })).length);
  });

  test('tells one argument with a space from two arguments (S006)', () => {
    expect(renderQuestion(question({ args: ['a b'] }))).not.toEqual(renderQuestion(question({ args: ['a', 'b'] })));
    expect(renderQuestion(question({ args: ['a" "b'] }))).not.toEqual(renderQuestion(question({ args: ['a', 'b'] })));
  });

  test('shows a call with all its arguments', () => {
    const call: Question = {
      kind: 'call',
      nonce: 'n',
      server: 'a',
      tool: 'mcp__a__rm',
      arguments: { path: 'x\u001b' },
      session: 's1',
      rule: 'ask "a" of user',
      canRemember: false,
    };
    expect(renderQuestion(call)).toEqual([
      'Call of mcp__a__rm on server "a" (session "s1")',
      '  asked by the rule: ask "a" of user',
      '  {',
      '    "path": "x\\u001b"',
      '  }',
    ]);
  });
});

describe('the prompt on a terminal', () => {
  interface Stage {
    readonly input: PassThrough;
    readonly prompt: TerminalPrompt;
    readonly shown: () => string;
    readonly moments: string[];
  }

  function stage(): Stage {
    const input = new PassThrough();
    const output = new PassThrough();
    const chunks: string[] = [];
    const moments: string[] = [];
    output.on('data', (chunk: Buffer) => chunks.push(chunk.toString('utf8')));
    const hooks = { asking: () => void moments.push('asking'), answered: () => void moments.push('answered') };
    return { input, prompt: createTerminalPrompt(input, output, hooks), shown: () => chunks.join(''), moments };
  }

  const digestOf = (value: string): string => (value === 'hunter2' ? '0123456789ab' : 'ffffffffffff');
  const open = { signal: new AbortController().signal, digestOf };
  const times = (text: string, word: string): number => text.split(word).length - 1;
  const untilAsked = (shown: () => string, count = 1) => vi.waitFor(() => expect(times(shown(), 'approve: ')).toBe(count));

  test.each(['y', 'approve', ' Y ', 'Approve'])('takes %j for a yes', async (line) => {
    const { input, prompt, shown } = stage();
    const answer = prompt.ask(question(), open);
    await untilAsked(shown);
    input.write(`${line}\n`);
    expect(await answer).toBe('approve');
  });

  test.each(['', 'n', 'yes', 'true', '1', 'approve it', 'y y'])('takes %j for a no (S009)', async (line) => {
    const { input, prompt, shown } = stage();
    const answer = prompt.ask(question(), open);
    await untilAsked(shown);
    input.write(`${line}\n`);
    expect(await answer).toBe('deny');
  });

  test('tells whose digest a pasted value has, without repeating it, and waits for the answer still (S025)', async () => {
    const { input, prompt, shown, moments } = stage();
    const answer = prompt.ask(question(), open);
    await untilAsked(shown);
    input.write('=hunter2\n');
    await untilAsked(shown, 2);
    expect(shown()).toContain('That value has the digest 0123456789ab; on this card it is "API_TOKEN".');
    input.write('=approve\n');
    await untilAsked(shown, 3);
    expect(shown()).toContain('That value has the digest ffffffffffff; it is nothing on this card.');
    expect(shown()).not.toContain('hunter2');
    expect(times(shown(), '/usr/bin/node')).toBe(1);
    input.write('y\n');
    expect(await answer).toBe('approve');
    expect(moments).toEqual(['asking', 'answered']);
  });

  test('compares nothing for the question about a call, which has no digests', async () => {
    const { input, prompt, shown } = stage();
    const call: Question = {
      kind: 'call',
      nonce: 'n',
      server: 'a',
      tool: 't',
      arguments: {},
      session: null,
      rule: 'ask',
      canRemember: false,
    };
    const answer = prompt.ask(call, open);
    await untilAsked(shown);
    input.write('=hunter2\n');
    expect(await answer).toBe('deny');
  });

  test('takes an a for always where a yes to a call can be remembered, and nowhere else', async () => {
    const about = {
      kind: 'call',
      nonce: 'n',
      server: 'a',
      tool: 'mcp__a__rm',
      arguments: {},
      session: null,
      rule: 'ask',
    } as const;
    for (const [canRemember, line, answer] of [
      [true, 'a', { decision: 'approve', remember: true }],
      [true, 'always', 'deny'],
      [true, 'y', 'approve'],
      [false, 'a', 'deny'],
    ] as const) {
      const { input, prompt, shown } = stage();
      const answered = prompt.ask({ ...about, canRemember }, { signal: new AbortController().signal, digestOf: String });
      await vi.waitFor(() => expect(shown()).toContain('Type y or approve'));
      expect(shown().includes('or a for always')).toBe(canRemember);
      input.write(`${line}\n`);
      expect(await answered).toEqual(answer);
    }
  });

  test('takes the end of input for a no, and every question after it', async () => {
    const { input, prompt, shown } = stage();
    const answer = prompt.ask(question(), open);
    await untilAsked(shown);
    input.end();
    expect(await answer).toBe('deny');
    expect(await prompt.ask(question(), open)).toBe('deny');
  });

  test('lets nothing that was typed before the card was shown answer it', async () => {
    const { input, prompt, shown } = stage();
    input.write('y\ny\n');
    const answer = prompt.ask(question(), open);
    await untilAsked(shown);
    input.write('n\n');
    expect(await answer).toBe('deny');
  });

  test('asks one question after the other, and one line answers one of them', async () => {
    const { input, prompt, shown, moments } = stage();
    const first = prompt.ask(question(), open);
    const second = prompt.ask(question({ server: 'other' }), open);
    await untilAsked(shown);
    expect(shown()).not.toContain('"other"');
    input.write('y\ny\n');
    expect(await first).toBe('approve');
    await untilAsked(shown, 2);
    input.write('n\n');
    expect(await second).toBe('deny');
    await prompt.idle();
    expect(moments).toEqual(['asking', 'answered', 'asking', 'answered']);
  });

  test('drops a withdrawn question, shown or not yet shown, and frees the terminal', async () => {
    const { prompt, shown, moments } = stage();
    const withdrawal = new AbortController();
    const first = prompt.ask(question(), { signal: withdrawal.signal, digestOf });
    const second = prompt.ask(question(), { signal: withdrawal.signal, digestOf });
    await untilAsked(shown);
    withdrawal.abort();
    expect(await Promise.all([first, second])).toEqual(['deny', 'deny']);
    expect(times(shown(), 'approve: ')).toBe(1);
    expect(moments).toEqual(['asking', 'answered']);
  });

  test('denies what is open when it is closed, and reads no further', async () => {
    const { input, prompt, shown } = stage();
    const answer = prompt.ask(question(), open);
    await untilAsked(shown);
    prompt.close();
    expect(await answer).toBe('deny');
    expect(input.listenerCount('data')).toBe(0);
    expect(await prompt.ask(question(), open)).toBe('deny');
  });
});
