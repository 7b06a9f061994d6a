import { chmod, mkdir, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, test } from 'vitest';
import type { ApprovalCard, ServerDefinition } from '../actors/ports.js';
import { createNodeDigest } from '../adapters/node-digest.js';
import { createVet } from '../adapters/vet/vet.js';
import { temporaryDirectory } from './support/temporary-directory.js';

const OPEN = 'runs files of this workspace that this approval does not pin';

/** A workspace that holds the files named, beside programs that are empty scripts. */
async function workspace(...names: readonly string[]) {
  const home = await temporaryDirectory('code-');
  const root = join(home, 'workspace');
  await mkdir(root);
  const write = async (name: string, content: string): Promise<void> => {
    await mkdir(dirname(join(root, name)), { recursive: true });
    await writeFile(join(root, name), content);
  };
  for (const name of names) await write(name, '1');
  const vet = createVet({ env: { PATH: home }, digest: createNodeDigest(), marker: 'mark' });
  const card = async (command: string, args: readonly string[]): Promise<ApprovalCard> => {
    await writeFile(join(home, command), '');
    await chmod(join(home, command), 0o755);
    const definition: ServerDefinition = {
      id: 'x',
      layer: 'workspace',
      transport: 'stdio',
      configHash: 'h',
      command,
      args,
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
      line: 1,
    };
    const vetted = await vet.vet(definition, { root });
    if (vetted.card === null) throw new Error('a card was expected');
    return vetted.card;
  };
  const pinned = ({ files = [] }: ApprovalCard): readonly string[] =>
    files.slice(1).map(({ path }) => path.slice(root.length + 1));
  return { home, root, write, card, pinned };
}

describe('an approval pins the content of (S005)', () => {
  test.each([
    ['a name without its extension', 'node', ['server'], ['server.cjs']],
    ['a directory by its index', 'node', ['dist'], ['dist/index.js']],
    ['the directory it starts in', 'node', ['.'], ['index.js']],
    ['a hook glued to its option', 'node', ['-r./hook.js', 'a.js'], ['a.js', 'hook.js']],
    ['a hook behind =, without its extension', 'node', ['--require=./hook', 'a.js'], ['a.js', 'hook.js']],
    ['a hook of any extension', 'node', ['--import', './hook.txt', 'a.js'], ['a.js', 'hook.txt']],
    ['a relative module that is spelled as a URL', 'node', ['--import', './h%6fok.js?x', 'a.js'], ['a.js', 'hook.js']],
    ['a file of variables', 'node', ['--env-file=.env', 'a.js'], ['.env', 'a.js']],
    ['a script that has no extension of code', 'python3', ['server.txt'], ['server.txt']],
    ['a module of Python', 'python3', ['-um', 'pkg.sub'], ['pkg/sub/__main__.py']],
    ['a directory of Python', 'python3', ['app'], ['app/__main__.py']],
    ['the scripts of a package', 'npm', ['start'], ['package.json']],
    ['a script behind env', 'env', ['A=1', 'node', 'server.txt'], ['server.txt']],
    ['a script in the text of a shell', 'sh', ['-xc', 'exec ./run.sh'], ['run.sh']],
  ])('%s', async (_what, command, args, files) => {
    const place = await workspace(...files);
    const before = await place.card(command, args);
    expect(place.pinned(before)).toEqual(files);
    await place.write(files[0] ?? '', '2');
    expect((await place.card(command, args)).fingerprint).not.toBe(before.fingerprint);
  });

  test('a file URL', async () => {
    const place = await workspace('hook.js');
    const url = pathToFileURL(join(place.root, 'hook.js')).href;
    expect(place.pinned(await place.card('node', ['--import', url]))).toEqual(['hook.js']);
    expect(place.pinned(await place.card('node', [`--import=${url}`]))).toEqual(['hook.js']);
  });

  test('the main file of a directory and the package.json that names it', async () => {
    const place = await workspace('lib/start.js');
    await place.write('package.json', '{ "main": "lib/start" }');
    expect(place.pinned(await place.card('node', ['.']))).toEqual(['lib/start.js', 'package.json']);
  });

  test('what appears under a name after the question', async () => {
    const place = await workspace('server.js');
    const before = await place.card('node', ['server']);
    await place.write('server.mjs', '1');
    expect((await place.card('node', ['server'])).fingerprint).not.toBe(before.fingerprint);
  });
});

describe('the card says that files of the workspace run unpinned', () => {
  test.each([
    ['node', ['.']],
    ['node', ['dist']],
    ['node', ['-r', 'hook', 'a.js']],
    ['npm', ['start']],
    ['npm', ['run', 'serve']],
    ['npx', ['-y', 'package@1.2.3']],
    ['python3', ['-m', 'pkg']],
    ['uv', ['run', 'serve']],
    ['make', ['serve']],
    ['env', ['make', 'serve']],
    ['sh', ['-c', 'anything']],
    ['tool', ['data.txt']],
    ['docker', ['run', '-v', './dist:/app', 'image']],
  ])('of %s %j', async (command, args) => {
    const { card } = await workspace('dist/index.js', 'data.txt', 'a.js');
    expect((await card(command, args)).notes).toContain(OPEN);
  });

  test.each([
    ['node', ['a.js']],
    ['node', ['-r', './a.js', 'a.js']],
    ['uvx', ['package==1.2.3']],
    ['tool', ['word', '--flag=1', '/elsewhere']],
  ])('and not of %s %j', async (command, args) => {
    const { card } = await workspace('a.js');
    expect((await card(command, args)).notes).not.toContain(OPEN);
  });
});

test('a package.json that leads outside, is no JSON or is a directory stops nothing', async () => {
  const place = await workspace();
  await place.write('package.json', '{ "main": "../../x.js" }');
  expect(place.pinned(await place.card('node', ['.']))).toEqual(['package.json']);
  await place.write('package.json', '{');
  expect(place.pinned(await place.card('node', ['.']))).toEqual(['package.json']);
  await mkdir(join(place.root, 'sub/package.json'), { recursive: true });
  expect(place.pinned(await place.card('node', ['sub']))).toEqual([]);
});

test('a link in the workspace to a directory elsewhere is followed', async () => {
  const place = await workspace();
  await mkdir(join(place.home, 'out'));
  await writeFile(join(place.home, 'out/index.js'), '1');
  await symlink(join(place.home, 'out'), join(place.root, 'link'));
  const card = await place.card('node', ['link']);
  expect(card.notes).toContain(OPEN);
  expect(card.files?.map(({ path }) => path)).toContain(join(place.home, 'out/index.js'));
});
