import { PassThrough } from 'node:stream';
import type { Io, Output } from '../../adapters/cli/io.js';
import type { CreateSupervisor } from '../../adapters/cli/library.js';

export interface FakeTerminal {
  readonly io: Io;
  readonly stdin: PassThrough & { isTTY?: boolean };
  /** All that was written so far. */
  readonly out: () => string;
  readonly err: () => string;
  readonly interrupt: (reason: Error) => void;
}

export interface TerminalOptions {
  /** Makes all three streams a terminal. */
  readonly tty?: boolean;
  readonly columns?: number;
  readonly env?: Io['env'];
}

/** Streams in place of the process's own. */
export function fakeTerminal(load: CreateSupervisor, options: TerminalOptions = {}): FakeTerminal {
  const abort = new AbortController();
  const stdin = Object.assign(new PassThrough(), { isTTY: options.tty === true });
  const stdout = collecting(options);
  const stderr = collecting(options);
  const io: Io = {
    stdin,
    stdout: stdout.stream,
    stderr: stderr.stream,
    env: options.env ?? {},
    setEnv: () => undefined,
    cwd: import.meta.dirname,
    interrupted: abort.signal,
    load: async () => load,
  };
  return { io, stdin, out: stdout.text, err: stderr.text, interrupt: (reason) => abort.abort(reason) };
}

function collecting({ tty, columns }: TerminalOptions): { readonly stream: Output; readonly text: () => string } {
  const chunks: string[] = [];
  const stream = Object.assign(new PassThrough(), { isTTY: tty === true, ...(columns === undefined ? {} : { columns }) });
  stream.on('data', (chunk: Buffer) => chunks.push(chunk.toString('utf8')));
  return { stream, text: () => chunks.join('') };
}
