/** Text cleaned for a model, and how many UTF-16 units were taken out. */
export interface ModelText {
  readonly text: string;
  readonly removed: number;
}

const HARMLESS = /^[\x20-\x7e\n\t]*$/;
/** What shows nothing, reorders what is shown, or has no meaning a model could share with the person who reads along. */
const HIDDEN =
  /(?![\n\t])\p{Cc}|[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufffb\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]|(?<!\p{Emoji})\ufe0f|\p{Co}|\p{Cs}|\p{Noncharacter_Code_Point}/gu;
/** More than four marks on one base are a way to draw over the lines around it. */
const HEAPED_MARKS = /(\p{M}{4})\p{M}+/gu;

/** Takes out of a text what a person would not see: terminal sequences, controls but newline and tab, bidi, zero-width, tags. Linear. */
export function modelText(raw: string): ModelText {
  if (HARMLESS.test(raw)) return { text: raw, removed: 0 };
  const text = withoutSequences(raw).replace(HIDDEN, '').replace(HEAPED_MARKS, '$1');
  return { text, removed: raw.length - text.length };
}

/** Shows what `modelText` would take out, as `⟨U+202E⟩`; for previews a person or a model reads as data. */
export function escapedText(raw: string): string {
  return raw.replace(HIDDEN, (hidden) => `⟨U+${(hidden.codePointAt(0) as number).toString(16).toUpperCase().padStart(4, '0')}⟩`);
}

/** CSI ends at its final byte; the five string sequences at BEL or ST. */
const INTRODUCER = /\u001b\[|\u009b|\u001b[\]PX^_]|[\u0090\u0098\u009d-\u009f]/g;
const CSI_REST = /[\u0030-\u003f]*[\u0020-\u002f]*[\u0040-\u007e]/y;
const STRING_END = /\u0007|\u001b\\|\u009c/g;

/** Drops whole ANSI sequences; one that never ends loses its introducer only, so that it cannot swallow the text behind it. */
function withoutSequences(raw: string): string {
  const parts: string[] = [];
  let kept = 0;
  let stringsEnd = true;
  INTRODUCER.lastIndex = 0;
  for (let found = INTRODUCER.exec(raw); found !== null; found = INTRODUCER.exec(raw)) {
    parts.push(raw.slice(kept, found.index));
    kept = INTRODUCER.lastIndex;
    const isCsi = found[0] === '\u001b[' || found[0] === '\u009b';
    // Once no end was found none is looked for again: the scan stays linear.
    const rest = isCsi ? CSI_REST : STRING_END;
    rest.lastIndex = kept;
    const ended = (isCsi || stringsEnd) && rest.test(raw);
    if (ended) kept = rest.lastIndex;
    else if (!isCsi) stringsEnd = false;
    INTRODUCER.lastIndex = kept;
  }
  parts.push(raw.slice(kept));
  return parts.join('');
}
