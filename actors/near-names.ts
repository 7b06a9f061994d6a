/** Longer ones are no slip of the pen of any name there is. */
const NAME_CHARS_MAX = 128;
const SHOWN_MAX = 3;

/** The known names that a misspelt one may have meant, nearest first: a third of it may be wrong, and 3 letters at most. */
export function nearNames(name: string, known: Iterable<string>): readonly string[] {
  if (name.length > NAME_CHARS_MAX) return [];
  const typed = name.toLowerCase();
  const max = Math.min(3, Math.ceil(typed.length / 3));
  const near: { readonly name: string; readonly distance: number }[] = [];
  for (const one of new Set(known)) {
    const distance = editDistance(typed, one.toLowerCase(), max);
    if (distance <= max) near.push({ name: one, distance });
  }
  near.sort((a, b) => a.distance - b.distance || (a.name < b.name ? -1 : 1));
  return near.slice(0, SHOWN_MAX).map((one) => one.name);
}

/**
 * Letters to put in, take out or replace; `max + 1` for anything over `max`. Looks at the band of the table that can stay
 * within `max` alone, so that ten thousand names cost little.
 */
function editDistance(a: string, b: string, max: number): number {
  const over = max + 1;
  if (Math.abs(a.length - b.length) > max) return over;
  let row = Array.from({ length: b.length + 1 }, (_, at) => Math.min(at, over));
  for (let i = 1; i <= a.length; i += 1) {
    const next = new Array<number>(b.length + 1).fill(over);
    next[0] = Math.min(i, over);
    for (let j = Math.max(1, i - max); j <= Math.min(b.length, i + max); j += 1) {
      const isSame = a.charCodeAt(i - 1) === b.charCodeAt(j - 1);
      const replaced = (row[j - 1] ?? over) + (isSame ? 0 : 1);
      next[j] = Math.min(replaced, (row[j] ?? over) + 1, (next[j - 1] ?? over) + 1, over);
    }
    row = next;
  }
  return row[b.length] ?? over;
}
