import { describe, expect, test } from 'vitest';
import type { Json } from '../actors/ports.js';
import { readSource } from '../adapters/cli/import-sources.js';
import { type ImportedServer, serversIn } from '../adapters/import/find-servers.js';
import { knownPlaces } from '../adapters/import/known-places.js';
import { serverIdFor } from '../adapters/import/server-id.js';
import { readToml } from '../adapters/import/toml.js';

const fixture = (name: string): string => new URL(`./fixtures/import/${name}`, import.meta.url).pathname;

async function imported(name: string): Promise<readonly ImportedServer[]> {
  const source = await readSource(fixture(name));
  if (source === null || 'code' in source || source.servers === null) throw new Error(`nothing read from ${name}`);
  return source.servers;
}

/** The entries by name; of a refused one, the key it was refused for. */
const entries = (servers: readonly ImportedServer[]) =>
  Object.fromEntries(servers.map(({ name, entry, refusal }) => [name, entry ?? `refused for "${refusal?.key ?? ''}"`]));
const notes = (servers: readonly ImportedServer[]) =>
  servers.flatMap((server) => server.notes.map(({ key, kind }) => `${kind} ${server.name} ${key}`.trimEnd()));
const one = (entry: Json, file = '/x/mcp.json') => serversIn({ mcpServers: { s: entry } }, file)?.[0];

describe('each program is read by its own rules', () => {
  test('Claude Desktop has no variables, so what looks like one is refused', async () => {
    const servers = await imported('claude_desktop_config.json');
    expect(entries(servers)).toEqual({
      filesystem: { command: 'npx', args: ['-y', '@modelcontextprotocol/server-filesystem', '/home/me/notes'] },
      'my notes (old)': { command: 'notes-mcp', env: { NOTES_API_KEY: 'sentinel-desktop-key', LEVEL: 'info' } },
      literal: 'refused for "args[0]"',
      'filesystem ': { command: 'other' },
    });
    expect(notes(servers)).toEqual(['note my notes (old) env.NOTES_API_KEY']);
  });

  test('Claude Code has our variables, and servers of single projects', async () => {
    const servers = await imported('.claude.json');
    expect(entries(servers)).toEqual({
      github: {
        type: 'http',
        url: 'https://mcp.github.test/mcp',
        headers: { Authorization: 'Bearer ${GITHUB_TOKEN}', 'X-Region': '${REGION:-eu}' },
        oauth: { clientId: 'abc', callbackPort: 3118, scopes: ['repo', 'read:user'] },
      },
      linear: { type: 'sse', url: 'https://mcp.linear.test/sse' },
      socket: 'refused for "type"',
      'shop-db': { type: 'stdio', command: 'db-mcp', args: ['--dsn', 'postgres://me:sentinel-dsn@db.test/shop'] },
    });
    expect(notes(servers)).toEqual(['lost linear headersHelper', 'note shop-db']);
    expect(servers.at(-1)?.place).toBe('projects."/home/me/work/shop".mcpServers');
  });

  test('VS Code asks for inputs, which become variables; its defaults and files of variables are left alone', async () => {
    const servers = await imported('.vscode/mcp.json');
    expect(entries(servers)).toEqual({
      perplexity: {
        type: 'stdio',
        command: 'npx',
        args: ['-y', 'server-perplexity', './docs'],
        env: { PERPLEXITY_API_KEY: '${PERPLEXITY_KEY}', PORT: '8080' },
      },
      fetch: { type: 'http', url: 'https://fetch.test/mcp', headers: { 'X-User': '${USER}' } },
      // Our own reader refuses this address later on.
      socket: { type: 'http', url: 'unix:///run/mcp.sock' },
      configured: 'refused for "args[0]"',
    });
    expect(notes(servers)).toEqual([
      'note perplexity env.PERPLEXITY_API_KEY',
      'lost perplexity env.EMPTY',
      'lost perplexity envFile',
      'lost perplexity dev',
      'lost perplexity sandboxEnabled',
    ]);
    expect(JSON.stringify(servers)).not.toContain('sentinel-default');
  });

  test('Cursor names variables after env:', async () => {
    const servers = await imported('.cursor/mcp.json');
    expect(entries(servers)).toEqual({
      notes: { command: '${HOME}/bin/notes', args: ['--token', 'sentinel-flag', '${NOTES_DIR}'] },
      figma: {
        type: 'sse',
        url: 'https://mcp.figma.test/sse?key=sentinel-query',
        oauth: { clientId: 'id', clientSecret: 'sentinel-client', scopes: ['read'] },
      },
    });
    expect(notes(servers)).toEqual(['lost notes envFile', 'note figma auth.CLIENT_SECRET']);
  });

  test('Windsurf has serverUrl, and tools that are shut stay shut', async () => {
    const servers = await imported('windsurf/mcp_config.json');
    expect(entries(servers)).toEqual({
      search: {
        url: 'https://search.test/mcp',
        headers: { 'X-Api-Key': 'sentinel-header' },
        tools: { delete_all: 'deny' },
      },
      off: 'refused for "disabled"',
    });
    expect(notes(servers)).toEqual(['note search headers.X-Api-Key', 'lost search alwaysAllow']);
  });

  test('Gemini speaks SSE to url and HTTP to httpUrl, counts in ms, and has $VAR', async () => {
    const servers = await imported('.gemini/settings.json');
    expect(entries(servers)).toEqual({
      events: { type: 'sse', url: 'https://events.test/stream', timeout: 20_000 },
      stream: { type: 'http', url: 'https://stream.test/mcp', headers: { Authorization: 'Bearer ${STREAM_TOKEN}' } },
      local: {
        command: 'python',
        args: ['-m', 'server'],
        cwd: '/srv/tools',
        env: { HOME_DIR: '${HOME:-/root}' },
        tools: { rm: 'deny' },
      },
      legacy: 'refused for ""',
    });
    expect(notes(servers)).toEqual(['lost events trust', 'lost stream timeout', 'lost local includeTools']);
  });

  test('Codex counts in seconds and names the variables of its headers', async () => {
    const servers = await imported('codex/config.toml');
    expect(entries(servers)).toEqual({
      docs: {
        command: 'docs-mcp',
        args: ['--index', '/srv/docs'],
        env: { DOCS_TOKEN: 'sentinel-codex', LANG: '${LANG}' },
        initTimeout: 12_500,
        timeout: 90_000,
        tools: { purge: 'deny' },
      },
      issues: {
        url: 'https://issues.test/mcp',
        headers: { Authorization: 'Bearer ${ISSUES_TOKEN}', 'X-Team': 'core', 'X-Trace': '${TRACE_ID}' },
        oauth: { scopes: ['read', 'write'], clientId: 'codex-client' },
      },
      paused: 'refused for "enabled"',
    });
    expect(notes(servers)).toEqual(['note docs env.DOCS_TOKEN', 'lost docs env_vars[1]', 'lost docs enabled_tools']);
  });

  test('OpenCode has its command in a list and variables in braces of their own', async () => {
    const servers = await imported('opencode/opencode.jsonc');
    expect(entries(servers)).toEqual({
      build: { command: 'bun', args: ['x', 'build-mcp'], env: { BUILD_KEY: '${BUILD_KEY}' }, initTimeout: 8_000 },
      wiki: { type: 'sse', url: 'https://wiki.test/sse', headers: { Authorization: 'Bearer ${WIKI_TOKEN}' } },
      filed: 'refused for "headers.Authorization"',
      off: 'refused for "enabled"',
    });
    expect(notes(servers)).toEqual([]);
  });

  test('Zed has commands in two forms, and servers that come with an extension', async () => {
    const servers = await imported('zed/settings.json');
    expect(entries(servers)).toEqual({
      ha: { command: 'uvx', args: ['ha-mcp'], env: { HA_TOKEN: 'sentinel-zed' } },
      older: 'refused for "settings"',
      plain: { command: '/opt/plain', args: ['serve'], env: { A: 'b' } },
      hub: { url: 'http://hub.lan/mcp' },
    });
    expect(notes(servers)).toEqual(['note ha env.HA_TOKEN', 'lost ha timeout']);
  });
});

describe('of programs that share a shape', () => {
  test.each([
    ['/home/me/.gemini/settings.json', { url: 'https://a.test/x' }, 'gemini'],
    ['/home/me/.cursor/mcp.json', { url: 'https://a.test/x' }, 'cursor'],
    ['/somewhere/copy.json', { serverUrl: 'https://a.test/x' }, 'windsurf'],
    ['/somewhere/copy.json', { httpUrl: 'https://a.test/x' }, 'gemini'],
    ['/somewhere/copy.json', { command: 'a', args: ['${env:A}'] }, 'cursor'],
    ['/somewhere/copy.json', { command: 'a', args: ['${A}'] }, 'claude-code'],
  ] as const)('%s with %j is of one: %s', (file, entry, format) => {
    expect(one(entry, file)?.format).toBe(format);
  });

  test('the key "servers" is VS Code\'s, in whatever file it stands (B073)', async () => {
    const source = await readSource(new URL('./cases/B073-vscode-shape.mcp.json', import.meta.url).pathname);
    expect(source).toMatchObject({ servers: [{ name: 'a', format: 'vscode', entry: { type: 'stdio', command: 'x' } }] });
  });

  test('a file without any known shape is not one without servers', () => {
    expect(serversIn({ mcpServers: {} }, '/x')).toEqual([]);
    for (const root of [{}, [], null, 'text', { mcpServers: [] }, { mcp: { allowed: [] } }])
      expect(serversIn(root, '/x')).toBeNull();
  });
});

describe('what cannot be meant refuses the server instead of changing it', () => {
  test.each([
    ['a number for a command', { command: 1 }, 'command'],
    ['a text for arguments', { command: 'a', args: 'b' }, 'args'],
    ['a list for variables', { command: 'a', env: ['A=b'] }, 'env'],
    ['an object in a variable', { command: 'a', env: { A: {} } }, 'env.A'],
    ['a directory that is made of variables', { command: 'a', cwd: '${HOME}/x' }, 'cwd'],
    ['a switch that is no switch', { command: 'a', disabled: 'no' }, 'disabled'],
    ['a tool that is shut by a pattern', { command: 'a', disabledTools: ['rm*'] }, 'disabledTools[0]'],
    ['neither a command nor an address', { type: 'stdio' }, ''],
    ['a variable that is none', { command: 'a', args: ['${1x}'] }, 'args[0]'],
    ['no object', 'npx server', ''],
  ] as const)('%s', (_what, entry, key) => {
    expect(one(entry)).toMatchObject({ entry: null, refusal: { key }, notes: [] });
  });

  test('a key that nothing reads is told, whatever it is called', () => {
    expect(one({ command: 'a', constructor: 1, toString: 'x' })?.notes.map(({ key }) => key)).toEqual([
      'constructor',
      'toString',
    ]);
  });
});

test('a text of nothing but beginnings, and a thousand and one of anything, end soon and refuse the server', () => {
  const open = '${'.repeat(200_000);
  const many = Object.fromEntries(Array.from({ length: 200_000 }, (_, at) => [`N${at}`, 'x']));
  for (const entry of [{ command: open }, { command: 'a', args: Object.keys(many) }, { command: 'a', env: many }])
    for (const file of ['/x/.cursor/mcp.json', '/x/.mcp.json', '/x/.gemini/settings.json'])
      expect(one(entry, file)?.entry).toBeNull();
  expect(one({ command: 'a', env: { 'TOKEN=sentinel': null } })?.notes).toMatchObject([{ key: 'env.TOKEN=...' }]);
});

test('inputs of the same spelling are two variables', () => {
  const entry = { command: 'a', env: { A: '${input:api-key}', B: '${input:api_key}', C: '${input:api-key}', D: '${input:1}' } };
  const [server] = serversIn({ servers: { s: entry } }, '/x') ?? [];
  expect(server?.entry).toEqual({
    command: 'a',
    env: { A: '${API_KEY}', B: '${API_KEY_2}', C: '${API_KEY}', D: '${INPUT_1}' },
  });
});

test.each([
  ['files', 'files'],
  ['my files', 'my-files'],
  ['a__b', 'a_b'],
  ['@scope/srv', 'scope-srv'],
  ['Übersicht', 'Ubersicht'],
  ['x'.repeat(40), 'x'.repeat(32)],
  ['日本', null],
  ['', null],
])('a server named %j gets the id %j', (name, id) => {
  expect(serverIdFor(name)).toBe(id);
});

test('TOML that is none is told by its place alone', () => {
  expect(readToml('a = 1\nb = sentinel-value\n')).toEqual({ line: 2, column: expect.any(Number) as number });
  expect(readToml(`[${'a.'.repeat(100)}a]\nb = 1\n`)).toMatchObject({ line: null });
  expect(readToml('__proto__ = { a = 1 }')).not.toHaveProperty('value');
  expect(readToml('d = 2026-01-02\nn = nan\n')).toEqual({ value: { d: '2026-01-02', n: null } });
});

test('the well-known places are those of the platform, and none is in a workspace', () => {
  const linux = knownPlaces({ home: '/home/me', platform: 'linux', env: { CODEX_HOME: '/codex' } });
  expect(linux).toEqual(expect.arrayContaining(['/home/me/.config/Claude/claude_desktop_config.json', '/codex/config.toml']));
  expect(knownPlaces({ home: '/Users/me', platform: 'darwin', env: {} })).toContain(
    '/Users/me/Library/Application Support/Code/User/mcp.json',
  );
  expect(knownPlaces({ home: 'C:\\me', platform: 'win32', env: { APPDATA: 'C:\\data' } })).toContain(
    'C:\\data\\Zed\\settings.json',
  );
  for (const place of linux) expect(place).toMatch(/^\/(home\/me|codex)\//);
});
