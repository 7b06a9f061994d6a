import { readFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { canAsk, hasColour, Interrupted } from '../adapters/cli/io.js';
import { createProgress } from '../adapters/cli/progress.js';
import { run } from '../adapters/cli/run.js';
import { fakeSupervisor, serverStatus, workspaceStatus } from './support/fake-supervisor.js';
import { fakeTerminal, type TerminalOptions } from './support/terminal.js';

const terminalOf = (options: TerminalOptions) => fakeTerminal(fakeSupervisor().create, options);
const connecting = workspaceStatus([serverStatus({ phase: 'connecting', stage: 'initialize' })]);

describe('colours', () => {
  test.each([
    [{ tty: true }, true],
    [{ tty: true, env: { NO_COLOR: '' } }, true],
    [{ tty: true, env: { NO_COLOR: '1' } }, false],
    [{ tty: true, env: { TERM: 'dumb' } }, false],
    [{ tty: false }, false],
  ])('on %j: %j', (options, expected) => {
    const { io } = terminalOf(options);
    expect(hasColour(io.stdout, io.env)).toBe(expected);
  });

  test('are the only difference that a terminal makes to a status', async () => {
    const plain = terminalOf({ tty: false });
    const coloured = terminalOf({ tty: true });
    await Promise.all([run(['status'], plain.io), run(['status'], coloured.io)]);
    expect(coloured.out()).toContain('\u001b[32mready');
    expect(coloured.out().replaceAll(/\u001b\[\d+m/g, '')).toBe(plain.out());
  });
});

describe('progress', () => {
  const shown = (options: TerminalOptions, tell: (progress: ReturnType<typeof createProgress>) => void): string => {
    const { io, err, out } = terminalOf(options);
    tell(createProgress(io));
    expect(out()).toBe('');
    return err();
  };

  test('is one line on a terminal that can clear it, and nothing anywhere else', () => {
    expect(shown({ tty: true }, ({ show }) => show(connecting))).toBe('\r\u001b[2Kwaiting for files (initialize) …');
    expect(shown({ tty: false }, ({ show }) => show(connecting))).toBe('');
    expect(shown({ tty: true, env: { TERM: 'dumb' } }, ({ show }) => show(connecting))).toBe('');
  });

  test('never wraps, for a line that wraps cannot be cleared', () => {
    expect(shown({ tty: true, columns: 11 }, ({ show }) => show(connecting))).toBe('\r\u001b[2Kwaiting fo');
    expect(shown({ tty: true, columns: 8 }, (progress) => progress.note('日本語です'))).toBe('\r\u001b[2K日本語');
    expect(shown({ tty: true, columns: 0 }, ({ show }) => show(connecting))).toContain('initialize');
  });

  test('shows of a server what it says, and obeys nothing (S094)', () => {
    expect(shown({ tty: true }, (progress) => progress.note('a\n\u001b[2Jb'))).toBe('\r\u001b[2Ka\\n\\u001b[2Jb');
  });

  test('leaves no line behind', () => {
    const text = shown({ tty: true }, (progress) => {
      progress.show(connecting);
      progress.end();
      progress.show(connecting);
    });
    expect(text.endsWith('\r\u001b[2K')).toBe(true);
  });
});

test('a question needs somebody who reads and types; stdout may go into a file', () => {
  const { io } = terminalOf({ tty: true });
  expect(canAsk(io)).toBe(true);
  expect(canAsk({ ...io, stdout: terminalOf({}).io.stdout })).toBe(true);
  expect(canAsk({ ...io, stderr: terminalOf({}).io.stderr })).toBe(false);
  expect(canAsk({ ...io, stdin: terminalOf({}).io.stdin })).toBe(false);
});

test('the example moves no cursor on a dumb terminal', async () => {
  const fake = fakeSupervisor({ status: connecting });
  const terminal = fakeTerminal(fake.create, { tty: true, env: { TERM: 'dumb' } });
  const running = run(['example'], terminal.io);
  await vi.waitFor(() => expect(terminal.out()).toContain('files  connecting'));
  fake.status$.next(workspaceStatus());
  terminal.interrupt(new Interrupted('SIGINT', 130));
  expect(await running).toBe(130);
  expect(terminal.out()).toContain('files  ready');
  expect(terminal.out() + terminal.err()).not.toContain('\u001b');
});

test('the command line is read before anything else of the command is loaded', async () => {
  const repository = join(import.meta.dirname, '..');
  const loaded = new Set<string>();
  const load = async (file: string): Promise<void> => {
    const name = relative(repository, file);
    if (loaded.has(name)) return;
    loaded.add(name);
    const source = await readFile(file, 'utf8');
    for (const [, from = ''] of source.matchAll(/^(?:import|export) (?!type )(?:[^;]*? from )?'([^']+)';/gm)) {
      if (from.startsWith('.')) await load(join(dirname(file), from.replace(/\.js$/, '.ts')));
      else if (!from.startsWith('node:')) loaded.add(from);
    }
  };
  await load(join(repository, 'adapters/cli/main.ts'));
  expect([...loaded].sort()).toEqual([
    'adapters/cli/exit-codes.ts',
    'adapters/cli/io.ts',
    'adapters/cli/main.ts',
    'adapters/cli/parse.ts',
    'adapters/cli/run.ts',
    'adapters/shared/visible-text.ts',
  ]);
});
