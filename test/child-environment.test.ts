import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { configFolder } from './support/config-files.js';
import { realWorkspace, textOf, untilReady, untilServer } from './support/real-workspace.js';

const INHERITED = ['HOME', 'LANG', 'LC_ALL', 'LC_CTYPE', 'LOGNAME', 'PATH', 'SHELL', 'TMPDIR', 'USER'];

describe('the environment of a running server', () => {
  test('is the nine names that the host has, what is declared and the marker, and no other variable (S024, B057)', async () => {
    await using here = await realWorkspace();
    onTestFinished(() => void vi.unstubAllEnvs());
    for (let at = 0; at < 50; at += 1) vi.stubEnv(`CANARY_${at}`, `canary ${at}`);
    vi.stubEnv('SECRET_A', '1');
    vi.stubEnv('LC_ALL', undefined);
    vi.stubEnv('USER', '');
    vi.stubEnv('LANG', 'C.UTF-8');
    const own = { ...here.fixture('env-server.mjs'), env: { DECLARED: 'yes', EMPTY: '', LANG: 'de_DE.UTF-8' } };
    const workspace = await here.open({ user: { mcpServers: { own } } });
    await untilReady(workspace, 'own');
    const env = JSON.parse(textOf(await workspace.call('mcp__own__env', {}))) as Record<string, string>;
    const { MCP_SUP_ID, ...rest } = env;
    const host = Object.fromEntries(
      INHERITED.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]])),
    );
    expect(rest).toEqual({ ...host, DECLARED: 'yes', EMPTY: '', LANG: 'de_DE.UTF-8' });
    expect(MCP_SUP_ID).toMatch(/^[0-9a-f]{32}$/);
    expect(Object.values(env)).not.toContain('undefined');
  });

  test('in which the interpreter of its script is missing is told by exit code 127 for what it is (B054)', async () => {
    await using here = await realWorkspace();
    const script = join(here.home, 'server');
    await writeFile(script, '#!/usr/bin/env no-such-interpreter\n');
    await chmod(script, 0o755);
    const workspace = await here.open({ user: { mcpServers: { own: { command: script, args: [] } } } });
    const { error } = await untilServer(workspace, 'own', (own) => own.error !== null);
    expect(error).toMatchObject({ code: 'EXITED_EARLY', message: expect.stringContaining('exit code 127') as string });
    expect(error?.message).toContain('interpreter');
  });
});

test.each([
  ['a name of 257 characters', 'A'.repeat(257), '1'],
  ['a NUL in a name', 'A\0', '1'],
  ['a line end in a name', 'A\nB', '1'],
  ['an = in a name', 'A=B', '1'],
  ['no name', '', '1'],
  ['a NUL in a value', 'A', '1\0'],
])(
  '%s is a fault of the file with its place, in the file of the user as in the workspace’s (S022)',
  async (_what, name, value) => {
    await using folder = await configFolder();
    const file = { mcpServers: { x: { command: 'node', env: { [name]: value } } } };
    const { user, project } = await folder.read({ user: file, project: file });
    for (const { state, servers, errors } of [user, project]) {
      expect([state, servers]).toEqual(['rejected', []]);
      expect(errors).toMatchObject([{ code: 'CONFIG_INVALID', line: expect.any(Number) as number }]);
    }
  },
);
