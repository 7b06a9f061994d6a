import type { ErrorActorEvent } from 'xstate';
import { type ServerContext, walkInput } from './server-context.js';
import type { TransportFact } from './server-events.js';
import { ready } from './server-ready.js';
import { deathBy, server } from './server-setup.js';
import { thrownText } from './thrown.js';
import { failure } from './vocabulary.js';

type TransportLost = Extract<TransportFact, { type: 'transport.lost' }>;

/** Opens one generation and lists what it offers; all of it together has `initTimeoutMs`. */
const connecting = server.createStateConfig({
  tags: 'connecting',
  initial: 'opening',
  after: {
    initTimeout: [
      // A server that shook hands is usable, even if it does not answer its lists: those are tried again.
      { guard: 'hasWalk', target: 'ready', actions: { type: 'failWalks', params: 'it did not answer in time' } },
      {
        target: 'closing',
        actions: deathBy(({ context }: { readonly context: ServerContext }) =>
          failure(
            'INITIALIZE_TIMEOUT',
            `"${context.profile.id}" did not finish its handshake within ${context.profile.initTimeoutMs} ms`,
          ),
        ),
      },
    ],
  },
  states: {
    opening: {
      on: {
        'transport.opened': {
          guard: { type: 'isCurrent', params: ({ event }) => event.generation },
          target: 'handshake',
          actions: 'notePid',
        },
      },
    },
    handshake: {
      on: {
        // The first process may die of the first question; then a second one is asked in the older way.
        'transport.opened': { guard: { type: 'isCurrent', params: ({ event }) => event.generation }, actions: 'notePid' },
        'transport.initialized': {
          guard: { type: 'isCurrent', params: ({ event }) => event.generation },
          target: 'listing',
          actions: 'noteHandshake',
        },
      },
    },
    listing: {
      // What changes during the first walk is walked again as soon as the server is ready.
      on: { 'list.changed': { guard: 'isNews', actions: 'noteChange' } },
      initial: 'deciding',
      states: {
        deciding: { always: [{ guard: 'hasWalk', target: 'walking' }, { target: '#mcp-server.up.ready' }] },
        walking: {
          invoke: {
            id: 'walk',
            src: 'pagination',
            input: ({ context }) => walkInput(context),
            onDone: { target: 'deciding', actions: { type: 'noteWalk', params: ({ event }) => event.output } },
            onError: {
              target: 'deciding',
              actions: { type: 'failWalk', params: ({ event }) => thrownText(event.error) },
            },
          },
        },
      },
    },
  },
});

/** Staged stop. The slot is held until the transport says that nothing is left. */
const closing = server.createStateConfig({
  entry: 'closeTransport',
  on: {
    'transport.closed': [
      {
        guard: { type: 'isHeaded', params: ({ event }) => ({ ...event, heading: 'gone' as const }) },
        target: '#mcp-server.gone',
      },
      {
        guard: { type: 'isHeaded', params: ({ event }) => ({ ...event, heading: 'crash' as const }) },
        target: '#mcp-server.crashed',
        actions: 'noteClosed',
      },
      {
        guard: { type: 'isCurrent', params: ({ event }) => event.generation },
        target: '#mcp-server.down.gate',
        actions: 'noteClosed',
      },
    ],
    // The loss that led here, or that the stop brought about, was counted; a second one is none.
    'transport.lost': {},
    'server.retire': { actions: ['endForRetirement', { type: 'head', params: 'gone' }, 'interrupt'] },
    // Who was told to leave leaves: a restart does not call it back.
    'server.restart': [{ guard: 'isHeadingOut' }, { actions: ['endForRestart', 'interrupt', 'pardon'] }],
    'gates.changed': [{ guard: 'isShutting', actions: ['setGates', 'interrupt'] }, { actions: ['reopen', 'setGates'] }],
    'profile.changed': { actions: ['endForChange', 'interrupt', 'setProfile', 'absolve', 'wantUnasked'] },
    'call.cancelled': { actions: 'countUnwatched' },
  },
});

/** One generation: holds a slot and a transport, and gives both back whichever way it is left. */
export const up = server.createStateConfig({
  tags: 'open',
  initial: 'connecting',
  entry: 'nextGeneration',
  exit: ['abandonCancellations', 'releaseSlot', 'forgetGeneration'],
  invoke: {
    id: 'transport',
    src: 'transport',
    input: ({ context }) => ({
      key: context.key,
      configHash: context.profile.configHash,
      generation: context.generation,
      fingerprint: context.approved,
    }),
    // A transport actor that throws has nobody left to say `closed`; whatever it held is the registry's to end.
    onError: {
      target: '#mcp-server.crashed',
      actions: [
        ...deathBy(({ context, event }: { readonly context: ServerContext; readonly event: ErrorActorEvent }) =>
          failure('LINK_LOST', `"${context.profile.id}": its transport broke: ${thrownText(event.error)}`),
        ),
        'interrupt',
      ],
    },
  },
  on: {
    'transport.lost': [
      {
        guard: { type: 'isStaleApproval', params: ({ event }) => event },
        target: '.closing',
        // Nothing was started, so nothing died; but what keeps changing on disk is not looked at again at once.
        actions: [
          { type: 'blame', params: ({ event }) => event.failure },
          { type: 'countAttempt', params: false },
        ],
      },
      {
        guard: { type: 'isDeath', params: ({ event }) => event },
        target: '.closing',
        actions: deathBy(({ event }: { readonly event: TransportLost }) => event.failure),
      },
      {
        guard: { type: 'isCurrent', params: ({ event }) => event.generation },
        target: '.closing',
        actions: [
          { type: 'blame', params: ({ event }) => event.failure },
          { type: 'countAttempt', params: true },
        ],
      },
    ],
    'transport.stderr': { guard: { type: 'isCurrent', params: ({ event }) => event.generation }, actions: 'noteStderr' },
    'server.retire': { target: '.closing', actions: ['endForRetirement', { type: 'head', params: 'gone' }, 'interrupt'] },
    'server.restart': { target: '.closing', actions: ['endForRestart', 'interrupt', 'pardon'] },
    // What ran under the old definition runs again under the new one.
    'profile.changed': { target: '.closing', actions: ['endForChange', 'interrupt', 'setProfile', 'absolve', 'want'] },
    'gates.changed': [{ guard: 'isShutting', target: '.closing', actions: ['setGates', 'interrupt'] }, { actions: 'setGates' }],
  },
  states: { connecting, ready, closing },
});
