import { spawnSync } from 'node:child_process';
import { chmod, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { AuditEntry, LogEntry } from '../actors/ports.js';
import { createNodeDigest } from '../adapters/node-digest.js';
import { type AuditLogOptions, createAuditLog } from '../adapters/state/audit-log.js';
import { verifyAudit } from '../adapters/state/verify-audit.js';
import { systemClock } from '../adapters/system-clock.js';
import { systemRandom } from '../adapters/system-random.js';
import { temporaryDirectory } from './support/temporary-directory.js';

const digest = createNodeDigest();
const call = (tool: string): AuditEntry => ({
  workspace: digest.ofJson('/repo'),
  event: 'call',
  server: 'files',
  layer: 'user',
  tool,
  session: null,
  arguments: digest.ofJson({}),
  verdict: 'allow',
  rule: 'allow "files" of user',
  byPerson: false,
});

async function place() {
  const dir = join(await temporaryDirectory('audit-'), 'state');
  const folder = join(dir, 'audit');
  const log: LogEntry[] = [];
  let ticks = 0;
  // One millisecond later each time, so that the names of logs are in their order.
  const clock = { ...systemClock, epoch: () => 1_700_000_000_000 + (ticks += 1) };
  const open = (options: Partial<AuditLogOptions> = {}) => {
    const audit = createAuditLog({
      dir,
      clock,
      digest,
      nonce: () => systemRandom.nonce(),
      log: { write: (entry) => void log.push(entry) },
      ...options,
    });
    onTestFinished(() => audit.close());
    return audit;
  };
  const logs = async () => (await readdir(folder)).sort().map((name) => join(folder, name));
  const write = async (...tools: string[]) => {
    const audit = open();
    for (const tool of tools) audit.record(call(tool));
    await audit.close();
  };
  return { dir, folder, log, open, logs, write, verify: () => verifyAudit(dir, digest) };
}

/** The lines of a file, changed. */
async function edit(file: string, change: (lines: string[]) => readonly string[]): Promise<void> {
  const lines = (await readFile(file, 'utf8')).trimEnd().split('\n');
  await writeFile(
    file,
    change(lines)
      .map((line) => `${line}\n`)
      .join(''),
  );
}

describe('the audit log', () => {
  test('is made with the first record, in a file and a directory for their owner alone (S154)', async () => {
    const { dir, folder, open, logs, verify } = await place();
    await open().close();
    await expect(stat(dir)).rejects.toThrow('ENOENT');
    const audit = open();
    audit.record(call('a'));
    await audit.close();
    const [file = ''] = await logs();
    expect([(await stat(folder)).mode & 0o777, (await stat(file)).mode & 0o777]).toEqual([0o700, 0o600]);
    const lines = (await readFile(file, 'utf8')).trimEnd().split('\n');
    expect(lines.map((line) => (JSON.parse(line) as { event: string }).event)).toEqual(['begin', 'call', 'end']);
    expect(await verify()).toMatchObject({ logs: 1, records: 3, problems: [], unfinished: [] });
  });

  test('is written while its process runs, many entries at once, and read from another', async () => {
    const { open, verify } = await place();
    const audit = open();
    for (let at = 0; at < 1_000; at += 1) audit.record(call(`tool-${at}`));
    await vi.waitFor(async () => expect((await verify()).records).toBe(1_001), { timeout: 20_000 });
    const { newest, problems, unfinished } = await verify();
    expect(newest.map(({ entry }) => entry['tool'])).toEqual(Array.from({ length: 100 }, (_, at) => `tool-${900 + at}`));
    expect([problems.length, unfinished.length]).toEqual([0, 1]);
  });

  test('S155 tells which line was changed, removed, added or moved', async () => {
    const attacks: readonly (readonly [string, (lines: string[]) => readonly string[]])[] = [
      ['changed', (lines) => lines.map((line, at) => (at === 2 ? line.replace('"allow"', '"deny"') : line))],
      ['changed in its digest', (lines) => lines.map((line, at) => (at === 2 ? line.replace(/"hash":"./, '"hash":"g') : line))],
      ['changed in its time', (lines) => lines.map((line, at) => (at === 2 ? line.replace('"at":1', '"at":2') : line))],
      ['spaced', (lines) => lines.map((line, at) => (at === 2 ? line.replace('{', '{ ') : line))],
      ['given a key twice', (lines) => lines.map((line, at) => (at === 2 ? line.replace('{', '{"seq":9,') : line))],
      ['emptied', (lines) => lines.map((line, at) => (at === 2 ? '' : line))],
      ...[0, 1, 2, 3].map((gone) => [`removed (${gone})`, (lines: string[]) => lines.filter((_, at) => at !== gone)] as const),
      ['moved', ([a = '', b = '', c = '', ...rest]) => [a, c, b, ...rest]],
      ['written twice', ([a = '', b = '', ...rest]) => [a, b, b, ...rest]],
      ['added at the end', (lines) => [...lines, lines[1] ?? '']],
      ['added at the front', (lines) => [lines[1] ?? '', ...lines]],
    ];
    for (const [what, attack] of attacks) {
      const { write, logs, verify } = await place();
      await write('a', 'b', 'c');
      const [file = ''] = await logs();
      expect((await verify()).problems).toEqual([]);
      await edit(file, attack);
      expect((await verify()).problems.length, what).toBeGreaterThan(0);
    }
  });

  test('S155 tells that the end of a log was cut, and a log taken away, by the one that was begun after it', async () => {
    const { write, logs, verify } = await place();
    await write('a', 'b');
    await write('c');
    await write('d');
    const [first = '', second = ''] = await logs();
    const whole = await readFile(second, 'utf8');
    await edit(second, (lines) => lines.slice(0, -1));
    const cut = await verify();
    expect(cut.problems).toMatchObject([{ log: second.split('/').at(-1), problem: 'lines at its end are gone or changed' }]);
    expect(cut.unfinished).toHaveLength(1);
    await rm(second);
    expect((await verify()).problems).toMatchObject([{ log: second.split('/').at(-1), problem: 'this log is gone' }]);
    await writeFile(second, whole);
    expect((await verify()).problems).toEqual([]);
    // The oldest go by themselves in time.
    await rm(first);
    expect((await verify()).problems).toEqual([]);
  });

  test('tells apart a log that is under way, or whose process was ended, from one that was cut before its end', async () => {
    const { open, logs, verify, write } = await place();
    await write('a');
    const [file = ''] = await logs();
    await edit(file, (lines) => lines.slice(0, -1));
    expect(await verify()).toMatchObject({ problems: [], unfinished: [file.split('/').at(-1)] });
    await writeFile(file, '{"seq":0', { flag: 'a' });
    expect(await verify()).toMatchObject({ problems: [], unfinished: [file.split('/').at(-1)] });
    const audit = open();
    audit.record(call('b'));
    await audit.close();
    expect((await verify()).problems).toEqual([]);
  });

  test('is several processes’ at once, each with a log of its own', async () => {
    const { open, verify, logs } = await place();
    const audits = [open(), open(), open()];
    for (let at = 0; at < 50; at += 1) for (const audit of audits) audit.record(call(`tool-${at}`));
    await Promise.all(audits.map((audit) => audit.close()));
    expect(await logs()).toHaveLength(3);
    expect(await verify()).toMatchObject({ logs: 3, records: 3 * 52, problems: [], unfinished: [] });
  });
});

describe('an audit log that grows', () => {
  test('is ended at its size, and another one begun; the oldest go, and the rest is as it was written (S154)', async () => {
    const { open, logs, verify } = await place();
    const audit = open({ fileBytesMax: 2_000, totalBytesMax: 8_000 });
    for (let at = 0; at < 40; at += 1) {
      audit.record(call(`tool-${at}`));
      await vi.waitFor(async () => expect(JSON.stringify((await verify()).newest)).toContain(`tool-${at}"`));
    }
    await audit.close();
    const sizes = await Promise.all((await logs()).map(async (file) => (await stat(file)).size));
    expect(Math.max(...sizes)).toBeLessThan(4_000);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(12_000);
    expect(sizes.length).toBeGreaterThan(2);
    expect(await verify()).toMatchObject({ problems: [], unfinished: [] });
  });

  test('is one of a bounded number', async () => {
    const { open, logs, verify } = await place();
    for (let at = 0; at < 6; at += 1) {
      const audit = open({ filesMax: 3 });
      audit.record(call(`tool-${at}`));
      await audit.close();
    }
    expect(await logs()).toHaveLength(3);
    expect((await verify()).problems).toEqual([]);
  });
});

describe('a place that refuses the audit', () => {
  test('costs the records, which are counted and told once, and is used again when it takes them (S154)', async () => {
    const { dir, folder, open, log, verify } = await place();
    await mkdir(dir, { mode: 0o700 });
    await writeFile(folder, 'in the way');
    const audit = open();
    audit.record(call('a'));
    await vi.waitFor(() => expect(audit.lost()).toEqual({ count: 1, reason: 'STORE_UNSAFE' }));
    audit.record(call('b'));
    await vi.waitFor(() => expect(audit.lost().count).toBe(2));
    expect(log.filter(({ event }) => event === 'audit.lost')).toHaveLength(1);
    await rm(folder);
    audit.record(call('c'));
    await audit.close();
    const { newest, problems } = await verify();
    expect(newest.map(({ entry }) => entry['tool'] ?? entry['lost'])).toEqual([2, 'c', undefined]);
    expect(problems).toEqual([]);
  });

  test('is one that others can write to', async () => {
    const { dir, open } = await place();
    await mkdir(dir);
    await chmod(dir, 0o777);
    const audit = open();
    audit.record(call('a'));
    await audit.close();
    expect(audit.lost()).toEqual({ count: 1, reason: 'STORE_UNSAFE' });
    expect(await readdir(dir)).toEqual([]);
  });

  test('that is taken away gets no more of it: the next records are in a new one', async () => {
    const { folder, open, verify } = await place();
    const audit = open();
    audit.record(call('a'));
    await vi.waitFor(async () => expect((await verify()).records).toBe(2));
    await rm(folder, { recursive: true });
    audit.record(call('b'));
    await audit.close();
    const { newest, problems } = await verify();
    expect(newest.map(({ entry }) => entry.event)).toEqual(['begin', 'call', 'end']);
    expect([problems, audit.lost().count]).toEqual([[], 0]);
  });

  test('is a full disk: what was written whole is kept, the rest is counted, and the process goes on (S154)', async () => {
    const { dir, verify } = await place();
    const script = join(import.meta.dirname, 'fixtures/audit-user.mjs');
    // A file may not be longer than 8 blocks of 512 bytes: the system refuses the rest, as a full disk does.
    const ran = spawnSync('sh', ['-c', 'ulimit -f 8 && exec "$@"', 'sh', process.execPath, script, dir], { encoding: 'utf8' });
    expect(ran.stderr).toBe('');
    const { lost, goesOn } = JSON.parse(ran.stdout) as { lost: { count: number; reason: string }; goesOn: boolean };
    expect(goesOn).toBe(true);
    expect(lost.reason).toMatch(/^(EFBIG|ENOSPC)$/);
    expect(lost.count).toBeGreaterThan(0);
    const { problems, records } = await verify();
    expect(problems).toEqual([]);
    expect(records).toBeGreaterThan(1);
  });
});
