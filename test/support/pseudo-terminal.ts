import { spawn } from 'node:child_process';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { onTestFinished, vi } from 'vitest';
import { builtCommand } from './build.js';

/** Longest wait for words on the screen; each may be a whole run of the command on a busy machine. */
const WAIT_MS_MAX = 60_000;

export interface Typist {
  /** Presses the keys of a line, and Enter. */
  readonly type: (line: string) => void;
  /** Presses Ctrl-C. */
  readonly interrupt: () => void;
  /** Waits for text that comes after all that was seen so far; settles with everything up to it. */
  readonly see: (words: string | RegExp) => Promise<string>;
  /** Everything that stood on the screen. */
  readonly screen: () => string;
}

/**
 * A shell on a terminal of its own, as a person has it: `mcp-supervisor` is on its PATH, `home` is its home directory, and it
 * stands in `cwd`. The terminal is the system's (`script` of util-linux makes it), so it echoes, edits lines and sends signals.
 */
export async function openTerminal(home: string, cwd: string): Promise<Typist> {
  const bin = join(home, 'bin');
  await mkdir(bin);
  const command = join(bin, 'mcp-supervisor');
  await writeFile(command, `#!/bin/sh\nexec '${process.execPath}' '${await builtCommand()}' "$@"\n`);
  await chmod(command, 0o755);
  const env = { HOME: home, PATH: `${bin}:${process.env['PATH'] ?? ''}`, PS1: '$ ', TERM: 'dumb', LC_ALL: 'C.UTF-8' };
  // In a group of its own; when it is killed the terminal closes, and with it goes what runs there.
  const child = spawn('script', ['--quiet', '--flush', '--return', '--command', 'sh', '/dev/null'], { cwd, env, detached: true });
  onTestFinished(() => void child.kill('SIGKILL'));
  let screen = '';
  let seen = 0;
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    screen += text;
  });
  child.stdin.on('error', () => undefined);
  const terminal: Typist = {
    type: (line) => void child.stdin.write(`${line}\r`),
    interrupt: () => void child.stdin.write('\u0003'),
    see: (words) =>
      vi.waitFor(
        () => {
          const rest = screen.slice(seen);
          const at = typeof words === 'string' ? rest.indexOf(words) : rest.search(words);
          if (at === -1) throw new Error(`not on the screen: ${String(words)}. There is: ${rest}`);
          const length = typeof words === 'string' ? words.length : (words.exec(rest)?.[0].length ?? 0);
          seen += at + length;
          return rest.slice(0, at + length);
        },
        { timeout: WAIT_MS_MAX },
      ),
    screen: () => screen,
  };
  await terminal.see('$ ');
  return terminal;
}
