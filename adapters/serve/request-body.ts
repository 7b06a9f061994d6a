import type { Readable } from 'node:stream';
import { JsonScan } from '../shared/json-scan.js';
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
  const message = parsed(chunks);
  if (message === undefined) return refused(400, -32_700, 'Parse error');
  if (typeof message !== 'object' || message === null || Array.isArray(message))
    return refused(400, -32_600, 'One message a request, as a JSON object');
  return { message };
}

function parsed(chunks: readonly Uint8Array[]): unknown {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks));
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const refused = (status: number, code: number, message: string): Body => ({ refusal: { status, code, message } });
