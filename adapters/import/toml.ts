import { parse, TomlDate, TomlError, type TomlTableWithoutBigInt, type TomlValueWithoutBigInt } from 'smol-toml';
import type { Json } from '../../actors/ports.js';

/** Deeper than any configuration. */
const DEPTH_MAX = 64;

export type TomlReading =
  | { readonly value: Json; readonly line?: never; readonly column?: never }
  | { readonly value?: never; readonly line: number | null; readonly column: number | null };

/**
 * Reads TOML 1.0 as JSON: dates become text, numbers JSON does not have `null`. What is no TOML, nests deeper than 64 levels
 * or has a key of a prototype gives the place instead; the parser's own message quotes the file and is not passed on.
 */
export function readToml(text: string): TomlReading {
  try {
    return { value: jsonOf(parse(text, { maxDepth: DEPTH_MAX, unsafeKeyBehaviour: 'throw' }), 0) };
  } catch (error) {
    if (error instanceof TomlError) return { line: error.line, column: error.column };
    return { line: null, column: null };
  }
}

function jsonOf(value: TomlValueWithoutBigInt | TomlTableWithoutBigInt, depth: number): Json {
  if (depth > DEPTH_MAX) throw new RangeError('nested too deep');
  if (typeof value === 'number') return Number.isFinite(value) ? value : null;
  if (typeof value === 'string' || typeof value === 'boolean') return value;
  if (Array.isArray(value)) return value.map((item) => jsonOf(item, depth + 1));
  if (value instanceof TomlDate) return value.toISOString();
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, jsonOf(inner, depth + 1)]));
}
