import type { AuditEntry, DigestPort } from '../../actors/ports.js';

/** A log that was there when another was begun, with the digest of its last line then; empty for one that had none yet. */
export interface Seen {
  readonly log: string;
  readonly hash: string;
}

/** The first line of a log: what was there before it, and what is missing since. */
interface Begin {
  readonly event: 'begin';
  /** The newest logs, newest last. */
  readonly after: readonly Seen[];
  /** Entries that could not be kept before. */
  readonly lost: number;
}

/** The last line of a log that was ended in good order. */
interface End {
  readonly event: 'end';
}

export type Recorded = AuditEntry | Begin | End;

/** What stands in one line besides what it records. */
export interface Place {
  readonly seq: number;
  /** Milliseconds since 1970. */
  readonly at: number;
  /** Digest of the line before; empty in the first one. */
  readonly prev: string;
}

export interface Line extends Place {
  readonly hash: string;
  readonly entry: { readonly event: string; readonly [key: string]: unknown };
}

/** One line, without its end, and its digest: SHA-256 over the text of all the rest, as one JSON string. */
export function lineOf(place: Place, entry: Recorded, digest: DigestPort): { readonly text: string; readonly hash: string } {
  // One object of both would cost ten times as much.
  const body = `${JSON.stringify(place).slice(0, -1)},${JSON.stringify(entry).slice(1)}`;
  const hash = digest.ofJson(body);
  return { text: `${body.slice(0, -1)},"hash":"${hash}"}`, hash };
}

/** `null` for what is no line of ours, or not as it was written. */
export function readLine(text: string, digest: DigestPort): Line | null {
  try {
    const parsed = JSON.parse(text) as Record<string, unknown>;
    const { hash, ...body } = parsed;
    const { seq, at, prev, ...entry } = body;
    const isLine = typeof hash === 'string' && typeof prev === 'string' && typeof entry['event'] === 'string';
    // What a parser leaves out, such as a key that stands twice, would not be seen to be changed.
    if (!isLine || JSON.stringify(parsed) !== text || digest.ofJson(JSON.stringify(body)) !== hash) return null;
    return { seq: Number(seq), at: Number(at), prev, hash, entry: entry as Line['entry'] };
  } catch {
    return null;
  }
}
