/** A text as whoever decodes it would read it, and where each of its units stands in the text itself. */
export interface View {
  readonly text: string;
  /** By unit of `text`: where what it was decoded from begins and ends; absent for a text that is read as it stands. */
  readonly starts: Uint32Array | null;
  readonly ends: Uint32Array | null;
}

/** RFC 8259 §7, and the two-digit form of JavaScript and C. */
const JSON_ESCAPE = /\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(["'\\/bfnrt]))/g;
/** RFC 3986 §2.1, for what is ASCII; more than that is looked for as it is written. */
const PERCENT = /%([0-7][0-9a-fA-F])/g;
const LINE_BREAKS = /[\r\n]+/g;
const LETTERS: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' };

/**
 * Every way to read a text that somebody may have written a value in: as it stands, out of JSON once and twice, out of a URL
 * once and twice or out of JSON and a URL, and with its line breaks left out. A reading that is the same as another is not made.
 */
export function readingsOf(text: string): View[] {
  const plain: View = { text, starts: null, ends: null };
  const json = unescaped(plain);
  const url = percentDecoded(plain);
  const further = [
    json,
    json === null ? null : unescaped(json),
    url,
    json === null ? null : percentDecoded(json),
    url === null ? null : percentDecoded(url),
    joined(plain),
    json === null ? null : joined(json),
  ];
  return [plain, ...further.filter((view) => view !== null)];
}

const unescaped = (view: View): View | null =>
  decoded(view, JSON_ESCAPE, ([, unit, byte, letter]) =>
    letter === undefined ? String.fromCharCode(Number.parseInt(unit ?? byte ?? '', 16)) : (LETTERS[letter] ?? letter),
  );

const percentDecoded = (view: View): View | null =>
  decoded(view, PERCENT, ([, byte]) => String.fromCharCode(Number.parseInt(byte ?? '', 16)));

const joined = (view: View): View | null => decoded(view, LINE_BREAKS, () => '');

/** `null` when there is nothing to decode. `meaning` is at most one unit. */
function decoded(view: View, token: RegExp, meaning: (match: RegExpExecArray) => string): View | null {
  const { text } = view;
  if (text.search(token) === -1) return null;
  const parts: string[] = [];
  const starts = new Uint32Array(text.length);
  const ends = new Uint32Array(text.length);
  let length = 0;
  const put = (unit: string, from: number, to: number): void => {
    parts.push(unit);
    starts[length] = view.starts?.[from] ?? from;
    ends[length] = view.ends?.[to - 1] ?? to;
    length += 1;
  };
  let read = 0;
  const copyUpTo = (end: number): void => {
    for (; read < end; read += 1) put(text.charAt(read), read, read + 1);
  };
  for (const match of text.matchAll(token)) {
    copyUpTo(match.index);
    read = match.index + match[0].length;
    const unit = meaning(match);
    if (unit !== '') put(unit, match.index, read);
  }
  copyUpTo(text.length);
  return { text: parts.join(''), starts, ends };
}
