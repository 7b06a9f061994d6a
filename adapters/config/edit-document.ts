import { applyEdits, createScanner, type Edit, findNodeAtLocation, modify, type Node, parseTree } from 'jsonc-parser';
import type { ConfigNode } from './document.js';

/** Token kinds; the vendor has them in an enum that does not exist at run time. */
const [COMMA, LINE_COMMENT, BLOCK_COMMENT, LINE_BREAK, BLANKS] = [5, 12, 13, 14, 15] as const;
const TRIVIA: ReadonlySet<number> = new Set([LINE_COMMENT, BLOCK_COMMENT, LINE_BREAK, BLANKS]);

/**
 * The text without one key and its value. Comments stay, those about the key too, and so does the layout of the rest. `null`
 * when there is no such key.
 */
export function withoutKey(text: string, path: readonly string[]): string | null {
  const property = propertyAt(text, path);
  const siblings = property?.parent?.children;
  if (property === undefined || siblings === undefined) return null;
  const { offset, length } = property;
  const edits: Edit[] = [];
  let end = offset + length;
  const comma = commaAfter(text, end);
  if (comma !== null) {
    // A comment may stand between the value and its comma.
    if (text.slice(end, comma).trim() === '') end = comma + 1;
    else edits.push({ offset: comma, length: 1, content: '' });
  } else {
    const previous = siblings[siblings.indexOf(property) - 1];
    const before = previous === undefined ? null : commaAfter(text, previous.offset + previous.length);
    if (before !== null) edits.push({ offset: before, length: 1, content: '' });
  }
  edits.push(wholeLines(text, offset, end));
  return applyEdits(text, edits);
}

/** The text with a key set, its object made where there is none; nothing else is touched. */
export function withKey(text: string, path: readonly string[], value: boolean | readonly string[]): string {
  const { eol, unit } = layoutOf(text);
  const isTabbed = unit.startsWith('\t');
  const formattingOptions = {
    insertSpaces: !isTabbed,
    tabSize: isTabbed ? 1 : unit.length,
    eol,
    insertFinalNewline: false,
  };
  return applyEdits(text, modify(text, [...path], value, { formattingOptions }));
}

/** The text with a word put first in a list of the top level; its comments stay. `null` when there is no such list. */
export function withItem(text: string, key: string, word: string): string | null {
  const list = propertyAt(text, [key])?.children?.[1];
  if (list?.type !== 'array') return null;
  const first = list.children?.[0];
  const offset = first?.offset ?? list.offset + 1;
  const [blank = ''] = /\s*$/.exec(text.slice(list.offset + 1, offset)) ?? [];
  const gap = /[\r\n]/.test(blank) ? blank : ' ';
  return applyEdits(text, [{ offset, length: 0, content: JSON.stringify(word) + (first === undefined ? '' : `,${gap}`) }]);
}

/** How a document ends its lines, and the blanks of one step in. */
export function layoutOf(text: string): { readonly eol: string; readonly unit: string } {
  const [, indent = '  '] = /^([ \t]+)"/m.exec(text) ?? [];
  return { eol: text.includes('\r\n') ? '\r\n' : '\n', unit: indent.startsWith('\t') ? '\t' : indent };
}

function propertyAt(text: string, path: readonly string[]): Node | undefined {
  const root = parseTree(text, [], { allowTrailingComma: true });
  return root === undefined ? undefined : findNodeAtLocation(root, [...path])?.parent;
}

/** Where the next token is a comma, blanks and comments left aside. */
export function commaAfter(text: string, at: number): number | null {
  const scanner = createScanner(text);
  scanner.setPosition(at);
  let token: number = scanner.scan();
  while (TRIVIA.has(token)) token = scanner.scan();
  return token === COMMA ? scanner.getTokenOffset() : null;
}

/** What leaves a line empty takes the line with it; what does not takes the blanks up to the next word. */
function wholeLines(text: string, from: number, to: number): Edit {
  let start = from;
  while (text[start - 1] === ' ' || text[start - 1] === '\t') start -= 1;
  const isFirst = start === 0 || /[\r\n]/.test(text.charAt(start - 1));
  const [after = ''] = /^[ \t]*/.exec(text.slice(to)) ?? [];
  const [lineEnd = ''] = /^(?:\r\n|\r|\n)/.exec(text.slice(to + after.length)) ?? [];
  if (isFirst && lineEnd !== '') return { offset: start, length: to + after.length + lineEnd.length - start, content: '' };
  return { offset: from, length: to - from + (isFirst || lineEnd === '' ? after.length : 0), content: '' };
}

/** What a document says, without its layout: two that say the same give the same text. */
export function meaningOf(node: ConfigNode): string {
  switch (node.kind) {
    case 'object':
      return `{${node.fields.map(({ name, value }) => `${JSON.stringify(name)}:${meaningOf(value)}`).join()}}`;
    case 'array':
      return `[${node.items.map(meaningOf).join()}]`;
    case 'null':
      return 'null';
    case 'string':
    case 'number':
    case 'boolean':
      return JSON.stringify(node.value);
  }
}

/** The same document without a key. */
export function nodeWithout(node: ConfigNode, [name, ...rest]: readonly string[]): ConfigNode {
  if (node.kind !== 'object') return node;
  if (rest.length === 0) return { ...node, fields: node.fields.filter((field) => field.name !== name) };
  return {
    ...node,
    fields: node.fields.map((field) => (field.name === name ? { ...field, value: nodeWithout(field.value, rest) } : field)),
  };
}

/** The same document with a key set; one that is new comes last. */
export function nodeWith(node: ConfigNode | null, [name, ...rest]: readonly string[], value: ConfigNode): ConfigNode {
  if (name === undefined) return value;
  const fields = node?.kind === 'object' ? node.fields : [];
  const old = fields.find((field) => field.name === name);
  const field = { name, key: name, nameAt: 0, value: nodeWith(old?.value ?? null, rest, value) };
  const changed = old === undefined ? [...fields, field] : fields.map((one) => (one === old ? field : one));
  return { kind: 'object', at: 0, fields: changed };
}
