/**
 * Control, format, private, unassigned and otherwise invisible characters, lone surrogates, line and paragraph separators;
 * and by name those that count as letters, marks or symbols and are drawn as nothing: the empty Braille pattern, the object
 * replacement, the Khitan filler, the blank hieroglyphs, the note without a head.
 */
const UNSEEN = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800\ufffc\u{16fe4}\u{13441}\u{13442}\u{1d159}]/gu;
/** More marks on one letter than any language needs: they paint over the lines around them. */
const PILED_MARKS = /(?<=\p{M}{4})\p{M}/gu;
/** Spaces that are not the space bar's. */
const ODD_SPACES = /(?! )\p{Zs}/gu;
const GAP = / {2,}/g;
const NAMED: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** Text of others on one line: what cannot be seen, or would move the cursor, is spelled as `\u202e` or `\n`. */
export function visibleLine(text: string): string {
  return text.replace(UNSEEN, escaped).replace(PILED_MARKS, escaped);
}

/** The same for text that may have lines of its own: line breaks and tabs stay. */
export function visibleText(text: string): string {
  const lines = text.replaceAll('\r\n', '\n');
  return lines
    .replace(UNSEEN, (unseen) => (unseen === '\n' || unseen === '\t' ? unseen : escaped(unseen)))
    .replace(PILED_MARKS, escaped);
}

/**
 * Text in quotes that can be read in one way only: backslashes and quotes are escaped too, odd spaces spelled, and two
 * or more spaces counted as `\[500 spaces]`. Nothing is cut.
 */
export function quoted(text: string): string {
  const literal = text.replace(/["\\]/g, '\\$&');
  const seen = visibleLine(literal).replace(ODD_SPACES, escaped);
  return `"${seen.replace(GAP, (gap) => `\\[${gap.length} spaces]`)}"`;
}

/** JSON that is the same value to a parser and harmless to a terminal: what cannot be seen is escaped. */
export function visibleJson(value: unknown): string {
  return JSON.stringify(value, null, 2).replace(UNSEEN, (unseen) => (unseen === '\n' ? unseen : utf16Escapes(unseen)));
}

function escaped(character: string): string {
  const codePoint = character.codePointAt(0) ?? 0;
  const hex = codePoint.toString(16);
  return NAMED[character] ?? (codePoint > 0xffff ? `\\u{${hex}}` : `\\u${hex.padStart(4, '0')}`);
}

function utf16Escapes(character: string): string {
  return Array.from({ length: character.length }, (_, at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`).join(
    '',
  );
}
