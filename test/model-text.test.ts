import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { escapedText, modelText } from '../machines/model-text.js';

const clean = (raw: string): string => modelText(raw).text;

describe('text for a model', () => {
  it('leaves plain text, other scripts and line breaks as they are', () => {
    for (const text of ['Reads a file.\n\tThen more', 'Grüße, 文件, עברית, हिन्दी', 'e\u0301', '❤️', '1️⃣']) {
      expect(modelText(text)).toEqual({ text, removed: 0 });
    }
  });

  it.each([
    ['U+200B', '\u200b'],
    ['U+202E', '\u202e'],
    ['U+2066', '\u2066'],
    ['tags from U+E0041', '\u{e0041}\u{e0042}'],
    ['a run of U+FE0F on a letter', '\ufe0f\ufe0f'],
    ['U+00AD', '\u00ad'],
    ['U+2028', '\u2028'],
    ['U+3164', '\u3164'],
    ['U+FEFF', '\ufeff'],
    ['private use', '\ue000\u{100000}'],
    ['noncharacters', '\ufdd0\uffff'],
    ['NUL, BEL, backspace', '\u0000\u0007\u0008'],
    ['carriage return', '\r'],
    ['C1', '\u0085'],
    ['half a surrogate pair', '\ud800'],
  ])('S093 S094 S095 takes out %s and counts it', (_what, hidden) => {
    expect(modelText(`a${hidden}b`)).toEqual({ text: 'ab', removed: hidden.length });
  });

  it.each([
    ['colour', '\u001b[31mred\u001b[0m', 'red'],
    ['an 8-bit CSI', '\u009b31mred', 'red'],
    ['a link', '\u001b]8;;http://h/\u0007text\u001b]8;;\u001b\\', 'text'],
    ['the clipboard', 'a\u001b]52;c;aGk=\u001b\\b', 'ab'],
    ['a device string', 'a\u001bPq#0\u001b\\b', 'ab'],
    ['an 8-bit string', 'a\u009d0;t\u009cb', 'ab'],
    ['a bare escape', 'a\u001bb', 'ab'],
    ['a CSI that never ends', 'a\u001b[31', 'a31'],
    ['a string that never ends, which does not swallow the rest', 'a\u001b]0;rest\u001b]more', 'a0;restmore'],
  ])('S094 takes out %s', (_what, raw, text) => {
    expect(clean(raw)).toBe(text);
  });

  it('keeps one FE0F behind an emoji and four marks on a letter', () => {
    expect(clean('❤\ufe0f\ufe0f')).toBe('❤\ufe0f');
    expect(clean(`a${'\u0301'.repeat(50)}b`)).toBe(`a${'\u0301'.repeat(4)}b`);
  });

  it('is clean when it has been cleaned, and never holds an escape', () => {
    const nasty = fc.array(
      fc.constantFrom('\u001b', '[', ']', '\u0007', '\u009c', '3', 'm', 'a', '\\', '\u202e', '\u0301', '😀', '\ufe0f'),
    );
    fc.assert(
      fc.property(nasty, (list) => {
        const { text, removed } = modelText(list.join(''));
        expect(text).not.toMatch(/[\u001b\u0007\u009c\u202e]/);
        expect(removed).toBe(list.join('').length - text.length);
      }),
    );
  });
});

describe('text in a preview', () => {
  it('S093 shows what a model would not get', () => {
    expect(escapedText('a\u202eb\u0007\u{e0041}')).toBe('a⟨U+202E⟩b⟨U+0007⟩⟨U+E0041⟩');
    expect(escapedText('a\nb')).toBe('a\nb');
  });
});
