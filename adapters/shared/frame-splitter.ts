import { JsonScan } from './json-scan.js';

/** Why a frame was not handed on. `unwanted`: large, and nobody waits for it. */
export type FrameProblem = 'bytes' | 'depth' | 'nodes' | 'unwanted';

export interface FrameLimits {
  /** Up to here a frame is handed on whoever it is for. */
  readonly inlineBytesMax: number;
  /** Up to here it is handed on if `wants` says so; beyond it is dropped while it is read. */
  readonly bytesMax: number;
  readonly depthMax: number;
  readonly nodesMax: number;
}

/** 1 MiB for anybody, 64 MiB for who waits; depth and values as a parser takes them in its stride. */
export const FRAME_LIMITS: FrameLimits = {
  inlineBytesMax: 1_048_576,
  bytesMax: 67_108_864,
  depthMax: 128,
  nodesMax: 100_000,
};

export interface FrameHandlers {
  /** One line that starts like a JSON object and is within the limits; it has not been parsed. */
  frame(text: string): void;
  /** One line that is no JSON object; the start of it. */
  noise(sample: string): void;
  /** Whether somebody waits for a frame of more than `inlineBytesMax`, told by its outermost `id`. */
  wants(id: string | number): boolean;
  /**
   * A frame that was dropped. `id` is `null` when it carries none, or none up to where it was given up: a frame over
   * `bytesMax` is told before its end, and what follows of it is dropped in silence.
   */
  dropped(problem: FrameProblem, id: string | number | null): void;
}

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const OPEN_BRACE = 0x7b;
/** Space, tab, carriage return and the three bytes of a byte order mark. */
const BLANKS: ReadonlySet<number> = new Set([0x20, 0x09, CARRIAGE_RETURN, 0xef, 0xbb, 0xbf]);
const SAMPLE_BYTES_MAX = 256;
const HOLD_BYTES_MIN = 16_384;
/** A buffer larger than this is not kept for the next frame. */
const HOLD_BYTES_KEPT = 262_144;

/**
 * Cuts a stream of bytes into newline-delimited JSON texts. Linear in the bytes, bounded in memory whatever arrives; takes
 * CRLF, a byte order mark, empty lines, and characters cut at any byte. Nothing in the stream makes it throw.
 */
export class FrameSplitter {
  readonly #handlers: FrameHandlers;
  readonly #limits: FrameLimits;
  /** The start of a frame whose end has not come: the first `#held` bytes of `#hold`. */
  #hold = Buffer.alloc(0);
  #held = 0;
  /** Bytes of the frame so far, held or not. */
  #length = 0;
  #scan: JsonScan | null = null;
  #fate: 'open' | 'keep' | 'noise' | 'drop' | 'told' = 'open';

  constructor(handlers: FrameHandlers, limits: FrameLimits = FRAME_LIMITS) {
    this.#handlers = handlers;
    this.#limits = limits;
  }

  push(bytes: Uint8Array): void {
    const chunk = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    let start = 0;
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, start)) {
      if (this.#length === 0) this.#whole(chunk, start, end);
      else {
        this.#take(chunk, start, end);
        this.#end();
      }
      start = end + 1;
    }
    if (start < chunk.length) this.#take(chunk, start, chunk.length);
  }

  /** A frame that lies in one chunk, as nearly all do. */
  #whole(chunk: Buffer, from: number, to: number): void {
    const start = chunk[from] === OPEN_BRACE ? from : skipBlank(chunk, from, to);
    const end = to > start && chunk[to - 1] === CARRIAGE_RETURN ? to - 1 : to;
    if (start === end) return;
    const length = end - start;
    if (length > this.#limits.inlineBytesMax) {
      this.#take(chunk, start, to);
      this.#end();
    } else if (chunk[start] !== OPEN_BRACE) this.#handlers.noise(sample(chunk, start, end));
    else if (length > this.#limits.depthMax && !this.#isInBounds(chunk, start, end)) return;
    else this.#handlers.frame(chunk.toString('utf8', start, end));
  }

  /** A text of no more than `depthMax` bytes is not even asked: it cannot nest deeper, nor hold more values than are allowed. */
  #isInBounds(chunk: Buffer, start: number, end: number): boolean {
    const scan = new JsonScan(this.#limits);
    scan.feed(chunk, start, end);
    if (scan.exceeded === null) return true;
    this.#handlers.dropped(scan.exceeded, scan.id);
    return false;
  }

  /** A piece of a frame that lies in several chunks. */
  #take(chunk: Buffer, from: number, end: number): void {
    const start = this.#fate === 'open' ? skipBlank(chunk, from, end) : from;
    if (start === end) return;
    if (this.#fate === 'open') this.#fate = this.#firstFate(chunk[start] ?? 0);
    this.#length += end - start;
    if (this.#fate === 'keep' || this.#fate === 'drop') this.#judge(chunk, start, end);
    if (this.#fate === 'keep') this.#append(chunk, start, end);
    else if (this.#fate === 'noise' && this.#held < SAMPLE_BYTES_MAX)
      this.#append(chunk, start, Math.min(end, start + SAMPLE_BYTES_MAX));
    if (this.#length > this.#limits.bytesMax && this.#fate !== 'told') this.#giveUp();
  }

  #firstFate(byte: number): 'keep' | 'noise' {
    if (byte !== OPEN_BRACE) return 'noise';
    this.#scan = new JsonScan(this.#limits);
    return 'keep';
  }

  #judge(chunk: Buffer, start: number, end: number): void {
    this.#scan?.feed(chunk, start, end);
    if (this.#fate === 'keep' && this.#scan?.exceeded !== null) this.#fate = 'drop';
  }

  #giveUp(): void {
    this.#handlers.dropped('bytes', this.#scan?.id ?? null);
    this.#release();
    this.#scan = null;
    this.#fate = 'told';
  }

  /** The newline has come. */
  #end(): void {
    const { id = null, exceeded = null } = this.#scan ?? {};
    const fate = this.#fate;
    const hasReturn = this.#held > 0 && this.#hold[this.#held - 1] === CARRIAGE_RETURN;
    const length = hasReturn ? this.#held - 1 : this.#held;
    const isLarge = length > this.#limits.inlineBytesMax;
    const isWanted = !isLarge || (id !== null && this.#handlers.wants(id));
    const text = (fate === 'keep' && isWanted) || fate === 'noise' ? this.#hold.toString('utf8', 0, length) : '';
    this.#release();
    this.#scan = null;
    this.#fate = 'open';
    this.#length = 0;
    if (fate === 'noise') this.#handlers.noise(text.slice(0, SAMPLE_BYTES_MAX));
    else if (fate === 'drop') this.#handlers.dropped(exceeded ?? 'bytes', id);
    else if (fate === 'keep' && isWanted) this.#handlers.frame(text);
    else if (fate === 'keep') this.#handlers.dropped('unwanted', id);
  }

  /** Copies into a buffer that doubles, so that a frame of many small pieces costs no more than its bytes. */
  #append(chunk: Buffer, start: number, end: number): void {
    const need = this.#held + end - start;
    if (need > this.#hold.length) {
      const larger = Buffer.allocUnsafe(Math.max(HOLD_BYTES_MIN, need, Math.min(2 * this.#hold.length, this.#limits.bytesMax)));
      this.#hold.copy(larger, 0, 0, this.#held);
      this.#hold = larger;
    }
    chunk.copy(this.#hold, this.#held, start, end);
    this.#held = need;
  }

  #release(): void {
    if (this.#hold.length > HOLD_BYTES_KEPT) this.#hold = Buffer.alloc(0);
    this.#held = 0;
  }
}

const sample = (chunk: Buffer, start: number, end: number): string =>
  chunk.toString('utf8', start, Math.min(end, start + SAMPLE_BYTES_MAX));

/** Where a line's text starts: after blanks, returns and the bytes of a byte order mark, which may come in two chunks. */
function skipBlank(chunk: Buffer, from: number, end: number): number {
  let at = from;
  while (at < end && BLANKS.has(chunk[at] ?? 0)) at += 1;
  return at;
}
