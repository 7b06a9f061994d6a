import { spawn } from 'node:child_process';
import { Client as ClientOfSdk2 } from '@modelcontextprotocol/client';
import { StdioClientTransport as StdioOfSdk2 } from '@modelcontextprotocol/client/stdio';
import { Client as ClientOfSdk1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as StdioOfSdk1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { openOurs, stdioEchoes } from './ours.js';
import { echoServer } from './paths.js';

/** One way to call the echo server, ready to be called. */
export interface Leg {
  call(): Promise<unknown>;
  close(): Promise<void>;
}

/**
 * What the product gives a server, given by every leg: an inherited environment (extra certificates, a preload) makes Node
 * start slower, and the bench would measure that.
 */
const passedOn = ['HOME', 'LANG', 'LC_ALL', 'LC_CTYPE', 'LOGNAME', 'PATH', 'SHELL', 'TMPDIR', 'USER'];
const env: Record<string, string> = {};
for (const name of passedOn) {
  const value = process.env[name];
  if (value !== undefined) env[name] = value;
}

const server = { command: process.execPath, args: [echoServer], env };
const clientInfo = { name: 'bench', version: '1.0.0' };
const toolCall = { name: 'echo', arguments: { message: 'hello' } };

/** The legs of the warm bench, by name. */
export const legs: Readonly<Record<'raw' | 'rawBatched' | 'sdk1' | 'sdk2' | 'ours', () => Promise<Leg>>> = {
  raw: () => rawLeg('a write a message'),
  rawBatched: () => rawLeg('a write a turn'),
  sdk1: async () => {
    const client = new ClientOfSdk1(clientInfo);
    await client.connect(new StdioOfSdk1({ ...server, stderr: 'ignore' }));
    await client.listTools();
    return { call: () => client.callTool(toolCall), close: () => client.close() };
  },
  sdk2: async () => {
    const client = await connectSdk2();
    return { call: () => client.callTool(toolCall), close: () => client.close() };
  },
  ours: async () => {
    const workspace = await openOurs(stdioEchoes(1));
    return { call: () => workspace.call('mcp__echo0__echo', toolCall.arguments), close: workspace.close };
  },
};

async function rawLeg(writes: Writes): Promise<Leg> {
  const pipe = openPipe(writes);
  await pipe.initialize();
  return { call: () => pipe.request('tools/call', toolCall), close: pipe.close };
}

/** A bare client of the current SDK, connected and listed. */
export async function connectSdk2(): Promise<ClientOfSdk2> {
  const client = new ClientOfSdk2(clientInfo);
  await client.connect(new StdioOfSdk2({ ...server, stderr: 'ignore' }));
  await client.listTools();
  return client;
}

/** What is said in one turn goes out as it comes, or as one write, which is cheaper with many calls at once and what we do. */
type Writes = 'a write a message' | 'a write a turn';

/** The least that can be done: a process, newline-delimited JSON, a map of promises. */
export function openPipe(writes: Writes = 'a write a message') {
  // A session of its own, as ours has: the system shares out its time by session, and a busy machine would tell them apart.
  const child = spawn(server.command, server.args, { env, stdio: ['pipe', 'pipe', 'ignore'], detached: true });
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const waiting = new Map<number, (result: unknown) => void>();
  let lastId = 0;
  let rest = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      const { id, result } = JSON.parse(line) as { id: number; result: unknown };
      waiting.get(id)?.(result);
      waiting.delete(id);
    }
  });
  let batch = '';
  const flush = (): void => {
    child.stdin.write(batch);
    batch = '';
  };
  const send = (message: object): void => {
    if (batch === '' && writes === 'a write a turn') queueMicrotask(flush);
    batch += `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`;
    if (writes === 'a write a message') flush();
  };
  const request = (method: string, params: object): Promise<unknown> =>
    new Promise((resolve) => {
      lastId += 1;
      waiting.set(lastId, resolve);
      send({ id: lastId, method, params });
    });
  return {
    request,
    /** Handshake and first listing, as every other leg has them behind it. */
    initialize: async () => {
      await request('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo });
      send({ method: 'notifications/initialized' });
      await request('tools/list', {});
    },
    close: () => {
      child.stdin.end();
      return closed;
    },
  };
}
