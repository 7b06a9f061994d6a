import type { Edit } from 'jsonc-parser';

/** Lines around a change. */
const CONTEXT = 3;

export interface DiffTexts {
  readonly before: string;
  readonly after: string;
  /** The same as they may be shown, line for line. */
  readonly shownBefore: string;
  readonly shownAfter: string;
}

interface Change {
  readonly from: number;
  readonly to: number;
  readonly newFrom: number;
  readonly newTo: number;
}

/** The lines of a unified diff, without its head. Reads off the edits what has changed, so it costs no search. */
export function diffLines(texts: DiffTexts, edits: readonly Edit[]): readonly string[] {
  const [before, after] = [linesOf(texts.before), linesOf(texts.after)];
  const [shownBefore, shownAfter] = [linesOf(texts.shownBefore), linesOf(texts.shownAfter)];
  const changes = changesOf(texts, edits).flatMap((change) => trimmed(change, before, after));
  return hunksOf(changes).flatMap((hunk) => {
    const [first, last] = [hunk[0], hunk.at(-1)];
    if (first === undefined || last === undefined) return [];
    const from = Math.max(0, first.from - CONTEXT);
    const to = Math.min(before.length, last.to + CONTEXT);
    const newFrom = first.newFrom - (first.from - from);
    const newTo = last.newTo + (to - last.to);
    const lines: string[] = [`@@ -${range(from, to)} +${range(newFrom, newTo)} @@`];
    let at = from;
    for (const change of hunk) {
      lines.push(...shownBefore.slice(at, change.from).map((line) => ` ${line}`));
      lines.push(...shownBefore.slice(change.from, change.to).map((line) => `-${line}`));
      lines.push(...shownAfter.slice(change.newFrom, change.newTo).map((line) => `+${line}`));
      at = change.to;
    }
    return [...lines, ...shownBefore.slice(at, to).map((line) => ` ${line}`)];
  });
}

/** Lines count from 1; an empty range stands behind the line it names. */
const range = (from: number, to: number): string => `${from === to ? from : from + 1},${to - from}`;

/** Without the empty one behind the last line end. */
function linesOf(text: string): readonly string[] {
  const lines = text.split(/\r\n|\n|\r/);
  return lines.at(-1) === '' ? lines.slice(0, -1) : lines;
}

function changesOf({ before, after }: DiffTexts, edits: readonly Edit[]): readonly Change[] {
  const [oldLine, newLine] = [lineFinder(before), lineFinder(after)];
  const changes: Change[] = [];
  let shift = 0;
  for (const { offset, length, content } of [...edits].sort((one, other) => one.offset - other.offset)) {
    const newOffset = offset + shift;
    shift += content.length - length;
    const change = {
      from: oldLine(offset),
      to: oldLine(offset + length) + 1,
      newFrom: newLine(newOffset),
      newTo: newLine(newOffset + content.length) + 1,
    };
    const last = changes.at(-1);
    if (last === undefined || last.to < change.from) changes.push(change);
    else changes[changes.length - 1] = { from: last.from, to: change.to, newFrom: last.newFrom, newTo: change.newTo };
  }
  return changes;
}

/** The line of an offset, from 0. */
function lineFinder(text: string): (offset: number) => number {
  let [at, line] = [0, 0];
  return (offset) => {
    for (; at < offset; at += 1) {
      const char = text[at];
      if (char === '\n' || (char === '\r' && text[at + 1] !== '\n')) line += 1;
    }
    return line;
  };
}

function trimmed({ from, to, newFrom, newTo }: Change, before: readonly string[], after: readonly string[]): Change[] {
  const end = { to: Math.min(to, before.length), newTo: Math.min(newTo, after.length) };
  const start = { from, newFrom };
  while (start.from < end.to && start.newFrom < end.newTo && before[start.from] === after[start.newFrom]) {
    start.from += 1;
    start.newFrom += 1;
  }
  while (end.to > start.from && end.newTo > start.newFrom && before[end.to - 1] === after[end.newTo - 1]) {
    end.to -= 1;
    end.newTo -= 1;
  }
  return start.from === end.to && start.newFrom === end.newTo ? [] : [{ ...start, ...end }];
}

/** Changes whose surroundings touch are shown together. */
function hunksOf(changes: readonly Change[]): readonly (readonly Change[])[] {
  const hunks: Change[][] = [];
  for (const change of changes) {
    const hunk = hunks.at(-1);
    const last = hunk?.at(-1);
    if (hunk !== undefined && last !== undefined && change.from - last.to <= 2 * CONTEXT) hunk.push(change);
    else hunks.push([change]);
  }
  return hunks;
}
