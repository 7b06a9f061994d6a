import type { ErrorActorEvent } from 'xstate';
import { type ServerContext, walkInput } from './server-context.js';
import { deathBy, server } from './server-setup.js';
import { thrownText } from './thrown.js';
import { failure } from './vocabulary.js';

/** In use or not, for how long, and since when it has held: three timers that know nothing of each other. */
export const ready = server.createStateConfig({
  tags: 'ready',
  type: 'parallel',
  entry: 'noteReady',
  on: {
    // The link's own watch is over when the cap is reached: counted, not watched.
    'call.cancelled': [
      { guard: { type: 'canWatch', params: ({ event }) => event.generation }, actions: 'spawnCancellation' },
      { actions: 'countUnwatched' },
    ],
    'answer.late': { actions: 'tellCancellation' },
    // Met already: remembering it would start the server again after it idled out.
    'server.demand': {},
  },
  states: {
    activity: {
      initial: 'quiet',
      states: {
        quiet: {
          entry: ['noteQuiet', 'markQuiet'],
          after: {
            idleTimeout: {
              guard: 'mayIdle',
              target: '#mcp-server.up.closing',
              actions: {
                type: 'end',
                params: ({ context }) => failure('LINK_LOST', `"${context.profile.id}" was idle and is closed`),
              },
            },
          },
          on: {
            // The wait starts over, as what it waits for may have changed.
            'profile.adjusted': { target: 'quiet', reenter: true, actions: 'setProfile' },
            'calls.busy': { guard: { type: 'isCurrent', params: ({ event }) => event.generation }, target: 'busy' },
            'slot.reclaimed': [
              {
                guard: { type: 'mayReclaim', params: ({ event }) => event.ticket },
                target: '#mcp-server.up.closing',
                actions: {
                  type: 'end',
                  params: ({ context }) => failure('LINK_LOST', `"${context.profile.id}" makes room for another server`),
                },
              },
              // Kept alive since it got its slot: saying that it is in use lets another one be asked.
              { guard: { type: 'isTicket', params: ({ event }) => event.ticket }, actions: 'markBusy' },
            ],
          },
        },
        busy: {
          entry: ['noteBusy', 'markBusy'],
          on: { 'calls.quiet': { guard: { type: 'isCurrent', params: ({ event }) => event.generation }, target: 'quiet' } },
        },
      },
    },

    stability: {
      initial: 'proving',
      states: { proving: { after: { stable: 'proven' } }, proven: { entry: 'proveStable' } },
    },

    catalogue: {
      initial: 'fresh',
      states: {
        fresh: {
          always: [
            { guard: 'hasStaleList', target: 'settling' },
            { guard: 'hasFailedList', target: 'mending' },
          ],
          on: { 'list.changed': { guard: 'isNews', target: 'settling', actions: 'noteChange' } },
        },
        mending: {
          on: { 'list.changed': { guard: 'isNews', target: 'settling', actions: 'noteChange' } },
          after: { listRetry: { target: 'refreshing', actions: 'planRetry' } },
        },
        // A burst of announcements is one walk, and the last of them is not lost.
        settling: {
          on: { 'list.changed': { guard: 'isNews', actions: 'noteChange' } },
          after: { listDebounce: { target: 'refreshing', actions: 'planStale' } },
        },
        refreshing: {
          // What changes during a walk is walked again after it: newest wins, and a storm cannot starve it.
          on: { 'list.changed': { guard: 'isNews', actions: 'noteChange' } },
          initial: 'deciding',
          states: {
            deciding: { always: [{ guard: 'hasWalk', target: 'walking' }, { target: '#mcp-server.up.ready.catalogue.fresh' }] },
            walking: {
              invoke: {
                id: 'rewalk',
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
    },

    // Modern servers announce changes on a stream that has to be asked for, and asked for again.
    subscriptions: {
      initial: 'deciding',
      states: {
        deciding: { always: [{ guard: 'mustListen', target: 'listening' }, { target: 'unneeded' }] },
        unneeded: {},
        listening: {
          invoke: {
            id: 'listen',
            src: 'listen',
            input: ({ context }) => ({ key: context.key, generation: context.generation }),
            onDone: 'waiting',
            onError: 'waiting',
          },
          after: { stable: { actions: 'noteAnnouncing' } },
        },
        // What changed while nobody listened is unknown, so everything is listed again.
        // Where announcements keep ending, that is done less and less often.
        waiting: { after: { relisten: { target: 'listening', actions: ['markStale', 'noteSilence'] } } },
      },
    },

    health: {
      initial: 'deciding',
      on: { 'profile.adjusted': { target: '.deciding', actions: 'setProfile' } },
      states: {
        deciding: { always: [{ guard: 'isKeptAlive', target: 'resting' }, { target: 'unneeded' }] },
        unneeded: {},
        // A server at work on a call may be deaf meanwhile: the call's own deadline says when that is too long.
        resting: { after: { probeEvery: [{ guard: 'isBusy', target: 'resting', reenter: true }, { target: 'probing' }] } },
        probing: {
          invoke: {
            id: 'probe',
            src: 'probe',
            input: ({ context }) => ({ key: context.key, generation: context.generation }),
            onDone: 'resting',
            onError: {
              target: '#mcp-server.up.closing',
              actions: deathBy(({ context, event }: { readonly context: ServerContext; readonly event: ErrorActorEvent }) =>
                failure('PROBE_FAILED', `"${context.profile.id}" failed its health probe: ${thrownText(event.error)}`),
              ),
            },
          },
          after: {
            probeTimeout: [
              { guard: 'isBusy', target: 'resting' },
              {
                target: '#mcp-server.up.closing',
                actions: deathBy(({ context }: { readonly context: ServerContext }) =>
                  failure(
                    'PROBE_FAILED',
                    `"${context.profile.id}" did not answer its health probe within ${context.options.probeTimeoutMs} ms`,
                  ),
                ),
              },
            ],
          },
        },
      },
    },
  },
});
