import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { expect, test, vi } from 'vitest';
import { isAlive, startCommand } from './support/run-command.js';
import { temporaryDirectory } from './support/temporary-directory.js';

const servers = join(import.meta.dirname, '../node_modules/@modelcontextprotocol');
const workspace = join(import.meta.dirname, '../examples/workspace');

/** How many tools a server lists to the official SDK alone, without anything of ours. */
async function toolsOf(name: string, args: readonly string[], env: Record<string, string>): Promise<number> {
  const client = new Client({ name: 'counter', version: '1' });
  const script = join(servers, name, 'dist/index.js');
  await client.connect(new StdioClientTransport({ command: process.execPath, args: [script, ...args], env, stderr: 'ignore' }));
  try {
    return (await client.listTools()).tools.length;
  } finally {
    await client.close();
  }
}

const row = (out: string, id: string): string[] => (new RegExp(`^${id} .*$`, 'm').exec(out)?.[0] ?? '').trim().split(/\s+/);

test('npm start -- --once shows three servers ready, the shut gate of the fourth, and a call of a real tool; then all are gone', async () => {
  const home = await temporaryDirectory('mcp-sup-example-');
  const env = { PATH: process.env['PATH'] ?? '', HOME: home, TMPDIR: home };
  const { ended } = await startCommand(['example', '--once'], env);
  const { exit, out, err } = await ended;
  expect({ exit, err }).toEqual({ exit: 0, err: '' });

  const counts = await Promise.all([
    toolsOf('server-everything', ['stdio'], env),
    toolsOf('server-filesystem', [workspace], env),
    toolsOf('server-memory', [], { ...env, MEMORY_FILE_PATH: join(home, 'memory.jsonl') }),
  ]);
  const ids = ['everything', 'filesystem', 'memory'];
  expect(ids.map((id) => row(out, id).slice(1, 4))).toEqual(counts.map((count) => ['user', 'ready', String(count)]));
  expect(row(out, 'project')).toEqual(['project', 'workspace', 'idle', '-', '-', '-', '-', '0', 'untrusted']);
  expect(out).toMatch(/^project: .*--trust/m);
  expect(out).toContain('mcp__filesystem__list_directory');
  expect(out).toContain('[FILE] user.mcp.json');
  const pids = ids.map((id) => Number(row(out, id)[6]));
  expect(pids.every((pid) => pid > 0)).toBe(true);
  expect(pids.filter(isAlive)).toEqual([]);
}, 60_000);

test('npm start shows every change until it is interrupted, and takes its servers with it', async () => {
  const home = await temporaryDirectory('mcp-sup-example-');
  const { child, out, ended } = await startCommand(['example'], { PATH: process.env['PATH'], HOME: home, TMPDIR: home });
  const readyPids = (): number[] => [...out().matchAll(/ready .*pid (\d+)/g)].map(([, pid]) => Number(pid));
  await vi.waitFor(() => expect(new Set(readyPids()).size).toBe(3), { timeout: 25_000 });
  child.kill('SIGINT');
  expect(await ended).toMatchObject({ exit: 130, err: '' });
  expect(readyPids().filter(isAlive)).toEqual([]);
}, 60_000);
