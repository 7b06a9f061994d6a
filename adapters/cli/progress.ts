import { visibleLine } from '../shared/visible-text.js';
import { columnsOf, type Output, write } from './io.js';
import type { WorkspaceStatus } from './library.js';

/** One line on a terminal's stderr that says what is being waited for; silent anywhere else. */
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

export function createProgress(output: Output): Progress {
  let shown = '';
  let isPaused = false;
  let hasEnded = false;
  const draw = (line: string): void => {
    if (output.isTTY !== true || hasEnded || line === shown) return;
    shown = line;
    void write(output, CLEAR_LINE + line);
  };
  const showLine = (line: string): void => {
    if (!isPaused) draw(line.slice(0, columnsOf(output) - 1));
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

/** Empty when nothing is under way. */
export function progressLine({ servers }: WorkspaceStatus): string {
  const underWay = servers.filter(({ phase }) => phase === 'connecting' || phase === 'approving' || phase === 'backoff');
  if (underWay.length === 0) return '';
  const names = underWay.map(({ id, phase, stage }) => `${visibleLine(id)} (${stage ?? phase})`);
  return `waiting for ${names.join(', ')} …`;
}
