import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import type { Workspace } from '../actors/api.js';
import { type RealWorkspace, realWorkspace, untilServer } from './support/real-workspace.js';

/** Writes `<host dir>/mcp.json`; its server is a script that lies in the workspace. */
async function writeOverride(here: RealWorkspace, servers: Readonly<Record<string, object>>): Promise<string> {
  const file = join(here.root, '.mcp-supervisor', 'mcp.json');
  await mkdir(join(here.root, '.mcp-supervisor'), { recursive: true });
  await copyFile(join(import.meta.dirname, 'fixtures/echo-server.mjs'), join(here.root, 'server.mjs'));
  await writeFile(file, `// ours\n${JSON.stringify({ mcpServers: servers }, null, 2)}\n`);
  return file;
}

const entry = (here: RealWorkspace, more: object = {}): object => ({
  command: process.execPath,
  args: [join(here.root, 'server.mjs'), `--marker=${here.home}`],
  ...more,
});

async function approveX(workspace: Workspace): Promise<void> {
  const { layer } = await untilServer(workspace, 'x', ({ phase }) => phase === 'approving');
  expect(layer).toBe('workspace-override');
  const [question] = workspace.questions();
  expect(question).toMatchObject({ kind: 'server', card: { layer: 'workspace-override' } });
  expect(workspace.answer(question?.nonce ?? '', 'approve')).toBe(true);
}

test('the override of a workspace passes every gate of the workspace’s own file, and is on top of it (S001, S002)', async () => {
  await using here = await realWorkspace();
  const file = await writeOverride(here, { x: entry(here, { cwd: '.', lifecycle: 'keep-alive', timeout: 5_000 }) });
  await here.writeProject({ mcpServers: { x: { command: 'nothing-of-this-name' } } });
  const workspace = await here.open();
  const x = workspace.server('x');
  expect(x.status()).toMatchObject({ layer: 'workspace-override', blockedBy: 'untrusted', lifecycle: 'keep-alive' });
  await workspace.setTrusted(true);
  expect(x.status()).toMatchObject({ blockedBy: 'disabled', enabled: false });
  expect([workspace.questions(), here.pids]).toEqual([[], []]);
  await x.enable();
  await approveX(workspace);
  await untilServer(workspace, 'x', ({ phase, layer }) => phase === 'ready' && layer === 'workspace-override');
  expect(here.pids).toHaveLength(1);
  // Taken out of its own file, it leaves the id to the workspace's shared file, which was never switched on.
  await expect(x.remove()).resolves.toEqual({ file });
  expect(await readFile(file, 'utf8')).toMatch(/^\/\/ ours\n/);
  expect(x.status()).toMatchObject({ layer: 'workspace', blockedBy: 'disabled' });
  // The id is the shared file's at once; the process of the entry that is gone ends by its stages meanwhile.
  await vi.waitFor(() => expect(here.pids).toEqual([]));
  expect(await readFile(here.projectFile, 'utf8')).toContain('nothing-of-this-name');
});

test('an override that leads out of the workspace, carries a secret, or is one too many is refused alone (S017, S026)', async () => {
  await using here = await realWorkspace();
  await writeOverride(here, {
    out: entry(here, { cwd: '..' }),
    secret: { url: 'https://h.example/mcp', headers: { Authorization: 'Bearer SENTINEL' } },
    fine: entry(here),
    over: entry(here),
  });
  const user = { limits: { servers: 3 }, remote: { enabled: true }, mcpServers: {} };
  const workspace = await here.open({ user, workspace: { trusted: true, enable: ['out', 'secret', 'fine', 'over'] } });
  await untilServer(workspace, 'out', ({ blockedBy }) => blockedBy === 'refused');
  const { servers } = workspace.status();
  expect(Object.fromEntries(servers.map(({ id, blockedBy, error }) => [id, blockedBy === null ? null : error?.code]))).toEqual({
    fine: null,
    out: 'REFUSED_CWD',
    over: 'CONFIG_LIMIT',
    secret: 'CONFIG_PROJECT_SECRET',
  });
  expect(JSON.stringify(workspace.status())).not.toContain('SENTINEL');
  expect(here.pids).toEqual([]);
});
