import { createParser, type EventSourceMessage } from 'eventsource-parser';
import { supervisorError } from '../../actors/errors.js';
import { FRAME_LIMITS, LARGE_BYTES } from '../shared/frame-splitter.js';
import { JsonScan } from '../shared/json-scan.js';

/** Small, as what is held of an event is counted once for each. */
const PIECE_BYTES = 4_096;
const SCAN_SLICE_BYTES = 262_144;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
/** Where an event ends: an empty line, whichever way lines end (WHATWG HTML 9.2.5). */
const EMPTY_LINES = ['\n\n', '\n\r', '\r\r'].map((end) => Buffer.from(end));

export interface ReadingOptions {
  /** Whether somebody waits for what is read: then a message may have 64 MiB, else 1 MiB. */
  wants(): boolean;
}

export interface EventOptions extends ReadingOptions {
  /** The server said how long to wait before coming back, in milliseconds. */
  retry(delayMs: number): void;
}

/**
 * Server-sent events, each once it is complete; what is cut off by the end of the stream is none. Throws `MESSAGE_TOO_LARGE`
 * for an event over its limit while that is still coming in (S158).
 */
export async function* readEvents(chunks: AsyncIterable<Uint8Array>, options: EventOptions): AsyncGenerator<EventSourceMessage> {
  const decoder = new TextDecoder();
  const ready: EventSourceMessage[] = [];
  const parser = createParser({ onEvent: (event) => ready.push(event), onRetry: (delayMs) => options.retry(delayMs) });
  const held = new HeldBytes(options);
  const end = new EventEnd();
  const lines = new LineEnds();
  try {
    for await (const chunk of chunks) {
      for (let start = 0; start < chunk.length; start += PIECE_BYTES) {
        const piece = chunk.subarray(start, start + PIECE_BYTES);
        held.set(end.bytesSince(piece));
        parser.feed(lines.unified(decoder.decode(piece, { stream: true })));
        yield* ready.splice(0);
      }
    }
  } finally {
    held.set(0);
  }
}

/** The body of an answer that is JSON, as text. Throws `MESSAGE_TOO_LARGE` for its size, depth or number of values. */
export async function readJson(chunks: AsyncIterable<Uint8Array>, options: ReadingOptions): Promise<string> {
  const parts: Uint8Array[] = [];
  const scan = new JsonScan(FRAME_LIMITS);
  const held = new HeldBytes(options);
  let bytes = 0;
  try {
    for await (const chunk of chunks) {
      bytes += chunk.length;
      held.set(bytes);
      scan.feed(chunk);
      if (scan.exceeded !== null) throw tooLarge(SCAN_PROBLEMS[scan.exceeded]);
      parts.push(chunk);
    }
    return new TextDecoder().decode(Buffer.concat(parts));
  } finally {
    held.set(0);
  }
}

/** Throws `MESSAGE_TOO_LARGE` where a parser would need too much for this text; a long one is looked at in several turns. */
export async function checkJson(text: string): Promise<void> {
  const bytes = Buffer.from(text);
  const scan = new JsonScan(FRAME_LIMITS);
  for (let start = 0; start < bytes.length; start += SCAN_SLICE_BYTES) {
    if (start > 0) await new Promise((resolve) => setImmediate(resolve));
    scan.feed(bytes, start, Math.min(bytes.length, start + SCAN_SLICE_BYTES));
    if (scan.exceeded !== null) throw tooLarge(SCAN_PROBLEMS[scan.exceeded]);
  }
}

/**
 * Gives each line the end of a line feed, whichever it had. Behind a carriage return the parser would wait for the next character,
 * which a server that has said all it wants does not send.
 */
class LineEnds {
  #wasReturn = false;

  unified(text: string): string {
    if (text === '') return text;
    const rest = this.#wasReturn && text.startsWith('\n') ? text.slice(1) : text;
    this.#wasReturn = text.endsWith('\r');
    return rest.includes('\r') ? rest.replace(/\r\n?/g, '\n') : rest;
  }
}

/** Follows where the last event ended. */
class EventEnd {
  #bytes = 0;
  #last = 0;

  /** How many bytes there are behind it now. */
  bytesSince(piece: Uint8Array): number {
    const buffer = Buffer.from(piece.buffer, piece.byteOffset, piece.length);
    const at = Math.max(...EMPTY_LINES.map((line) => buffer.lastIndexOf(line)));
    if (at >= 0) this.#bytes = piece.length - at - 2;
    else if (this.#isLineEnd(this.#last) && this.#isLineEnd(piece[0]) && !this.#isOneEnd(piece[0])) {
      this.#bytes = piece.length - 1;
    } else this.#bytes += piece.length;
    this.#last = piece.at(-1) ?? this.#last;
    return this.#bytes;
  }

  #isLineEnd(byte: number | undefined): boolean {
    return byte === LINE_FEED || byte === CARRIAGE_RETURN;
  }

  /** A carriage return and a line feed are the end of one line. */
  #isOneEnd(first: number | undefined): boolean {
    return this.#last === CARRIAGE_RETURN && first === LINE_FEED;
  }
}

/** What is held of one message: charged to the process beyond 1 MiB, refused beyond its limit. */
class HeldBytes {
  readonly #options: ReadingOptions;
  #charged = 0;

  constructor(options: ReadingOptions) {
    this.#options = options;
  }

  set(bytes: number): void {
    const over = Math.max(0, bytes - FRAME_LIMITS.inlineBytesMax);
    if (over > this.#charged) {
      if (!this.#options.wants()) throw tooLarge(`of more than ${FRAME_LIMITS.inlineBytesMax} bytes that nobody waits for`);
      if (bytes > FRAME_LIMITS.bytesMax) throw tooLarge(`of more than ${FRAME_LIMITS.bytesMax} bytes`);
      if (!LARGE_BYTES.take(over - this.#charged)) throw tooLarge('that came while too many others were being read');
    } else LARGE_BYTES.giveBack(this.#charged - over);
    this.#charged = over;
  }
}

const SCAN_PROBLEMS = {
  depth: `nested deeper than ${FRAME_LIMITS.depthMax} levels`,
  nodes: `with more than ${FRAME_LIMITS.nodesMax} values`,
} as const;

const tooLarge = (what: string): Error => supervisorError('MESSAGE_TOO_LARGE', `The server sent a message ${what}.`);
