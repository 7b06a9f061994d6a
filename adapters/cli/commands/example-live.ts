import { stripVTControlCharacters } from 'node:util';
import { visibleLine } from '../../shared/visible-text.js';
import { howToOpenInExample } from '../how-to-open.js';
import { columnsOf, hasColour, hasCursor, type Io, unlessAborted, write } from '../io.js';
import type { ServerStatus, WorkspaceStatus } from '../library.js';
import { renderServerLine, renderStatus } from '../render-status.js';
import type { Session } from '../session.js';
import type { PromptHooks } from '../terminal-prompt.js';

export interface LiveView extends PromptHooks {
  /** Runs until it is interrupted or the workspace closes. */
  readonly run: (session: Session) => Promise<number>;
}

/** The status as it changes: a table redrawn in place on a terminal, a line for every change anywhere else. */
export function createLiveView(io: Io): LiveView {
  const screen = hasCursor(io.stdout, io.env) ? createScreen(io) : createLog(io);
  return {
    asking: () => screen.pause(),
    answered: () => screen.resume(),
    run: async ({ io: { interrupted }, workspace, deadline, progress }) => {
      progress.end();
      // Idle servers have no pipes: without a timer the process would end by itself.
      const awake = setInterval(() => undefined, 2 ** 31 - 1);
      let unsubscribe = (): void => undefined;
      try {
        const ended = new Promise<number>((resolve, reject) => {
          const watching = workspace.status$.subscribe({ next: screen.show, error: reject, complete: () => resolve(0) });
          unsubscribe = () => watching.unsubscribe();
        });
        return await unlessAborted(AbortSignal.any([deadline.signal, interrupted]), ended);
      } finally {
        unsubscribe();
        clearInterval(awake);
      }
    },
  };
}

interface Screen {
  readonly show: (status: WorkspaceStatus) => void;
  pause(): void;
  resume(): void;
}

function createScreen({ stdout, env }: Io): Screen {
  const colour = hasColour(stdout, env);
  let drawnRows = 0;
  let isPaused = false;
  let latest: WorkspaceStatus | null = null;
  const draw = (): void => {
    if (latest === null || isPaused) return;
    const lines = [...renderStatus(latest, [], { colour, howToOpen: howToOpenInExample }), '', 'Ctrl-C ends it.'];
    const up = drawnRows === 0 ? '' : `\u001b[${drawnRows}F\u001b[0J`;
    drawnRows = rowsOf(lines, columnsOf(stdout));
    void write(stdout, `${up}${lines.join('\n')}\n`);
  };
  return {
    show: (status) => {
      latest = status;
      draw();
    },
    pause: () => {
      isPaused = true;
    },
    resume: () => {
      isPaused = false;
      // What was asked and answered stays above.
      drawnRows = 0;
      draw();
    },
  };
}

/** Rows on the screen, wrapped lines included. */
function rowsOf(lines: readonly string[], columns: number): number {
  return lines.reduce((rows, line) => rows + Math.max(1, Math.ceil(stripVTControlCharacters(line).length / columns)), 0);
}

function createLog({ stdout }: Io): Screen {
  const told = new Map<string, string>();
  const tell = (server: ServerStatus): void => {
    const line = renderServerLine(server, howToOpenInExample);
    if (told.get(server.id) === line) return;
    told.set(server.id, line);
    void write(stdout, `${line}\n`);
  };
  return {
    show: ({ servers }) => {
      for (const server of servers) tell(server);
      const ids = new Set(servers.map(({ id }) => id));
      for (const gone of [...told.keys()].filter((id) => !ids.has(id))) {
        told.delete(gone);
        void write(stdout, `${visibleLine(gone)} removed\n`);
      }
    },
    pause: () => undefined,
    resume: () => undefined,
  };
}
