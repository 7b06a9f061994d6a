/**
 * Packs the package as it would be published, lints the tarball, installs it in an empty directory and uses it there on the
 * running Node and on Node 24: `node .ci/smoke.mjs [COUNTS_FILE]`. The counts go to the file as `{ "passed", "failed" }`.
 */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';

const repository = join(import.meta.dirname, '..');
const quiet = ['--no-audit', '--no-fund', '--no-update-notifier'];
const counts = { passed: 0, failed: 0 };

const temporary = await mkdtemp(join(tmpdir(), 'mcp-supervisor-smoke-'));
try {
  await smoke();
} finally {
  await rm(temporary, { recursive: true, force: true });
}
if (process.argv[2] !== undefined) await writeFile(process.argv[2], JSON.stringify(counts));
console.log(`package: ${counts.passed} passed, ${counts.failed} failed`);
process.exitCode = counts.failed > 0 ? 1 : 0;

async function smoke() {
  const tarball = await check('npm pack builds a tarball', pack);
  if (tarball === undefined) return;
  await check('publint --strict has nothing to say', () => tool('publint', '--strict', tarball));
  await check('the types resolve as ESM (attw)', () =>
    tool('@arethetypeswrong/cli', tarball, '--profile', 'esm-only', '--no-color'),
  );
  await check('the package holds what is published and nothing else', () => listContents(tarball));
  await check('at most 12 runtime dependencies', countDependencies);

  const app = await check('the tarball installs in an empty directory', () => install('app', tarball));
  if (app === undefined) return;
  await useIt(process.execPath, app);
  const beside = await check('Node 24 can be had from the registry', () => install('node24', 'node@24'));
  if (beside !== undefined) await useIt(join(beside, 'node_modules/node/bin/node'), app);
}

/** What a host and a person would do first. */
async function useIt(node, app) {
  // The link that npm makes: it stands for the `bin` entry, the `#!` line and the permission to run.
  const command = join(app, 'node_modules/.bin/mcp-supervisor');
  const version = await check(`${node} runs`, () => run(node, ['--version'], app).then(({ stdout }) => stdout.trim()));
  if (version === undefined) return;
  await check(`${version}: every door opens`, async () => {
    // The last one without the peer it is about.
    const doors = [
      'mcp-supervisor',
      'mcp-supervisor/core',
      'mcp-supervisor/machines',
      'mcp-supervisor/sdk-v1',
      'mcp-supervisor/testing',
    ];
    const script = `for (const door of ${JSON.stringify(doors)}) console.log(door, Object.keys(await import(door)).join(' '));`;
    const { stdout } = await run(node, ['--input-type=module', '--eval', script], app);
    for (const door of doors) expectMatch(stdout, new RegExp(`^${door} \\w`, 'm'));
    expectMatch(stdout, /^mcp-supervisor .*\bcreateSupervisor\b/m);
    expectMatch(stdout, /^mcp-supervisor\/machines .*\bserverMachine\b/m);
  });
  await check(`${version}: mcp-supervisor --help`, async () => {
    const { stdout } = await run(command, ['--help'], app, pathWith(node));
    expectMatch(stdout, /status[\s\S]*call/);
  });
  await check(`${version}: a supervised call of a real server`, () => callEverything(node, command, app));
  await check(`${version}: a search of what that call has left`, () => searchKept(node, command, app));
  await check(`${version}: serve answers a client`, () => serveOnce(node, command, app));
}

function placesIn(app) {
  return ['--user-config', join(app, 'user.json'), '--state-dir', join(app, 'state'), '--workspace', join(app, 'workspace')];
}

async function searchKept(node, command, app) {
  const { stdout } = await run(command, ['search', 'echo', '--json', ...placesIn(app)], app, pathWith(node));
  expectMatch(stdout, /mcp__everything__echo/);
}

/** The end of input ends it, once it has answered. */
async function serveOnce(node, command, app) {
  const clientInfo = { name: 'smoke', version: '1.0.0' };
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo };
  const asks = [
    { id: 1, method: 'initialize', params },
    { method: 'notifications/initialized' },
    { id: 2, method: 'tools/list' },
  ];
  const child = spawn(command, ['serve', ...placesIn(app)], {
    cwd: app,
    env: pathWith(node),
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ended = once(child, 'close');
  child.stdin.write(asks.map((ask) => `${JSON.stringify({ jsonrpc: '2.0', ...ask })}\n`).join(''));
  let answers = '';
  for await (const chunk of child.stdout.setEncoding('utf8')) {
    answers += chunk;
    if (answers.trimEnd().split('\n').length >= 2) child.stdin.end();
  }
  await ended;
  expectMatch(answers, /"id":2,.*"name":"mcp"|"name":"mcp".*"id":2/);
}

async function callEverything(node, command, app) {
  const workspace = join(app, 'workspace');
  await mkdir(workspace, { recursive: true });
  const server = join(repository, 'node_modules/@modelcontextprotocol/server-everything/dist/index.js');
  const everything = { command: process.execPath, args: [server, 'stdio'] };
  const userFile = join(app, 'user.json');
  await writeFile(userFile, JSON.stringify({ mcpServers: { everything } }));
  const call = ['call', 'mcp__everything__echo', '{"message":"hello"}', '--json', ...placesIn(app)];
  const { stdout } = await run(command, call, app, pathWith(node));
  const answer = JSON.parse(stdout);
  if (answer.ok !== true) throw new Error(stdout);
  expectMatch(JSON.stringify(answer.result), /hello/);
}

async function pack() {
  await run('npm', ['pack', '--pack-destination', temporary], repository);
  const tarball = (await readdir(temporary)).find((file) => file.endsWith('.tgz'));
  if (tarball === undefined) throw new Error('npm pack left no tarball');
  return join(temporary, tarball);
}

async function listContents(tarball) {
  const { stdout } = await run('tar', ['-tzf', tarball], temporary);
  const files = stdout.trim().split('\n');
  const strange = files.filter(
    (file) => !/^package\/(package\.json|README\.md|LICENSE|CHANGELOG\.md|dist\/.*\.(js|d\.ts))$/.test(file),
  );
  if (strange.length > 0) throw new Error(`not for publishing: ${strange.join(' ')}`);
  for (const needed of ['README.md', 'LICENSE', 'dist/index.js', 'dist/adapters/cli/main.js']) {
    if (!files.includes(`package/${needed}`)) throw new Error(`missing: ${needed}`);
  }
  // The simulator is a product; the properties that use it here are not.
  if (files.some((file) => /dist\/(test|bench|examples|properties\/(?!kit\/|invariants\.))/.test(file)))
    throw new Error('test code is published');
}

async function countDependencies() {
  const { dependencies } = JSON.parse(await readFile(join(repository, 'package.json'), 'utf8'));
  const names = Object.keys(dependencies);
  if (names.length > 12) throw new Error(names.join(' '));
}

async function install(folder, what) {
  const directory = join(temporary, folder);
  await mkdir(directory);
  await writeFile(join(directory, 'package.json'), JSON.stringify({ name: 'smoke', private: true, type: 'module' }));
  await run('npm', ['install', what, ...quiet], directory);
  return directory;
}

/** The command of a dev dependency, by its path: a `PATH` of somebody else must not decide what runs. */
async function tool(name, ...args) {
  const folder = join(repository, 'node_modules', name);
  const { bin } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'));
  const file = typeof bin === 'string' ? bin : Object.values(bin)[0];
  await run(process.execPath, [join(folder, file), ...args], repository);
}

/** The environment in which `#!/usr/bin/env node` finds this Node. */
function pathWith(node) {
  return { ...process.env, PATH: `${dirname(node)}${delimiter}${process.env.PATH}` };
}

async function run(command, args, cwd, env = process.env) {
  const running = promisify(execFile)(command, args, {
    cwd,
    env,
    timeout: 300_000,
    killSignal: 'SIGKILL',
    maxBuffer: 64 * 1024 * 1024,
  });
  running.child.stdin?.end();
  return running;
}

function expectMatch(text, pattern) {
  if (!pattern.test(text)) throw new Error(`expected ${pattern} in:\n${text}`);
}

/** Runs one check and says how it went; resolves with what the check resolved with, `undefined` when it failed. */
async function check(title, body) {
  try {
    const result = await body();
    counts.passed += 1;
    console.log(`ok - ${title}`);
    return result ?? true;
  } catch (error) {
    counts.failed += 1;
    const output = [error.message, error.stdout, error.stderr].filter(Boolean).join('\n');
    console.log(`not ok - ${title}\n${output.replace(/^/gm, '    ')}`);
    return undefined;
  }
}
