import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Launch } from '../../actors/ports.js';
import type { Counterpart, ServerKind, Transport } from './link-contract.js';

const fixture = join(import.meta.dirname, '../fixtures/contract-server.mjs');

/** A real server that links can be opened to. */
export interface ContractServer {
  readonly launch: Launch;
  /** What it has told on stderr, a line each; `null` where that comes over the link itself. */
  readonly lines: readonly string[] | null;
  /** Whether a server that was started here has not ended. */
  isAlive(): boolean;
  close(): Promise<void>;
}

const argsOf = (transport: Transport, kind: ServerKind | 'mute'): string[] => [
  fixture,
  `--transport=${transport}`,
  `--kind=${kind}`,
];

/** Over pipes the server is the link's own process; over HTTP it is started here and listens on loopback. */
export async function startServer(transport: Transport, kind: ServerKind, counterpart: Counterpart): Promise<ContractServer> {
  const args = argsOf(transport, counterpart === 'mute' ? 'mute' : kind);
  if (transport !== 'stdio') return startHttpServer(transport, args);
  const launch = { transport, command: process.execPath, args, cwd: import.meta.dirname, env: {} } as const;
  return { launch, lines: null, isAlive: () => false, close: async () => undefined };
}

async function startHttpServer(transport: 'http' | 'sse', args: string[]): Promise<ContractServer> {
  const child = spawn(process.execPath, args, { env: {}, stdio: ['pipe', 'pipe', 'pipe'] });
  const lines: string[] = [];
  createInterface({ input: child.stderr }).on('line', (line) => void lines.push(line));
  const [said] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  const url = `http://127.0.0.1:${said.replace('port ', '')}/mcp`;
  const launch = { transport, url, headers: {}, isPlaintextAllowed: false } as const;
  return { launch, lines, isAlive: () => isAlive(child), close: () => end(child) };
}

const isAlive = (child: ChildProcess): boolean => child.exitCode === null && child.signalCode === null;

async function end(child: ChildProcess): Promise<void> {
  if (!isAlive(child)) return;
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
}
