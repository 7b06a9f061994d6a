import { appendFile, copyFile, mkdir, readdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { Workspace, WorkspaceOptions } from '../actors/api.js';
import type { LogEntry, PolicyRule } from '../actors/ports.js';
import { caseFile } from './support/case-file.js';
import { type Outcome, outcomeOf } from './support/outcome.js';
import { realWorkspace, until, untilReady, untilServer } from './support/real-workspace.js';
import { layer, Simulation, server } from './support/simulated-ports.js';
import { executable } from './support/vet-place.js';

const echoServer = join(import.meta.dirname, 'fixtures/echo-server.mjs');

/** Programs of these names that speak MCP, in front of everything else on the PATH. */
async function programs(bin: string, ...names: readonly string[]): Promise<void> {
  for (const name of names)
    await executable(join(bin, name), `#!/bin/sh\nexec '${process.execPath}' '${echoServer}' --of=${bin}/${name}\n`);
  vi.stubEnv('PATH', `${bin}:${process.env['PATH'] ?? ''}`);
  onTestFinished(() => void vi.unstubAllEnvs());
}

async function approve(workspace: Workspace, id: string): Promise<void> {
  await untilServer(workspace, id, ({ phase }) => phase === 'approving');
  await vi.waitFor(() => expect(workspace.questions()).toHaveLength(1));
  workspace.answer(workspace.questions()[0]?.nonce ?? '', 'approve');
}

/** A place of this machine that counts who connects to it. */
async function collecting(): Promise<AsyncDisposable & { readonly url: string; readonly connections: () => number }> {
  let connections = 0;
  const listener = createServer((socket) => {
    connections += 1;
    socket.destroy();
  });
  await new Promise<void>((listening) => void listener.listen(0, '127.0.0.1', listening));
  const address = listener.address();
  if (typeof address !== 'object' || address === null) throw new Error('it does not listen');
  return {
    url: `http://127.0.0.1:${address.port}/mcp`,
    connections: () => connections,
    [Symbol.asyncDispose]: () => new Promise((closed) => void listener.close(() => closed())),
  };
}

interface Swap {
  readonly approved: { readonly mcpServers: { readonly s: object } };
  readonly variants: readonly object[];
}

describe('a definition that was approved', () => {
  const { approved, variants } = caseFile('B167-swap-command.trust.json') as Swap;
  const { verdicts } = caseFile('B167-swap-command.trust.json.expect.json') as { readonly verdicts: readonly string[] };
  // Two of the variants are more than a question: a workspace may never set such a name, nor leave its directory.
  const ours: Readonly<Record<number, string>> = { 2: 'REFUSED_ENV', 3: 'REFUSED_CWD' };

  test.each(variants.map((variant, at) => [at, verdicts[at], variant] as const))(
    'and is swapped for variant %i under its name: %s (B167)',
    async (at, verdict, variant) => {
      await using here = await realWorkspace();
      await programs(join(here.home, 'bin'), 'echo', 'calc');
      // The layer of a workspace that has every field, `cwd` too.
      const override = join(here.root, '.mcp-supervisor');
      await mkdir(override);
      const write = (config: object): Promise<void> => writeFile(join(override, 'mcp.json'), JSON.stringify(config));
      await write(approved);
      const workspace = await here.open({ workspace: { trusted: true, enable: ['s'] } });
      await approve(workspace, 's');
      const before = await untilReady(workspace, 's');
      expect(here.pids).toHaveLength(1);

      await write({ mcpServers: { s: variant } });
      await workspace.reload();
      if (verdict === 'approved') {
        expect(workspace.server('s').status()).toMatchObject({ phase: 'ready', pid: before.pid, generation: before.generation });
        expect(workspace.questions()).toEqual([]);
        return;
      }
      expect(verdict).toBe('ask');
      const refusal = ours[at];
      const after = await untilServer(
        workspace,
        's',
        ({ phase, blockedBy, pid }) => pid === null && (phase === 'approving' || blockedBy === 'refused'),
      );
      if (refusal === undefined) expect(after).toMatchObject({ phase: 'approving', pid: null });
      else expect(after).toMatchObject({ phase: 'idle', blockedBy: 'refused', error: { code: refusal }, pid: null });
      expect(after.fingerprint === null || after.fingerprint !== before.fingerprint).toBe(true);
      await vi.waitFor(() => expect(here.pids).toEqual([]));
      expect(after.generation).toBe(before.generation);
    },
  );
});

describe('what a workspace brings along', () => {
  test('is started by nobody’s writing it: an entry that appears in a running session is listed and waits (B168)', async () => {
    await using here = await realWorkspace();
    const own = here.fixture('echo-server.mjs');
    const workspace = await here.open({ user: { mcpServers: { own } }, workspace: { trusted: true } });
    const { pid } = await untilReady(workspace, 'own');
    await copyFile(echoServer, join(here.root, 'evil.mjs'));
    const entry = { command: process.execPath, args: ['evil.mjs', `--of=${here.home}`] };
    // Not told to reload: the file is seen as it is written, by an agent's file tool for one.
    await here.writeProject({ mcpServers: { evil: entry } });
    expect(await untilServer(workspace, 'evil', () => true)).toMatchObject({ phase: 'idle', blockedBy: 'disabled', pid: null });
    await workspace.connectAll();
    await expect(workspace.call('mcp__evil__echo', { text: 'x' }, { byPerson: true })).rejects.toMatchObject({
      code: 'DISABLED',
    });
    // Switched on by a person it is a question, and an edit of it meanwhile another one.
    await workspace.server('evil').enable();
    const first = await untilServer(workspace, 'evil', ({ phase }) => phase === 'approving');
    await here.writeProject({ mcpServers: { evil: { ...entry, args: [...entry.args, '--more'] } } });
    await untilServer(workspace, 'evil', ({ phase, fingerprint }) => phase === 'approving' && fingerprint !== first.fingerprint);
    expect(here.pids).toEqual([pid]);
  });

  test('from a fresh clone starts nothing, touches nothing and connects nowhere, before trust and after it (B170, S013)', async () => {
    await using collector = await collecting();
    await using here = await realWorkspace();
    const { mcpServers } = caseFile('B170-fresh-clone.mcp.json') as { readonly mcpServers: Readonly<Record<string, object>> };
    // One more than the fixture has, whose connections could be seen.
    await here.writeProject({ mcpServers: { ...mcpServers, near: { url: collector.url } } });
    const ids = ['near', 'normal-tool', 'remote'];
    const workspace = await here.open({ user: { mcpServers: {}, remote: { enabled: true } } });
    const { servers: untrusted } = await workspace.connectAll();
    expect(untrusted.map(({ id, phase, blockedBy }) => [id, phase, blockedBy])).toEqual(
      ids.map((id) => [id, 'idle', 'untrusted']),
    );
    await workspace.setTrusted(true);
    await until(workspace, ({ servers }) => servers.every(({ blockedBy }) => blockedBy === 'disabled'));
    for (const id of ids) await workspace.server(id).enable();
    const { servers } = await until(workspace, (now) => now.servers.every(({ phase }) => phase === 'approving'));
    expect(servers.map(({ generation }) => generation)).toEqual([0, 0, 0]);
    await vi.waitFor(() => expect(workspace.questions()).toHaveLength(3));
    expect(here.pids).toEqual([]);
    await here.end();
    expect(collector.connections()).toBe(0);
    expect(await readdir(here.root)).toEqual(['.mcp.json']);
  });

  test('with a secret for it shows that nowhere: not on the card, in status, in the log or in an error (S025)', async () => {
    await using here = await realWorkspace();
    const secret = 'cAnArY-hunter2-hunter2';
    const log: LogEntry[] = [];
    await copyFile(echoServer, join(here.root, 'server.mjs'));
    const entry = { command: process.execPath, args: ['server.mjs', `--of=${here.home}`], env: { DB_PASSWORD: secret } };
    await here.writeProject({ mcpServers: { project: entry } });
    const seen: unknown[] = [];
    const workspace = await here.open({
      workspace: { trusted: true, enable: ['project'] },
      supervisor: { log: { write: (one) => void log.push(one) }, inspect: (event) => void seen.push(textOfEvent(event)) },
    });
    const following = workspace.status$.subscribe({
      next: (status) => void seen.push(JSON.stringify(status)),
      error: () => undefined,
    });
    seen.push(JSON.stringify(workspace.questions()));
    await approve(workspace, 'project');
    const { pid } = await untilReady(workspace, 'project');
    const lost = outcomeOf(workspace.call('mcp__project__sleep', { ms: 600_000 }, { byPerson: true }));
    await untilServer(workspace, 'project', ({ callsInFlight }) => callsInFlight === 1);
    await appendFile(join(here.root, 'server.mjs'), '// other\n');
    process.kill(pid ?? 0, 'SIGKILL');
    await vi.waitFor(() => expect(lost.state).toBe('LINK_LOST'));
    await untilServer(workspace, 'project', ({ phase }) => phase === 'approving');
    await vi.waitFor(() => expect(workspace.questions()).toHaveLength(1));
    seen.push(JSON.stringify(workspace.questions()), String(lost.error?.stack), JSON.stringify(lost.error), JSON.stringify(log));
    following.unsubscribe();
    const [question] = workspace.questions();
    const env = question?.kind === 'server' ? question.card.env : [];
    expect(env).toContainEqual({ name: 'DB_PASSWORD', digest: workspace.digestOf(secret), highlight: false });
    expect(seen.length).toBeGreaterThan(10);
    expect(seen.join('\n')).not.toContain(secret);
  });
});

/** As much of an inspection event as can be written down: its event, and the context of the machine it is about. */
function textOfEvent(event: unknown): string {
  if (typeof event !== 'object' || event === null) return String(event);
  const parts: unknown[] = ['event' in event ? event.event : null];
  if ('snapshot' in event && typeof event.snapshot === 'object' && event.snapshot !== null && 'context' in event.snapshot) {
    parts.push(event.snapshot.context);
  }
  const known = new WeakSet();
  return JSON.stringify(parts, (_key, value: unknown) => {
    if (typeof value !== 'object' || value === null) return value;
    if (known.has(value)) return 'seen';
    known.add(value);
    return value;
  });
}

interface Shadow {
  readonly user: { readonly mcpServers: { readonly github: { readonly url: string } } };
  readonly workspace: {
    readonly mcpServers: { readonly github: { readonly command: string; readonly args: readonly string[] } };
  };
  readonly tokens: Readonly<Record<string, string>>;
}

describe('a workspace entry that takes the name of a user server (B172, S032)', () => {
  const { user, workspace: brought, tokens } = caseFile('B172-shadow.layers.json') as Shadow;
  const { url } = user.mcpServers.github;
  const headers = { Authorization: `Bearer ${tokens[url]}` };
  const allow: PolicyRule = { server: 'github', tool: '*', verdict: 'allow', layer: 'user' };
  const mine = server('github', { transport: 'http', url, headers, credentialHeaders: ['Authorization'], isRemote: true });
  const theirs = server('github', { ...brought.mcpServers.github, configHash: 'theirs', approveTools: [] });

  async function opened(options: WorkspaceOptions) {
    const sim = new Simulation();
    sim.layers = [layer('user', [mine], { remoteEnabled: true, toolPolicies: [allow] }), layer('workspace', [theirs])];
    const { supervisor, workspace } = await sim.open({}, options);
    await workspace.connectAll();
    const end = async (): Promise<void> => {
      await supervisor.close();
      expect(sim.remains()).toEqual([]);
    };
    const call = async (): Promise<Outcome> => {
      const outcome = outcomeOf(workspace.call('mcp__github__echo'));
      await sim.settle();
      return outcome;
    };
    return { sim, workspace, end, call, status: () => workspace.server('github').status() };
  }

  test('is nothing while the workspace is not trusted', async () => {
    const { sim, workspace, end, status } = await opened({ trusted: false });
    expect(status()).toMatchObject({ layer: 'user', phase: 'ready' });
    expect(workspace.questions()).toEqual([]);
    expect(sim.links.map(({ launch }) => launch.transport)).toEqual(['http']);
    await end();
  });

  test('waits under its own identity while the user’s serves, and once approved has neither its token nor its policy', async () => {
    const { sim, workspace, end, call, status } = await opened({ trusted: true, enable: ['github'] });
    const [question] = workspace.questions();
    expect(question).toMatchObject({ kind: 'server', card: { layer: 'workspace' } });
    expect(status()).toMatchObject({ layer: 'user', phase: 'ready' });
    await call();
    expect(sim.links.map(({ launch, calls }) => [launch.transport, calls.length])).toEqual([['http', 1]]);

    workspace.answer(question?.nonce ?? '', 'approve');
    await sim.settle();
    await workspace.connectAll();
    expect(status()).toMatchObject({ layer: 'workspace', phase: 'ready' });
    expect((await call()).state).toBe('APPROVAL_NO_CHANNEL');
    const link = sim.links.at(-1);
    expect(link?.launch).toMatchObject({ transport: 'stdio', command: brought.mcpServers.github.command });
    expect(JSON.stringify(link?.launch)).not.toContain('SENTINEL');
    expect(link?.calls).toEqual([]);
    await end();
  });
});
