import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { caseFile } from './support/case-file.js';
import { type Answer, json, older, resultOf, type Seen, said, startEndpoint } from './support/http-link-servers.js';
import { textOf } from './support/real-workspace.js';
import { timedWorkspace } from './support/timed-workspace.js';

const tool = { name: 'transfer', inputSchema: { type: 'object' } };

/** An endpoint that numbers its sessions and forgets the first one when that is called in. */
function forgetful(forget: Answer): Answer {
  let sessions = 0;
  return older((seen: Seen, response) => {
    const { rpc, headers } = seen;
    if (rpc.method === 'initialize') {
      sessions += 1;
      const serverInfo = { name: 'forgetful', version: '1.0.0' };
      const result = { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo };
      json(response, 200, resultOf(seen, result), { 'mcp-session-id': `s${sessions}` });
    } else if (rpc.method === 'tools/list') json(response, 200, resultOf(seen, { tools: [tool] }));
    else if (rpc.method === 'tools/call' && headers['mcp-session-id'] === 's1') forget(seen, response);
    else if (rpc.method === 'tools/call') json(response, 200, resultOf(seen, said(String(headers['mcp-session-id']))));
    else return false;
    return true;
  });
}

const { cases } = caseFile('B123-session-odd-statuses.http.json') as {
  cases: { status: number; headers: Record<string, string>; body: unknown }[];
};
const notFound = { status: 404, headers: {}, body: '' };

describe('a session that the server has forgotten', () => {
  test.each([['B122', notFound], ...cases.filter(({ status }) => status !== 503).map((odd) => ['B123', odd] as const)] as const)(
    '%s: fails its call once and for all; the next call makes a new session and lists anew, and the old id is never sent again (%j)',
    async (_bug, { status, headers, body }) => {
      const text = typeof body === 'string' ? body : JSON.stringify(body);
      const endpoint = await startEndpoint(forgetful((_seen, response) => void response.writeHead(status, headers).end(text)));
      await using here = await timedWorkspace({ bank: { url: endpoint.url } });
      await here.until(({ servers }) => servers[0]?.phase === 'ready' && servers[0].stage === null);

      await expect(here.workspace.call('mcp__bank__transfer')).rejects.toMatchObject({
        code: 'SESSION_EXPIRED',
        retryable: true,
      });
      expect(endpoint.asked('tools/call')).toHaveLength(1);
      const again = here.workspace.call('mcp__bank__transfer');
      await here.untilLater(50, ({ servers }) => servers[0]?.phase === 'ready' && servers[0].generation === 2);
      expect(textOf(await again)).toBe('s2');
      expect(here.workspace.status().servers[0]).toMatchObject({ generation: 2, restarts: 0 });
      expect(['initialize', 'tools/list', 'tools/call'].map((method) => endpoint.asked(method).length)).toEqual([2, 2, 2]);
      const met = endpoint.seen.findIndex(({ rpc }) => rpc.method === 'tools/call');
      expect(endpoint.seen.slice(met + 1).map((seen) => seen.headers['mcp-session-id'])).not.toContain('s1');
    },
  );

  test('B123: HTTP 503 is no such thing: the session stays', async () => {
    const endpoint = await startEndpoint(forgetful((_seen, response) => void response.writeHead(503).end()));
    await using here = await timedWorkspace({ bank: { url: endpoint.url } });
    await here.until(({ servers }) => servers[0]?.phase === 'ready' && servers[0].stage === null);
    await expect(here.workspace.call('mcp__bank__transfer')).rejects.toMatchObject({ code: 'SERVER_ERROR' });
    expect(here.workspace.status().servers[0]).toMatchObject({ phase: 'ready', generation: 1 });
    expect(endpoint.asked('initialize')).toHaveLength(1);
  });
});

test('what is decided otherwise than a case or a security test asks is held by a test that names it', () => {
  const texts = readdirSync(import.meta.dirname)
    .filter((name) => name.endsWith('.test.ts') && !import.meta.filename.endsWith(name))
    .map((name) => readFileSync(`${import.meta.dirname}/${name}`, 'utf8'));
  const ids = Object.keys(caseFile('decided-otherwise.json') as object);
  // A fixture is read by what reads them all.
  const fixtures = readdirSync(`${import.meta.dirname}/cases`);
  const isHeld = (id: string): boolean =>
    texts.some((text) => text.includes(id)) || fixtures.some((name) => name.startsWith(`${id}-`));
  expect(ids.filter((id) => !isHeld(id))).toEqual([]);
});
