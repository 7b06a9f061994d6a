import { createActor, fromCallback } from 'xstate';
import type { Candidate } from '../../machines/candidates.js';
import { type ServerScript, scriptedServer } from '../../machines/scripted-actors.js';
import type { TransportCommand, TransportInput } from '../../machines/server-events.js';
import { defaultServerOptions } from '../../machines/server-options.js';
import { phaseOf } from '../../machines/server-view.js';
import { type CandidateKey, failure } from '../../machines/vocabulary.js';
import { type WorkspaceNews, workspaceMachine } from '../../machines/workspace-machine.js';
import { aHandshake, aProfile } from './server-harness.js';
import { VirtualClock } from './virtual-clock.js';

export const root = '/repo';
const options = defaultServerOptions;
/** A user's server that starts at load. */
export const user = (id: string, changes: Partial<Candidate> = {}): Candidate => ({
  ...aProfile,
  id,
  lifecycle: 'eager',
  ...changes,
});
/** The same of the workspace itself. */
export const project = (id: string, changes: Partial<Candidate> = {}): Candidate => user(id, { layer: 'workspace', ...changes });
/** Its first look at the disk ends in a question. */
export const asks: ServerScript = { vettings: [{ verdict: 'ask', fingerprint: 'f1' }] };
export const closed = failure('SUPERVISOR_CLOSED', 'closed');

interface Start {
  readonly trusted?: boolean;
  readonly switches?: ReadonlyMap<string, boolean>;
  readonly scripts?: Partial<Record<CandidateKey, ServerScript>>;
  /** An action of this server's machine that throws: a bug. */
  readonly bug?: string;
  /** Transports say that they are closed only once `letClose` lets them. */
  readonly slow?: boolean;
}

/** One workspace machine over scripted servers, in virtual time, with a slot for everybody. */
export function startWorkspace({ trusted = true, switches = new Map(), scripts = {}, bug, slow = false }: Start = {}) {
  const clock = new VirtualClock();
  const news: WorkspaceNews[] = [];
  const faults: unknown[] = [];
  const closings: (() => void)[] = [];
  const scripted = scriptedServer((key) => scripts[key] ?? {});
  const slowTransport = fromCallback<TransportCommand, TransportInput>(({ input: { generation }, sendBack, receive }) => {
    receive(() => closings.push(() => sendBack({ type: 'transport.closed', generation, outcome: 'clean', detail: 'at last' })));
    sendBack({ type: 'transport.opened', generation, pid: null });
    sendBack({ type: 'transport.initialized', generation, handshake: aHandshake });
  });
  const server = scripted.provide({
    ...(slow ? { actors: { transport: slowTransport } } : {}),
    actions: {
      noteStderr: ({ context }) => {
        if (context.profile.id === bug) throw new Error('a bug in the machine');
      },
    },
  });
  const actor = createActor(workspaceMachine.provide({ actors: { server } }), {
    clock,
    input: { root, trusted, remoteEnabled: false, switches, seed: 1, options },
  });
  for (const type of [
    'server.added',
    'server.gone',
    'server.broke',
    'server.interrupted',
    'workspace.closed',
    'slot.released',
  ] as const) {
    actor.on(type, (one) => news.push(one));
  }
  actor.on('slot.wanted', ({ key, ticket }) => refOf(key)?.send({ type: 'slot.granted', ticket }));
  actor.subscribe({ error: (error) => void faults.push(error) });
  actor.start();
  const context = () => actor.getSnapshot().context;
  const refOf = (key: string) => context().servers[key as CandidateKey];
  const phases = () =>
    Object.fromEntries(Object.entries(context().servers).map(([key, ref]) => [key, phaseOf(ref.getSnapshot())]));
  return {
    actor,
    clock,
    faults,
    news,
    context,
    refOf,
    phases,
    generation: (key: string) => refOf(key)?.getSnapshot().context.generation,
    blockedBy: (key: string) => refOf(key)?.getSnapshot().context.blockedBy,
    take: async (candidates: readonly Candidate[], state: 'valid' | 'degraded' = 'valid') => {
      actor.send({ type: 'config.taken', state, candidates, options });
      await clock.run(0);
    },
    send: async (event: Parameters<typeof actor.send>[0]) => {
      actor.send(event);
      await clock.run(0);
    },
    letClose: async () => {
      for (const close of closings.splice(0)) close();
      await clock.run(0);
    },
    heard: () => news.splice(0).map((one) => ('key' in one ? `${one.type} ${one.key}` : one.type)),
  };
}
