import { describe, expect, test } from 'vitest';
import { failure } from '../actors/errors.js';
import { exitCodeOf } from '../adapters/cli/exit-codes.js';
import { howToOpen } from '../adapters/cli/how-to-open.js';
import { progressLine } from '../adapters/cli/progress.js';
import { renderResult } from '../adapters/cli/render-result.js';
import { renderServerLine, renderStatus } from '../adapters/cli/render-status.js';
import { renderTable } from '../adapters/cli/render-table.js';
import { quoted, visibleJson, visibleLine, visibleText } from '../adapters/shared/visible-text.js';
import { type Candidate, decideCandidates } from '../machines/candidates.js';
import { CODES, type Code } from '../machines/codes.js';
import { serverStatus, workspaceStatus } from './support/fake-supervisor.js';

const plain = { colour: false };
const RAW_CONTROL = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;

describe('text of others', () => {
  test.each([
    ['\u001b[31mred', '\\u001b[31mred'],
    ['\u001b]8;;http://x\u0007link', '\\u001b]8;;http://x\\u0007link'],
    ['\u009b2J', '\\u009b2J'],
    ['a\b\bb', 'a\\u0008\\u0008b'],
    ['abc\u202edef', 'abc\\u202edef'],
    ['zero\u200bwidth', 'zero\\u200bwidth'],
    ['tag\u{e0041}', 'tag\\u{e0041}'],
    ['lone\ud800', 'lone\\ud800'],
    ['filler\u3164', 'filler\\u3164'],
    ['empty Braille\u2800', 'empty Braille\\u2800'],
    ['object\ufffc', 'object\\ufffc'],
    ['note without a head\u{1d159}', 'note without a head\\u{1d159}'],
    ['Khitan filler\u{16fe4}', 'Khitan filler\\u{16fe4}'],
    ['blank hieroglyphs\u{13441}\u{13442}', 'blank hieroglyphs\\u{13441}\\u{13442}'],
    ['annotation\ufff9', 'annotation\\ufff9'],
    ['shorthand\u{1bca0}', 'shorthand\\u{1bca0}'],
    ['music\u{1d173}', 'music\\u{1d173}'],
    ['half-width filler\uffa0', 'half-width filler\\uffa0'],
    ['two\nlines', 'two\\nlines'],
  ])('is shown and not obeyed: %j (S093, S094, S095)', (raw, shown) => {
    expect(visibleLine(raw)).toBe(shown);
  });

  test('keeps line breaks and tabs where it may have lines', () => {
    expect(visibleText('a\r\n\tb\rc\u001b')).toBe('a\n\tb\\rc\\u001b');
  });

  test('keeps other scripts readable, and spells out marks piled up to paint over other lines', () => {
    expect(visibleLine('Füße 日本語 नमस्ते')).toBe('Füße 日本語 नमस्ते');
    expect(visibleLine(`a${'\u0301'.repeat(6)}`)).toBe(`a${'\u0301'.repeat(4)}\\u0301\\u0301`);
  });

  test('is the same value as JSON, with nothing raw in it', () => {
    const value = { text: 'a\u202e\u009b\u2028\u{e0041}"\\\n' };
    const json = visibleJson(value);
    expect(JSON.parse(json)).toEqual(value);
    expect(json.replaceAll('\n', '')).not.toMatch(RAW_CONTROL);
  });

  test('can be read in one way only when it is quoted: quotes, backslashes and gaps included (S008)', () => {
    expect(quoted(`a${' '.repeat(500)}rm`)).toBe('"a\\[500 spaces]rm"');
    expect(quoted('a  b')).toBe('"a\\[2 spaces]b"');
    expect(quoted('a b')).toBe('"a b"');
    expect(quoted('a\\[500 spaces]')).toBe('"a\\\\[500 spaces]"');
    expect(quoted('x" "y')).toBe('"x\\" \\"y"');
    expect(quoted('\\u202e')).not.toBe(quoted('\u202e'));
    expect(quoted('a\u00a0b')).toBe('"a\\u00a0b"');
  });
});

describe('the table', () => {
  const columns = [{ name: 'NAME' }, { name: 'N', align: 'right' }, { name: 'WHY' }] as const;

  test('aligns its columns and leaves no blanks behind', () => {
    const rows = [
      [{ text: 'a' }, { text: '1' }, { text: '' }],
      [{ text: 'long-name' }, { text: '100' }, { text: 'late' }],
    ];
    expect(renderTable(columns, rows, plain)).toEqual(['NAME         N  WHY', 'a            1', 'long-name  100  late']);
  });

  test('keeps a hostile cell on its line (S094)', () => {
    const [, line] = renderTable(columns, [[{ text: 'a\n\u001b[1A' }, { text: '1' }, { text: '' }]], plain);
    expect(line).toBe('a\\n\\u001b[1A  1');
  });

  test('has colours only where they are wanted', () => {
    const row = [{ text: 'a', colour: 'green' as const }, { text: '1' }, { text: '' }];
    expect(renderTable(columns, [row], plain).join('')).not.toContain('\u001b');
    expect(renderTable(columns, [row], { colour: true })[1]).toContain('\u001b[32ma\u001b[0m');
  });
});

describe('the status', () => {
  const project = serverStatus({
    id: 'project',
    layer: 'workspace',
    phase: 'idle',
    blockedBy: 'untrusted',
    generation: 0,
    pid: null,
    tools: { state: 'unknown', count: 0, reason: null, skipped: [] },
  });

  test('shows each server with its counts, and how to open a shut gate', () => {
    const text = renderStatus(workspaceStatus([serverStatus(), project]), [], plain).join('\n');
    expect(text).toMatch(/^SERVER +LAYER +PHASE +TOOLS +RESOURCES +PROMPTS +PID +GEN +WHY$/m);
    expect(text).toMatch(/^files +user +ready +2 +0 +- +4242 +1$/m);
    expect(text).toMatch(/^project +workspace +idle +- +0 +- +- +0 +untrusted$/m);
    expect(text).toContain('project: Look at what it would run; if you trust this workspace, run `mcp-supervisor trust`.');
  });

  test('names file, line, column and key of every fault', () => {
    const fault = {
      file: '/repo/.mcp.json',
      line: 3,
      column: 7,
      key: 'mcpServers.a',
      code: 'CONFIG_INVALID',
      message: 'Wrong.',
    } as const;
    const config = {
      state: 'degraded',
      revision: 1,
      errors: [fault],
      warnings: [{ ...fault, line: null, column: null, key: '' }],
    } as const;
    const text = renderStatus(workspaceStatus([], { config }), [], plain).join('\n');
    expect(text).toContain('error: /repo/.mcp.json:3:7 mcpServers.a: Wrong. (CONFIG_INVALID)');
    expect(text).toContain('warning: /repo/.mcp.json Wrong. (CONFIG_INVALID)');
    expect(text).toContain('No server is configured.');
  });

  test('tells a list that is cut, one that failed and one that does not exist apart', () => {
    const list = { count: 5, reason: failure('LIST_TRUNCATED_PAGES', 'cut'), skipped: [] };
    const server = serverStatus({
      tools: { ...list, state: 'truncated' },
      resources: { ...list, state: 'failed' },
      prompts: { ...list, state: 'unsupported' },
    });
    expect(renderServerLine(server)).toContain('5+ tools');
    expect(renderStatus(workspaceStatus([server]), [], plain).join('\n')).toMatch(
      /ready +5\+ +5\? +- .*tools: LIST_TRUNCATED_PAGES/,
    );
  });

  test('says what went wrong and what to do about it, on lines that a server cannot break (S153)', () => {
    const error = { ...failure('EXITED_EARLY', 'gone\nproject: ready', 'read its log'), stage: 'transport' as const };
    const lines = renderStatus(workspaceStatus([serverStatus({ phase: 'failed', error })]), [], plain);
    expect(lines).toContain('files: gone\\nproject: ready');
    expect(lines).toContain('files: read its log');
  });

  test.each([
    [{ phase: 'approving', fingerprint: 'abc' }, '--approve abc'],
    [{ phase: 'idle', blockedBy: 'untrusted' }, '`mcp-supervisor trust`'],
    [{ phase: 'idle', blockedBy: 'disabled' }, '`mcp-supervisor enable files`'],
    [{ phase: 'idle', blockedBy: 'denied' }, 'mcp-supervisor test files'],
    [{ phase: 'idle', blockedBy: 'remoteOff' }, '`mcp-supervisor remote on`'],
    [{ phase: 'idle', blockedBy: 'shadowed' }, 'higher layer'],
    [{ phase: 'idle', blockedBy: 'refused', error: failure('REFUSED_ENV', 'PATH is refused', 'remove PATH') }, 'remove PATH'],
  ] as const)('tells how to open the gate of %j', (over, words) => {
    expect(howToOpen(serverStatus(over))).toContain(words);
  });

  test('says the same as the gate itself does', () => {
    const here: Candidate = {
      id: 'files',
      layer: 'workspace',
      transport: 'http',
      lifecycle: 'lazy',
      configHash: 'h',
      isRemote: true,
      refusal: null,
      idleTimeoutMs: 1,
      initTimeoutMs: 1,
    };
    const facts = {
      root: '/repo',
      trusted: true,
      remoteEnabled: true,
      switches: new Map<string, boolean>(),
      approved: () => true,
    };
    for (const shutBy of [{ remoteEnabled: false }, { trusted: false }, {}]) {
      const shut = decideCandidates([here], { ...facts, ...shutBy }).get('workspace/files')?.shut;
      const way = howToOpen(serverStatus({ phase: 'idle', blockedBy: shut?.gate ?? null }));
      expect(way).toBe(shut?.failure.hint);
      expect(way).toContain(shut?.gate === 'disabled' ? 'enable files' : 'mcp-supervisor');
    }
  });

  test('waits aloud only for what is under way', () => {
    expect(progressLine(workspaceStatus([serverStatus(), project]))).toBe('');
    expect(progressLine(workspaceStatus([serverStatus({ phase: 'connecting', stage: 'initialize' })]))).toBe(
      'waiting for files (initialize) …',
    );
  });
});

describe('a result', () => {
  test('shows text as text and names the rest', () => {
    const text = renderResult({
      content: [
        { type: 'text', text: 'one\ntwo\u001b[2J' },
        { type: 'image', data: 'AAAA', mimeType: 'image/png' },
        { type: 'resource_link', uri: 'file:///a' },
      ],
    });
    expect(text).toBe('one\ntwo\\u001b[2J\n[image image/png, 4 characters of base64]\n[resource file:///a]\n');
  });

  test('shows the structured part where there is no text', () => {
    expect(renderResult({ structuredContent: { a: 1 }, content: [] })).toBe('{\n  "a": 1\n}\n');
  });
});

describe('the exit code', () => {
  test.each([
    ['CONFIG_SYNTAX', 3],
    ['STORE_UNSAFE', 3],
    ['UNTRUSTED', 4],
    ['DISABLED', 4],
    ['APPROVAL_NO_CHANNEL', 4],
    ['REFUSED_ENV', 4],
    ['SPAWN_FAILED', 4],
    ['NOT_READY', 4],
    ['UNKNOWN_SERVER', 4],
    ['UNKNOWN_TOOL', 1],
    ['BLOCKED_BY_POLICY', 1],
    ['CALL_TIMEOUT', 1],
    ['LINK_LOST', 1],
    ['SERVER_ERROR', 1],
  ] as const)('of %s is %i', (code, exit) => {
    expect(exitCodeOf(failure(code, ''))).toBe(exit);
  });

  test('is 1, 3 or 4 for every code there is', () => {
    const codes = Object.keys(CODES) as Code[];
    expect(codes.filter((code) => ![1, 3, 4].includes(exitCodeOf(failure(code, ''))))).toEqual([]);
  });
});
