import { visibleJson, visibleLine, visibleText } from '../shared/visible-text.js';
import type { CallResult } from './library.js';

/** A call's result for people: its text, a line for whatever is not text, and the structured part where there is no text. */
export function renderResult(result: CallResult): string {
  const content: readonly unknown[] = Array.isArray(result['content']) ? result['content'] : [];
  const blocks = content.map(renderBlock);
  const structured = result['structuredContent'];
  const shown = blocks.length === 0 && structured !== undefined ? [visibleJson(structured)] : blocks;
  return shown.length === 0 ? `${visibleJson(result)}\n` : `${shown.join('\n')}\n`;
}

function renderBlock(block: unknown): string {
  if (typeof block !== 'object' || block === null) return visibleJson(block ?? null);
  const { type, text, data, mimeType, uri, resource } = block as { readonly [field: string]: unknown };
  if (type === 'text' && typeof text === 'string') return visibleText(text);
  if (type === 'resource_link' && typeof uri === 'string') return `[resource ${visibleLine(uri)}]`;
  if (type === 'resource') return `[resource ${visibleJson(resource ?? null)}]`;
  const kind = typeof type === 'string' ? type : 'unknown block';
  const size = typeof data === 'string' ? `, ${data.length} characters of base64` : '';
  return visibleLine(`[${kind}${typeof mimeType === 'string' ? ` ${mimeType}` : ''}${size}]`);
}
