import { describe, expect, test } from 'vitest';
import { linearRegex } from '../adapters/linear-regex.js';

describe('the search engine for patterns', () => {
  test('looks anywhere in the text, whatever the case', () => {
    const regex = linearRegex.compile('read_.*file');
    expect(regex.test('mcp__files__READ_text_file')).toBe(true);
    expect(regex.test('write_file')).toBe(false);
  });

  test.each(['(a)\\1', 'a(?=b)', '(?<!a)b', '(', 'a{2,1}'])(
    'refuses what cannot be run in linear time, or at all: %s',
    (pattern) => {
      expect(() => linearRegex.compile(pattern)).toThrow();
    },
  );

  test('S105: a pattern that would run for ever elsewhere is answered', () => {
    expect(linearRegex.compile('^(a+)+$').test(`${'a'.repeat(50_000)}!`)).toBe(false);
  });
});
