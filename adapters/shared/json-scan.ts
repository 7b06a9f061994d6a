/** What a scan refuses: text that a parser would need too much stack, memory or time for. */
export interface ScanLimits {
  readonly depthMax: number;
  /** Values of any kind, containers included. */
  readonly nodesMax: number;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
/** Longest JSON text of an id, or of a key, that is looked at. */
const TOKEN_BYTES_MAX = 256;

/**
 * Reads JSON in one linear pass, in pieces of any size, without parsing it: how deep it nests, how many values it holds,
 * and the `id` of the outermost object, wherever that stands. Does not check that the text is JSON.
 */
export class JsonScan {
  readonly #limits: ScanLimits;
  #depth = 0;
  #nodes = 0;
  #inString = false;
  #isEscaped = false;
  #exceeded: 'depth' | 'nodes' | null = null;
  /** At the outermost level: whether the next string is a key, and the text collected of a key or of the id's value. */
  #expectsKey = false;
  #collecting: 'key' | 'value' | null = null;
  #token = '';
  #key = '';
  #id: string | number | null = null;

  constructor(limits: ScanLimits) {
    this.#limits = limits;
  }

  /** The first limit that was crossed. */
  get exceeded(): 'depth' | 'nodes' | null {
    return this.#exceeded;
  }

  /** The outermost object's `id`, once its value has been read to the end; of several the first, so that it never changes. */
  get id(): string | number | null {
    return this.#id;
  }

  feed(bytes: Uint8Array, start = 0, end = bytes.length): void {
    let at = start;
    while (at < end) at = this.#inString ? this.#string(bytes, at, end) : this.#structure(bytes, at, end);
  }

  /** Reads on to the end of a string. */
  #string(bytes: Uint8Array, start: number, end: number): number {
    let at = start;
    if (this.#isEscaped) {
      this.#isEscaped = false;
      at += 1;
    }
    for (; at < end; at += 1) {
      const byte = bytes[at];
      if (byte === BACKSLASH) {
        if (at + 1 === end) this.#isEscaped = true;
        at += 1;
      } else if (byte === QUOTE) {
        this.#inString = false;
        at += 1;
        break;
      }
    }
    const next = Math.min(at, end);
    if (this.#collecting !== null) this.#collect(bytes, start, next);
    if (!this.#inString && this.#collecting === 'key') this.#endKey();
    return next;
  }

  /** Reads on to the start of a string. */
  #structure(bytes: Uint8Array, start: number, end: number): number {
    for (let at = start; at < end; at += 1) {
      switch (bytes[at]) {
        case QUOTE:
          this.#startString();
          if (this.#collecting !== null) this.#collect(bytes, at, at + 1);
          return at + 1;
        case OPEN_BRACE:
        case OPEN_BRACKET:
          this.#open(bytes[at] === OPEN_BRACE);
          break;
        case CLOSE_BRACE:
        case CLOSE_BRACKET:
          if (this.#depth === 1) this.#endValue();
          this.#depth -= 1;
          break;
        case COMMA:
          this.#count();
          if (this.#depth === 1) this.#endMember();
          break;
        case COLON:
          if (this.#depth === 1) this.#startValue();
          break;
        default:
          if (this.#collecting === 'value') this.#collect(bytes, at, at + 1);
      }
    }
    return end;
  }

  #open(isObject: boolean): void {
    this.#depth += 1;
    this.#count();
    if (this.#depth > this.#limits.depthMax) this.#exceeded ??= 'depth';
    if (this.#depth === 1) this.#expectsKey = isObject;
    // An id is no container.
    else if (this.#depth === 2) this.#collecting = null;
  }

  #count(): void {
    this.#nodes += 1;
    if (this.#nodes > this.#limits.nodesMax) this.#exceeded ??= 'nodes';
  }

  #startString(): void {
    this.#inString = true;
    if (this.#depth !== 1 || !this.#expectsKey) return;
    this.#expectsKey = false;
    this.#collecting = 'key';
    this.#token = '';
  }

  #endKey(): void {
    this.#key = this.#token;
    this.#collecting = null;
  }

  #startValue(): void {
    this.#collecting = this.#key === '"id"' ? 'value' : null;
    this.#token = '';
    this.#key = '';
  }

  #endMember(): void {
    this.#endValue();
    this.#expectsKey = true;
  }

  #endValue(): void {
    if (this.#collecting === 'value') this.#id ??= readId(this.#token);
    this.#collecting = null;
  }

  #collect(bytes: Uint8Array, start: number, end: number): void {
    if (this.#token.length + end - start > TOKEN_BYTES_MAX) this.#collecting = null;
    else this.#token += Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString('utf8');
  }
}

function readId(token: string): string | number | null {
  try {
    const value: unknown = JSON.parse(token);
    return typeof value === 'string' || typeof value === 'number' ? value : null;
  } catch {
    return null;
  }
}
