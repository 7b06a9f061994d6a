import type { Readable, Writable } from 'node:stream';
import type { CreateSupervisor } from './library.js';

export type Output = Writable & { readonly isTTY?: boolean; readonly columns?: number };
export type Input = Readable & { readonly isTTY?: boolean };

/** What the command has of the world. `main.ts` gives it the process; tests give it streams. */
export interface Io {
  readonly stdin: Input;
  readonly stdout: Output;
  readonly stderr: Output;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Sets a variable for the library, which expands the user file from the environment of the process. */
  readonly setEnv: (name: string, value: string) => void;
  readonly cwd: string;
  /** Aborted by the first signal to end; its reason is an `Interrupted`. */
  readonly interrupted: AbortSignal;
  /** Loads the library. */
  readonly load: () => Promise<CreateSupervisor>;
}

/** Why a command ended early, and the exit code that says so. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted';
  readonly exitCode: number;

  constructor(signal: string, exitCode: number) {
    super(`ended by ${signal}`);
    this.exitCode = exitCode;
  }
}

/** Settles when the text is handed to the system. A reader that has gone away (EPIPE) is no error. */
export function write(stream: Writable, text: string): Promise<void> {
  if (text === '' || stream.destroyed || stream.writableEnded) return Promise.resolve();
  return new Promise((resolve) => stream.write(text, () => resolve()));
}

/** A terminal that can move its cursor and clear a line. */
export const hasCursor = (stream: Output, env: Io['env']): boolean => stream.isTTY === true && env['TERM'] !== 'dumb';

/** Colours are for people: a terminal that knows them, and no NO_COLOR. */
export function hasColour(stream: Output, env: Io['env']): boolean {
  const refused = env['NO_COLOR'] !== undefined && env['NO_COLOR'] !== '';
  return hasCursor(stream, env) && !refused;
}

/** A question can be asked where a person both reads and types; stdout may go into a file. */
export const canAsk = ({ stdin, stderr }: Io): boolean => stdin.isTTY === true && stderr.isTTY === true;

/** How wide the terminal is; one that does not say, or says 0, has 80 columns. */
export const columnsOf = ({ columns }: Output): number => (columns === undefined || columns < 1 ? 80 : columns);

/** The work, or a rejection with the signal's reason as soon as it is aborted; what the work does then counts no more. */
export async function unlessAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  let onAbort: (() => void) | undefined;
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(signal.reason instanceof Error ? signal.reason : new Error('aborted'));
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    if (onAbort !== undefined) signal.removeEventListener('abort', onAbort);
  }
}
