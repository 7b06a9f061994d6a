import { escapedText } from '../machines/model-text.js';
import { cutUtf8 } from '../machines/utf8.js';
import type { GatewayResult } from './api.js';

type Block = GatewayResult['content'][number];

/** One block of a result, sorted by what it would cost to show. */
export type Piece =
  | { readonly kind: 'text'; readonly text: string }
  /** Small by construction. */
  | { readonly kind: 'small'; readonly block: Block; readonly text: string }
  /** Text within another block: shown as that block when it fits, as plain text when it has to be cut. */
  | { readonly kind: 'textual'; readonly block: Block; readonly text: string }
  /** Base64. `block` is null where it is never shown. */
  | { readonly kind: 'binary'; readonly block: Block | null; readonly label: string; readonly data: string };

const LABEL_BYTES = 256;
const FIELD_BYTES = 1_024;

/** Sorts the blocks of a result. Types nobody knows become a placeholder, so that the blocks beside them are not lost. */
export function piecesOf(content: unknown): Piece[] {
  return Array.isArray(content) ? content.map((block: unknown) => pieceOf(block)) : [];
}

/** The contents of a resource as blocks; binary ones are named, never shown. */
export function resourcePieces(contents: unknown): Piece[] {
  return Array.isArray(contents) ? contents.map((resource: unknown) => resourcePiece(resource)) : [];
}

/** A name, type or URI of a server within our own sentence: escaped and short. */
export function labelText(value: unknown): string {
  const text = typeof value === 'string' ? value.slice(0, LABEL_BYTES) : typeof value;
  return cutUtf8(escapedText(text), LABEL_BYTES);
}

function pieceOf(raw: unknown): Piece {
  if (!isRecord(raw)) return placeholder('[a block that is no object is left out]');
  const { type, text, data } = raw;
  if (type === 'text' && typeof text === 'string') return { kind: 'text', text };
  if (type === 'resource') return resourcePiece(raw['resource']);
  if (type === 'resource_link') return linkPiece(raw);
  if ((type === 'image' || type === 'audio') && typeof data === 'string') {
    const mimeType = cutUtf8(stringOr(raw['mimeType'], 'application/octet-stream'), LABEL_BYTES);
    return { kind: 'binary', block: { type, data, mimeType }, label: `${type} ${labelText(mimeType)}`, data };
  }
  return placeholder(`[a block of type "${labelText(type)}" is left out]`);
}

function resourcePiece(raw: unknown): Piece {
  if (!isRecord(raw)) return placeholder('[a resource that is no object is left out]');
  const { text, blob } = raw;
  const uri = stringOr(raw['uri'], '');
  if (typeof blob === 'string') {
    const label = `resource ${labelText(uri)} ${labelText(raw['mimeType'] ?? 'application/octet-stream')}`;
    return { kind: 'binary', block: null, label, data: blob };
  }
  if (typeof text !== 'string') return placeholder(`[the resource ${labelText(uri)} has no contents]`);
  return { kind: 'textual', block: { type: 'resource', resource: { ...shortFields(raw, ['uri', 'mimeType']), text } }, text };
}

function linkPiece(raw: Record<string, unknown>): Piece {
  const fields = shortFields(raw, ['uri', 'name', 'title', 'description', 'mimeType']);
  return {
    kind: 'small',
    block: { type: 'resource_link', ...fields },
    text: `[link ${labelText(raw['name'])} ${labelText(raw['uri'])}]`,
  };
}

function placeholder(text: string): Piece {
  return { kind: 'small', block: { type: 'text', text }, text };
}

function shortFields(raw: Record<string, unknown>, keys: readonly string[]): Record<string, string> {
  const fields: Record<string, string> = {};
  for (const key of keys) {
    const value = raw[key];
    if (typeof value === 'string') fields[key] = cutUtf8(value, FIELD_BYTES);
  }
  return fields;
}

const stringOr = (value: unknown, fallback: string): string => (typeof value === 'string' ? value : fallback);

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
