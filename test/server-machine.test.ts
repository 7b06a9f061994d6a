import { describe, expect, test } from 'vitest';
import { createActor, fromCallback } from 'xstate';
import { MAX_CANCELLATIONS } from '../machines/server-base.js';
import type { ServerReport } from '../machines/server-events.js';
import { serverMachine } from '../machines/server-machine.js';
import { defaultServerOptions } from '../machines/server-options.js';
import { phaseOf } from '../machines/server-view.js';
import { thrownText } from '../machines/thrown.js';
import { aProfile, startServer } from './support/server-harness.js';
import { VirtualClock } from './support/virtual-clock.js';

/** The real machine as it is exported: nobody has provided anything. */
function unprovided(changes: Parameters<typeof serverMachine.provide>[0] = {}) {
  const clock = new VirtualClock();
  const reports: ServerReport[] = [];
  const supervisor = createActor(
    fromCallback<ServerReport>(({ receive }) =>
      receive((report) => {
        reports.push(report);
        if (report.type === 'slot.wanted') actor.send({ type: 'slot.granted', ticket: report.ticket });
      }),
    ),
  ).start();
  const actor = createActor(serverMachine.provide(changes), {
    clock,
    input: { profile: aProfile, shut: null, seed: 1, options: defaultServerOptions, supervisor },
  });
  actor.subscribe({ error: () => undefined });
  actor.start();
  return { actor, clock, reports };
}

describe('an actor that is not provided', () => {
  test('fails the look at the disk, and says which one is missing', async () => {
    const { actor, clock } = unprovided();
    actor.send({ type: 'server.demand', by: 'person' });
    await clock.run(0);
    expect(phaseOf(actor.getSnapshot())).toBe('idle');
    expect(actor.getSnapshot().context.blockedBy).toBe('refused');
    expect(actor.getSnapshot().context.problem?.message).toContain('provide the "vet" actor of the server machine');
  });

  test('fails the start, gives the slot back, and says which one is missing', async () => {
    const { actor, clock, reports } = unprovided(provideOnly('vet'));
    actor.send({ type: 'server.demand', by: 'person' });
    await clock.run(0);
    expect(phaseOf(actor.getSnapshot())).toBe('backoff');
    expect(actor.getSnapshot().context.problem?.message).toContain('provide the "transport" actor of the server machine');
    expect(reports.at(-2)).toEqual({ type: 'slot.released', key: 'user/files', ticket: 1 });
  });

  test('fails the lists, and says which one is missing', async () => {
    const { actor, clock } = unprovided(provideOnly('vet', 'transport'));
    actor.send({ type: 'server.demand', by: 'person' });
    await clock.run(0);
    expect(actor.getSnapshot().context.lists.tools).toMatchObject({ state: 'failed' });
    expect(actor.getSnapshot().context.lists.tools.reason?.message).toContain('"fetchPage" is not provided');
  });

  test('fails the probe, and says which one is missing', async () => {
    const { actor, clock } = unprovided(provideOnly('vet', 'transport', 'pagination'));
    actor.send({ type: 'profile.adjusted', profile: { ...aProfile, lifecycle: 'keep-alive' } });
    await clock.run(defaultServerOptions.probeEveryMs);
    expect(actor.getSnapshot().context.problem?.message).toContain('provide the "probe" actor of the server machine');
  });

  test('fails the request for announcements visibly, and not the server', async () => {
    const failed: unknown[] = [];
    const listen = createActor(serverMachine.implementations.actors.listen as Parameters<typeof createActor>[0], {
      input: { key: 'user/files', generation: 1 },
    });
    listen.subscribe({ error: (error) => void failed.push(error) });
    listen.start();
    expect(failed).toEqual([new Error('provide the "listen" actor of the server machine')]);
  });
});

function provideOnly(...names: readonly ('vet' | 'transport' | 'pagination')[]) {
  const { actors } = startServer().actor.logic.implementations;
  return { actors: Object.fromEntries(names.map((name) => [name, actors[name]])) } as Parameters<typeof serverMachine.provide>[0];
}

describe('cancelled calls', () => {
  test(`of which more than ${MAX_CANCELLATIONS} are watched at once count as unconfirmed right away`, async () => {
    const server = startServer();
    server.send({ type: 'server.demand', by: 'call' });
    await server.run(0);
    for (let number = 0; number < MAX_CANCELLATIONS + 10; number += 1) {
      server.send({ type: 'call.cancelled', generation: 1, requestId: `r${number}`, reason: 'deadline' });
    }
    expect(server.context().cancelling).toBe(MAX_CANCELLATIONS);
    expect(server.context().cancellations).toEqual({ confirmed: 0, lateAnswer: 0, unconfirmed: 10 });
    await server.run(30_000);
    expect(server.context().cancelling).toBe(0);
    expect(server.context().cancellations.unconfirmed).toBe(MAX_CANCELLATIONS + 10);
    // A finished child that is kept would slow down every later event.
    expect(Object.keys(server.snapshot().children)).toEqual(['transport']);
  });

  test('whose end is told while the link is given up are counted once', async () => {
    const server = startServer();
    server.send({ type: 'server.demand', by: 'call' });
    await server.run(0);
    server.send({ type: 'call.cancelled', generation: 1, requestId: 'r1', reason: 'deadline' });
    server.world.closes = false;
    // Sent while the machine works off another event: the child's report comes in behind the end of its link.
    const burst = server.actor.subscribe({
      next: () => {
        burst.unsubscribe();
        server.send({ type: 'answer.late', requestId: 'r1', answer: 'result' });
        server.send({ type: 'transport.lost', generation: 1, failure: server.context().ending, death: true });
        server.send({ type: 'transport.closed', generation: 1, outcome: 'clean', detail: '' });
      },
      error: () => undefined,
    });
    server.send({ type: 'calls.busy', generation: 1 });
    await server.run(60_000);
    const { confirmed, lateAnswer, unconfirmed } = server.context().cancellations;
    expect(confirmed + lateAnswer + unconfirmed).toBe(1);
    expect(server.context().cancelling).toBe(0);
    expect(unconfirmed).toBe(1);
  });
});

test('a server that is stopped from outside leaves no timer and no transport', async () => {
  const server = startServer({ profile: { lifecycle: 'keep-alive' }, world: { handshake: { era: 'modern' } } });
  server.send({ type: 'gates.changed', shut: null });
  await server.run(1_000);
  expect(server.phase()).toBe('ready');
  server.actor.stop();
  expect(server.live.size).toBe(0);
  expect(server.clock.pending).toBe(0);
});

test('jitter comes from the seed: the same seed waits the same, another one differently', async () => {
  const waits = await Promise.all(
    [1, 1, 2].map(async (seed) => {
      const server = startServer({ seed, profile: { lifecycle: 'keep-alive' }, world: { opens: false } });
      server.send({ type: 'gates.changed', shut: null });
      await server.run(0);
      server.send({ type: 'transport.lost', generation: 1, failure: server.context().ending, death: true });
      await server.run(0);
      return (server.clock.nextMs ?? 0) - server.clock.now();
    }),
  );
  expect(waits[0]).toBe(waits[1]);
  expect(waits[0]).not.toBe(waits[2]);
});

test.each([
  [new Error('broken'), 'broken'],
  ['text', 'text'],
  [{ message: 'plain' }, 'plain'],
  [undefined, 'no reason was given'],
  [null, 'no reason was given'],
  [{ message: 7 }, 'no reason was given'],
  [new Error(''), 'no reason was given'],
  [Symbol('s'), 'no reason was given'],
])('what was thrown, such as %o, is put into words', (thrown, text) => {
  expect(thrownText(thrown)).toBe(text);
});
