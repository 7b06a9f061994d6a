import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { builtCommand } from './support/build.js';
import { collectGarbage } from './support/collect-garbage.js';
import { type RealWorkspace, realWorkspace, textOf, untilAllReady, untilServer } from './support/real-workspace.js';
import { failureOf } from './support/stdio-harness.js';

/** A host with three servers, each with a process of its own that ignores SIGTERM and end of input. */
async function startHost(here: RealWorkspace): Promise<{ host: ChildProcess; stderr: () => string }> {
  const entry = here.hostile('grandchild');
  await here.writeUser({ mcpServers: { one: entry, two: entry, three: entry } });
  const library = new URL('../../index.js', pathToFileURL(await builtCommand())).href;
  const script = join(import.meta.dirname, 'fixtures/host.mjs');
  const args = [script, library, here.root, here.userFile, join(here.home, 'state')];
  const host = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'pipe'] });
  onTestFinished(() => void host.kill('SIGKILL'));
  let stderr = '';
  host.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const [line] = (await once(host.stdout.setEncoding('utf8'), 'data')) as [string];
  expect(JSON.parse(line)).toMatchObject(['one', 'three', 'two'].map((id) => ({ id, phase: 'ready' })));
  // The host, its servers, and theirs.
  await vi.waitFor(() => expect(here.pids).toHaveLength(7), { timeout: 10_000 });
  return { host, stderr: () => stderr };
}

/** What names every process a supervisor started, in their environment. */
function supervisorIdOf(pids: readonly number[]): string {
  const ids = new Set(pids.flatMap((pid) => /MCP_SUP_ID=[^\0]+/.exec(environmentOf(pid)) ?? []));
  expect(ids.size).toBe(1);
  return [...ids].join('');
}

const startedBy = (id: string): readonly string[] =>
  readdirSync('/proc').filter((pid) => /^\d+$/.test(pid) && environmentOf(pid).includes(id));

function environmentOf(pid: number | string): string {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'latin1');
  } catch {
    return '';
  }
}

describe('B001: a host with three servers, which have processes of their own, leaves none of them when it', () => {
  test.each([
    ['closes its supervisor; and then ends by itself, as nothing keeps it', 'close', { code: 0, stderr: /^$/ }],
    ['exits without closing anything', 'exit', { code: 0, stderr: /^$/ }],
    ['is ended by an error of its own', 'throw', { code: 1, stderr: /a bug of the host/ }],
    ['gets SIGTERM and closes on it', 'SIGTERM', { code: 0, stderr: /^$/ }],
  ] as const)('%s', async (_how, ending, expected) => {
    await using here = await realWorkspace();
    const { host, stderr } = await startHost(here);
    const id = supervisorIdOf(here.pids);
    expect(startedBy(id)).toHaveLength(6);

    const exited = once(host, 'close');
    if (ending === 'SIGTERM') host.kill('SIGTERM');
    else host.stdin?.end(`${ending}\n`);
    expect(await exited).toEqual([expected.code, null]);
    expect(stderr()).toMatch(expected.stderr);
    // A signal sent on the way out takes a moment to be obeyed.
    await vi.waitFor(() => expect([here.pids, startedBy(id)]).toEqual([[], []]));
  });
});

describe('closing', () => {
  test('B012: twenty times over leaves no process, descriptor, watch, timer or listener more than before', async () => {
    await using here = await realWorkspace();
    const user = { mcpServers: { one: here.fixture('echo-server.mjs'), two: here.fixture('echo-server.mjs', '--second') } };
    const descriptors: number[] = [];
    for (let cycle = 0; cycle < 20; cycle += 1) {
      const workspace = await here.open({ user });
      // From the second time on their lists are known, and nothing starts them unasked.
      await workspace.connectAll();
      expect(textOf(await workspace.call('mcp__one__echo', { text: 'in' }))).toBe('in');
      await here.end();
      await collectGarbage();
      descriptors.push(readdirSync('/proc/self/fd').length);
    }
    // The first one opens what Node keeps for good.
    expect(descriptors.at(-1)).toBe(descriptors[0]);
  });

  test('in the middle of everything settles every call and ends every start', async () => {
    await using here = await realWorkspace();
    const workspace = await here.open({
      user: {
        mcpServers: {
          busy: here.hostile('hang-call'),
          hung: here.hostile('hang-init'),
          stubborn: here.hostile('ignore-term'),
          dying: { ...here.hostile('exit-after-list'), lifecycle: 'keep-alive' },
        },
      },
    });
    await untilAllReady(workspace, 'busy', 'stubborn');
    await untilServer(workspace, 'hung', ({ stage }) => stage === 'initialize');
    const calls = Array.from({ length: 5 }, () => failureOf(workspace.call('mcp__busy__echo')));
    const waiting = failureOf(workspace.server('hung').test());
    await here.end();
    expect(await Promise.all(calls)).toEqual(Array.from({ length: 5 }, () => 'SUPERVISOR_CLOSED'));
    expect(await waiting).toBe('nothing');
    await expect(workspace.call('mcp__busy__echo')).rejects.toMatchObject({ code: 'SUPERVISOR_CLOSED' });
  });

  test('while the configuration is being read, and twice, is one end', async () => {
    await using here = await realWorkspace();
    await here.writeUser({ mcpServers: { one: here.fixture('echo-server.mjs') } });
    const opening = here.open();
    const workspace = await opening;
    await Promise.all([workspace.close(), here.end(), here.end()]);
    expect(here.pids).toEqual([]);
  });
});
