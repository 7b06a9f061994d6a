import { escapedText } from '../machines/model-text.js';
import { cutUtf8, utf8Bytes } from '../machines/utf8.js';

const BLOCKS_SHOWN = 20;
const PREVIEW_BYTES = 256;
const KEPT_FIELD_BYTES = 4 * 1_024;
const KEPT_BYTES = 16 * 1_024;
/** Fields looked at; what stands behind them is in the spill. */
const FIELDS_SEEN = 1_000;

export interface StructuredSummary {
  readonly truncated: true;
  readonly bytes: number;
  /** Fields of the object or elements of the list. */
  readonly blockCount: number;
  readonly blocks: readonly { readonly key: string; readonly type: string; readonly bytes: number; readonly preview: string }[];
  /** Fields of at most 4 KiB, unchanged, 16 KiB in all. */
  readonly fields: { readonly [key: string]: unknown };
}

/** What is shown of a structured value too large to show: how many blocks, what the first twenty are, and the small fields. */
export function structuredSummary(value: unknown, bytes: number): StructuredSummary {
  const entries = typeof value === 'object' && value !== null ? Object.entries(value) : [['value', value] as const];
  const blocks: StructuredSummary['blocks'][number][] = [];
  const fields = new Map<string, unknown>();
  let left = KEPT_BYTES;
  for (const [index, [key, field]] of entries.entries()) {
    if (index >= (Array.isArray(value) ? BLOCKS_SHOWN : FIELDS_SEEN)) break;
    const json = JSON.stringify(field);
    const size = utf8Bytes(json);
    const shown = cutUtf8(key, PREVIEW_BYTES);
    if (index < BLOCKS_SHOWN) blocks.push({ key: shown, type: typeOf(field), bytes: size, preview: previewOf(json) });
    const cost = size + utf8Bytes(key) + 4;
    if (!Array.isArray(value) && size <= KEPT_FIELD_BYTES && cost <= left) {
      fields.set(key, field);
      left -= cost;
    }
  }
  // Object.fromEntries defines its keys, so that a field called __proto__ is a field.
  return { truncated: true, bytes, blockCount: entries.length, blocks, fields: Object.fromEntries(fields) };
}

const previewOf = (json: string): string => cutUtf8(escapedText(json.slice(0, PREVIEW_BYTES)), PREVIEW_BYTES);

const typeOf = (value: unknown): string => (value === null ? 'null' : Array.isArray(value) ? 'list' : typeof value);
