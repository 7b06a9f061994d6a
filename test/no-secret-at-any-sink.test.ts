import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { expect, test, vi } from 'vitest';
import type { Workspace } from '../actors/api.js';
import type { LogEntry } from '../actors/ports.js';
import { caseFile } from './support/case-file.js';
import { httpServer } from './support/http-fixtures.js';
import { giveBack, giveBackInCalls, httpEntry, stdioEntry, variableOf } from './support/leaky-servers.js';
import { realWorkspace } from './support/real-workspace.js';
import { startCommand } from './support/run-command.js';
import { Sentinels } from './support/sentinels.js';
import { temporaryDirectory } from './support/temporary-directory.js';

/** All that a host can see of a workspace, as it comes. */
class Captured {
  readonly texts: string[] = [];
  readonly log: LogEntry[] = [];

  take(value: unknown): void {
    this.texts.push(
      typeof value === 'string' ? value : inspect(value, { depth: 12, maxStringLength: null, maxArrayLength: null }),
    );
  }

  /** What it settled with: of an error all that there is to print. */
  async settled(promise: Promise<unknown>): Promise<unknown> {
    const outcome = await promise.catch((error: unknown) => error);
    this.take(outcome);
    if (outcome instanceof Error)
      for (const text of [outcome.stack ?? '', JSON.stringify(outcome), String(outcome)]) this.take(text);
    return outcome;
  }

  get all(): string {
    return [...this.texts, inspect(this.log, { depth: 8 })].join('\n');
  }
}

async function useEverything(workspace: Workspace, captured: Captured): Promise<void> {
  await captured.settled(workspace.connectAll());
  for (const { id, phase } of workspace.status().servers) {
    const server = workspace.server(id);
    captured.take(server.logs());
    captured.take(server.explain());
    // The fixture says it in another form every time.
    for (let time = 0; time < (phase === 'ready' ? 7 : 1); time += 1)
      await captured.settled(
        workspace.call(`mcp__${id}__leak`, {}, { timeoutMs: 1_000, onProgress: (report) => captured.take(report) }),
      );
    if (phase === 'ready') captured.take(await workspace.gateway.run({ action: 'call', name: `mcp__${id}__leak` }));
    captured.take(server.logs());
    await captured.settled(server.test({ force: true }));
    captured.take(server.logs());
    captured.take(server.status());
  }
}

test('no secret is at any sink, whatever servers do with what they are given (S051, S152, S153, B031, B178, B180)', async () => {
  const sentinels = new Sentinels();
  const captured = new Captured();
  const refusing = await httpServer((seen, response) => giveBack(seen, response, 401));
  const moving = await httpServer((seen, response) => giveBack(seen, response, 307));
  const failing = await httpServer((seen, response) => giveBack(seen, response, 500));
  const serving = await httpServer(giveBackInCalls);
  await using place = await realWorkspace();
  for (const id of ['plugged', 'leaky', 'exit', 'refuse', 'noise', 'absent']) vi.stubEnv(...variableOf(sentinels, id));
  const plugin = { name: 'tooling', servers: { plugged: stdioEntry(sentinels, 'plugged') } };
  const user = {
    mcpServers: {
      leaky: stdioEntry(sentinels, 'leaky'),
      exit: stdioEntry(sentinels, 'exit'),
      refuse: stdioEntry(sentinels, 'refuse'),
      noise: stdioEntry(sentinels, 'noise'),
      absent: stdioEntry(sentinels, 'absent', '/nonexistent/program'),
      refusing: httpEntry(sentinels, 'refusing', refusing.origin, 'http'),
      moving: httpEntry(sentinels, 'moving', moving.origin, 'http'),
      failing: httpEntry(sentinels, 'failing', failing.origin, 'sse'),
      serving: { ...httpEntry(sentinels, 'serving', serving.origin, 'http'), tools: { leak: 'allow' } },
      odd: {
        url: refusing.origin,
        headers: {
          'Mcp-Session-Id': sentinels.plant('Mcp-Session-Id'),
          'Proxy-Authorization': sentinels.plant('Proxy-Authorization'),
        },
      },
    },
    restart: { maxRestarts: 1 },
  };
  expect(sentinels.count).toBeGreaterThanOrEqual(40);
  await writeFile(place.userFile, JSON.stringify(user));
  const workspace = await place.open({
    workspace: { plugins: [plugin] },
    supervisor: {
      log: { write: (entry) => void captured.log.push(entry) },
      inspect: (event) => captured.take(shownByInspector(event)),
    },
  });
  workspace.status$.subscribe((status) => captured.take(status));
  await useEverything(workspace, captured);
  captured.take(workspace.status());
  captured.take(await workspace.gateway.run({ action: 'status' }));
  await place.end();

  // Vacuous otherwise: the servers were heard, and what they said was of secrets.
  expect(captured.all).toContain('GITHUB_TOKEN=[redacted]');
  expect(captured.all).toContain('forged');
  expect(serving.seen.length).toBeGreaterThan(2);
  expect(sentinels.in(captured.all)).toEqual([]);
  for (const { message = '' } of captured.log) expect(message).not.toMatch(/[\n\r\u001b\u202e]/);
}, 120_000);

/** Runs the command on a user's file and a workspace's; resolves with all that it printed. */
async function printedBy(
  files: { readonly user: string; readonly project: object },
  env: NodeJS.ProcessEnv,
  runs: readonly string[][],
) {
  const home = await temporaryDirectory('mcp-sup-sinks-');
  const workspace = join(home, 'repo');
  await mkdir(workspace);
  await writeFile(join(home, 'user.json'), files.user);
  await writeFile(join(workspace, '.mcp.json'), JSON.stringify(files.project));
  const places = ['--workspace', workspace, '--user-config', join(home, 'user.json'), '--state-dir', join(home, 'state')];
  let printed = '';
  for (const argv of runs) {
    const { out, err } = await (await startCommand([...argv, ...places], { PATH: process.env['PATH'], HOME: home, ...env }))
      .ended;
    printed += `$ ${argv.join(' ')}\n${out}\n${err}\n`;
  }
  return printed;
}

test('the command prints no secret, to people or as JSON; of a server that waits for its approval neither (S025, S152)', async () => {
  const sentinels = new Sentinels();
  const env = Object.fromEntries(['leaky', 'exit'].map((id) => variableOf(sentinels, id)));
  const user = { mcpServers: { leaky: stdioEntry(sentinels, 'leaky'), exit: stdioEntry(sentinels, 'exit') } };
  const asked = { command: 'node', args: ['server.mjs'], env: { DEPLOY_TOKEN: sentinels.plant('a token that is asked about') } };
  const printed = await printedBy({ user: JSON.stringify(user), project: { mcpServers: { asked } } }, env, [
    ['status', '--connect', '--trust', '--enable', 'asked', '--json'],
    ['status', '--trust', '--enable', 'asked'],
    ['test', 'exit'],
    ['test', 'leaky', '--json'],
    ['call', 'mcp__leaky__leak'],
    ['call', 'mcp__leaky__leak', '--json'],
    ['explain', 'exit', '--json'],
  ]);
  expect(printed).toContain('GITHUB_TOKEN=[redacted]');
  expect(printed).toContain('DEPLOY_TOKEN');
  expect(sentinels.in(printed)).toEqual([]);
}, 120_000);

test('the command prints nothing of the secrets of a file it rejects (B179)', async () => {
  const name = 'B179-secrets.mcp.json';
  const { forbidden } = caseFile(`${name}.expect.json`) as { readonly forbidden: readonly string[] };
  const user = JSON.stringify(caseFile(name));
  const printed = await printedBy({ user, project: {} }, {}, [
    ['status', '--connect', '--json'],
    ['test', 's'],
    ['explain', 'h'],
  ]);
  expect(printed).toContain('CONFIG_INVALID');
  for (const secret of [...forbidden, 'SENTINEL-3']) expect(printed).not.toContain(secret);
}, 60_000);

test('the search would notice a sink that forgets one, in whatever form', () => {
  const sentinels = new Sentinels();
  const value = sentinels.plant('somewhere');
  const base64 = ['', 'u', 'u:'].map((before) => Buffer.from(`${before}${value};`).toString('base64'));
  for (const text of [value, value.slice(0, 12), Buffer.from(value).toString('hex'), ...base64])
    expect(sentinels.in(`it says ${text}.`)).not.toEqual([]);
  expect(sentinels.in('it says [redacted].')).toEqual([]);
});

/** What an inspector shows: actors name themselves in JSON, errors do not. */
function shownByInspector(event: unknown): string {
  const { type, event: happened, snapshot } = event as { type: string; event?: unknown; snapshot?: { error?: unknown } };
  const error = snapshot?.error ?? (happened as { error?: unknown } | undefined)?.error;
  return `${JSON.stringify({ type, happened, snapshot })} ${error === undefined ? '' : inspect(error, { depth: 12 })}`;
}
