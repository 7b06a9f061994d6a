import { pipeline, type Readable, type Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate, createInflateRaw } from 'node:zlib';
import { supervisorError } from '../../actors/errors.js';
import { exchangeError } from './wire-error.js';

/** What is decoded here, and so what is asked for. */
export const CODINGS = 'gzip, deflate, br';

export interface BodyOptions {
  /** As the header says; `null` or empty when it does not. */
  readonly contentEncoding: string | null;
  /** Of the decompressed bytes; `null`: no cap. */
  readonly bytesMax: number | null;
  readonly place: string;
}

/**
 * A body as decompressed bytes, once, no faster than they are taken. Throws `MESSAGE_TOO_LARGE` when there are more than the cap,
 * before the rest is decompressed; leaving the loop, or that throw, ends the body. Refuses with `RESULT_INVALID` a coding that was
 * not asked for and more than one (RFC 9110 §8.4).
 */
export async function* bodyChunks(body: Readable, options: BodyOptions): AsyncGenerator<Uint8Array, void, undefined> {
  let bytes = 0;
  try {
    for await (const chunk of await decoded(body, options)) {
      bytes += chunk.length;
      if (options.bytesMax !== null && bytes > options.bytesMax) throw tooLarge(options.place, options.bytesMax);
      yield chunk;
    }
  } catch (error) {
    throw exchangeError(error, options.place);
  } finally {
    body.destroy();
  }
}

async function decoded(body: Readable, { contentEncoding, place }: BodyOptions): Promise<AsyncIterable<Uint8Array>> {
  const coding = contentEncoding?.trim().toLowerCase() ?? '';
  if (coding === '' || coding === 'identity') return body as AsyncIterable<Uint8Array>;
  if (!/^(?:(?:x-)?gzip|deflate|br)$/.test(coding)) {
    throw supervisorError('RESULT_INVALID', `${place} answered in a coding that was not asked for.`);
  }
  const decoder = coding === 'deflate' ? await inflater(body) : coding === 'br' ? createBrotliDecompress() : createGunzip();
  // Its error is the decoder's, and is thrown to who reads that.
  return pipeline(body, decoder, () => undefined) as AsyncIterable<Uint8Array>;
}

/** `deflate` is zlib's format by the letter (RFC 9110 §8.4.1.2) and often the bare one; its first byte tells. */
async function inflater(body: Readable): Promise<Transform> {
  const first = await firstByte(body);
  return first === null || (first & 0x0f) === 0x08 ? createInflate() : createInflateRaw();
}

async function firstByte(body: Readable): Promise<number | null> {
  for (;;) {
    const chunk = body.read() as Buffer | null;
    if (chunk !== null && chunk.length > 0) {
      body.unshift(chunk);
      return chunk[0] ?? null;
    }
    if (body.readableEnded || body.errored !== null || body.destroyed) return null;
    await new Promise<void>((resolve) => {
      const events = ['readable', 'end', 'error', 'close'];
      const done = (): void => {
        for (const event of events) body.off(event, done);
        resolve();
      };
      for (const event of events) body.on(event, done);
    });
  }
}

export function tooLarge(place: string, bytesMax: number): Error {
  return supervisorError('MESSAGE_TOO_LARGE', `The answer of ${place} is over ${bytesMax} bytes.`);
}
