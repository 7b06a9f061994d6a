import { mkdir, realpath, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Explanation } from '../actors/api.js';
import { failure } from '../machines/vocabulary.js';
import { command } from './support/fake-command.js';
import { type CommandEnd, startCommand } from './support/run-command.js';
import { temporaryDirectory } from './support/temporary-directory.js';

interface Files {
  readonly user?: object | string;
  readonly project?: object | string;
}

/** Real files; none of the commands named in them exists, as an explanation starts nothing. */
async function place({ user = {}, project = {} }: Files) {
  const home = await realpath(await temporaryDirectory('mcp-sup-explain-'));
  const workspace = join(home, 'repo');
  await mkdir(workspace);
  const [userFile, projectFile] = [join(home, 'user.json'), join(workspace, '.mcp.json')];
  const text = (content: object | string): string => (typeof content === 'string' ? content : JSON.stringify(content, null, 2));
  await writeFile(userFile, text(user));
  await writeFile(projectFile, text(project));
  await writeFile(join(workspace, 'server.mjs'), '');
  const common = ['--workspace', workspace, '--user-config', userFile, '--state-dir', join(home, 'state')];
  const env = { PATH: process.env['PATH'], HOME: home };
  const run = async (...argv: string[]): Promise<CommandEnd> => (await startCommand(['explain', ...argv, ...common], env)).ended;
  const explain = async (...argv: string[]): Promise<Explanation> =>
    JSON.parse((await run(...argv, '--json')).out) as Explanation;
  return { userFile, projectFile, run, explain };
}

const theirs = { mcpServers: { theirs: { command: 'node', args: ['server.mjs'] } } };

describe('explain, the built command', { timeout: 120_000 }, () => {
  const evil = { mcpServers: { theirs: { command: 'node', args: ['server.mjs'], env: { NODE_OPTIONS: '--x' } } } };
  const far = { mcpServers: { theirs: { url: 'https://far.example/mcp' } } };
  const open = ['--trust', '--enable', 'theirs'];

  test.each([
    ['remote', 'REMOTE_OFF', { user: far }, [], 'mcp-supervisor remote on'],
    ['trust', 'UNTRUSTED', { project: theirs }, [], 'mcp-supervisor trust'],
    ['enabled', 'DISABLED', { project: theirs }, ['--trust'], 'mcp-supervisor enable theirs'],
    ['refusals', 'REFUSED_ENV', { project: evil }, open, 'NODE_OPTIONS'],
    ['approval', 'APPROVAL_NO_CHANNEL', { project: theirs }, open, 'mcp-supervisor test theirs'],
  ])('names the gate %s, its code %s, and what opens it', async (gate, code, files, flags, opens) => {
    const { run, explain } = await place(files);
    const [json, people] = await Promise.all([explain('theirs', ...flags), run('theirs', ...flags)]);
    const shut = json.gates.find(({ state }) => state === 'shut');
    expect(shut).toMatchObject({ gate, failure: { code } });
    expect(`${shut?.failure?.message} ${shut?.failure?.hint}`).toContain(opens);
    expect(people).toMatchObject({ exit: 0, err: '' });
    expect(people.out.replace(/\s+/g, ' ')).toContain(`shut ${gate}: ${code}.`);
    expect(people.out.replace(/\s+/g, ' ')).toContain(opens);
  });

  test('knows an id that only a half-written file of an untrusted workspace names, with the place of the fault', async () => {
    const { explain, projectFile } = await place({ project: '{ "mcpServers": {\n  "half": { "command": "node",' });
    expect(await explain('half')).toMatchObject({
      server: 'half',
      layer: 'workspace',
      file: projectFile,
      stage: 'config',
      error: { code: 'CONFIG_SYNTAX' },
      faults: [{ severity: 'warning', file: projectFile, line: 2, code: 'CONFIG_SYNTAX' }],
    });
  });

  test('knows an id that only a rejected file of the user’s names, and exits with 3', async () => {
    const { run, userFile } = await place({ user: { mcpServers: { mine: { command: 'node', url: 'https://x.example' } } } });
    const { exit, out } = await run('mine');
    expect(exit).toBe(3);
    expect(out).toContain('its entry was not taken');
    expect(out.replace(/\s+/g, ' ')).toContain(`${userFile}:3:5 mcpServers.mine:`);
  });

  test('names the rule that decided with its file and line, for a tool that was never listed too', async () => {
    const user = { mcpServers: { mine: { command: 'node' } }, toolPolicies: { 'mine.rm_*': 'deny' } };
    const { run, explain, userFile } = await place({ user });
    const [json, people] = await Promise.all([explain('mine.rm_all'), run('mine.rm_all')]);
    expect(json.policy).toMatchObject({ verdict: 'deny', layer: 'user', file: userFile, line: 8 });
    expect(people.out.replace(/\s+/g, ' ')).toContain(`deny: deny "mine.rm_*" of user (${userFile}:8)`);
  });

  test('exits with 4 for a name that nothing has, with the nearest there is', async () => {
    const { run } = await place({ user: { mcpServers: { mine: { command: 'node' } } } });
    const [people, json] = await Promise.all([run('mime'), run('mime', '--json')]);
    expect(people).toMatchObject({ exit: 4, out: '', err: expect.stringContaining('Did you mean "mine"?') as string });
    expect(JSON.parse(json.out)).toMatchObject({ ok: false, error: { code: 'UNKNOWN_SERVER', hint: 'Did you mean "mine"?' } });
  });

  test('exits with 3 for a name that nothing has while a file cannot be read', async () => {
    const { run } = await place({ user: '{' });
    expect(await run('mine')).toMatchObject({ exit: 3, out: '', err: expect.stringContaining('CONFIG_SYNTAX') as string });
  });
});

describe('an explanation for people', () => {
  const bad = 'the \u001b[31mserver\u202e said\nso much that it takes more than one line of eighty columns to say all of it';
  const explained: Partial<Explanation> = {
    phase: 'backoff',
    error: failure('EXITED_EARLY', bad, 'look at its log'),
    retry: { atMs: Date.UTC(2026, 0, 2, 3, 4, 5), inMs: 3_200 },
    restarts: { count: 2, max: 5, windowMs: 120_000 },
    slot: { position: 3, capacity: 16 },
    lastClose: { generation: 4, outcome: 'killed', reason: bad },
    faults: [
      {
        severity: 'warning',
        file: '/a.json',
        line: 1,
        column: 2,
        key: 'mcpServers.files.x',
        code: 'CONFIG_UNKNOWN_FIELD',
        message: bad,
      },
    ],
    policy: { verdict: 'ask', rule: bad, layer: 'user', file: '/a.json', line: 9, isHostAsked: true },
    tool: { name: null, tool: bad, state: 'left-out', cached: false, reasons: [failure('ITEM_NAME', bad)] },
    shadowed: [{ layer: 'workspace', file: '/b.json', line: 2, code: 'SHADOWED', why: bad }],
  };

  test('fits in 80 columns and shows what cannot be seen', async () => {
    const { out } = await command({ explained: { files: explained } }, 'explain', 'files');
    const lines = out.trimEnd().split('\n');
    expect(lines.length).toBeGreaterThan(20);
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(80);
    expect(out).not.toMatch(/[\u001b\u202e]/);
    expect(out).toContain('\\u001b[31mserver\\u202e');
  });

  test('tells the next try in seconds and as an instant, the deaths, the place in the line, and the last close', async () => {
    const { out } = await command({ explained: { files: explained } }, 'explain', 'files');
    expect(out).toContain('in 3.2 s, at 2026-01-02T03:04:05.000Z');
    expect(out).toContain('2 of at most 5 in 120 s');
    expect(out).toContain('waits as number 3 for one of 16 live connections');
    expect(out).toContain('generation 4, killed:');
    expect(out).toContain('EXITED_EARLY (transport):');
    expect(out).toContain('look at its log');
  });
});
