import { appendFile, chmod, copyFile, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import type { ApprovalCard, Question, Workspace } from '../actors/api.js';
import { type Entry, type RealWorkspace, realWorkspace, textOf, until, untilServer } from './support/real-workspace.js';
import { failureOf } from './support/stdio-harness.js';

const everything = { trusted: true, enable: ['project'] };

/** A project's own server: a script that lies in the workspace, started by `.mcp.json`. */
async function projectServer(here: RealWorkspace, extra: object = {}): Promise<Entry> {
  await copyFile(join(import.meta.dirname, 'fixtures/echo-server.mjs'), join(here.root, 'server.mjs'));
  const entry = { command: process.execPath, args: ['server.mjs', `--marker=${here.home}`], ...extra };
  await here.writeProject({ mcpServers: { project: entry } });
  return entry;
}

/** The open question about the server. */
async function cardIn(workspace: Workspace): Promise<Question & { readonly kind: 'server' }> {
  await untilServer(workspace, 'project', ({ phase }) => phase === 'approving');
  await vi.waitFor(() => expect(workspace.questions()).toHaveLength(1));
  const [question] = workspace.questions();
  if (question?.kind !== 'server') throw new Error('no question about a server is open');
  return question;
}

/** Says yes to what is asked, and waits until that is taken in. */
async function approve(workspace: Workspace): Promise<string> {
  const { nonce, fingerprint } = await cardIn(workspace);
  expect(workspace.answer(nonce, 'approve')).toBe(true);
  await untilServer(workspace, 'project', ({ phase }) => phase !== 'approving');
  return fingerprint;
}

describe('a server that a workspace brings along', () => {
  test('S001 B170: is shown and not started while the workspace is not trusted', async () => {
    await using here = await realWorkspace();
    await projectServer(here);
    const workspace = await here.open({ workspace: { enable: ['project'] } });
    expect(await workspace.connectAll()).toMatchObject({
      workspace: { trusted: false, config: { state: 'valid' } },
      servers: [{ id: 'project', layer: 'workspace', phase: 'idle', blockedBy: 'untrusted', error: { code: 'UNTRUSTED' } }],
    });
    expect(await workspace.server('project').test()).toMatchObject({ ok: false, error: { code: 'UNTRUSTED' } });
    expect(workspace.questions()).toEqual([]);
    expect(here.pids).toEqual([]);
    expect(workspace.server('project').status()).toMatchObject({ generation: 0, pid: null });
  });

  test('S002 B171: stays switched off when the workspace is trusted, and not started by any demand', async () => {
    await using here = await realWorkspace();
    await projectServer(here);
    const workspace = await here.open({ workspace: { trusted: true } });
    const { servers } = await workspace.connectAll();
    expect(servers).toMatchObject([{ phase: 'idle', blockedBy: 'disabled', error: { code: 'DISABLED' } }]);
    expect([workspace.questions(), here.pids]).toEqual([[], []]);
  });

  test('S002: asks as soon as it is switched on, and waits for the answer without a process', async () => {
    await using here = await realWorkspace();
    await projectServer(here);
    const workspace = await here.open({ workspace: { trusted: true } });
    await workspace.server('project').enable();
    const { fingerprint } = await cardIn(workspace);
    expect(workspace.server('project').status()).toMatchObject({ phase: 'approving', fingerprint, generation: 0 });
    // Nobody can be asked, so nobody is kept waiting either.
    expect(await workspace.server('project').test()).toMatchObject({ ok: false, error: { code: 'APPROVAL_NO_CHANNEL' } });
    expect(here.pids).toEqual([]);
  });

  test('shows on its card all that would run, and of a secret only a digest', async () => {
    await using here = await realWorkspace();
    const entry = await projectServer(here, { env: { MODE: 'plain', DB_PASSWORD: 'hunter2-hunter2' } });
    const workspace = await here.open({ workspace: everything });
    const question = await cardIn(workspace);
    expect(question.card).toMatchObject({
      server: 'project',
      layer: 'workspace',
      transport: 'stdio',
      fingerprint: question.fingerprint,
      command: { written: process.execPath, resolved: await realpath(process.execPath) },
      args: entry.args,
      cwd: here.root,
      files: [{ path: await realpath(process.execPath) }, { path: join(here.root, 'server.mjs') }],
    } satisfies Partial<Record<keyof ApprovalCard, unknown>>);
    const env = Object.fromEntries((question.card.env ?? []).map(({ name, value, digest }) => [name, { value, digest }]));
    expect(env['MODE']).toEqual({ value: 'plain' });
    expect(env['DB_PASSWORD']).toEqual({ digest: expect.stringMatching(/^[0-9a-f]{12}$/) as string });
    expect(JSON.stringify([workspace.questions(), workspace.status()])).not.toContain('hunter2');
  });

  test('connects on demand once it is approved, and not before', async () => {
    await using here = await realWorkspace();
    await projectServer(here);
    const workspace = await here.open({ workspace: everything });
    await approve(workspace);
    // Approving is no demand; but its tools are unknown, so it is listed once.
    const report = await workspace.server('project').test();
    expect(report).toMatchObject({ ok: true, error: null, status: { phase: 'ready', blockedBy: null } });
    expect(report.stages.map(({ stage }) => stage)).toEqual(expect.arrayContaining(['transport', 'initialize', 'list']));
    expect(workspace.questions()).toEqual([]);
    await expect(workspace.call('mcp__project__pid')).rejects.toMatchObject({ code: 'APPROVAL_NO_CHANNEL' });
    expect(textOf(await workspace.call('mcp__project__pid', {}, { byPerson: true }))).toBe(String(report.status.pid));
  });
});

describe('an answer', () => {
  test('S009: counts only for the question that was asked, and only once', async () => {
    await using here = await realWorkspace();
    await projectServer(here);
    const workspace = await here.open({ workspace: everything });
    const { nonce } = await cardIn(workspace);
    expect(workspace.answer(`${nonce}x`, 'approve')).toBe(false);
    expect(workspace.answer('', 'approve')).toBe(false);
    expect(workspace.server('project').status()).toMatchObject({ phase: 'approving', pid: null });
    expect(workspace.answer(nonce, 'deny')).toBe(true);
    expect(workspace.answer(nonce, 'approve')).toBe(false);
    await untilServer(workspace, 'project', ({ blockedBy }) => blockedBy === 'denied');
    expect(here.pids).toEqual([]);
  });

  test('of no is kept: nothing a program does asks again, a person may', async () => {
    await using here = await realWorkspace();
    await projectServer(here);
    const asked: Question[] = [];
    const approve = (question: Question): string => {
      asked.push(question);
      return 'no';
    };
    const workspace = await here.open({ workspace: everything, supervisor: { approve } });
    const denied = await untilServer(workspace, 'project', ({ blockedBy }) => blockedBy === 'denied');
    expect(denied).toMatchObject({ phase: 'idle', error: { code: 'APPROVAL_DENIED' } });
    await expect(workspace.call('mcp__project__echo', { text: 'x' })).rejects.toMatchObject({ code: 'APPROVAL_DENIED' });
    const read = await workspace.gateway.run({ action: 'read', server: 'project', uri: 'x://y' });
    expect(read).toMatchObject({ isError: true });
    await workspace.reload();
    expect(workspace.server('project').status()).toMatchObject({ phase: 'idle', blockedBy: 'denied' });
    expect(asked.filter(({ kind }) => kind === 'server')).toHaveLength(1);

    workspace.server('project').restart();
    await vi.waitFor(() => expect(asked.filter(({ kind }) => kind === 'server')).toHaveLength(2));
    expect(new Set(asked.map(({ nonce }) => nonce)).size).toBe(asked.length);
    expect(here.pids).toEqual([]);
  });

  test('given by the host is taken: with its fingerprint approved beforehand the server starts unasked', async () => {
    await using here = await realWorkspace();
    await projectServer(here);
    const first = await here.open({ workspace: everything });
    const { fingerprint } = await cardIn(first);
    await here.end();
    const workspace = await here.open({ workspace: everything, supervisor: { approvedFingerprints: [fingerprint] } });
    expect(await untilServer(workspace, 'project', ({ phase }) => phase === 'ready')).toMatchObject({ fingerprint });
    expect(workspace.questions()).toEqual([]);
  });

  test('of a channel is asked for with the card, and its yes starts the server for the call that waits', async () => {
    await using here = await realWorkspace();
    await projectServer(here);
    const asked: Question[] = [];
    const workspace = await here.open({
      workspace: everything,
      supervisor: {
        approve: (question) => {
          asked.push(question);
          return Promise.resolve('approve');
        },
      },
    });
    await untilServer(workspace, 'project', ({ phase }) => phase === 'ready');
    expect(asked).toMatchObject([{ kind: 'server', server: 'project', card: { cwd: here.root } }]);
    expect(textOf(await workspace.call('mcp__project__echo', { text: 'asked' }))).toBe('asked');
    expect(asked.map(({ kind }) => kind)).toEqual(['server', 'call']);
  });
});

describe('an approval', () => {
  test('S005: is void when the approved script is another one on disk at the next start', async () => {
    await using here = await realWorkspace();
    await projectServer(here);
    const workspace = await here.open({ workspace: everything });
    const approved = await approve(workspace);
    expect(await workspace.server('project').test()).toMatchObject({ ok: true });
    await appendFile(join(here.root, 'server.mjs'), '\n// one line more\n');
    // What runs already is what was approved, and goes on.
    expect(textOf(await workspace.call('mcp__project__echo', { text: 'on' }, { byPerson: true }))).toBe('on');
    workspace.server('project').restart();
    const { fingerprint } = await cardIn(workspace);
    expect(fingerprint).not.toBe(approved);
    await expect.poll(() => here.pids, { timeout: 10_000 }).toEqual([]);
  });

  test('S005: is void at the restart after a crash too', async () => {
    await using here = await realWorkspace();
    await projectServer(here);
    const workspace = await here.open({ workspace: everything });
    const approved = await approve(workspace);
    const { status } = await workspace.server('project').test();
    const lost = failureOf(workspace.call('mcp__project__sleep', { ms: 600_000 }, { byPerson: true }));
    await untilServer(workspace, 'project', ({ callsInFlight }) => callsInFlight === 1);
    await appendFile(join(here.root, 'server.mjs'), '\n// one line more\n');
    process.kill(status.pid ?? 0, 'SIGKILL');
    expect(await lost).toBe('LINK_LOST');
    expect((await cardIn(workspace)).fingerprint).not.toBe(approved);
    expect(here.pids).toEqual([]);
  });

  const changes: readonly (readonly [string, (entry: Entry) => object])[] = [
    ['an argument', (entry) => ({ ...entry, args: [...entry.args, '--more'] })],
    ['a value of its environment', (entry) => ({ ...entry, env: { MODE: 'other' } })],
    ['its command', (entry) => ({ ...entry, command: '/usr/bin/env', args: ['node', ...entry.args] })],
  ];
  test.each(changes)('S004: is not for another definition of the same name: %s', async (_what, change) => {
    await using here = await realWorkspace();
    const entry = await projectServer(here, { env: { MODE: 'one' } });
    const workspace = await here.open({ workspace: everything });
    const approved = await approve(workspace);
    expect(await workspace.server('project').test()).toMatchObject({ ok: true });
    await here.writeProject({ mcpServers: { project: change(entry) } });
    await workspace.reload();
    const { fingerprint } = await cardIn(workspace);
    expect(fingerprint).not.toBe(approved);
    await expect.poll(() => here.pids, { timeout: 10_000 }).toEqual([]);
    // The old answer is no answer to the new question, but the old definition is still approved.
    await here.writeProject({ mcpServers: { project: entry } });
    await workspace.reload();
    expect(await workspace.server('project').test()).toMatchObject({ ok: true, status: { fingerprint: approved } });
  });

  test('S014: is for the file a link leads to: the card shows it, and a link that leads elsewhere is asked about', async () => {
    await using here = await realWorkspace();
    const link = join(here.home, 'runtime');
    await symlink(process.execPath, link);
    await projectServer(here, { command: link });
    const workspace = await here.open({ workspace: everything });
    const { nonce, card, fingerprint } = await cardIn(workspace);
    expect(card.command).toEqual({ written: link, resolved: await realpath(process.execPath) });
    workspace.answer(nonce, 'approve');
    expect(await workspace.server('project').test()).toMatchObject({ ok: true });

    const other = join(here.home, 'other');
    await writeFile(other, '#!/bin/sh\nexec node "$@"\n');
    await chmod(other, 0o755);
    await rm(link);
    await symlink(other, link);
    workspace.server('project').restart();
    const again = await cardIn(workspace);
    expect(again.fingerprint).not.toBe(fingerprint);
    expect(again.card.command).toEqual({ written: link, resolved: other });
    expect(here.pids).toEqual([]);
  });
});

describe('trust that is taken back', () => {
  test('closes what ran by it and fails its calls at once; the user’s own servers go on', async () => {
    await using here = await realWorkspace();
    await projectServer(here);
    const workspace = await here.open({
      user: { mcpServers: { own: here.fixture('echo-server.mjs') } },
      workspace: everything,
    });
    await approve(workspace);
    await workspace.server('project').test();
    await untilServer(workspace, 'own', ({ phase }) => phase === 'ready');
    const lost = failureOf(workspace.call('mcp__project__sleep', { ms: 600_000 }, { byPerson: true }));
    await untilServer(workspace, 'project', ({ callsInFlight }) => callsInFlight === 1);
    void workspace.setTrusted(false);
    expect(await lost).toBe('UNTRUSTED');
    const { servers } = await until(workspace, (now) => now.servers.every(({ stage }) => stage !== 'closing'));
    expect(servers).toMatchObject([
      { id: 'own', phase: 'ready', generation: 1 },
      { id: 'project', phase: 'idle', blockedBy: 'untrusted', pid: null },
    ]);
    expect(here.pids).toHaveLength(1);
    expect(workspace.tools().map(({ server }) => server)).not.toContain('project');
  });
});
