import { describe, expect, test } from 'vitest';
import { createActor, fromCallback } from 'xstate';
import {
  type CandidateKey,
  defaultServerOptions,
  failure,
  phaseOf,
  type ServerReport,
  type ServerScript,
  scriptedServer,
  scriptedWorkspace,
} from '../machines/index.js';
import { aProfile } from './support/server-harness.js';
import { VirtualClock } from './support/virtual-clock.js';

function start(script?: ServerScript, profile = aProfile) {
  const clock = new VirtualClock();
  const reports: ServerReport[] = [];
  const phases: string[] = [];
  const supervisor = createActor(
    fromCallback<ServerReport>(({ receive }) =>
      receive((report) => {
        reports.push(report);
        if (report.type === 'slot.wanted') actor.send({ type: 'slot.granted', ticket: report.ticket });
      }),
    ),
  ).start();
  const actor = createActor(script === undefined ? scriptedServer() : scriptedServer(() => script), {
    clock,
    input: { profile, shut: null, seed: 1, options: defaultServerOptions, supervisor },
  });
  actor.subscribe({
    next: (snapshot) => {
      const phase = phaseOf(snapshot);
      if (phases.at(-1) !== phase) phases.push(phase);
    },
    error: (error) => phases.push(String(error)),
  });
  actor.start();
  return { actor, clock, reports, phases, context: () => actor.getSnapshot().context };
}

describe('a scripted server', () => {
  test('without a script goes to ready and, idled out, back', async () => {
    const { actor, clock, phases } = start();
    actor.send({ type: 'server.demand', by: 'person' });
    await clock.run(aProfile.idleTimeoutMs);
    expect(phases).toEqual(['idle', 'connecting', 'ready', 'idle']);
    expect(clock.pending).toBe(0);
  });

  test('plays its pages, handshake and closing', async () => {
    const { actor, clock, reports, context } = start({
      generations: [
        {
          handshake: { era: 'modern', announces: true, lists: ['tools', 'prompts'] },
          pages: {
            tools: [
              { items: [{ key: 'a', definition: {} }], nextCursor: 'next' },
              { cursor: 'next', items: [{ key: 'b', definition: {} }] },
            ],
          },
          close: { outcome: 'killed', detail: 'played' },
        },
      ],
    });
    actor.send({ type: 'server.demand', by: 'call' });
    await clock.run(0);
    expect(actor.getSnapshot().children).toHaveProperty('listen');
    expect(context().lists.tools).toMatchObject({ state: 'complete', count: 2 });
    expect(context().lists.prompts).toMatchObject({ state: 'complete', count: 0 });
    actor.send({ type: 'call.cancelled', generation: 1, requestId: 'r1', reason: 'deadline' });
    await clock.run(60_000);
    expect(context().cancellations.unconfirmed).toBe(1);
    actor.send({ type: 'server.retire', failure: failure('SERVER_REMOVED', 'removed') });
    expect(context().lastClose).toBe(null);
    expect(reports.at(-1)?.type).toBe('server.gone');
  });

  test('plays its vettings and lives in order, the last of them again and again', async () => {
    const loss = { failure: failure('EXITED_EARLY', 'played'), death: true };
    const { actor, clock, reports, context, phases } = start(
      { vettings: [{ verdict: 'ask', fingerprint: 'f1' }], generations: [{ loss }, {}] },
      { ...aProfile, layer: 'workspace', lifecycle: 'keep-alive' },
    );
    actor.send({ type: 'gates.changed', shut: null });
    await clock.run(0);
    expect(reports.at(-1)).toEqual({ type: 'approval.wanted', key: 'workspace/files', fingerprint: 'f1' });
    actor.send({ type: 'approval.granted', fingerprint: 'f1' });
    await clock.run(defaultServerOptions.probeEveryMs * 3);
    expect(phases).toEqual(['idle', 'connecting', 'approving', 'connecting', 'backoff', 'connecting', 'ready']);
    expect(context().generation).toBe(2);
    actor.send({ type: 'server.restart' });
    await clock.run(0);
    expect(context().generation).toBe(3);
    expect(phases.at(-1)).toBe('ready');
  });

  test('fails a list whose next page nobody wrote, and says so', async () => {
    const { actor, clock, context } = start({ generations: [{ pages: { tools: [{ nextCursor: 'nowhere' }] } }] });
    actor.send({ type: 'server.demand', by: 'call' });
    await clock.run(0);
    expect(context().lists.tools.reason?.message).toBe('the script has no page of tools for this cursor');
  });
});

test('a scripted workspace plays one script a server', async () => {
  const clock = new VirtualClock();
  const scripts: Partial<Record<CandidateKey, ServerScript>> = {
    'user/deaf': { generations: [{ loss: { failure: failure('CONNECT_FAILED', 'played'), death: false } }] },
  };
  const actor = createActor(
    scriptedWorkspace((key) => scripts[key] ?? {}),
    {
      clock,
      input: {
        root: '/repo',
        trusted: true,
        remoteEnabled: false,
        switches: new Map(),
        seed: 1,
        options: defaultServerOptions,
      },
    },
  );
  actor.on('slot.wanted', ({ key, ticket }) => actor.getSnapshot().context.servers[key]?.send({ type: 'slot.granted', ticket }));
  actor.start();
  const candidates = ['files', 'deaf'].map((id) => ({ ...aProfile, id, lifecycle: 'eager' as const }));
  actor.send({ type: 'config.taken', state: 'valid', candidates, options: defaultServerOptions });
  await clock.run(0);
  const { servers } = actor.getSnapshot().context;
  expect(Object.entries(servers).map(([key, ref]) => [key, phaseOf(ref.getSnapshot())])).toEqual([
    ['user/files', 'ready'],
    ['user/deaf', 'idle'],
  ]);
  expect(scriptedWorkspace()).toBeDefined();
  actor.stop();
});
