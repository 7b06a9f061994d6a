import { chmod, copyFile, mkdir, rename, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { ApprovalCard, ServerDefinition, StdioLaunch, Vetted } from '../actors/ports.js';
import { createNodeDigest } from '../adapters/node-digest.js';
import { createVet, type VetOptions } from '../adapters/vet/vet.js';
import { temporaryDirectory } from './support/temporary-directory.js';

const SCRIPT = '#!/bin/sh\nexec cat\n';

async function executable(path: string, content = SCRIPT): Promise<string> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, content);
  await chmod(path, 0o755);
  return path;
}

/** A workspace beside a directory of programs, which is the whole PATH. */
async function place(options: Partial<VetOptions> = {}) {
  const home = await temporaryDirectory('vet-');
  const root = join(home, 'workspace');
  const bin = join(home, 'bin');
  await mkdir(root);
  const tool = await executable(join(bin, 'tool'));
  const vet = createVet({ env: { PATH: bin }, digest: createNodeDigest(), marker: 'mark', ...options });
  const define = (changes: Partial<ServerDefinition> = {}): ServerDefinition => ({
    id: 'x',
    layer: 'workspace',
    transport: 'stdio',
    configHash: 'h',
    command: 'tool',
    args: [],
    env: {},
    headers: {},
    credentialHeaders: [],
    isRemote: false,
    lifecycle: 'lazy',
    idleTimeoutMs: 1,
    timeoutMs: 1,
    initTimeoutMs: 1,
    maxTools: null,
    description: null,
    policies: [],
    approveTools: [],
    refusal: null,
    file: join(root, '.mcp.json'),
    line: 3,
    ...changes,
  });
  return { home, root, bin, tool, define, run: (changes: Partial<ServerDefinition> = {}) => vet.vet(define(changes), { root }) };
}

const stdio = ({ launch }: Vetted): StdioLaunch => {
  if (launch.transport !== 'stdio') throw new Error('a stdio launch was expected');
  return launch;
};
const cardOf = ({ card }: Vetted): ApprovalCard => {
  if (card === null) throw new Error('a card was expected');
  return card;
};
const refused = (code: string) => expect.objectContaining({ name: 'SupervisorError', code }) as Error;

describe('the command', () => {
  test('becomes the real path of an executable on the PATH', async () => {
    const { bin, tool, run } = await place();
    await symlink(tool, join(bin, 'link'));
    expect(stdio(await run({ command: 'link' })).command).toBe(tool);
    expect(cardOf(await run({ command: 'link' })).command).toEqual({ written: 'link', resolved: tool });
  });

  test.each(['workspace', 'user', 'plugin:a'] as const)(
    'of the %s layer is never found through an empty or relative entry, nor inside the workspace or by its links (S016)',
    async (layer) => {
      const { home, root, bin, tool, define } = await place();
      await executable(join(root, 'nm/.bin/tool'));
      await executable(join(root, 'bin/tool'));
      await executable(join(home, 'outside/.bin/tool'));
      await symlink('nm', join(root, 'node_modules'));
      await symlink(join(home, 'outside'), join(root, 'out'));
      await symlink(join(root, 'bin'), join(home, 'elsewhere'));
      await symlink(root, join(home, 'alias'));
      const inside = ['node_modules/.bin', 'bin', 'out/.bin'].map((dir) => join(root, dir));
      const withheld = ['', '.', 'bin', ...inside, join(home, 'elsewhere'), join(home, 'alias/out/.bin')];
      const vetOn = (PATH: string) => createVet({ env: { PATH }, digest: createNodeDigest(), marker: 'mark' });
      for (const entry of withheld) {
        await expect(vetOn(entry).vet(define({ layer }), { root })).rejects.toEqual(refused('REFUSED_COMMAND'));
      }
      expect(stdio(await vetOn([...withheld, bin].join(':')).vet(define({ layer }), { root })).command).toBe(tool);
    },
  );

  test('of a user is not remembered once its directory has become part of the workspace (S016)', async () => {
    const { root, bin, define } = await place();
    const vet = createVet({ env: { PATH: bin }, digest: createNodeDigest(), marker: 'mark' });
    await vet.vet(define({ layer: 'user' }), { root });
    await rename(bin, join(root, 'bin'));
    await symlink(join(root, 'bin'), bin);
    await expect(vet.vet(define({ layer: 'user' }), { root })).rejects.toEqual(refused('REFUSED_COMMAND'));
  });

  test('skips what is no executable file and goes on looking', async () => {
    const { home, bin, tool, define, root } = await place();
    await mkdir(join(home, 'first/tool'), { recursive: true });
    await mkdir(join(home, 'second'));
    await writeFile(join(home, 'second/tool'), SCRIPT);
    const PATH = [join(home, 'first'), join(home, 'second'), bin].join(':');
    const vet = createVet({ env: { PATH }, digest: createNodeDigest(), marker: 'mark' });
    expect(stdio(await vet.vet(define(), { root })).command).toBe(tool);
  });

  test.each([
    ['is not there (S015)', '/nowhere/tool'],
    ['is a directory', '/tmp'],
    ['is no executable', '/etc/passwd'],
    ['has a ".." segment', '/bin/../bin/sh'],
    ['begins with a tilde (B059)', '~/tool'],
    ['is too long a name (S015)', `/${'a'.repeat(5_000)}`],
    ['is nowhere on the PATH', 'no-such-tool'],
    ['holds a NUL', 'a\0b'],
  ])('is refused when it %s', async (_what, command) => {
    const { run } = await place();
    await expect(run({ command })).rejects.toEqual(refused('REFUSED_COMMAND'));
    await expect(run({ command, layer: 'user' })).rejects.toEqual(refused('REFUSED_COMMAND'));
  });

  test('is refused when it leads round in links (S015)', async () => {
    const { root, run } = await place();
    await symlink('loop', join(root, 'loop'));
    await expect(run({ command: './loop' })).rejects.toEqual(refused('REFUSED_COMMAND'));
  });

  test('may be relative in a workspace file, and nowhere else', async () => {
    const { root, run } = await place();
    const path = await executable(join(root, 'server'));
    expect(stdio(await run({ command: './server' })).command).toBe(path);
    await expect(run({ command: './server', layer: 'user' })).rejects.toEqual(refused('REFUSED_COMMAND'));
  });

  test('of a user is looked at again before every start', async () => {
    const { tool, run } = await place();
    await run({ layer: 'user' });
    await rm(tool);
    await expect(run({ layer: 'user' })).rejects.toEqual(refused('REFUSED_COMMAND'));
  });

  test('of Windows is never a script that only a shell could start (S044, B055)', async () => {
    const { bin, run } = await place({ platform: 'win32' });
    await executable(join(bin, 'tool.exe'));
    expect(stdio(await run()).command).toBe(join(bin, 'tool.exe'));
    await executable(join(bin, 'npx.cmd'));
    await expect(run({ command: 'npx' })).rejects.toEqual(refused('REFUSED_COMMAND'));
    await expect(run({ command: join(bin, 'npx.cmd') })).rejects.toEqual(refused('REFUSED_COMMAND'));
  });
});

describe('the working directory (S017)', () => {
  test('is the workspace by default, else what the definition says', async () => {
    const { root, run } = await place();
    await mkdir(join(root, 'sub'));
    expect(stdio(await run()).cwd).toBe(root);
    expect(stdio(await run({ cwd: 'sub' })).cwd).toBe(join(root, 'sub'));
    expect(stdio(await run({ cwd: '/tmp', layer: 'user' })).cwd).toBe('/tmp');
  });

  test.each(['/', '..', 'out', 'missing', 'file'])('is refused for a workspace server at %s', async (cwd) => {
    const { home, root, run } = await place();
    await symlink(home, join(root, 'out'));
    await writeFile(join(root, 'file'), '');
    await expect(run({ cwd })).rejects.toEqual(refused('REFUSED_CWD'));
  });

  test.each(['sub', '~/x', '/no/such/directory'])('is refused for a user server at %s', async (cwd) => {
    const { run } = await place();
    await expect(run({ cwd, layer: 'user' })).rejects.toEqual(refused('REFUSED_CWD'));
  });
});

describe('the environment', () => {
  test('is the nine names as the host has them, what is declared, and the marker (S024, B054, B057)', async () => {
    const canaries = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`CANARY_${index}`, 'canary']));
    const { bin, define, root } = await place();
    const env = { ...canaries, PATH: bin, HOME: '/h', LANG: 'C', LC_ALL: undefined, USER: '' };
    const vet = createVet({ env, digest: createNodeDigest(), marker: 'mark' });
    const vetted = await vet.vet(define({ env: { A: '1', LANG: 'de' } }), { root });
    expect(stdio(vetted).env).toEqual({ PATH: bin, HOME: '/h', LANG: 'de', USER: '', A: '1', MCP_SUP_ID: 'mark' });
  });

  test('of a workspace is refused for names that change what runs, and for ours everywhere', async () => {
    const { run } = await place();
    await expect(run({ env: { ld_preload: 'x' } })).rejects.toEqual(refused('REFUSED_ENV'));
    await expect(run({ env: { MCP_SUP_ID: 'x' }, layer: 'user' })).rejects.toEqual(refused('REFUSED_ENV'));
    expect(stdio(await run({ env: { NODE_OPTIONS: 'x' }, layer: 'user' })).env).toMatchObject({ NODE_OPTIONS: 'x' });
  });
});

describe('the fingerprint', () => {
  test('is absent for a user or plugin server, and so is the card', async () => {
    const { run } = await place();
    expect(await run({ layer: 'user' })).toMatchObject({ fingerprint: null, card: null });
    expect(await run({ layer: 'plugin:a' })).toMatchObject({ fingerprint: null, card: null });
  });

  test('is the same in another process for the same content, whatever the order of names and the marker', async () => {
    const { run, define, root, bin } = await place();
    const first = await run({ env: { A: '1', B: '2' } });
    const other = createVet({ env: { PATH: bin, HOME: '/h' }, digest: createNodeDigest(), marker: 'another' });
    expect((await other.vet(define({ env: { B: '2', A: '1' } }), { root })).fingerprint).toBe(first.fingerprint);
  });

  test('changes with command, args, cwd and env, down to how they are cut (S004, S006)', async () => {
    const { root, bin, run } = await place();
    await mkdir(join(root, 'sub'));
    await executable(join(bin, 'twin'));
    const changes: Partial<ServerDefinition>[] = [
      {},
      { command: 'twin' },
      { args: ['a b'] },
      { args: ['a', 'b'] },
      { args: ['a', 'b', ''] },
      { cwd: 'sub' },
      { env: { A: '1\nB=2' } },
      { env: { A: '1', B: '2' } },
      { args: ['\u00e9'] },
      { args: ['e\u0301'] },
    ];
    const fingerprints = await Promise.all(changes.map(async (change) => (await run(change)).fingerprint));
    expect(new Set(fingerprints).size).toBe(changes.length);
  });

  test.each([
    ['a script by its extension (S005)', 'a.js', 'a.js', 0o644],
    ['a script behind an option', '--require=./a.js', 'a.js', 0o644],
    ['an executable file', 'a', 'a', 0o755],
    ['a file that begins with #!', 'b', 'b', 0o644],
  ])('follows the content of %s inside the workspace', async (_what, arg, name, mode) => {
    const { root, run } = await place();
    const path = join(root, name);
    await writeFile(path, name === 'b' ? '#!1' : '1');
    await chmod(path, mode);
    const time = new Date(1_000_000);
    await utimes(path, time, time);
    const before = await run({ args: [arg] });
    expect(cardOf(before).files?.map((file) => file.path)).toContain(path);
    await writeFile(path, name === 'b' ? '#!2' : '2');
    await utimes(path, time, time);
    expect((await run({ args: [arg] })).fingerprint).not.toBe(before.fingerprint);
  });

  test('does not follow data files, nor what lies outside', async () => {
    const { home, root, run } = await place();
    await writeFile(join(root, 'data.txt'), '1');
    await writeFile(join(home, 'outside.js'), '1');
    const args = ['data.txt', join(home, 'outside.js'), 'no-such-file', 'a'.repeat(10_000)];
    const before = await run({ args });
    await writeFile(join(root, 'data.txt'), '2');
    expect((await run({ args })).fingerprint).toBe(before.fingerprint);
    expect(cardOf(before).files).toHaveLength(1);
  });

  test('follows the executable: replaced, or a link pointed elsewhere (S014, S018)', async () => {
    const { bin, tool, run } = await place();
    await executable(join(bin, 'other'), `${SCRIPT}# other\n`);
    await symlink(tool, join(bin, 'link'));
    const before = await run({ command: 'link' });
    await rm(join(bin, 'link'));
    await symlink(join(bin, 'other'), join(bin, 'link'));
    const retargeted = await run({ command: 'link' });
    expect(retargeted.fingerprint).not.toBe(before.fingerprint);
    await copyFile(tool, join(bin, 'other'));
    expect((await run({ command: 'link' })).fingerprint).not.toBe(retargeted.fingerprint);
  });
});
