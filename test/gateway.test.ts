import { describe, expect, it } from 'vitest';
import { supervisorError } from '../actors/errors.js';
import type { LogEntry } from '../actors/ports.js';
import type { Code } from '../machines/vocabulary.js';
import { toolItem, walk } from './support/catalogue-kit.js';
import { gatewayKit } from './support/gateway-host.js';

const READ_FILE = 'mcp__files__read_file';

describe('a request to the gateway', () => {
  it.each([
    ['no object', null, 'the arguments are not an object'],
    ['a string', '{"action":"status"}', 'the arguments are not an object'],
    ['no action', {}, '"action"'],
    ['an unknown action', { action: 'exec' }, '"action"'],
    ['an unknown field', { action: 'call', name: READ_FILE, arguments: {} }, '"arguments" is no field'],
    ['a number for a query', { action: 'search', query: 3 }, '"query" is no string'],
    ['a text without end', { action: 'search', query: 'x'.repeat(20_000) }, '"query" is longer'],
    ['a limit of zero', { action: 'search', limit: 0 }, '"limit"'],
    ['a limit in quotes', { action: 'search', limit: '5' }, '"limit"'],
    ['no name', { action: 'describe' }, '"name" is missing'],
    ['no uri', { action: 'read', server: 'files' }, '"uri" is missing'],
    ['args that are a list', { action: 'call', name: READ_FILE, args: [] }, '"args" is no object'],
    ['args that are no JSON', { action: 'call', name: READ_FILE, args: '{' }, '"args" is a string that is no JSON'],
    ['a regex this host has no engine for', { action: 'search', regex: '^a' }, '"regex" is not supported'],
    ['a cursor of somebody else', { action: 'search', cursor: 'x' }, '"cursor"'],
    ['a cursor of somebody else for a list', { action: 'resources', cursor: 'x' }, '"cursor"'],
  ])('with %s is refused by naming the field', async (_what, request, message) => {
    const { run, calls } = gatewayKit();
    const { isError, text, data } = await run(request);
    expect([isError, data['code'], data['stage'], data['retryable']]).toEqual([true, 'INVALID_ARGUMENTS', 'call', false]);
    expect(text).toContain(message);
    expect(calls).toEqual([]);
  });

  it('S104 with a million values in its arguments is refused before anything is called', async () => {
    const { run, calls } = gatewayKit();
    const args = { list: new Array<number>(1_000_000).fill(0) };
    for (const given of [args, JSON.stringify(args)]) {
      expect((await run({ action: 'call', name: READ_FILE, args: given })).data['code']).toBe('INVALID_ARGUMENTS');
    }
    expect(calls).toEqual([]);
  });

  it('may carry null for what it leaves out', async () => {
    const { run } = gatewayKit();
    expect((await run({ action: 'search', query: 'read', server: null, limit: null, args: null })).isError).toBeUndefined();
  });

  it('never rejects, whatever breaks behind it, and tells nobody what the bug said', async () => {
    const entries: LogEntry[] = [];
    const { run, answerWith } = gatewayKit({ log: { write: (entry) => entries.push(entry) } });
    answerWith(new TypeError('token abc'));
    const { data, text } = await run({ action: 'call', name: READ_FILE });
    expect(data['code']).toBe('SERVER_ERROR');
    expect(`${text}${JSON.stringify(entries)}`).not.toContain('abc');
    expect(entries).toEqual([{ level: 'error', event: 'gateway.unexpected', message: 'TypeError' }]);
    const trap = new Proxy(
      {},
      {
        ownKeys: () => {
          throw new Error('trap');
        },
      },
    );
    expect((await run(trap)).isError).toBe(true);
  });
});

describe('search', () => {
  it('lists full names with one line each, and the same as data', async () => {
    const { run } = gatewayKit();
    const { text, data } = await run({ action: 'search', query: 'file' });
    expect(text).toBe(`2 tools\n${READ_FILE}: Reads a file\nmcp__files__write_file: Writes a file`);
    expect(data).toEqual({
      tools: [
        { name: READ_FILE, server: 'files', description: 'Reads a file', marks: [] },
        { name: 'mcp__files__write_file', server: 'files', description: 'Writes\na file', marks: [] },
      ],
      total: 2,
      nextCursor: null,
    });
  });

  it('marks a tool whose server is not running', async () => {
    const { run } = gatewayKit();
    expect((await run({ action: 'search', query: 'sql' })).text).toContain('mcp__db__query [cached]: Runs SQL');
  });

  it('goes on with its cursor', async () => {
    const { run } = gatewayKit();
    const first = await run({ action: 'search', query: 'file', limit: 1 });
    expect(first.text).toContain('More: the same search with "cursor"');
    const second = await run({ action: 'search', query: 'file', limit: 1, cursor: first.data['nextCursor'] });
    expect(second.data['tools']).toMatchObject([{ name: 'mcp__files__write_file' }]);
  });

  it('finds nothing politely, and names the servers when there is none of that id', async () => {
    const { run } = gatewayKit();
    expect((await run({ action: 'search', query: 'zebra', server: 'files' })).text).toBe('0 tools; use fewer or other words');
    const unknown = await run({ action: 'search', query: 'read', server: 'file' });
    expect(unknown.data).toMatchObject({ code: 'UNKNOWN_SERVER', hint: 'Servers: db, files' });
  });

  it('runs a regex only through the engine it was given', async () => {
    const regex = {
      compile(pattern: string) {
        if (pattern === '(') throw new Error('bad');
        return { test: (text: string) => text.startsWith(pattern) };
      },
    };
    const { run } = gatewayKit({ regex });
    expect((await run({ action: 'search', regex: 'write' })).data['tools']).toMatchObject([{ name: 'mcp__files__write_file' }]);
    expect((await run({ action: 'search', regex: '(' })).data['message']).toBe('"regex" is not a pattern the search can run');
    expect((await run({ action: 'search', regex: 'a'.repeat(257) })).data['code']).toBe('INVALID_ARGUMENTS');
    expect((await run({ action: 'search', regex: '' })).data['total']).toBe(3);
  });
});

describe('describe', () => {
  it('shows schema, description, server and how to call', async () => {
    const { run } = gatewayKit();
    const { text, data } = await run({ action: 'describe', name: READ_FILE });
    expect(data).toMatchObject({
      name: READ_FILE,
      server: 'files',
      tool: 'read_file',
      description: 'Reads a file',
      inputSchema: { properties: { path: { type: 'string' } } },
      call: { action: 'call', name: READ_FILE, args: {} },
    });
    expect(text).toContain('Input schema: {"type":"object","properties":{"path":{"type":"string"}}}');
  });

  it('shows an output schema and that a tool is past the limit', async () => {
    const { host, run } = gatewayKit();
    host.catalogue.put('files', 'tools', walk([toolItem('a', { outputSchema: { type: 'object' } })], { toolLimit: 0 }));
    const { data, text } = await run({ action: 'describe', name: 'mcp__files__a' });
    expect(data['outputSchema']).toEqual({ type: 'object' });
    expect(text).toContain('mcp__files__a [over the limit, not callable]');
  });
});

describe('call', () => {
  it.each([
    ['an object', { path: 'a' }],
    ['a JSON string', '{"path":"a"}'],
  ])('hands arguments on as %s, with the session, the signal and the person', async (_what, args) => {
    const { run, calls } = gatewayKit();
    const { signal } = new AbortController();
    const { text } = await run({ action: 'call', name: READ_FILE, args }, { session: 's1', signal, byPerson: true });
    expect(text).toBe('done');
    expect(calls).toEqual([{ what: READ_FILE, params: { path: 'a' }, options: { session: 's1', signal, byPerson: true } }]);
  });

  it('sends no arguments as an empty object', async () => {
    const { run, calls } = gatewayKit();
    await run({ action: 'call', name: READ_FILE });
    await run({ action: 'call', name: READ_FILE, args: '' });
    expect(calls.map(({ params }) => params)).toEqual([{}, {}]);
  });

  it('S110a hands a field called __proto__ on as a field', async () => {
    const { run, calls } = gatewayKit();
    await run({ action: 'call', name: READ_FILE, args: '{"__proto__":{"polluted":true}}' });
    expect(Object.keys(calls[0]?.params as object)).toEqual(['__proto__']);
    expect('polluted' in {}).toBe(false);
  });

  it('S099 refuses every name that is not exactly one of the catalogue, and names the nearest', async () => {
    const { run, calls } = gatewayKit();
    for (const name of ['read_file', 'mcp__files__read_files', 'mcp__other__read_file', 'mcp__x__file reader please']) {
      const { data } = await run({ action: 'call', name });
      expect(data['code']).toBe('UNKNOWN_TOOL');
      expect(data['hint']).toContain(`Did you mean: ${READ_FILE}`);
    }
    const hopeless = await run({ action: 'call', name: '__zebra__' });
    expect(hopeless.data['hint']).toContain('"action":"search"');
    expect(calls).toEqual([]);
  });

  it.each<Code>([
    'BLOCKED_BY_POLICY',
    'BLOCKED_BY_USER',
    'APPROVAL_NO_CHANNEL',
    'APPROVAL_TIMEOUT',
    'DISABLED',
    'UNTRUSTED',
    'REMOTE_OFF',
  ])('says %s in the one shape of every denial', async (code) => {
    const { run, answerWith } = gatewayKit();
    answerWith(supervisorError(code, 'no', { hint: 'ask them' }));
    const result = await run({ action: 'call', name: READ_FILE });
    expect(result.isError).toBe(true);
    expect(result.content).toEqual([{ type: 'text', text: `${code}: no\nask them` }]);
    expect(result.structuredContent).toEqual({ blocked: true, code, tool: READ_FILE, reason: 'no' });
  });

  it('says any other failure with its code, stage and hint', async () => {
    const { run, answerWith } = gatewayKit();
    answerWith(supervisorError('LINK_LOST', 'x'.repeat(100_000), { hint: 'try again' }));
    const { isError, data } = await run({ action: 'call', name: READ_FILE });
    expect([isError, data['code'], data['stage'], data['hint'], data['retryable']]).toEqual([
      true,
      'LINK_LOST',
      'call',
      'try again',
      true,
    ]);
    expect((data['message'] as string).length).toBe(2_048);
  });

  it('B110 hands an error of the tool on as that', async () => {
    const { run, answerWith } = gatewayKit();
    answerWith({ isError: true, content: [{ type: 'text', text: 'city not found' }], structuredContent: { error: 'city' } });
    const { isError, text, data } = await run({ action: 'call', name: READ_FILE });
    expect([isError, text, data]).toEqual([true, 'city not found', { error: 'city' }]);
  });

  it('B115 bounds a long result and reads the rest page by page', async () => {
    const { run, answerWith } = gatewayKit();
    const whole = Array.from({ length: 3_000 }, (_, at) => `line ${at}`).join('\n');
    answerWith({ content: [{ type: 'text', text: whole }] });
    const { text } = await run({ action: 'call', name: READ_FILE });
    const uri = /spill:\/\/[^"]+/.exec(text)?.[0];
    const pages: string[] = [];
    let cursor: unknown = null;
    do {
      const page = await run({ action: 'read', uri, cursor });
      pages.push(page.content[0]?.['text'] as string);
      cursor = page.data['nextCursor'];
    } while (cursor !== null);
    expect(pages.length).toBeGreaterThan(1);
    expect(pages.join('')).toBe(whole);
  });
});

describe('status', () => {
  it('says which servers are usable and why not, without paths', async () => {
    const { run } = gatewayKit();
    const { text, data } = await run({ action: 'status' });
    expect(text).toBe(
      '2 servers, configuration valid\ndb: idle · 2 tools · DISABLED: db is switched off\nfiles: ready · 2 tools',
    );
    expect(data['servers']).toMatchObject([
      { id: 'db', phase: 'idle', blockedBy: 'disabled' },
      { id: 'files', why: null },
    ]);
    expect(JSON.stringify(data)).not.toContain('/secret');
    expect((await run({ action: 'status', server: 'files' })).data['servers']).toMatchObject([{ id: 'files' }]);
    expect((await run({ action: 'status', server: 'x' })).data['code']).toBe('UNKNOWN_SERVER');
  });
});

describe('before a server was ever listed', () => {
  const unlisted = (change: object) => {
    const { host } = gatewayKit();
    const { workspace, servers } = host.status();
    const unknown = { state: 'unknown', count: 0, reason: null } as const;
    const lists = { tools: { ...unknown, skipped: [] }, resources: unknown, prompts: unknown };
    const late = servers.map((server) => (server.id === 'files' ? { ...server, id: 'late', ...lists, ...change } : server));
    return gatewayKit({ status: () => ({ workspace, servers: late }) });
  };

  it('a search and the lists say that it is still being listed, and a description of its tool says to ask again', async () => {
    const { run } = unlisted({ phase: 'connecting' });
    for (const action of ['search', 'resources', 'prompts']) {
      const { text, data } = await run({ action, query: 'nothing' });
      expect(text).toContain('Still being listed, so ask again in a moment: late');
      expect(data['stillListing']).toEqual(['late']);
      expect(text).not.toContain('other words');
    }
    expect((await run({ action: 'describe', name: 'mcp__late__x' })).data['code']).toBe('NOT_READY');
    expect((await run({ action: 'search', query: 'nothing', server: 'db' })).data).not.toHaveProperty('stillListing');
  });

  it('nothing is promised of one that nobody is listing', async () => {
    const { run } = unlisted({ phase: 'idle', blockedBy: 'disabled' });
    expect((await run({ action: 'search', query: 'nothing' })).text).toBe('0 tools; use fewer or other words');
    expect((await run({ action: 'describe', name: 'mcp__late__x' })).data['code']).toBe('UNKNOWN_TOOL');
  });
});
