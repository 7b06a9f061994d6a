import { describe, expect, test, vi } from 'vitest';
import { readDeclarations } from '../adapters/links/tool-headers.js';
import { json, launchAt, newer, resultOf, type Seen, startEndpoint } from './support/http-link-servers.js';
import { ask, callTool, openReady } from './support/stdio-harness.js';

const schema = (properties: object): object => ({ type: 'object', properties });
const text = (header: unknown, type: unknown = 'string'): object => ({ type, 'x-mcp-header': header });

const tools = [
  {
    name: 'marked',
    inputSchema: schema({ region: text('Region'), deep: schema({ count: text('Count', 'integer'), on: text('On', 'boolean') }) }),
  },
  { name: 'broken', inputSchema: schema({ a: text('bad name') }) },
  { name: 'plain', inputSchema: schema({}) },
];

const withTools = (refused = false) =>
  newer((seen, response) => {
    const { method } = seen.rpc;
    const mismatch = { code: -32_020, message: 'header mismatch' };
    if (method === 'tools/list')
      json(response, 200, resultOf(seen, { resultType: 'complete', ttlMs: 0, cacheScope: 'private', tools }));
    else if (method === 'tools/call' && refused) json(response, 400, { jsonrpc: '2.0', id: seen.rpc.id, error: mismatch });
    else return false;
    return true;
  });

const mcpHeaders = (seen: Seen | undefined): object =>
  Object.fromEntries(Object.entries(seen?.headers ?? {}).filter(([name]) => name.startsWith('mcp-')));

describe('the headers of the newer era', () => {
  test('name the revision, the method and what it is about, and no session', async () => {
    const endpoint = await startEndpoint(newer());
    const { link } = await openReady(launchAt(endpoint.url));
    await callTool(link, 'echo').settled;
    await ask(link, 'resources/read', { uri: 'file:///ünï' }).settled;
    await ask(link, 'prompts/get', { name: ' edge ' }).settled;
    await link.close();
    const base = { 'mcp-protocol-version': '2026-07-28' };
    expect(endpoint.seen.map(mcpHeaders)).toEqual([
      { ...base, 'mcp-method': 'server/discover' },
      { ...base, 'mcp-method': 'tools/call', 'mcp-name': 'echo' },
      { ...base, 'mcp-method': 'resources/read', 'mcp-name': '=?base64?ZmlsZTovLy/DvG7Drw==?=' },
      { ...base, 'mcp-method': 'prompts/get', 'mcp-name': '=?base64?IGVkZ2Ug?=' },
    ]);
    expect(endpoint.seen.map(({ method }) => method)).toEqual(['POST', 'POST', 'POST', 'POST']);
  });

  test('repeat the arguments that the schema of a tool says', async () => {
    const endpoint = await startEndpoint(withTools());
    const { link } = await openReady(launchAt(endpoint.url));
    await ask(link, 'tools/list').settled;
    await callTool(link, 'marked', { region: 'Köln', deep: { count: 12, on: false } }).settled;
    await callTool(link, 'marked', { region: null, deep: { count: '12' } }).settled;
    await callTool(link, 'plain', { region: 'x' }).settled;
    const params = endpoint
      .asked('tools/call')
      .map((seen) => Object.fromEntries(Object.entries(seen.headers).filter(([name]) => name.startsWith('mcp-param-'))));
    expect(params).toEqual([
      { 'mcp-param-region': '=?base64?S8O2bG4=?=', 'mcp-param-count': '12', 'mcp-param-on': 'false' },
      { 'mcp-param-count': '12' },
      {},
    ]);
  });

  test('withhold the schema of a tool whose declarations break a rule, so that the list skips it', async () => {
    const { link } = await openReady(launchAt((await startEndpoint(withTools())).url));
    const { result } = await ask(link, 'tools/list').settled;
    const listed = (result as { tools: { name: string; inputSchema: unknown }[] }).tools;
    expect(listed.map(({ name, inputSchema }) => [name, inputSchema !== null])).toEqual([
      ['marked', true],
      ['broken', false],
      ['plain', true],
    ]);
  });

  test('refused as out of date fail the call, have the list read anew, and nothing is sent again', async () => {
    const endpoint = await startEndpoint(withTools(true));
    const { link, heard } = await openReady(launchAt(endpoint.url));
    expect((await callTool(link, 'marked').settled).problem?.code).toBe('SERVER_ERROR');
    await vi.waitFor(() => expect(heard.changed).toEqual(['tools']));
    expect(endpoint.asked('tools/call')).toHaveLength(1);
  });
});

describe('declarations of headers', () => {
  test.each([
    ['none', schema({ a: { type: 'string' } }), []],
    ['nested', schema({ a: schema({ b: text('X') }) }), [{ path: ['a', 'b'], header: 'X' }]],
    ['keys that are names of Object’s', schema({ constructor: text('X') }), [{ path: ['constructor'], header: 'X' }]],
    ['no schema', null, []],
  ])('with %s are read', (_, inputSchema, expected) => {
    expect(readDeclarations(inputSchema)).toEqual(expected);
  });

  test.each([
    ['a name that is no token', schema({ a: text('a b') })],
    ['an empty name', schema({ a: text('') })],
    ['a name that is no string', schema({ a: text(7) })],
    ['a name that stands twice', schema({ a: text('X'), b: text('x') })],
    ['a property that is a number', schema({ a: text('X', 'number') })],
    ['a property without a type', schema({ a: { 'x-mcp-header': 'X' } })],
    ['the schema itself', { ...schema({}), 'x-mcp-header': 'X' }],
    ['the items of an array', schema({ a: { type: 'array', items: text('X') } })],
    ['one of several', schema({ a: { anyOf: [text('X')] } })],
    ['a definition', { ...schema({}), $defs: { a: text('X') } }],
  ])('on %s are refused', (_, inputSchema) => {
    expect(readDeclarations(inputSchema)).toBeNull();
  });

  test('in a schema 10 000 levels deep neither recurse nor hang', () => {
    let deep: object = text('X');
    for (let level = 0; level < 10_000; level += 1) deep = schema({ a: deep });
    expect(readDeclarations(deep)).toEqual([]);
  });
});
