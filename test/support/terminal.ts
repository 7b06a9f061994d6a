import { PassThrough } from 'node:stream';
import type { Io } from '../../adapters/cli/io.js';
import type { CreateSupervisor } from '../../adapters/cli/library.js';

export interface FakeTerminal {
  readonly io: Io;
  readonly stdin: PassThrough & { isTTY?: boolean };
  /** All that was written so far. */
  readonly out: () => string;
  readonly err: () => string;
  readonly interrupt: (reason: Error) => void;
}

/** Streams in place of the process's own; `tty` makes all three of them a terminal. */
export function fakeTerminal(load: CreateSupervisor, options: { readonly tty?: boolean } = {}): FakeTerminal {
  const abort = new AbortController();
  const stdin = Object.assign(new PassThrough(), { isTTY: options.tty === true });
  const stdout = collecting(options.tty === true);
  const stderr = collecting(options.tty === true);
  const io: Io = {
    stdin,
    stdout: stdout.stream,
    stderr: stderr.stream,
    env: {},
    setEnv: () => undefined,
    cwd: import.meta.dirname,
    interrupted: abort.signal,
    load: async () => load,
  };
  return { io, stdin, out: stdout.text, err: stderr.text, interrupt: (reason) => abort.abort(reason) };
}

function collecting(isTTY: boolean): { readonly stream: PassThrough & { isTTY: boolean }; readonly text: () => string } {
  const chunks: string[] = [];
  const stream = Object.assign(new PassThrough(), { isTTY });
  stream.on('data', (chunk: Buffer) => chunks.push(chunk.toString('utf8')));
  return { stream, text: () => chunks.join('') };
}
