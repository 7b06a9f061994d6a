import { readFileSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { WorkspaceStatus } from '../actors/api.js';
import { createDeadline } from '../adapters/cli/deadline.js';
import { Interrupted } from '../adapters/cli/io.js';
import { run } from '../adapters/cli/run.js';
import { createSupervisor } from '../index.js';
import { isAlive } from './support/run-command.js';
import { temporaryDirectory } from './support/temporary-directory.js';
import { type FakeTerminal, fakeTerminal } from './support/terminal.js';

const everything = join(import.meta.dirname, '../node_modules/@modelcontextprotocol/server-everything/dist/index.js');
const ASKED = 'Type y or approve: ';

interface Place {
  readonly projectFile: string;
  /** Pids of the servers that were started. */
  readonly started: () => number[];
  /** Starts the command on a terminal, with the library on real files and processes. */
  readonly type: (...argv: string[]) => FakeTerminal & { readonly ended: Promise<number> };
}

/** A workspace with two servers that leave their pids behind; both are trusted and on unless `flags` say otherwise. */
async function place(): Promise<Place> {
  const home = await temporaryDirectory('mcp-sup-prompt-');
  const workspace = join(home, 'repo');
  const marks = join(home, 'started');
  await mkdir(workspace);
  await writeFile(marks, '');
  const source = `import { appendFileSync } from 'node:fs';
appendFileSync(${JSON.stringify(marks)}, process.pid + '\\n');
await import(${JSON.stringify(everything)});
`;
  await writeFile(join(workspace, 'server.mjs'), source);
  const entry = { command: process.execPath, args: ['server.mjs', 'stdio'] };
  const projectFile = join(workspace, '.mcp.json');
  await writeFile(projectFile, JSON.stringify({ mcpServers: { first: entry, second: entry } }, null, 2));
  const userConfig = join(home, 'user.json');
  await writeFile(userConfig, '{}');
  const common = ['--workspace', workspace, '--user-config', userConfig, '--state-dir', join(home, 'state')];
  return {
    projectFile,
    started: () => readFileSync(marks, 'utf8').split('\n').filter(Boolean).map(Number),
    type: (...argv) => {
      const terminal = fakeTerminal(createSupervisor, { tty: true });
      return { ...terminal, ended: run([...argv, ...common], terminal.io) };
    },
  };
}

const open = ['--trust', '--enable', 'first', '--enable', 'second'];
const until = (terminal: FakeTerminal, text: string) =>
  vi.waitFor(() => expect(terminal.err()).toContain(text), { timeout: 15_000 });
const times = (text: string, word: string): number => text.split(word).length - 1;

describe('a question on the terminal', () => {
  test('is about the server that was named and no other; its yes starts that one, and it is gone at the end', async () => {
    const here = await place();
    const terminal = here.type('test', 'first', ...open);
    await until(terminal, ASKED);
    expect(terminal.err()).toContain('"server.mjs"');
    expect(terminal.err()).toContain('A yes counts for this run only.');
    terminal.stdin.write('y\n');
    expect(await terminal.ended).toBe(0);
    expect(terminal.out()).toMatch(/first: ready, \d+ tools/);
    expect(times(terminal.err(), ASKED)).toBe(1);
    expect(terminal.err()).not.toContain('"second"');
    expect(here.started()).toHaveLength(1);
    expect(here.started().filter(isAlive)).toEqual([]);
  });

  test('is asked for a call of a tool by its full name, and a no is exit 4 with nothing started', async () => {
    const here = await place();
    const terminal = here.type('call', 'mcp__second__echo', '{"message":"hi"}', ...open);
    await until(terminal, ASKED);
    terminal.stdin.write('no\n');
    expect(await terminal.ended).toBe(4);
    expect(terminal.err()).toContain('APPROVAL_DENIED');
    expect(terminal.err()).not.toContain('"first"');
    expect(here.started()).toEqual([]);
  });

  test('is asked about every server by status --connect, one after the other', async () => {
    const here = await place();
    const terminal = here.type('status', '--connect', ...open);
    await until(terminal, ASKED);
    terminal.stdin.write('y\n');
    await vi.waitFor(() => expect(times(terminal.err(), ASKED)).toBe(2), { timeout: 15_000 });
    terminal.stdin.write('n\n');
    expect(await terminal.ended).toBe(0);
    expect(terminal.out()).toMatch(/ready/);
    expect(terminal.out()).toMatch(/denied/);
    expect(here.started()).toHaveLength(1);
    expect(here.started().filter(isAlive)).toEqual([]);
  });

  test('ends with the end of input as a no, and with a signal unanswered: exit 130, nothing started, stdin let go', async () => {
    const here = await place();
    const closed = here.type('test', 'first', ...open);
    await until(closed, ASKED);
    closed.stdin.end();
    expect(await closed.ended).toBe(4);

    const interrupted = here.type('test', 'first', ...open);
    await until(interrupted, ASKED);
    interrupted.interrupt(new Interrupted('SIGINT', 130));
    expect(await interrupted.ended).toBe(130);
    expect(interrupted.out()).toBe('');
    expect(interrupted.stdin.listenerCount('data')).toBe(0);
    expect(here.started()).toEqual([]);
  });

  test('stops the clock of --timeout until it is answered', () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const deadline = createDeadline(1_000);
    vi.advanceTimersByTime(600);
    deadline.pause();
    vi.advanceTimersByTime(60_000);
    expect(deadline.signal.aborted).toBe(false);
    expect(deadline.remainingMs()).toBe(400);
    deadline.resume();
    vi.advanceTimersByTime(399);
    expect(deadline.signal.aborted).toBe(false);
    vi.advanceTimersByTime(1);
    expect(deadline.signal.aborted).toBe(true);
    deadline.end();
  });
});

describe('enable on a terminal', () => {
  test.each([
    ['y', /first: ready, \d+ tools/, 1],
    ['n', /is switched on .*\nIt was denied/, 0],
  ])('asks at once what the server may run; %j is for this run, the switch is kept', async (answer, said, starts) => {
    const here = await place();
    expect(await here.type('trust').ended).toBe(0);
    const terminal = here.type('enable', 'first');
    await until(terminal, ASKED);
    expect(terminal.err()).toContain('"server.mjs"');
    terminal.stdin.write(`${answer}\n`);
    expect(await terminal.ended).toBe(0);
    expect(terminal.out()).toMatch(said);
    expect(here.started()).toHaveLength(starts);
    expect(here.started().filter(isAlive)).toEqual([]);
    const later = here.type('status', '--json');
    expect(await later.ended).toBe(0);
    const { servers } = JSON.parse(later.out()) as WorkspaceStatus;
    expect(servers.map(({ id, enabled }) => [id, enabled])).toEqual([
      ['first', true],
      ['second', false],
    ]);
  });
});

describe('remove on a terminal', () => {
  test('names layer and file, takes y for a yes, and keeps the other entry', async () => {
    const here = await place();
    const terminal = here.type('remove', 'first');
    await until(terminal, '[y/N] ');
    expect(terminal.err()).toContain(`Remove "first" of layer "workspace" from "${here.projectFile}"? [y/N] `);
    terminal.stdin.write('y\n');
    expect(await terminal.ended).toBe(0);
    expect(Object.keys((JSON.parse(await readFile(here.projectFile, 'utf8')) as { mcpServers: object }).mcpServers)).toEqual([
      'second',
    ]);
  });

  test.each(['', 'n', 'approve', 'yy'])('takes %j for a no: exit 1, the file is as it was', async (line) => {
    const here = await place();
    const before = await readFile(here.projectFile, 'utf8');
    const terminal = here.type('remove', 'first');
    await until(terminal, '[y/N] ');
    terminal.stdin.write(`${line}\n`);
    expect(await terminal.ended).toBe(1);
    expect(terminal.out()).toBe('');
    expect(await readFile(here.projectFile, 'utf8')).toBe(before);
  });

  test('is ended by a signal in the middle of the question: exit 130, the file is as it was', async () => {
    const here = await place();
    const before = await readFile(here.projectFile, 'utf8');
    const terminal = here.type('remove', 'first');
    await until(terminal, '[y/N] ');
    terminal.interrupt(new Interrupted('SIGINT', 130));
    expect(await terminal.ended).toBe(130);
    expect(terminal.stdin.listenerCount('data')).toBe(0);
    expect(await readFile(here.projectFile, 'utf8')).toBe(before);
  });
});
