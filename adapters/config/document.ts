import { createScanner, type ParseErrorCode, printParseErrorCode, visit } from 'jsonc-parser';
import { createFaults, type Faults, joinKey } from './faults.js';

/** One value of a parsed file and where it begins. */
export type ConfigNode =
  | { readonly kind: 'object'; readonly at: number; readonly fields: readonly Field[] }
  | { readonly kind: 'array'; readonly at: number; readonly items: readonly ConfigNode[] }
  | { readonly kind: 'string'; readonly at: number; readonly value: string }
  | { readonly kind: 'number'; readonly at: number; readonly value: number }
  | { readonly kind: 'boolean'; readonly at: number; readonly value: boolean }
  | { readonly kind: 'null'; readonly at: number };

export interface Field {
  readonly name: string;
  /** Path from the root of the file, fit for a message. */
  readonly key: string;
  readonly nameAt: number;
  readonly value: ConfigNode;
}

/** Deeper than any configuration; the parser recurses, so the depth is settled before it starts. */
const DEPTH_MAX = 64;
/** Room for five thousand policies, and little enough to parse without holding the loop up. */
const TOKENS_MAX = 20_000;

/** The token kinds needed here; the vendor has them in an enum that does not exist at run time. */
const [OPEN_BRACE, CLOSE_BRACE, OPEN_BRACKET, CLOSE_BRACKET, END] = [1, 2, 3, 4, 17] as const;

/** Reads JSON with comments and trailing commas. `null` after any fault: half a file is no file. */
export function parseDocument(text: string, faults: Faults): ConfigNode | null {
  const nul = text.indexOf('\0');
  if (nul !== -1) {
    faults.error('CONFIG_SYNTAX', nul, '', 'holds a NUL byte: UTF-16 without its mark, or no text; save it as UTF-8');
    return null;
  }
  if (!isBounded(text, faults)) return null;
  const tree = buildTree(text, faults);
  return faults.errors.length === 0 ? tree : null;
}

/** Names under `mcpServers`, each once, also of a text that is no JSON or only half of it. None of one that is too deep or too large. */
export function idsNamedIn(text: string): readonly string[] {
  if (!isBounded(text, createFaults('', null))) return [];
  const names = new Set<string>();
  visit(
    text,
    {
      onObjectProperty: (name, _at, _length, _line, _character, pathOf) => {
        const path = pathOf();
        if (path.length === 1 && path[0] === 'mcpServers') names.add(name);
      },
    },
    { allowTrailingComma: true },
  );
  return [...names];
}

function isBounded(text: string, faults: Faults): boolean {
  const scanner = createScanner(text, true);
  let depth = 0;
  let tokens = 0;
  for (let token: number = scanner.scan(); token !== END; token = scanner.scan()) {
    tokens += 1;
    if (token === OPEN_BRACE || token === OPEN_BRACKET) depth += 1;
    if (token === CLOSE_BRACE || token === CLOSE_BRACKET) depth -= 1;
    if (depth > DEPTH_MAX) {
      faults.error('CONFIG_INVALID', scanner.getTokenOffset(), '', `nested deeper than ${DEPTH_MAX} levels`);
      return false;
    }
    if (tokens > TOKENS_MAX) {
      faults.error('CONFIG_INVALID', scanner.getTokenOffset(), '', `too large: more than ${TOKENS_MAX} words and marks`);
      return false;
    }
  }
  return true;
}

interface OpenNode {
  readonly at: number;
  readonly key: string;
  readonly fields: Field[];
  readonly items: ConfigNode[];
  readonly seen: Set<string>;
  pending: Omit<Field, 'value'> | null;
  /** Its colon was read: before that, a text in the place of a name may be a value whose name is missing. */
  isNamed: boolean;
}

/** The innermost key that is surely one. */
const keyAt = (node: OpenNode | undefined): string => (node?.isNamed === true ? node.pending?.key : undefined) ?? node?.key ?? '';

function buildTree(text: string, faults: Faults): ConfigNode | null {
  const open: OpenNode[] = [];
  let root: ConfigNode | null = null;
  let hasSyntaxFault = false;

  const put = (node: ConfigNode): void => {
    const parent = open.at(-1);
    if (parent === undefined) root = node;
    else if (parent.pending === null) parent.items.push(node);
    else {
      parent.fields.push({ ...parent.pending, value: node });
      parent.pending = null;
    }
  };
  const begin = (at: number): void => {
    const parent = open.at(-1);
    const key = parent === undefined ? '' : (parent.pending?.key ?? joinKey(parent.key, parent.items.length));
    open.push({ at, key, fields: [], items: [], seen: new Set(), pending: null, isNamed: false });
  };

  visit(
    text,
    {
      onObjectBegin: begin,
      onArrayBegin: begin,
      onObjectProperty: (name, at) => {
        const parent = open.at(-1);
        if (parent === undefined) return;
        parent.pending = { name, key: joinKey(parent.key, name), nameAt: at };
        parent.isNamed = false;
        // After a slip, what looks like a name may be a value.
        if (!hasSyntaxFault) checkName(parent, parent.pending, faults);
      },
      onSeparator: (mark) => {
        const parent = open.at(-1);
        if (mark === ':' && parent !== undefined) parent.isNamed = true;
      },
      onObjectEnd: () => {
        const node = open.pop();
        if (node !== undefined) put({ kind: 'object', at: node.at, fields: node.fields });
      },
      onArrayEnd: () => {
        const node = open.pop();
        if (node !== undefined) put({ kind: 'array', at: node.at, items: node.items });
      },
      onLiteralValue: (value: unknown, at) => {
        put(literal(value, at));
      },
      onError: (code, at) => {
        // One slip makes the parser stumble on and on; the first place is the one to mend.
        if (hasSyntaxFault) return;
        hasSyntaxFault = true;
        faults.error('CONFIG_SYNTAX', at, keyAt(open.at(-1)), syntaxMessage(code));
      },
    },
    { allowTrailingComma: true },
  );
  // The text itself is whole; only an escape can leave half a pair.
  if (/\\u[dD]/.test(text)) checkStrings(root, faults);
  return root;
}

function checkName(parent: OpenNode, field: Omit<Field, 'value'>, faults: Faults): void {
  const { name, key, nameAt } = field;
  if (name === '__proto__') faults.error('CONFIG_INVALID', nameAt, key, 'this key is refused everywhere');
  if (parent.seen.has(name)) faults.error('CONFIG_DUPLICATE_KEY', nameAt, key, 'this key stands twice in one object');
  parent.seen.add(name);
}

function literal(value: unknown, at: number): ConfigNode {
  if (typeof value === 'string') return { kind: 'string', at, value };
  if (typeof value === 'number') return { kind: 'number', at, value };
  return typeof value === 'boolean' ? { kind: 'boolean', at, value } : { kind: 'null', at };
}

/** Half a surrogate pair has no UTF-8 form and no digest. */
function checkStrings(root: ConfigNode | null, faults: Faults): void {
  const open: { node: ConfigNode; key: string }[] = root === null ? [] : [{ node: root, key: '' }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { node, key } = next;
    if (node.kind === 'string' && isIllFormed(node.value)) faults.error('CONFIG_INVALID', node.at, key, 'half a surrogate pair');
    if (node.kind === 'array')
      for (const [index, item] of node.items.entries()) open.push({ node: item, key: joinKey(key, index) });
    if (node.kind === 'object') {
      for (const field of node.fields) {
        if (isIllFormed(field.name)) faults.error('CONFIG_INVALID', field.nameAt, field.key, 'half a surrogate pair in a key');
        open.push({ node: field.value, key: field.key });
      }
    }
  }
}

export const isIllFormed = (text: string): boolean => /\p{Surrogate}/u.test(text);

const SYNTAX: Readonly<Record<string, string>> = {
  InvalidSymbol: 'not a JSON value',
  InvalidNumberFormat: 'not a JSON number',
  PropertyNameExpected: 'a key in double quotes is expected here',
  ValueExpected: 'a value is expected here',
  ColonExpected: 'a colon is expected here',
  CommaExpected: 'a comma is expected here',
  CloseBraceExpected: 'a closing brace is missing',
  CloseBracketExpected: 'a closing bracket is missing',
  EndOfFileExpected: 'the file should end here',
  UnexpectedEndOfComment: 'a comment is not closed',
  UnexpectedEndOfString: 'a string is not closed',
  UnexpectedEndOfNumber: 'a number is not finished',
  InvalidUnicode: 'a \\u escape needs four hex digits',
  InvalidEscapeCharacter: 'no such escape in a JSON string',
  InvalidCharacter: 'a control character inside a string',
};

const syntaxMessage = (code: ParseErrorCode): string => SYNTAX[printParseErrorCode(code)] ?? 'not JSON with comments';
