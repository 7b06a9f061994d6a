import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, onTestFinished } from 'vitest';
import type { ClockPort, DbPort, LogEntry } from '../../actors/ports.js';
import { createStateDb, type StateDbOptions } from '../../adapters/state/state-db.js';
import { systemClock } from '../../adapters/system-clock.js';
import { temporaryDirectory } from './temporary-directory.js';

/** Matches an error of ours by its code and a part of its message. */
export const coded = (code: string, message = '') =>
  expect.objectContaining({ name: 'SupervisorError', code, message: expect.stringContaining(message) as string }) as Error;

export interface StateKit {
  readonly dir: string;
  readonly file: string;
  readonly log: LogEntry[];
  /** The time of day can be moved; pauses are real. */
  readonly clock: ClockPort & { aheadMs: number };
  /** Another port on the same file, closed when the test ends. */
  readonly open: (options?: Partial<StateDbOptions>) => DbPort;
}

/** A state directory for the running test that does not exist yet. */
export async function stateKit(): Promise<StateKit> {
  const dir = join(await temporaryDirectory('state-'), 'state');
  const log: LogEntry[] = [];
  const clock = { ...systemClock, aheadMs: 0, epoch: () => systemClock.epoch() + clock.aheadMs };
  return {
    dir,
    file: join(dir, 'state.db'),
    log,
    clock,
    open(options) {
      const db = createStateDb({ dir, clock, log: { write: (entry) => log.push(entry) }, busyTimeoutMs: 60_000, ...options });
      onTestFinished(() => db.close());
      return db;
    },
  };
}

export interface OtherProcess {
  readonly child: ChildProcessWithoutNullStreams;
  /** The next line it writes. */
  line(): Promise<string>;
  /** Its exit code, after all it wrote was read. */
  ended: Promise<number | null>;
}

/** A fixture in a process of its own; killed when the test ends. */
export function otherProcess(
  fixture: string,
  args: readonly string[],
  command: readonly string[] = [process.execPath],
): OtherProcess {
  const [program = '', ...before] = command;
  const child = spawn(program, [...before, join(import.meta.dirname, '../fixtures', fixture), ...args]);
  const ended = once(child, 'close').then(([code]) => code as number | null);
  child.stderr.pipe(process.stderr);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  return { child, ended, line: async () => String((await lines.next()).value) };
}
