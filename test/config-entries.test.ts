import { applyEdits } from 'jsonc-parser';
import { describe, expect, test } from 'vitest';
import { diffLines } from '../adapters/config/edit-diff.js';
import { type Entries, entryEdits } from '../adapters/config/edit-entries.js';
import { maskedText } from '../adapters/config/masked-text.js';

const set = (text: string, entries: Entries, path: readonly string[] = ['s']): string =>
  applyEdits(text, [...(entryEdits(text, path, entries) ?? [])]);
const b = [['b', 2]] as const;

describe('setting entries in a text', () => {
  test.each([
    ['in one line', '{ "s": { "a": 1 } }', '{ "s": { "a": 1,\n  "b": 2\n} }'],
    ['in an empty object', '{ "s": {} }', '{ "s": {\n  "b": 2\n} }'],
    ['under a comment', '{\n  "s": {\n    // x\n  }\n}', '{\n  "s": {\n    // x\n    "b": 2\n  }\n}'],
    ['behind the comment of the last', '{"s": {\n  "a": 1 // a\n}}', '{"s": {\n  "a": 1, // a\n  "b": 2\n}}'],
    ['behind a trailing comma', '{"s": {\n  "a": 1, /* a */\n}}', '{"s": {\n  "a": 1, /* a */\n  "b": 2,\n}}'],
    ['behind a comma far away', '{"s": {\n  "a": 1 // a\n  ,\n}}', '{"s": {\n  "a": 1 // a\n  ,\n  "b": 2,\n}}'],
    ['with tabs and CR LF', '{\r\n\t"s": {\r\n\t\t"a": 1\r\n\t}\r\n}', '{\r\n\t"s": {\r\n\t\t"a": 1,\r\n\t\t"b": 2\r\n\t}\r\n}'],
    ['in place of the old one', '{ "s": { "b": { "x": [1] } /* b */, "c": 3 } }', '{ "s": { "b": 2 /* b */, "c": 3 } }'],
    ['with the object that holds them', '{\n  "r": 1\n}\n', '{\n  "r": 1,\n  "s": {\n    "b": 2\n  }\n}\n'],
  ])('%s leaves the rest as it was', (_what, before, after) => {
    expect(set(before, b)).toBe(after);
  });

  test('at the top, several at once, some of them there', () => {
    const entries = [
      ['a', 1],
      ['b', { c: [] }],
      ['d', 4],
    ] as const;
    expect(set('{\n  "a": 0,\n  "x": 1\n}', entries, [])).toBe(
      '{\n  "a": 1,\n  "x": 1,\n  "b": {\n    "c": []\n  },\n  "d": 4\n}',
    );
  });

  test('where there is no object is refused', () => {
    expect(entryEdits('[]', ['s'], b)).toBeNull();
    expect(entryEdits('{ "s": 1 }', ['s'], b)).toBeNull();
  });
});

test('a diff has the changed lines with three around them, and joins what is near', () => {
  const lines = Array.from({ length: 20 }, (_, at) => `  "k${at}": ${at}`);
  const before = `{\n${lines.join(',\n')}\n}\n`;
  const edits = entryEdits(
    before,
    [],
    [
      ['k2', 'two'],
      ['k5', 5],
      ['z', 0],
    ],
  );
  if (edits === null) throw new Error('no edits');
  const after = applyEdits(before, [...edits]);
  expect(diffLines({ before, after, shownBefore: before, shownAfter: after }, edits)).toEqual([
    '@@ -1,7 +1,7 @@',
    ' {',
    '   "k0": 0,',
    '   "k1": 1,',
    '-  "k2": 2,',
    '+  "k2": "two",',
    '   "k3": 3,',
    '   "k4": 4,',
    '   "k5": 5,',
    '@@ -18,5 +18,6 @@',
    '   "k16": 16,',
    '   "k17": 17,',
    '   "k18": 18,',
    '-  "k19": 19',
    '+  "k19": 19,',
    '+  "z": 0',
    ' }',
  ]);
});

test('a shown text has digests for secrets, in the same lines, and the names of variables stay', () => {
  const digest = { ofJson: () => '', keyed: (secret: string) => `${secret.length}` };
  const url = 'https://h.test/s/sk-12345678/x?k=v';
  const text = [
    '{ "mcpServers": { "a": { // my token: 1234',
    '/* pass',
    'word */ "command": "run", "args": ["-v", "--api-key", "abc", "--key=abc", "KEY=abc", "KEY=${K}", "plain"],',
    '"env": { "LEVEL": "info", "T": "${T}" }, "headers": { "Authorization": "Bearer ${T}", "X": "${T:-abc}" },',
    `"url": "${url}", "cwd": "/srv" } } }`,
  ].join('\n');
  expect(maskedText(text, digest).split('\n')).toEqual([
    '{ "mcpServers": { "a": { /* … */',
    '/* … */',
    '/* … */ "command": "run", "args": ["-v", "--api-key", "(secret 3)", "(secret 9)", "(secret 7)", "KEY=${K}", "plain"],',
    '"env": { "LEVEL": "(secret 4)", "T": "${T}" }, "headers": { "Authorization": "Bearer ${T}", "X": "(secret 9)" },',
    '"url": "https://h.test/s/(secret 11)/x?(secret 3)", "cwd": "/srv" } } }',
  ]);
});
