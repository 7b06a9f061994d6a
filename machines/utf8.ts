const encoder = new TextEncoder();

/** Bytes a text takes as UTF-8; a lone surrogate counts as the replacement character. */
export const utf8Bytes = (text: string): number => encoder.encode(text).length;

/** The longest beginning of a text that takes at most `bytesMax` bytes of UTF-8; never half a code point. */
export function cutUtf8(text: string, bytesMax: number): string {
  // A unit takes one byte at least, so what is looked at stays as small as what may be kept.
  const { read } = encoder.encodeInto(text.slice(0, bytesMax), new Uint8Array(bytesMax));
  return text.slice(0, read);
}
