import { describe, expect, test } from 'vitest';
import { failure } from '../machines/vocabulary.js';
import { startTable } from './support/call-table-harness.js';

const numbered = (count: number, prefix = 'c'): string[] => Array.from({ length: count }, (_, at) => `${prefix}${at}`);

describe('the 65th call to a server', () => {
  test('waits until one of the 64 before it is answered', async () => {
    const { call, link, names, idOf, settle, ends } = startTable();
    for (const name of numbered(65)) call(name);
    await settle();
    expect(link.sent).toHaveLength(64);
    link.answer(idOf('c7'));
    await settle();
    expect(names().at(-1)).toBe('c64');
    expect(ends).toEqual(['c7 ok']);
  });

  test('is sent in the order of coming, and nobody overtakes who waits', async () => {
    const { call, link, names, idOf, settle } = startTable({ inFlightMax: 2 });
    for (const name of numbered(5)) call(name);
    await settle();
    link.answer(idOf('c0'));
    link.answer(idOf('c1'));
    // There is room at this very moment, but others were here before.
    call('late');
    await settle();
    for (const name of ['c2', 'c3', 'c4']) {
      link.answer(idOf(name));
      await settle();
    }
    expect(names()).toEqual(['c0', 'c1', 'c2', 'c3', 'c4', 'late']);
  });

  test('is refused as OVERLOADED when 1 024 wait already, and the next one waits again once there is room', async () => {
    const { call, link, ends, idOf, settle } = startTable();
    for (const name of numbered(64 + 1_024)) call(name);
    call('over');
    await settle();
    expect(ends).toEqual(['over OVERLOADED']);
    link.answer(idOf('c0'));
    await settle();
    call('again');
    await settle();
    expect(ends).toEqual(['over OVERLOADED', 'c0 ok']);
    expect(link.sent).toHaveLength(65);
  });

  test('makes room for others when it is withdrawn while it waits, and is never sent', async () => {
    const { call, link, names, idOf, ends, told, settle } = startTable({ inFlightMax: 1, waitingMax: 1 });
    const withdrawn = new AbortController();
    call('first');
    call('waits', { signal: withdrawn.signal });
    withdrawn.abort();
    call('next');
    await settle();
    link.answer(idOf('first'));
    await settle();
    expect(names()).toEqual(['first', 'next']);
    expect(ends).toEqual(['waits CALL_CANCELLED', 'first ok']);
    expect(told).toEqual([]);
  });

  test('finds its turn after any number of others gave theirs up', async () => {
    const { call, link, names, idOf, settle } = startTable({ inFlightMax: 1, waitingMax: 2 });
    call('first');
    for (const name of numbered(3_000)) {
      const given = new AbortController();
      call(name, { signal: given.signal });
      given.abort();
    }
    call('last');
    await settle();
    link.answer(idOf('first'));
    await settle();
    expect(names()).toEqual(['first', 'last']);
    link.answer(idOf('last'));
    call('one more');
    await settle();
    expect(names().at(-1)).toBe('one more');
  });
});

describe('the deadline of a call', () => {
  test('runs from its sending, not from its asking', async () => {
    const { call, link, idOf, clock, ends, told } = startTable({ inFlightMax: 1 });
    call('first', { timeoutMs: 20_000 });
    call('second', { timeoutMs: 20_000 });
    await clock.run(15_000);
    link.answer(idOf('first'));
    await clock.run(19_999);
    expect(ends).toEqual(['first ok']);
    await clock.run(1);
    expect(ends).toEqual(['first ok', 'second CALL_TIMEOUT']);
    expect(told).toEqual([idOf('second')]);
  });

  test('is moved by progress, but never past the hard deadline', async () => {
    const { call, link, idOf, clock, ends } = startTable({ hardDeadlineMs: 100_000 });
    call('slow');
    for (let at = 0; at < 4; at += 1) {
      await clock.run(24_000);
      link.progress(idOf('slow'));
    }
    expect(ends).toEqual([]);
    await clock.run(3_999);
    expect(ends).toEqual([]);
    await clock.run(1);
    expect(ends).toEqual(['slow CALL_TIMEOUT']);
  });

  test('is not moved by progress past a time-out the caller gave', async () => {
    const { call, link, idOf, clock, ends } = startTable();
    call('slow', { timeoutMs: 10_000, totalMs: 10_000 });
    await clock.run(9_000);
    link.progress(idOf('slow'));
    await clock.run(1_000);
    expect(ends).toEqual(['slow CALL_TIMEOUT']);
  });

  test('counts the time in the queue where the caller gave a time-out', async () => {
    const { call, link, idOf, clock, ends } = startTable({ inFlightMax: 1 });
    call('first');
    call('second', { timeoutMs: 10_000, totalMs: 10_000 });
    await clock.run(6_000);
    link.answer(idOf('first'));
    await clock.run(3_999);
    expect(ends).toEqual(['first ok']);
    await clock.run(1);
    expect(ends).toEqual(['first ok', 'second CALL_TIMEOUT']);
  });

  test('ends a call that still waits for its turn, without sending it', async () => {
    const { call, names, clock, ends } = startTable({ inFlightMax: 1 });
    call('first');
    call('second', { timeoutMs: 5_000, totalMs: 5_000 });
    await clock.run(5_000);
    expect(ends).toEqual(['second CALL_TIMEOUT']);
    expect(names()).toEqual(['first']);
  });

  test('that has passed already keeps the call from being sent', async () => {
    const { call, names, ends, settle } = startTable();
    call('late', { totalMs: 0 });
    await settle();
    expect(ends).toEqual(['late CALL_TIMEOUT']);
    expect(names()).toEqual([]);
  });
});

describe('a call settles exactly once', () => {
  const twice: Record<string, (kit: ReturnType<typeof startTable>, abort: AbortController) => void | Promise<void>> = {
    'when it is answered and then answered again': ({ link, idOf }) => {
      link.answer(idOf('c'));
      link.sent[0]?.reply.result({});
    },
    'when it is answered and then fails': ({ link }) => {
      link.sent[0]?.reply.result({});
      link.sent[0]?.reply.failed(failure('SERVER_ERROR', 'no'));
    },
    'when it times out and is then answered': async ({ clock, link, idOf }) => {
      await clock.run(30_000);
      link.answer(idOf('c'));
      link.sent[0]?.reply.result({});
    },
    'when the link is lost and the answer was on its way': ({ table, link }) => {
      table.failAll(failure('LINK_LOST', 'gone'));
      link.sent[0]?.reply.result({});
    },
    'when it is withdrawn, lost, answered and timed out at once': async ({ table, link, clock }, abort) => {
      abort.abort();
      table.failAll(failure('LINK_LOST', 'gone'));
      link.sent[0]?.reply.result({});
      await clock.run(60_000);
    },
    'when all are failed twice': ({ table }) => {
      table.failAll(failure('LINK_LOST', 'gone'));
      table.failAll(failure('DISABLED', 'gone again'));
    },
  };

  test.each(Object.entries(twice))('%s', async (_how, happen) => {
    const kit = startTable();
    const abort = new AbortController();
    kit.call('c', { signal: abort.signal });
    await happen(kit, abort);
    await kit.settle();
    expect(kit.ends).toHaveLength(1);
    expect(kit.table.inFlight).toBe(0);
  });

  test('when everything is ended while it is being sent', async () => {
    const ended = startTable({ onEdge: () => ended.table.failAll(failure('DISABLED', 'switched off')) });
    ended.call('c');
    await ended.settle();
    expect(ended.ends).toEqual(['c DISABLED']);
    expect(ended.link.sent).toEqual([]);
  });

  test('when the link refuses it before it is sent', async () => {
    const { link, call, ends, table, settle } = startTable();
    link.die();
    call('c');
    await settle();
    expect(ends).toEqual(['c LINK_LOST']);
    expect(table.inFlight).toBe(0);
  });

  test('when the link throws instead of refusing', async () => {
    const { link, call, ends, table, settle } = startTable();
    link.request = () => {
      throw new Error('a bug in a link');
    };
    call('c');
    await settle();
    expect(ends).toEqual(['c LINK_LOST']);
    expect(table.inFlight).toBe(0);
  });

  test('when its listener for progress throws, which ends nothing', async () => {
    const { link, call, idOf, ends, settle } = startTable();
    call('c', {
      onProgress: () => {
        throw new Error('a bug in the host');
      },
    });
    link.progress(idOf('c'));
    link.answer(idOf('c'));
    await settle();
    expect(ends).toEqual(['c ok']);
  });

  test.each([[null], ['text'], [17], [undefined]])('when the answer is no object but %j', async (answer) => {
    const { link, call, ends, settle } = startTable();
    call('c');
    link.sent[0]?.reply.result(answer);
    await settle();
    expect(ends).toEqual(['c RESULT_INVALID']);
  });

  test.each([
    ['input_required', 'INPUT_REQUIRED_REFUSED'],
    ['complete', 'ok'],
    ['postponed', 'RESULT_INVALID'],
  ])('S123 when the answer says that it is %s', async (resultType, end) => {
    const { link, call, ends, idOf, settle } = startTable();
    call('c');
    link.answer(idOf('c'), { resultType });
    await settle();
    expect(ends).toEqual([`c ${end}`]);
  });
});
