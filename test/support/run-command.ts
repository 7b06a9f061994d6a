import { type ChildProcess, spawn } from 'node:child_process';
import { onTestFinished } from 'vitest';
import { builtCommand } from './build.js';

export interface CommandRun {
  readonly child: ChildProcess;
  /** So far. */
  readonly out: () => string;
  readonly err: () => string;
  readonly ended: Promise<CommandEnd>;
}

export interface CommandEnd {
  readonly exit: number | null;
  readonly signal: string | null;
  readonly out: string;
  readonly err: string;
}

/** Starts the built command without a terminal. It is ended with the test, should the test not end it. */
export async function startCommand(argv: readonly string[], env: NodeJS.ProcessEnv): Promise<CommandRun> {
  const child = spawn(process.execPath, [await builtCommand(), ...argv], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const texts = { out: '', err: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    texts.out += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    texts.err += text;
  });
  const ended = new Promise<CommandEnd>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (exit, signal) => resolve({ exit, signal, ...texts }));
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  return { child, out: () => texts.out, err: () => texts.err, ended };
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
