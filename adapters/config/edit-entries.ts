import { type Edit, findNodeAtLocation, type Node, parseTree } from 'jsonc-parser';
import type { Json } from '../../actors/ports.js';
import type { ConfigNode } from './document.js';
import { commaAfter, layoutOf } from './edit-document.js';

export type Entries = readonly (readonly [id: string, entry: Json])[];

/**
 * The edits that set keys of the object at `path`: a key that is there gets another value, a new one comes last, and so does
 * the object itself where there is none. Comments and the layout of the rest stay. Null when there is no object to put
 * anything in.
 */
export function entryEdits(text: string, path: readonly string[], entries: Entries): readonly Edit[] | null {
  const root = parseTree(text, [], { allowTrailingComma: true });
  if (root?.type !== 'object') return null;
  const home = findNodeAtLocation(root, [...path]);
  const [name] = path;
  if (home === undefined && name !== undefined)
    return entries.length === 0 ? [] : insertions(text, root, [[name, Object.fromEntries(entries)]]);
  if (home?.type !== 'object') return null;
  const known = new Map(home.children?.map((property) => [String(property.children?.[0]?.value), property]));
  const replaced = entries.flatMap(([id, entry]) => {
    const [, value] = known.get(id)?.children ?? [];
    return value === undefined ? [] : [replacement(text, value, entry)];
  });
  const added = entries.filter(([id]) => !known.has(id));
  return [...replaced, ...(added.length === 0 ? [] : insertions(text, home, added))];
}

function replacement(text: string, { offset, length }: Node, value: Json): Edit {
  return { offset, length, content: rendered(value, indentAt(text, offset), text) };
}

function insertions(text: string, home: Node, entries: Entries): Edit[] {
  const { eol, unit } = layoutOf(text);
  const last = home.children?.at(-1);
  const base = indentAt(text, home.offset);
  const indent = last !== undefined && startsLine(text, last.offset) ? indentAt(text, last.offset) : base + unit;
  const body = entries.map(([id, entry]) => `${eol}${indent}${JSON.stringify(id)}: ${rendered(entry, indent, text)}`).join(',');
  const closing = home.offset + home.length - 1;
  if (last === undefined) {
    // Comments in it stay above what comes new.
    const from = home.offset + 1 + text.slice(home.offset + 1, closing).trimEnd().length;
    return [{ offset: from, length: closing - from, content: `${body}${eol}${base}` }];
  }
  const end = last.offset + last.length;
  const comma = commaAfter(text, end);
  const from = comma === null ? end : comma + 1;
  // A comment behind the last one belongs to it.
  const [behind = ''] = /^[ \t]*(?:\/\/[^\r\n]*|\/\*(?:[^*\r\n]|\*(?!\/))*\*\/[ \t]*)*(?=[\r\n])/.exec(text.slice(from)) ?? [];
  const rest = text.slice(from, closing);
  const isOneLine = !/[\r\n]/.test(rest);
  return [
    ...(comma === null ? [{ offset: end, length: 0, content: ',' }] : []),
    {
      offset: from + behind.length,
      length: isOneLine && rest.trim() === '' ? rest.length : 0,
      content: `${body}${comma === null ? '' : ','}${isOneLine ? eol + base : ''}`,
    },
  ];
}

function rendered(value: Json, indent: string, text: string): string {
  const { eol, unit } = layoutOf(text);
  return JSON.stringify(value, null, unit).replaceAll('\n', eol + indent);
}

/** The blanks that the line of an offset begins with. */
function indentAt(text: string, offset: number): string {
  return /^[ \t]*/.exec(text.slice(lineStart(text, offset)))?.[0] ?? '';
}

const lineStart = (text: string, offset: number): number =>
  Math.max(text.lastIndexOf('\n', offset - 1), text.lastIndexOf('\r', offset - 1)) + 1;

const startsLine = (text: string, offset: number): boolean => text.slice(lineStart(text, offset), offset).trim() === '';

/** A value as a document would have it. */
export function nodeOf(value: Json): ConfigNode {
  if (value === null) return { kind: 'null', at: 0 };
  if (typeof value === 'string') return { kind: 'string', at: 0, value };
  if (typeof value === 'number') return { kind: 'number', at: 0, value };
  if (typeof value === 'boolean') return { kind: 'boolean', at: 0, value };
  if (isList(value)) return { kind: 'array', at: 0, items: value.map(nodeOf) };
  const fields = Object.entries(value).map(([name, inner]) => ({ name, key: name, nameAt: 0, value: nodeOf(inner) }));
  return { kind: 'object', at: 0, fields };
}

/** A document's value; one that was parsed has no key of a prototype. */
export function jsonOf(node: ConfigNode): Json {
  switch (node.kind) {
    case 'object':
      return Object.fromEntries(node.fields.map(({ name, value }) => [name, jsonOf(value)]));
    case 'array':
      return node.items.map(jsonOf);
    case 'null':
      return null;
    case 'string':
    case 'number':
    case 'boolean':
      return node.value;
  }
}

const isList = (value: Json): value is readonly Json[] => Array.isArray(value);
