import { isBody } from './message.js';
import { type HeaderDeclaration, readDeclarations } from './tool-headers.js';

/** Names of tools whose schemas are kept; the oldest goes first. */
const TOOLS_MAX = 10_000;
const VERSION_KEY = 'io.modelcontextprotocol/protocolVersion';
/** The parameter that `Mcp-Name` repeats, by method (2026-07-28, transports/streamable-http). */
const NAMED_BY: Readonly<Record<string, string>> = { 'tools/call': 'name', 'prompts/get': 'name', 'resources/read': 'uri' };
const SENTINEL = /^=\?base64\?.*\?=$/s;
/** Printable ASCII, spaces and tabs inside. */
const PLAIN = /^[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?$/;

/** The revision that a message claims in its `_meta`; `null` for a message of the older era. */
export function claimedVersion(params: unknown): string | null {
  const meta = isBody(params) ? params['_meta'] : undefined;
  const version = isBody(meta) ? meta[VERSION_KEY] : undefined;
  return typeof version === 'string' ? version : null;
}

/** What a modern server wants to read in the headers of a request, beside its body. */
export function modernHeaders(version: string, method: string, params: unknown): Record<string, string> {
  const headers: Record<string, string> = { 'mcp-protocol-version': version, 'mcp-method': method };
  const key = Object.hasOwn(NAMED_BY, method) ? NAMED_BY[method] : undefined;
  const name = key !== undefined && isBody(params) ? params[key] : undefined;
  if (typeof name === 'string') headers['mcp-name'] = headerValue(name);
  return headers;
}

/** A value as a header may carry it: what is no plain ASCII, or could be mistaken for it, as Base64 of its UTF-8. */
export function headerValue(value: string): string {
  if (PLAIN.test(value) && !SENTINEL.test(value)) return value;
  return `=?base64?${Buffer.from(value, 'utf8').toString('base64')}?=`;
}

/** What the lists of tools that passed by say about the headers of their calls. */
export class ToolHeaders {
  readonly #declared = new Map<string, readonly HeaderDeclaration[]>();

  /**
   * Takes a result of `tools/list` and gives it back. A tool whose declarations break a rule may not be used over HTTP: it
   * comes back without its schema, so that whoever verifies the list skips it and says so.
   */
  learn(result: unknown): unknown {
    if (!isBody(result) || !Array.isArray(result['tools'])) return result;
    const tools = result['tools'] as readonly unknown[];
    const kept = tools.map((tool) => {
      if (!isBody(tool) || typeof tool['name'] !== 'string') return tool;
      const declarations = readDeclarations(tool['inputSchema']);
      this.#put(tool['name'], declarations ?? []);
      return declarations === null ? { ...tool, inputSchema: null } : tool;
    });
    return kept.every((tool, index) => tool === tools[index]) ? result : { ...result, tools: kept };
  }

  /** The `Mcp-Param-*` headers of one `tools/call`; an argument that is absent or of another kind has none. */
  of(params: unknown): Record<string, string> {
    const headers: Record<string, string> = {};
    if (!isBody(params) || typeof params['name'] !== 'string') return headers;
    for (const { path, header } of this.#declared.get(params['name']) ?? []) {
      const text = primitiveText(valueAt(params['arguments'], path));
      if (text !== null) headers[`mcp-param-${header.toLowerCase()}`] = headerValue(text);
    }
    return headers;
  }

  #put(name: string, declarations: readonly HeaderDeclaration[]): void {
    this.#declared.delete(name);
    if (declarations.length === 0) return;
    const [oldest] = this.#declared.keys();
    if (oldest !== undefined && this.#declared.size >= TOOLS_MAX) this.#declared.delete(oldest);
    this.#declared.set(name, declarations);
  }
}

function valueAt(root: unknown, path: readonly string[]): unknown {
  let value = root;
  for (const key of path) value = isBody(value) && Object.hasOwn(value, key) ? value[key] : undefined;
  return value;
}

function primitiveText(value: unknown): string | null {
  if (typeof value === 'string') return value;
  if (typeof value === 'boolean') return String(value);
  const isExact =
    typeof value === 'number' && Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value));
  return isExact ? String(value) : null;
}
