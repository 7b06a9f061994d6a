import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { ProcGroup } from '../adapters/shared/proc-group.js';

const proc = mkdtempSync(join(tmpdir(), 'proc-group-'));
afterEach(() => rmSync(proc, { recursive: true, force: true }));

/** Writes what Linux says about one process. */
function put(pid: number, state: string, group: number, name = 'node'): void {
  mkdirSync(join(proc, String(pid)), { recursive: true });
  writeFileSync(join(proc, String(pid), 'stat'), `${pid} (${name}) ${state} 1 ${group} ${group} 0 -1 4194560 0 0`);
}

test('a group whose members have all ended and wait for nobody to reap them is gone', () => {
  put(10, 'Z', 7);
  put(11, 'Z', 7, 'a) R 1 (b');
  put(12, 'S', 8);
  expect(new ProcGroup(7, proc).isRunning()).toBe(false);
});

test.each(['R', 'S', 'D', 'T'])('a group with a member in state %s is not', (state) => {
  put(10, 'Z', 7);
  put(11, state, 7, 'Z) Z 1 9');
  expect(new ProcGroup(7, proc).isRunning()).toBe(true);
});

test('a group that is not to be seen is taken for running, since the system says that it is there', () => {
  expect(new ProcGroup(7, join(proc, 'nowhere')).isRunning()).toBe(true);
});

test('a group is asked again each time', () => {
  const group = new ProcGroup(7, proc);
  put(10, 'S', 7);
  expect(group.isRunning()).toBe(true);
  put(10, 'Z', 7);
  expect(group.isRunning()).toBe(false);
});
