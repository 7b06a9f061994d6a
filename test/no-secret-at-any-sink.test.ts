import { mkdir, writeFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { expect, test, vi } from 'vitest';
import type { Workspace } from '../actors/api.js';
import type { LogEntry } from '../actors/ports.js';
import { httpServer, type Seen } from './support/http-fixtures.js';
import { realWorkspace } from './support/real-workspace.js';
import { startCommand } from './support/run-command.js';
import { Sentinels } from './support/sentinels.js';

const leaky = join(import.meta.dirname, 'fixtures/leaky-server.mjs');
const tools = { leak: 'allow' };

/** One server on stdio with a secret in every place there is for one. */
function stdioEntry(sentinels: Sentinels, id: string, command = process.execPath) {
  const plant = (place: string) => sentinels.plant(`${id} ${place}`);
  vi.stubEnv(`HOST_${id.toUpperCase()}`, plant('a variable'));
  return {
    command,
    args: [
      leaky,
      `--mode=${id}`,
      '--key',
      plant('the argument behind --key'),
      `--api-token=${plant('--api-token=')}`,
      `--note=\${HOST_${id.toUpperCase()}}`,
    ],
    env: {
      GITHUB_TOKEN: plant('a telling name'),
      PLAIN_LOOKING: plant('a plain name'),
      DATABASE_URL: `postgres://app:${plant('the password of a URL')}@db.example/x?sslkey=${plant('the query of a URL')}`,
      LINES: `first ${plant('one line')}\nsecond ${plant('another line')}`,
    },
    tools,
  };
}

function httpEntry(sentinels: Sentinels, id: string, url: string, type: 'http' | 'sse') {
  const plant = (place: string) => sentinels.plant(`${id} ${place}`);
  return {
    type,
    url: `${url}/mcp?api_key=${plant('a telling query')}&v=${plant('a plain query')}`,
    headers: {
      Authorization: `Bearer ${plant('Authorization')}`,
      Cookie: `sid=${plant('Cookie')}`,
      'X-Api-Key': plant('X-Api-Key'),
      'X-Auth-Token': plant('X-Auth-Token'),
      'X-Custom': plant('X-Custom'),
    },
    oauth: { clientId: 'me', clientSecret: plant('oauth.clientSecret') },
  };
}

/** What an endpoint was sent, wherever an answer has room for it. */
function giveBack({ url, headers }: Seen, response: ServerResponse, status: number): void {
  const known = JSON.stringify({ url, headers });
  const line = known.replace(/[^\x20-\x7e]/g, '');
  response.statusMessage = line.slice(0, 500);
  const realm = `Bearer realm="${line.replaceAll('"', "'")}"`;
  response.writeHead(status, {
    'www-authenticate': realm,
    location: `http://elsewhere.example/${encodeURIComponent(line)}?${line.slice(0, 300)}`,
  });
  response.end(JSON.stringify({ jsonrpc: '2.0', id: null, error: { code: -32_000, message: known, data: headers } }));
}

/** Speaks the older era well enough to be ready, and gives back what it was sent in every call. */
function giveBackInCalls(seen: Seen, response: ServerResponse): void {
  const { id, method, params } = JSON.parse(seen.body === '' ? '{}' : seen.body) as {
    id?: number;
    method?: string;
    params?: { protocolVersion?: string };
  };
  const known = JSON.stringify(seen.headers) + seen.url;
  const results: Record<string, object> = {
    initialize: {
      protocolVersion: params?.protocolVersion,
      capabilities: { tools: {} },
      serverInfo: { name: known.slice(0, 200), version: '1' },
    },
    'tools/list': { tools: [{ name: 'leak', inputSchema: { type: 'object' } }] },
  };
  if (seen.method !== 'POST') return void response.writeHead(405).end();
  if (id === undefined) return void response.writeHead(202).end();
  const result = results[method ?? ''];
  const body = result === undefined ? { error: { code: -32_000, message: known, data: { known } } } : { result };
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ jsonrpc: '2.0', id, ...body }));
}

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

test('no secret is at any sink, whatever servers do with what they are given (S025, S051, S092, S125, S152, S153, B031, B178, B179, B180)', async () => {
  const sentinels = new Sentinels();
  const captured = new Captured();
  const refusing = await httpServer((seen, response) => giveBack(seen, response, 401));
  const moving = await httpServer((seen, response) => giveBack(seen, response, 307));
  const failing = await httpServer((seen, response) => giveBack(seen, response, 500));
  const serving = await httpServer(giveBackInCalls);
  await using place = await realWorkspace();
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
      serving: { ...httpEntry(sentinels, 'serving', serving.origin, 'http'), tools },
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

/** What an inspector shows: actors name themselves in JSON, errors do not. */
function shownByInspector(event: unknown): string {
  const { type, event: happened, snapshot } = event as { type: string; event?: unknown; snapshot?: { error?: unknown } };
  const error = snapshot?.error ?? (happened as { error?: unknown } | undefined)?.error;
  return `${JSON.stringify({ type, happened, snapshot })} ${error === undefined ? '' : inspect(error, { depth: 12 })}`;
}
