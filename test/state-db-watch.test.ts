import { rm } from 'node:fs/promises';
import { expect, test, vi } from 'vitest';
import { hastyClock } from './support/http-link-servers.js';
import { otherProcess, stateKit } from './support/state-kit.js';

test('what another process decides is told', async () => {
  const { dir, open } = await stateKit();
  const db = open();
  await db.setTrusted('/repo', true);
  const changed = vi.fn();
  db.watch(changed);
  expect(await otherProcess('state-user.mjs', [dir, 'trust', '/other']).line()).toBe('"done"');
  await vi.waitFor(() => expect(changed).toHaveBeenCalled(), { timeout: 20_000 });
  expect(await db.trusted('/other')).toBe(true);
});

test('what was decided after it was read and before it was watched is told too', async () => {
  const { open } = await stateKit();
  const [db, other] = [open(), open()];
  expect(await db.switches()).toEqual(new Map());
  await other.setSwitch('a', true);
  const changed = vi.fn();
  db.watch(changed);
  await vi.waitFor(() => expect(changed).toHaveBeenCalledTimes(1), { timeout: 20_000 });
  expect(await db.switches()).toEqual(new Map([['a', true]]));
});

test('decisions of our own are not told, nor what is no decision; one of somebody else between two of ours is', async () => {
  const { open } = await stateKit();
  const [db, other] = [open(), open()];
  expect(await db.trusted('/repo')).toBeNull();
  const changed = vi.fn();
  const seen = vi.fn();
  db.watch(changed);
  other.watch(seen);
  expect(await other.trusted('/repo')).toBeNull();
  await Promise.all(Array.from({ length: 20 }, (_, at) => db.setSwitch(`switch-${at}`, true)));
  await db.setTrusted('/repo', true);
  await other.saveApproved('print');
  await other.saveEra('hash', 'modern');
  // The other port looked at all of this; ours had the same events.
  await vi.waitFor(() => expect(seen).toHaveBeenCalled(), { timeout: 20_000 });
  expect(changed).not.toHaveBeenCalled();
  await other.setTrusted('/repo', false);
  await db.setSwitch('last', true);
  await vi.waitFor(() => expect(changed).toHaveBeenCalledTimes(1), { timeout: 20_000 });
});

test('a state that is lost is told: what was decided no longer holds', async () => {
  const { dir, open } = await stateKit();
  const db = open();
  await db.setTrusted('/repo', true);
  expect(await db.trusted('/repo')).toBe(true);
  const changed = vi.fn();
  db.watch(changed);
  await rm(dir, { recursive: true });
  await vi.waitFor(() => expect(changed).toHaveBeenCalledTimes(1), { timeout: 20_000 });
  expect(await db.trusted('/repo')).toBeNull();
});

test('a place where nothing was kept yet is watched as well, and stays empty', async () => {
  const { open } = await stateKit();
  const [db, other] = [open(), open()];
  expect(await db.trusted('/repo')).toBeNull();
  const changed = vi.fn();
  db.watch(changed);
  await other.setTrusted('/repo', true);
  await vi.waitFor(() => expect(changed).toHaveBeenCalledTimes(1), { timeout: 20_000 });
});

test('what no event of the system tells is found by looking again and again', async () => {
  const { open } = await stateKit();
  const { clock, delays } = hastyClock();
  const db = open({ clock });
  expect(await db.switches()).toEqual(new Map());
  const changed = vi.fn();
  // There is no directory to be watched.
  db.watch(changed);
  const looks = (): number => delays.filter((delayMs) => delayMs === 2_000).length;
  await vi.waitFor(() => expect(looks()).toBeGreaterThan(3), { timeout: 20_000 });
  await open().setSwitch('a', true);
  await vi.waitFor(() => expect(changed).toHaveBeenCalled(), { timeout: 20_000 });
});

test('a watch that is closed is told nothing more, while another one still is', async () => {
  const { open } = await stateKit();
  const [db, other] = [open(), open()];
  await db.switches();
  const [closed, kept] = [vi.fn(), vi.fn()];
  const watch = db.watch(closed);
  db.watch(kept);
  await watch.close();
  await other.setSwitch('a', true);
  await vi.waitFor(() => expect(kept).toHaveBeenCalledTimes(1), { timeout: 20_000 });
  expect(closed).not.toHaveBeenCalled();
});
