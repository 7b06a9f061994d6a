/** A JSON-RPC object, told apart by its shape; the contents are the server's and unchecked. */
export type Message = Answer | Inquiry | Announcement;

export interface Answer {
  readonly kind: 'answer';
  readonly id: string | number;
  readonly body: Body;
}

/** A request of the server to us. */
export interface Inquiry {
  readonly kind: 'inquiry';
  readonly id: string | number;
  readonly body: Body;
}

export interface Announcement {
  readonly kind: 'announcement';
  readonly method: string;
  readonly body: Body;
}

export interface Body {
  readonly [key: string]: unknown;
}

/** The message of one line, or `null` when it is none: not JSON, not "2.0", no id and no method. */
export function readMessage(text: string): Message | null {
  return toMessage(parse(text));
}

/** The same for a text that may hold several, as the revision 2025-03-26 had it; empty when it holds none. */
export function readMessages(text: string): Message[] {
  const value = parse(text);
  const values: readonly unknown[] = Array.isArray(value) ? value : [value];
  return values.map(toMessage).filter((message) => message !== null);
}

function toMessage(body: unknown): Message | null {
  if (!isBody(body) || body['jsonrpc'] !== '2.0') return null;
  const id = body['id'];
  const method = body['method'];
  if (method === undefined) return isId(id) ? { kind: 'answer', id, body } : null;
  if (typeof method !== 'string') return null;
  if (id === undefined) return { kind: 'announcement', method, body };
  return isId(id) ? { kind: 'inquiry', id, body } : null;
}

/** Whether a value is an object with keys, and not an array. */
export function isBody(value: unknown): value is Body {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const isId = (id: unknown): id is string | number => typeof id === 'string' || typeof id === 'number';

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
