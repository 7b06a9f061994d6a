import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { SupervisorError } from '../actors/errors.js';
import type { StdioLaunch, Vetted } from '../actors/ports.js';
import { executable, vetPlace } from './support/vet-place.js';

const stdio = ({ launch }: Vetted): StdioLaunch => {
  if (launch.transport !== 'stdio') throw new Error('a stdio launch was expected');
  return launch;
};

async function refusalOf(vetting: Promise<Vetted>): Promise<SupervisorError> {
  const error: unknown = await vetting.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (!(error instanceof SupervisorError)) throw new Error('a refusal was expected');
  return error;
}

describe('a command that is not found', () => {
  test('is told with its name, its place, every directory that was searched, and what to do (B053)', async () => {
    const { root, run } = await vetPlace({ env: { PATH: '/usr/no-such-bin::relative:/no-such-bin' } });
    for (const layer of ['user', 'workspace'] as const) {
      const { code, message, hint } = await refusalOf(run({ layer, command: 'npx' }));
      expect(code).toBe('REFUSED_COMMAND');
      expect(message).toBe(`mcpServers.x.command (${join(root, '.mcp.json')}:3): there is no executable "npx" on the PATH`);
      expect(hint).toContain('Searched: /usr/no-such-bin /no-such-bin. ');
      expect(hint).toContain('command -v NAME');
    }
  });

  test.each([{}, { PATH: '' }, { PATH: ':.:bin' }])('says so when %j leaves nothing to search (B053)', async (env) => {
    const { run } = await vetPlace({ env });
    expect((await refusalOf(run())).hint).toContain('Searched: nothing');
  });

  test.each(['ghp_0123456789abcdef', 'a b', 'x'.repeat(65), '$(id)', 'a\u202eb'])(
    'is not repeated where it is no plain name: %j',
    async (command) => {
      const { run } = await vetPlace();
      const { message } = await refusalOf(run({ command }));
      expect(message).toContain('no executable this name');
      expect(message).not.toContain(command);
    },
  );
});

describe('a tilde, which no shell expands here (B059)', () => {
  test.each(['user', 'plugin:a', 'workspace'] as const)(
    'in front of what an interpreter of the %s layer would run is refused: a checkout may bring a directory of that name',
    async (layer) => {
      const { root, bin, run } = await vetPlace();
      await executable(join(bin, 'node'));
      await executable(join(root, '~/srv/index.js'));
      const { code, message, hint } = await refusalOf(run({ layer, command: 'node', args: ['--title', 't', '~/srv/index.js'] }));
      expect([code, hint]).toEqual(['REFUSED_COMMAND', 'Write the absolute path.']);
      expect(message).toContain('mcpServers.x.args[2]');
    },
  );

  test('is refused behind a program that only starts another, too', async () => {
    const { bin, run } = await vetPlace();
    await executable(join(bin, 'env'));
    expect((await refusalOf(run({ command: 'env', args: ['A=1', 'node', '~/a.js'] }))).message).toContain('args[2]');
    expect((await refusalOf(run({ command: 'env', args: ['-S', 'node ~/a.js'] }))).message).toContain('x.args (');
  });

  test('in any other argument is handed over as it stands, and the card says so', async () => {
    const { run } = await vetPlace();
    const args = ['~/data', '--dir=~/x', '~'];
    const vetted = await run({ args });
    expect(stdio(vetted).args).toEqual(args);
    expect(vetted.card?.notes.join()).toContain('no shell expands it');
    expect((await run({ args: ['--dir=~/x', '~'] })).card?.notes).toEqual([]);
  });
});

describe('on Windows', () => {
  const windows = (env: Readonly<Record<string, string | undefined>>) => vetPlace({ platform: 'win32', env });

  test('a server has the names that programs there cannot do without, in whatever case the host spells them (B056)', async () => {
    const { bin, run } = await vetPlace();
    const host = { Path: bin, PathExt: '.EXE', ComSpec: 'c', windir: 'w', ProgramData: 'p', SystemRoot: 's', SECRET_A: 'canary' };
    const { run: onWindows, bin: theirs } = await windows(host);
    const command = await executable(join(theirs, 'tool.exe'));
    const { env } = stdio(await onWindows({ command, layer: 'user', env: {} }));
    expect(env).toEqual({
      PATH: bin,
      PATHEXT: '.EXE',
      COMSPEC: 'c',
      WINDIR: 'w',
      PROGRAMDATA: 'p',
      SYSTEMROOT: 's',
      MCP_SUP_ID: 'mark',
    });
    expect(stdio(await run()).env).toEqual({ PATH: bin, MCP_SUP_ID: 'mark' });
  });

  test('what the user declares stands in place of the host’s, whatever its case (B056)', async () => {
    const { bin, run } = await windows({ Path: '/host', COMSPEC: 'theirs', temp: '/t' });
    const command = await executable(join(bin, 'tool.exe'));
    const { env } = stdio(await run({ command, layer: 'user', env: { path: '/mine', ComSpec: 'mine' } }));
    expect(env).toEqual({ path: '/mine', ComSpec: 'mine', TEMP: '/t', MCP_SUP_ID: 'mark' });
  });

  test('a name is looked for with the extensions of PATHEXT, in their order, and a dot in it is no extension (B056)', async () => {
    const env: Record<string, string> = { PATHEXT: '.COM;.EXE;;bad;.CMD' };
    const { bin, run } = await windows(env);
    env['Path'] = bin;
    await executable(join(bin, 'python3.12.exe'));
    await executable(join(bin, 'both.exe'));
    await executable(join(bin, 'both.com'));
    expect(stdio(await run({ command: 'python3.12' })).command).toBe(join(bin, 'python3.12.exe'));
    expect(stdio(await run({ command: 'both' })).command).toBe(join(bin, 'both.com'));
    expect(stdio(await run({ command: 'both.exe' })).command).toBe(join(bin, 'both.exe'));
    env['PATHEXT'] = '.CMD';
    expect((await refusalOf(run({ command: 'both' }))).message).toContain('no executable "both"');
    await executable(join(bin, 'npx.cmd'));
    expect((await refusalOf(run({ command: 'npx' }))).message).toContain('only a shell could start');
  });
});

describe('a command whose real path cannot be told', () => {
  test('is refused with the system’s own code, never started by the path as written (S015)', async () => {
    const { home, run } = await vetPlace();
    await writeFile(join(home, 'file'), '');
    const cases = {
      [join(home, 'gone')]: 'ENOENT',
      [join(home, 'file/tool')]: 'ENOTDIR',
      [`/${'a'.repeat(5_000)}`]: 'ENAMETOOLONG',
    };
    for (const [command, code] of Object.entries(cases)) {
      expect((await refusalOf(run({ command }))).message).toContain(`cannot be resolved (${code})`);
    }
  });
});
