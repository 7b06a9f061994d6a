import type { GuardedResponse } from '../../actors/wire-ports.js';
import type { Answer } from './exchange.js';
import { bodyChunks, tooLarge } from './response-body.js';

/** Of a body, when the request says nothing; of a text also when it says that who reads it counts. */
export const BODY_BYTES_MAX = 67_108_864;
/** A body of no more bytes is read to its end when nobody wants it, so that its connection can be used again. */
const DRAIN_BYTES_MAX = 16_384;
const DRAIN_MS_MAX = 1_000;

/** An answer on a connection that it holds until its body has been read, left or discarded. */
export class PooledResponse implements GuardedResponse {
  readonly status: number;
  readonly url: string;
  readonly chunks: AsyncGenerator<Uint8Array, void, undefined>;
  readonly #answer: Answer;
  readonly #textBytesMax: number;
  readonly #place: string;

  constructor(answer: Answer, url: URL, bodyBytesMax: number | null) {
    this.status = answer.statusCode;
    this.url = url.href;
    this.#answer = answer;
    this.#place = url.origin;
    this.#textBytesMax = bodyBytesMax ?? BODY_BYTES_MAX;
    this.chunks = bodyChunks(answer.body, {
      contentEncoding: this.header('content-encoding'),
      bytesMax: bodyBytesMax,
      place: this.#place,
    });
  }

  header(name: string): string | null {
    const value = this.#answer.headers[name];
    return Array.isArray(value) ? value.join(', ') : (value ?? null);
  }

  async text(): Promise<string> {
    const decoder = new TextDecoder();
    let text = '';
    let bytes = 0;
    for await (const chunk of this.chunks) {
      bytes += chunk.length;
      if (bytes > this.#textBytesMax) throw tooLarge(this.#place, this.#textBytesMax);
      text += decoder.decode(chunk, { stream: true });
    }
    return text + decoder.decode();
  }

  discard(): void {
    const { body } = this.#answer;
    if (body.destroyed || body.closed) return;
    const timer = setTimeout(() => body.destroy(), DRAIN_MS_MAX);
    body.once('close', () => clearTimeout(timer));
    void body.dump({ limit: DRAIN_BYTES_MAX }).catch(() => undefined);
  }
}
