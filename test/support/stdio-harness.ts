import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, vi } from 'vitest';
import type { ClockPort, Launch, Link, LinkPort, Progress, StdioLaunch } from '../../actors/ports.js';
import { createHttpPort } from '../../adapters/http/guarded-http.js';
import { createLinkPort } from '../../adapters/links/link-port.js';
import { createNodeProcessPort } from '../../adapters/node-process.js';
import { systemClock } from '../../adapters/system-clock.js';
import type { Failure, ListKind } from '../../machines/vocabulary.js';

const fixtures = join(import.meta.dirname, '../fixtures');

/** On the command line of every process these tests start, so that what is left over can be found. */
export const marker = `marker-${process.pid}-${Date.now()}`;

/** How to start a fixture; nothing is inherited. */
export function launchOf(fixture: string, ...flags: string[]): StdioLaunch {
  const args = [join(fixtures, fixture), ...flags, `--marker=${marker}`];
  return { transport: 'stdio', command: process.execPath, args, cwd: fixtures, env: { PATH: process.env['PATH'] ?? '' } };
}

export const hostile = (mode: string, ...flags: string[]): StdioLaunch =>
  launchOf('hostile-server.mjs', `--mode=${mode}`, ...flags);

/** What a link told its owner, in order of arrival. */
export class Heard {
  readonly opened: (number | null)[] = [];
  readonly lost: Failure[] = [];
  readonly deaths: boolean[] = [];
  readonly changed: ListKind[] = [];
  stderr = 0;
}

const open = new Set<Link>();
const processes = createNodeProcessPort();
const http = createHttpPort({ env: {} });

afterEach(async () => {
  await Promise.all([...open].map((link) => link.close()));
  open.clear();
  await processes.closeAll();
});

export const newLinkPort = (clock: ClockPort = systemClock): LinkPort => createLinkPort({ process: processes, http, clock });

/** Opens a link on real processes and sockets; closed after the test whatever happens. */
export function openLink(launch: Launch, { port = newLinkPort(), configHash = 'hash' } = {}): { link: Link; heard: Heard } {
  const heard = new Heard();
  const events = {
    opened: ({ pid }: { pid: number | null }) => void heard.opened.push(pid),
    lost(problem: Failure, death: boolean) {
      heard.lost.push(problem);
      heard.deaths.push(death);
    },
    listChanged: (kind: ListKind) => void heard.changed.push(kind),
    stderr() {
      heard.stderr += 1;
    },
  };
  const link = port.open(launch, events, { clientInfo: { name: 'test', version: '1.0.0' }, configHash });
  open.add(link);
  return { link, heard };
}

/** The same, with the handshake made. */
export async function openReady(launch: Launch): Promise<{ link: Link; heard: Heard }> {
  const opened = openLink(launch);
  await opened.link.handshake();
  return opened;
}

export interface Asked {
  readonly id: string;
  readonly progress: readonly Progress[];
  /** The result, or the failure with its cause. */
  readonly settled: Promise<{ readonly result?: unknown; readonly problem?: Failure; readonly cause?: unknown }>;
}

/** Sends one request; a second reply to it fails the test. */
export function ask(link: Link, method: string, params?: object): Asked {
  const progress: Progress[] = [];
  let id = '';
  const settled = new Promise<{ result?: unknown; problem?: Failure; cause?: unknown }>((resolve) => {
    let replies = 0;
    const once = (answer: { result?: unknown; problem?: Failure; cause?: unknown }): void => {
      replies += 1;
      if (replies > 1) throw new Error(`a second reply to ${id}`);
      resolve(answer);
    };
    id = link.request(method, params, {
      result: (result) => once({ result }),
      failed: (problem, cause) => once({ problem, cause }),
      progress: (report) => void progress.push(report),
    });
  });
  return { id, progress, settled };
}

export const callTool = (link: Link, name: string, args: object = {}): Asked =>
  ask(link, 'tools/call', { name, arguments: args });

export const textResult = (text: string): object => ({ content: [{ type: 'text', text }] });

/** Pids of the living processes whose command line carries this test's marker; zombies are counted as `zombies`. */
export function findMarked(text: string = marker): { alive: number[]; zombies: number } {
  const alive: number[] = [];
  let zombies = 0;
  for (const entry of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    if (Number(entry) === process.pid) continue;
    const command = readProc(`/proc/${entry}/cmdline`);
    const [state, parent] = readProc(`/proc/${entry}/stat`)
      .replace(/^.*\) /, '')
      .split(' ');
    if (state === 'Z' && Number(parent) === process.pid) zombies += 1;
    else if (command.includes(text)) alive.push(Number(entry));
  }
  return { alive, zombies };
}

function readProc(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

/** Open descriptors of this process that are pipes or sockets. */
export function countPipes(): number {
  return readdirSync('/proc/self/fd').filter((fd) => {
    try {
      return /^(pipe|socket):/.test(readlinkSync(`/proc/self/fd/${fd}`));
    } catch {
      return false;
    }
  }).length;
}

export const nobodyIsLeft = (): Promise<void> =>
  vi.waitFor(() => {
    const { alive } = findMarked();
    if (alive.length > 0) throw new Error(`still alive: ${alive.join(' ')}`);
  });

/** The code a promise rejects with; `'nothing'` when it does not. */
export const failureOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'nothing',
    (error: unknown) => (error as { code: string }).code,
  );
