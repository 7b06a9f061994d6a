import { describe, expect, test } from 'vitest';
import { QUIET_AFTER_MS } from '../actors/call-table.js';
import { failure } from '../machines/vocabulary.js';
import { startTable } from './support/call-table-harness.js';

describe('a call that is withdrawn', () => {
  test('before it is made is never sent', async () => {
    const { call, link, ends, told, settle } = startTable();
    call('c', { signal: AbortSignal.abort() });
    await settle();
    expect(ends).toEqual(['c CALL_CANCELLED']);
    expect(link.sent).toEqual([]);
    expect(told).toEqual([]);
  });

  test('after it was sent is told to the server once', async () => {
    const { call, idOf, ends, told, settle } = startTable();
    const abort = new AbortController();
    call('c', { signal: abort.signal });
    abort.abort();
    await settle();
    expect(ends).toEqual(['c CALL_CANCELLED']);
    expect(told).toEqual([idOf('c')]);
  });

  test('after it was answered is withdrawn no more, and nobody is told', async () => {
    const { call, link, idOf, ends, told, settle } = startTable();
    const abort = new AbortController();
    call('c', { signal: abort.signal });
    link.answer(idOf('c'));
    abort.abort();
    await settle();
    expect(ends).toEqual(['c ok']);
    expect(told).toEqual([]);
  });

  test('is watched for its late answer, which is told as what it is', async () => {
    const { call, table, link, idOf, late, ends, settle } = startTable();
    for (const name of ['a', 'b', 'c']) call(name, { session: 's' });
    table.endSession('s');
    link.answer(idOf('a'));
    link.fail(idOf('b'));
    await settle();
    expect(ends).toEqual(['a CALL_CANCELLED', 'b CALL_CANCELLED', 'c CALL_CANCELLED']);
    expect(late).toEqual([`${idOf('a')} result`, `${idOf('b')} error`]);
  });

  test('is watched for by its link only while 256 others are not newer', async () => {
    const { call, table, link, settle } = startTable({ inFlightMax: 1_000 });
    for (let at = 0; at < 300; at += 1) call(`c${at}`, { session: 's' });
    table.endSession('s');
    await settle();
    expect(link.watched).toBe(256);
    expect(link.unwatched).toHaveLength(44);
    expect(link.unwatched[0]).toBe(link.sent[0]?.id);
  });

  test('leaves no listener on its signal, however it ended', async () => {
    const { call, table, link, idOf, settle } = startTable({ inFlightMax: 2 });
    const { signal } = new AbortController();
    let listeners = 0;
    const add = signal.addEventListener.bind(signal);
    const remove = signal.removeEventListener.bind(signal);
    signal.addEventListener = (...args: Parameters<typeof add>) => {
      listeners += 1;
      add(...args);
    };
    signal.removeEventListener = (...args: Parameters<typeof remove>) => {
      listeners -= 1;
      remove(...args);
    };
    for (const name of ['a', 'b', 'c', 'd']) call(name, { signal });
    expect(listeners).toBe(4);
    link.answer(idOf('a'));
    link.fail(idOf('b'));
    table.failAll(failure('LINK_LOST', 'gone'));
    await settle();
    expect(listeners).toBe(0);
  });
});

describe('the end of a session', () => {
  test('ends its calls, those that wait too, and nobody else’s', async () => {
    const { call, table, link, names, idOf, ends, settle } = startTable({ inFlightMax: 2 });
    call('mine', { session: 'one' });
    call('theirs', { session: 'two' });
    call('mine, waiting', { session: 'one' });
    call('nobody’s');
    table.endSession('one');
    await settle();
    expect(ends).toEqual(['mine CALL_CANCELLED', 'mine, waiting CALL_CANCELLED']);
    expect(names()).toEqual(['mine', 'theirs', 'nobody’s']);
    link.answer(idOf('theirs'));
    await settle();
    expect(ends.at(-1)).toBe('theirs ok');
  });
});

describe('a table that is ended', () => {
  test('settles all that was sent and all that waits with the same failure, and takes no more', async () => {
    const { call, table, link, ends, settle } = startTable({ inFlightMax: 2 });
    for (const name of ['a', 'b', 'c']) call(name);
    table.failAll(failure('DISABLED', 'switched off'));
    call('d');
    await settle();
    expect(ends).toEqual(['a DISABLED', 'b DISABLED', 'c DISABLED', 'd DISABLED']);
    expect(link.sent).toHaveLength(2);
  });

  test('leaves no timer behind', async () => {
    const { call, table, link, idOf, clock, settle } = startTable({ inFlightMax: 1 });
    call('a');
    call('b', { totalMs: 5_000 });
    link.answer(idOf('a'));
    await settle();
    expect(clock.pending).toBeGreaterThan(0);
    table.failAll(failure('LINK_LOST', 'gone'));
    await settle();
    expect(clock.pending).toBe(0);
  });

  test('watches nothing and tells nothing of what happens after it', async () => {
    const { call, table, edges, told, late, clock } = startTable();
    call('a');
    table.failAll(failure('LINK_LOST', 'gone'));
    await clock.run(60_000);
    expect({ edges, told, late }).toEqual({ edges: [true], told: [], late: [] });
  });
});

describe('a server is told of as', () => {
  test('busy with its first call at once, and quiet a while after its last one', async () => {
    const { call, link, idOf, edges, clock, settle } = startTable();
    call('a');
    expect(edges).toEqual([true]);
    link.answer(idOf('a'));
    await settle();
    expect(edges).toEqual([true]);
    await clock.run(QUIET_AFTER_MS);
    expect(edges).toEqual([true, false]);
  });

  test('busy once for calls that follow each other without a pause', async () => {
    const { call, link, idOf, edges, clock } = startTable();
    for (let at = 0; at < 20; at += 1) {
      call(`c${at}`);
      link.answer(idOf(`c${at}`));
      await clock.run(QUIET_AFTER_MS / 2);
    }
    call('open');
    await clock.run(QUIET_AFTER_MS * 10);
    expect(edges.filter((isBusy) => isBusy)).toHaveLength(edges.filter((isBusy) => !isBusy).length + 1);
    expect(edges.at(-1)).toBe(true);
    link.answer(idOf('open'));
    await clock.run(QUIET_AFTER_MS);
    expect(edges.at(-1)).toBe(false);
  });
});
