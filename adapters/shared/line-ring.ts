/** The end of an output, in a bounded amount of memory, however much is written and whether or not it has lines. */
export interface LineRing {
  push(bytes: Uint8Array): void;
  /** What is kept, as lines. A carriage return ends a line too, so that a progress bar is readable. */
  tail(): string;
}

const BYTES_FIRST = 4_096;

/** Keeps the last `bytesMax` bytes; takes no memory until something is written. */
export function createLineRing(bytesMax: number): LineRing {
  let ring = Buffer.alloc(0);
  /** Where the next byte goes, and how many have been written in all. */
  let next = 0;
  let total = 0;

  function grow(need: number): void {
    const size = Math.min(bytesMax, Math.max(BYTES_FIRST, 2 * ring.length, need));
    if (size === ring.length) return;
    const larger = Buffer.alloc(size);
    ring.copy(larger, 0, 0, total);
    ring = larger;
    next = total;
  }

  return {
    push(bytes) {
      const kept = bytes.subarray(Math.max(0, bytes.length - bytesMax));
      // While the ring is not full size nothing has been overwritten, and `total` is what it holds.
      if (ring.length < bytesMax && total + kept.length > ring.length) grow(total + kept.length);
      const untilEnd = Math.min(kept.length, ring.length - next);
      ring.set(kept.subarray(0, untilEnd), next);
      ring.set(kept.subarray(untilEnd), 0);
      next = ring.length === 0 ? 0 : (next + kept.length) % ring.length;
      total += kept.length;
    },
    tail() {
      const bytes = total < ring.length ? ring.subarray(0, total) : Buffer.concat([ring.subarray(next), ring.subarray(0, next)]);
      return bytes
        .subarray(firstCharacter(bytes))
        .toString('utf8')
        .split(/\r\n|\r|\n/)
        .filter((line) => line.trim() !== '')
        .join('\n');
    },
  };
}

/** Skips the rest of a character whose first byte has been overwritten. */
function firstCharacter(bytes: Uint8Array): number {
  let at = 0;
  while (at < 4 && at < bytes.length && ((bytes[at] ?? 0) & 0xc0) === 0x80) at += 1;
  return at;
}
