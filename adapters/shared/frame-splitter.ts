import { ByteBudget } from './byte-budget.js';
import { JsonScan } from './json-scan.js';

/** Why a frame was not handed on. `unwanted`: large, and nobody waits for it. `memory`: too much is held as it is. */
export type FrameProblem = 'bytes' | 'depth' | 'nodes' | 'unwanted' | 'memory';

export interface FrameLimits {
  /** Up to here a frame is handed on whoever it is for. */
  readonly inlineBytesMax: number;
  /** Up to here it is held and handed on as long as `wants` says so; beyond it is dropped while it is read. */
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

/** Of all frames that are held at a time, in the whole process, beside those within `inlineBytesMax`. */
export const LARGE_BYTES = new ByteBudget(268_435_456);

export interface FrameHandlers {
  /** One line that starts and ends like a JSON object and is within the limits; it has not been parsed. */
  frame(text: string): void;
  /** One line that is no JSON object: the start of it, and how long it is. */
  noise(sample: string, bytes: number): void;
  /** A line with nothing on it. */
  blank(): void;
  /**
   * Whether somebody waits for a frame of more than `inlineBytesMax`, told by its outermost `id`. Asked again and again while
   * it comes in. `null`: the `id` has not come yet, so whether anybody waits for anything; a yes for an id implies that yes.
   */
  wants(id: string | number | null): boolean;
  /**
   * A frame of so many bytes that was dropped. `id` is `null` when it carries none, or none up to where it was given up: a
   * frame over `bytesMax` is told before its end, and what follows of it is dropped in silence.
   */
  dropped(problem: FrameProblem, id: string | number | null, bytes: number): void;
}

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
/** Space, tab, carriage return and the three bytes of a byte order mark. */
const BLANKS: ReadonlySet<number> = new Set([0x20, 0x09, CARRIAGE_RETURN, 0xef, 0xbb, 0xbf]);
const SAMPLE_BYTES_MAX = 256;
const HOLD_BYTES_MIN = 16_384;
/** A buffer larger than this is not kept for the next frame. */
const HOLD_BYTES_KEPT = 262_144;

/**
 * Cuts a stream of bytes into newline-delimited JSON texts. Linear in the bytes, bounded in memory whatever arrives; takes
 * CRLF, a byte order mark, empty lines, and characters cut at any byte. Nothing in the stream makes it throw. Can be paused
 * between two lines of one chunk, from a handler too.
 */
export class FrameSplitter {
  readonly #handlers: FrameHandlers;
  readonly #limits: FrameLimits;
  readonly #budget: ByteBudget;
  #flow: 'on' | 'paused' | 'closed' = 'on';
  /** What came while it was paused. */
  #waiting: Buffer[] = [];
  /** The start of a frame whose end has not come: the first `#held` bytes of `#hold`. */
  #hold = Buffer.alloc(0);
  #held = 0;
  /** What this has taken of the budget. */
  #charged = 0;
  /** Bytes of the frame so far, held or not. */
  #length = 0;
  #scan: JsonScan | null = null;
  #fate: 'open' | 'keep' | 'noise' | 'drop' | 'told' = 'open';
  /** Why the frame is dropped, unless the scan knows better. */
  #problem: FrameProblem = 'bytes';

  constructor(handlers: FrameHandlers, limits: FrameLimits = FRAME_LIMITS, budget: ByteBudget = LARGE_BYTES) {
    this.#handlers = handlers;
    this.#limits = limits;
    this.#budget = budget;
  }

  push(bytes: Uint8Array): void {
    const chunk = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    if (this.#flow === 'on') this.#read(chunk);
    else if (this.#flow === 'paused') this.#waiting.push(chunk);
  }

  /** Hands nothing on after the line it is at; keeps what is pushed. */
  pause(): void {
    if (this.#flow === 'on') this.#flow = 'paused';
  }

  /** Goes on with what was kept, as far as it is not paused again. */
  resume(): void {
    if (this.#flow === 'paused') this.#flow = 'on';
    while (this.#flow === 'on') {
      const chunk = this.#waiting.shift();
      if (chunk === undefined) return;
      this.#read(chunk);
    }
  }

  /** Hands nothing on any more and gives back what it holds. */
  close(): void {
    this.#flow = 'closed';
    this.#waiting = [];
    this.#scan = null;
    this.#release();
  }

  #read(chunk: Buffer): void {
    let start = 0;
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, start)) {
      if (this.#length === 0) this.#whole(chunk, start, end);
      else {
        this.#take(chunk, start, end);
        this.#end();
      }
      start = end + 1;
      if (this.#flow !== 'on') break;
    }
    if (start === chunk.length) return;
    if (this.#flow === 'on') this.#take(chunk, start, chunk.length);
    else if (this.#flow === 'paused') this.#waiting.unshift(chunk.subarray(start));
  }

  /** A frame that lies in one chunk, as nearly all do. */
  #whole(chunk: Buffer, from: number, to: number): void {
    const start = chunk[from] === OPEN_BRACE ? from : skipBlank(chunk, from, to);
    const end = to > start && chunk[to - 1] === CARRIAGE_RETURN ? to - 1 : to;
    const length = end - start;
    if (length === 0) {
      this.#handlers.blank();
      return;
    }
    if (length > this.#limits.inlineBytesMax) {
      this.#take(chunk, start, to);
      this.#end();
    } else if (chunk[start] !== OPEN_BRACE) this.#handlers.noise(sample(chunk, start, end), length);
    else if (length > this.#limits.depthMax && !this.#isInBounds(chunk, start, end)) return;
    // A parser that throws costs a hundred times what it costs to look.
    else if (!endsObject(chunk, end)) this.#handlers.noise(sample(chunk, start, end), length);
    else this.#handlers.frame(chunk.toString('utf8', start, end));
  }

  /** A text of no more than `depthMax` bytes is not even asked: it cannot nest deeper, nor hold more values than are allowed. */
  #isInBounds(chunk: Buffer, start: number, end: number): boolean {
    const scan = new JsonScan(this.#limits);
    scan.feed(chunk, start, end);
    if (scan.exceeded === null) return true;
    this.#handlers.dropped(scan.exceeded, scan.id, end - start);
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
    if (this.#fate !== 'keep') return;
    const { id = null, exceeded = null } = this.#scan ?? {};
    if (exceeded !== null) this.#drop(exceeded);
    // One more byte, since the last may be a carriage return.
    else if (this.#length > this.#limits.inlineBytesMax + 1 && !this.#handlers.wants(id)) this.#drop('unwanted');
  }

  /** Keeps nothing more of the frame, but reads on for its `id`. */
  #drop(problem: FrameProblem): void {
    this.#fate = 'drop';
    this.#problem = problem;
    this.#release();
  }

  #giveUp(): void {
    const id = this.#scan?.id ?? null;
    this.#release();
    this.#scan = null;
    this.#fate = 'told';
    this.#handlers.dropped('bytes', id, this.#length);
  }

  /** The newline has come. */
  #end(): void {
    const { id = null, exceeded = null } = this.#scan ?? {};
    const bytes = this.#length;
    const end = this.#held > 0 && this.#hold[this.#held - 1] === CARRIAGE_RETURN ? this.#held - 1 : this.#held;
    let fate = this.#fate;
    if (fate === 'keep' && end > this.#limits.inlineBytesMax && (id === null || !this.#handlers.wants(id))) {
      fate = 'drop';
      this.#problem = 'unwanted';
    }
    if (fate === 'keep' && !endsObject(this.#hold, end)) fate = 'noise';
    const text = fate === 'keep' ? this.#hold.toString('utf8', 0, end) : '';
    const start = fate === 'noise' ? sample(this.#hold, 0, end) : '';
    this.#release();
    this.#scan = null;
    this.#fate = 'open';
    this.#length = 0;
    if (fate === 'noise') this.#handlers.noise(start, bytes);
    else if (fate === 'drop') this.#handlers.dropped(exceeded ?? this.#problem, id, bytes);
    else if (fate === 'keep') this.#handlers.frame(text);
  }

  /** Copies into a buffer that doubles, so that a frame of many small pieces costs no more than its bytes. */
  #append(chunk: Buffer, start: number, end: number): void {
    const need = this.#held + end - start;
    if (need > this.#hold.length) {
      const size = Math.max(HOLD_BYTES_MIN, need, Math.min(2 * this.#hold.length, this.#limits.bytesMax));
      if (!this.#charge(size)) {
        this.#drop('memory');
        return;
      }
      const larger = Buffer.allocUnsafe(size);
      this.#hold.copy(larger, 0, 0, this.#held);
      this.#hold = larger;
    }
    chunk.copy(this.#hold, this.#held, start, end);
    this.#held = need;
  }

  /** Small frames are free, so that nobody's large ones are in the way of them. */
  #charge(size: number): boolean {
    if (size <= this.#limits.inlineBytesMax) return true;
    if (!this.#budget.take(size - this.#charged)) return false;
    this.#charged = size;
    return true;
  }

  #release(): void {
    this.#budget.giveBack(this.#charged);
    this.#charged = 0;
    if (this.#hold.length > HOLD_BYTES_KEPT) this.#hold = Buffer.alloc(0);
    this.#held = 0;
  }
}

const sample = (chunk: Buffer, start: number, end: number): string =>
  chunk.toString('utf8', start, Math.min(end, start + SAMPLE_BYTES_MAX));

/** Whether the text up to `end`, which is not empty, closes an object. */
function endsObject(text: Buffer, end: number): boolean {
  let last = end - 1;
  while (last > 0 && BLANKS.has(text[last] ?? 0)) last -= 1;
  return text[last] === CLOSE_BRACE;
}

/** Where a line's text starts: after blanks, returns and the bytes of a byte order mark, which may come in two chunks. */
function skipBlank(chunk: Buffer, from: number, end: number): number {
  let at = from;
  while (at < end && BLANKS.has(chunk[at] ?? 0)) at += 1;
  return at;
}
