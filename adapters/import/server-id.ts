/** What an id of ours may be: 1 to 32 of `A-Z a-z 0-9 _ -` without `__`. */
const ID_CHARS_MAX = 32;

/** The id for a server of this name, as near to it as can be: accents, blanks and marks go. Null when nothing is left. */
export function serverIdFor(name: string): string | null {
  const plain = name.normalize('NFKD').replace(/\p{M}/gu, '');
  const id = plain
    .replace(/[^A-Za-z0-9_-]+/g, '-')
    .replace(/_{2,}/g, '_')
    .slice(0, ID_CHARS_MAX)
    .replace(/^-+|-+$/g, '');
  return id === '' ? null : id;
}
