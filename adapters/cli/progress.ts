import { visibleLine } from '../shared/visible-text.js';
import { columnsOf, hasCursor, type Io, write } from './io.js';
import type { WorkspaceStatus } from './library.js';

/** One line on a terminal's stderr that says what is being waited for; silent anywhere else, and on a dumb terminal. */
export interface Progress {
  readonly show: (status: WorkspaceStatus) => void;
  /** A sentence of a server about its own work. */
  note(text: string): void;
  /** Clears the line and keeps it clear until `resume`, as while a question is on the screen. */
  pause(): void;
  resume(): void;
  /** Clears the line for good. */
  end(): void;
}

const CLEAR_LINE = '\r\u001b[2K';

export function createProgress({ stderr: output, env }: Io): Progress {
  const isOn = hasCursor(output, env);
  let shown = '';
  let isPaused = false;
  let hasEnded = false;
  const draw = (line: string): void => {
    if (!isOn || hasEnded || line === shown) return;
    shown = line;
    void write(output, CLEAR_LINE + line);
  };
  const showLine = (line: string): void => {
    if (!isPaused) draw(cutTo(columnsOf(output) - 1, line));
  };
  return {
    show: (status) => showLine(progressLine(status)),
    note: (text) => showLine(visibleLine(text)),
    pause: () => {
      draw('');
      isPaused = true;
    },
    resume: () => {
      isPaused = false;
    },
    end: () => {
      draw('');
      hasEnded = true;
    },
  };
}

/** A line that wraps cannot be cleared: what may take two columns counts as two. */
function cutTo(columns: number, text: string): string {
  let left = columns;
  let cut = '';
  for (const character of text) {
    left -= (character.codePointAt(0) ?? 0) < 0x1100 ? 1 : 2;
    if (left < 0) break;
    cut += character;
  }
  return cut;
}

/** Empty when nothing is under way. */
export function progressLine({ servers }: WorkspaceStatus): string {
  const underWay = servers.filter(({ phase }) => phase === 'connecting' || phase === 'approving' || phase === 'backoff');
  if (underWay.length === 0) return '';
  const names = underWay.map(({ id, phase, stage }) => `${visibleLine(id)} (${stage ?? phase})`);
  return `waiting for ${names.join(', ')} …`;
}
