import { visibleLine } from '../shared/visible-text.js';

export type Colour = 'green' | 'yellow' | 'red' | 'dim' | 'bold';

export interface Cell {
  readonly text: string;
  readonly colour?: Colour;
}

export interface Column {
  readonly name: string;
  readonly align?: 'right';
}

const SGR: Readonly<Record<Colour, number>> = { green: 32, yellow: 33, red: 31, dim: 2, bold: 1 };
const GAP = '  ';

/** Aligned lines, the head first. Cells are other people's text: escaped here, never cut. */
export function renderTable(
  columns: readonly Column[],
  rows: readonly (readonly Cell[])[],
  options: { readonly colour: boolean },
): string[] {
  const head: readonly Cell[] = columns.map(({ name }) => ({ text: name, colour: 'bold' }));
  const lines = [head, ...rows].map((row) => row.map((cell) => ({ ...cell, text: visibleLine(cell.text) })));
  const widths = columns.map((_, at) => Math.max(...lines.map((row) => lengthOf(row[at]?.text ?? ''))));
  return lines.map((row) => {
    const last = row.findLastIndex(({ text }) => text !== '');
    const cells = row.slice(0, last + 1).map((cell, at) => {
      const room = ' '.repeat((widths[at] ?? 0) - lengthOf(cell.text));
      const painted = paint(cell.text, cell.colour, options.colour);
      if (columns[at]?.align === 'right') return room + painted;
      return at === last ? painted : painted + room;
    });
    return cells.join(GAP);
  });
}

/** The text in a colour, or as it is. The text must be escaped already. */
export function paint(text: string, colour: Colour | undefined, isOn: boolean): string {
  return isOn && colour !== undefined && text !== '' ? `\u001b[${SGR[colour]}m${text}\u001b[0m` : text;
}

const lengthOf = (text: string): number => Array.from(text).length;
