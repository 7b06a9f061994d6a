import type { Readable } from 'node:stream';
import { JsonScan } from '../shared/json-scan.js';
import { hasDuplicateKey } from './duplicate-keys.js';
import type { Refusal } from './request-guard.js';

/** What a parser is spared; the gateway has bounds of its own for arguments. */
const SCAN_LIMITS = { depthMax: 128, nodesMax: 100_000 };

export type Body = { readonly message: object; readonly refusal?: never } | { readonly refusal: Refusal };

/** Reads one JSON-RPC message, within the cap. A batch is refused: revision 2025-06-18 took batches away again. */
export async function readMessage(stream: Readable, declaredBytes: number, bytesMax: number): Promise<Body> {
  const tooLarge = refused(413, -32_000, `A message has at most ${bytesMax} bytes`);
  if (declaredBytes > bytesMax) return tooLarge;
  const chunks: Uint8Array[] = [];
  const scan = new JsonScan(SCAN_LIMITS);
  let bytes = 0;
  for await (const chunk of stream as AsyncIterable<Uint8Array>) {
    bytes += chunk.byteLength;
    if (bytes > bytesMax) return tooLarge;
    scan.feed(chunk);
    if (scan.exceeded !== null) return refused(400, -32_600, 'The message nests too deep or has too many values');
    chunks.push(chunk);
  }
  const text = decoded(chunks);
  const message = text === undefined ? undefined : parsed(text);
  if (text === undefined || message === undefined) return refused(400, -32_700, 'Parse error');
  if (hasDuplicateKey(text)) return refused(400, -32_600, 'A key stands twice in one object');
  if (typeof message !== 'object' || message === null || Array.isArray(message))
    return refused(400, -32_600, 'One message a request, as a JSON object');
  return { message };
}

function decoded(chunks: readonly Uint8Array[]): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks));
  } catch {
    return undefined;
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const refused = (status: number, code: number, message: string): Body => ({ refusal: { status, code, message } });
