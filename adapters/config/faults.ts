import type { ConfigFault } from '../../actors/ports.js';

/** Enough to mend a file by; a hostile one cannot make the list endless. */
const FAULTS_MAX = 100;
const SEGMENT_CHARS_MAX = 80;

/** Collects what is wrong with one file. Messages name keys and places; no caller may put a value into one. */
export interface Faults {
  readonly file: string;
  /** False for what stands in no file. */
  readonly hasLines: boolean;
  readonly errors: readonly ConfigFault[];
  readonly warnings: readonly ConfigFault[];
  /** Rejects the layer whole. `at` is an offset into the text; `null` means the whole file. */
  error(code: ConfigFault['code'], at: number | null, key: string, message: string): void;
  warn(code: ConfigFault['code'], at: number | null, key: string, message: string): void;
  /** Line of an offset, from 1; 1 for what has no lines. */
  lineOf(at: number): number;
  /** `key (file:line:column)`, for messages that travel without a fault. */
  place(at: number, key: string): string;
}

/** `text: null` for what stands in no file: nothing of it has a line. */
export function createFaults(file: string, text: string | null): Faults {
  const errors: ConfigFault[] = [];
  const warnings: ConfigFault[] = [];
  let lineStarts: Uint32Array | null = null;
  const position = (at: number): { line: number | null; column: number | null } => {
    if (text === null) return { line: null, column: null };
    lineStarts ??= lineStartsOf(text);
    const line = lastNotAfter(lineStarts, at);
    return { line: line + 1, column: at - (lineStarts[line] ?? 0) + 1 };
  };
  const add = (list: ConfigFault[], code: ConfigFault['code'], at: number | null, key: string, message: string): void => {
    if (list.length >= FAULTS_MAX) return;
    list.push({ file, ...(at === null ? { line: null, column: null } : position(at)), key, code, message });
  };
  return {
    file,
    hasLines: text !== null,
    errors,
    warnings,
    error: (code, at, key, message) => {
      add(errors, code, at, key, message);
    },
    warn: (code, at, key, message) => {
      add(warnings, code, at, key, message);
    },
    lineOf: (at) => position(at).line ?? 1,
    place: (at, key) => {
      const { line, column } = position(at);
      return line === null ? `${key} (${file})` : `${key} (${file}:${line}:${column})`;
    },
  };
}

/**
 * `mcpServers` + `files` → `mcpServers.files`. A name is cut and escaped: it comes from a file nobody vouches for. What follows
 * `=` or `:` in one is cut too: `"TOKEN=value"` is how a value gets into the place of a name.
 */
export function joinKey(parent: string, name: string | number): string {
  if (typeof name === 'number') return `${parent}[${name}]`;
  const told = PLAIN_SEGMENT.test(name) ? name : escaped(name);
  return parent === '' ? told : `${parent}.${told}`;
}

const PLAIN_SEGMENT = /^[ -9;<>-~]{0,80}$/;

function escaped(name: string): string {
  const [shown = name] = /^[^=:]*[=:]/.exec(name) ?? [];
  const cut = shown.slice(0, SEGMENT_CHARS_MAX);
  const dots = cut.length < name.length ? '...' : '';
  return cut.replace(/[^ -~]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`) + dots;
}

const [LF, CR] = [10, 13];

/** Offsets at which lines begin; LF, CRLF and CR alone end one. */
function lineStartsOf(text: string): Uint32Array {
  const starts = new Uint32Array(text.length + 1);
  let lines = 1;
  for (let at = 0; at < text.length; at += 1) {
    const char = text.charCodeAt(at);
    if (char === LF || (char === CR && text.charCodeAt(at + 1) !== LF)) {
      starts[lines] = at + 1;
      lines += 1;
    }
  }
  return starts.subarray(0, lines);
}

/** Index of the last entry of a sorted list that is not greater than `at`. */
function lastNotAfter(starts: Uint32Array, at: number): number {
  let low = 0;
  let high = starts.length - 1;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if ((starts[middle] ?? 0) <= at) low = middle;
    else high = middle - 1;
  }
  return low;
}
