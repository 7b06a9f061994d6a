import { describe, expect, test } from 'vitest';
import { createActor, fromCallback, fromPromise } from 'xstate';
import { supervisorError } from '../actors/errors.js';
import {
  CANCEL_NOTIFY_TIMEOUT_MS,
  CANCEL_WATCH_MS,
  type CancellationReport,
  type CancelledRequest,
  cancellationMachine,
} from '../machines/cancellation-machine.js';
import { VirtualClock } from './support/virtual-clock.js';

const never = (): Promise<never> => new Promise(() => undefined);

function cancel(notify: (request: CancelledRequest, signal: AbortSignal) => Promise<unknown> = () => Promise.resolve()) {
  const clock = new VirtualClock();
  const reports: CancellationReport[] = [];
  const server = createActor(fromCallback<CancellationReport>(({ receive }) => receive((event) => reports.push(event)))).start();
  const machine = cancellationMachine.provide({
    actors: { notify: fromPromise<unknown, CancelledRequest>(({ input, signal }) => notify(input, signal)) },
  });
  const source = { key: 'user/files', generation: 3 } as const;
  const timing = { notifyTimeoutMs: CANCEL_NOTIFY_TIMEOUT_MS, watchMs: CANCEL_WATCH_MS };
  const actor = createActor(machine, {
    input: { source, requestId: 'r7', reason: 'deadline', server, ...timing },
    clock,
  }).start();
  return { actor, clock, reports, outcome: () => actor.getSnapshot().output?.outcome };
}

describe('a cancelled call', () => {
  test('is told to the server once, by its link, its id and the reason', async () => {
    const told: CancelledRequest[] = [];
    const { clock } = cancel(async (request) => told.push(request));
    await clock.run(CANCEL_WATCH_MS * 2);
    expect(told).toEqual([{ source: { key: 'user/files', generation: 3 }, requestId: 'r7', reason: 'deadline' }]);
  });

  test.each([
    ['error', 'confirmed'],
    ['result', 'lateAnswer'],
  ] as const)('that is answered with a late %s ends as %s', async (answer, outcome) => {
    const cancelled = cancel();
    await cancelled.clock.run(CANCEL_WATCH_MS - 1);
    cancelled.actor.send({ type: 'answer.arrived', answer });
    expect(cancelled.outcome()).toBe(outcome);
    expect(cancelled.reports).toEqual([{ type: 'cancellation.settled', requestId: 'r7', outcome }]);
    expect(cancelled.clock.pending).toBe(0);
  });

  test('that is never answered ends as unconfirmed', async () => {
    const cancelled = cancel();
    await cancelled.clock.run(CANCEL_WATCH_MS - 1);
    expect(cancelled.outcome()).toBe(undefined);
    await cancelled.clock.run(1);
    expect(cancelled.actor.getSnapshot().output).toEqual({ requestId: 'r7', outcome: 'unconfirmed' });
    expect(cancelled.reports).toHaveLength(1);
  });

  test('is watched although the server could not be told', async () => {
    const cancelled = cancel(() => Promise.reject(supervisorError('LINK_LOST', 'gone')));
    await cancelled.clock.run(1);
    cancelled.actor.send({ type: 'answer.arrived', answer: 'result' });
    expect(cancelled.outcome()).toBe('lateAnswer');
  });

  test('does not wait for a notification that hangs, and withdraws it', async () => {
    let seen: AbortSignal | undefined;
    const cancelled = cancel((_, signal) => {
      seen = signal;
      return never();
    });
    await cancelled.clock.run(CANCEL_NOTIFY_TIMEOUT_MS);
    expect(seen?.aborted).toBe(true);
    await cancelled.clock.run(CANCEL_WATCH_MS);
    expect(cancelled.outcome()).toBe('unconfirmed');
  });

  test('counts an answer that comes while the server is still being told', () => {
    const cancelled = cancel(never);
    cancelled.actor.send({ type: 'answer.arrived', answer: 'error' });
    expect(cancelled.outcome()).toBe('confirmed');
    expect(cancelled.clock.pending).toBe(0);
  });

  test('leaves nothing behind when it is stopped', () => {
    const cancelled = cancel(never);
    cancelled.actor.stop();
    expect(cancelled.clock.pending).toBe(0);
  });

  test('is watched, not lost, when nobody provided the actor that tells the server', async () => {
    const clock = new VirtualClock();
    const server = createActor(fromCallback<CancellationReport>(() => undefined)).start();
    const source = { key: 'user/files', generation: 1 } as const;
    const input = { source, requestId: 'r1', reason: 'closed', server, notifyTimeoutMs: 10, watchMs: 20 };
    const actor = createActor(cancellationMachine, { input, clock }).start();
    await clock.run(30);
    expect(actor.getSnapshot().output).toEqual({ requestId: 'r1', outcome: 'unconfirmed' });
  });
});
