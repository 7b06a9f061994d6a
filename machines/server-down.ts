import type { ServerContext } from './server-context.js';
import { server } from './server-setup.js';
import { thrownText } from './thrown.js';
import { failure } from './vocabulary.js';

/** Nobody waits in silence: who gets no slot in time says so. */
const slotless = [
  {
    type: 'blame',
    params: ({ context: { profile } }: { readonly context: ServerContext }) =>
      failure(
        'NOT_READY',
        `"${profile.id}" got no live slot within ${profile.initTimeoutMs} ms`,
        'other servers hold them all; raise "limits.live" in the user file',
      ),
  },
  'unwant',
] as const;

/** No transport and no slot: every state here may be left, or stayed in, at no cost. */
export const down = server.createStateConfig({
  initial: 'idle',
  on: {
    'server.retire': { target: '#mcp-server.gone', actions: ['endForRetirement', 'interruptWaiting'] },
    'server.restart': { target: '.gate', actions: ['endForRestart', 'interruptWaiting', 'pardon'] },
    'gates.changed': [
      { guard: 'isShutting', target: '.gate', actions: ['setGates', 'interruptWaiting'] },
      { target: '.gate', actions: ['reopen', 'setGates'] },
    ],
    'profile.changed': {
      target: '.gate',
      actions: ['endForChange', 'interruptWaiting', 'setProfile', 'absolve', 'wantUnasked'],
    },
  },
  states: {
    idle: {
      tags: 'idle',
      on: {
        'server.demand': { target: 'gate', actions: 'noteDemand' },
        'profile.adjusted': {
          guard: { type: 'isPromoted', params: ({ event }) => event.profile },
          target: 'gate',
          actions: 'adjustProfile',
        },
      },
    },

    // Remote, trust, switch and refusals were weighed by the workspace: `shut` is the first of them. Approval comes last.
    gate: {
      tags: 'idle',
      entry: 'weighGates',
      always: [{ guard: 'isShut', target: 'idle' }, { guard: 'isWorthALook', target: 'vetting' }, { target: 'idle' }],
    },

    vetting: {
      tags: 'connecting',
      invoke: {
        id: 'vet',
        src: 'vet',
        input: ({ context }) => ({ key: context.key, configHash: context.profile.configHash }),
        onDone: [
          {
            guard: { type: 'isRefused', params: ({ event }) => event.output },
            target: 'idle',
            actions: [
              { type: 'noteVetting', params: ({ event }) => event.output },
              { type: 'tellApproval', params: false },
            ],
          },
          {
            guard: { type: 'isApproved', params: ({ event }) => event.output },
            target: 'admitted',
            actions: { type: 'noteVetting', params: ({ event }) => event.output },
          },
          {
            guard: { type: 'isDenied', params: ({ event }) => event.output },
            target: 'idle',
            actions: [
              { type: 'noteDenied', params: ({ context }) => failure('APPROVAL_DENIED', `"${context.profile.id}" was denied`) },
              { type: 'tellApproval', params: false },
            ],
          },
          {
            target: 'approving',
            actions: [
              { type: 'noteVetting', params: ({ event }) => event.output },
              { type: 'tellApproval', params: false },
            ],
          },
        ],
        onError: {
          target: 'idle',
          actions: [
            {
              type: 'refuse',
              params: ({ context, event }) =>
                failure(
                  'REFUSED_COMMAND',
                  `"${context.profile.id}": what it would run could not be established: ${thrownText(event.error)}`,
                ),
            },
            { type: 'tellApproval', params: false },
          ],
        },
      },
      after: {
        initTimeout: {
          target: 'idle',
          actions: [
            {
              type: 'refuse',
              params: ({ context }) =>
                failure(
                  'REFUSED_COMMAND',
                  `"${context.profile.id}": what it would run could not be read within ${context.profile.initTimeoutMs} ms`,
                ),
            },
            { type: 'tellApproval', params: false },
          ],
        },
      },
    },

    approving: {
      tags: 'approving',
      entry: 'ask',
      exit: 'closeQuestion',
      on: {
        'approval.granted': {
          guard: { type: 'isShown', params: ({ event }) => event.fingerprint },
          target: 'admitted',
        },
        'approval.denied': {
          guard: { type: 'isShown', params: ({ event }) => event.fingerprint },
          target: 'idle',
          actions: { type: 'noteDenied', params: ({ event }) => event.failure },
        },
      },
      after: {
        approvalTimeout: {
          guard: 'canAsk',
          target: 'idle',
          actions: {
            type: 'noteDenied',
            params: ({ context }) =>
              failure('APPROVAL_TIMEOUT', `the question whether "${context.profile.id}" may run was not answered in time`),
          },
        },
      },
    },

    // May run. Whether it shall is another matter: enabling a server asks the question, a call starts it.
    admitted: {
      tags: 'connecting',
      entry: ['noteApproved', { type: 'tellApproval', params: true }],
      always: [{ guard: 'isHungry', target: 'queued' }, { target: 'idle' }],
    },

    queued: {
      tags: 'connecting',
      entry: ['takeTicket', 'askForSlot'],
      exit: 'withdraw',
      on: {
        'slot.granted': { guard: { type: 'isTicket', params: ({ event }) => event.ticket }, target: '#mcp-server.up' },
        'demand.ended': [{ guard: 'isUnwanted', target: 'idle', actions: 'endWaiting' }, { actions: 'endWaiting' }],
      },
      initial: 'inTime',
      states: {
        inTime: {
          after: {
            initTimeout: [
              { guard: 'isUnhurried', target: '#mcp-server.down.idle', actions: slotless },
              { target: 'overdue', actions: [...slotless, 'wantIfKept'] },
            ],
          },
        },
        // It keeps its place: who is kept alive, or has calls that wait in a time of their own, takes a slot whenever there is one.
        overdue: {},
      },
    },

    backoff: {
      tags: 'backoff',
      after: { backoff: 'gate' },
      on: {
        'server.demand': [
          { guard: { type: 'mayHurry', params: ({ event }) => event.by }, target: 'gate', actions: ['noteDemand', 'spendHurry'] },
          { actions: 'noteDemand' },
        ],
        'demand.ended': [{ guard: 'isUnwanted', target: 'idle', actions: 'endWaiting' }, { actions: 'endWaiting' }],
      },
    },

    failed: {
      tags: 'failed',
      initial: 'shut',
      on: {
        // Nobody who waits is remembered here: they are told at once.
        'server.demand': [
          { guard: { type: 'isPerson', params: ({ event }) => event.by }, target: 'gate', actions: 'pardon' },
          {},
        ],
        'gates.changed': [
          { guard: 'isShutting', target: 'gate', actions: ['setGates', 'interruptWaiting'] },
          { actions: 'setGates' },
        ],
      },
      states: {
        shut: { after: { halfOpen: { guard: 'isRetryable', target: 'ajar' } } },
        ajar: {
          on: {
            'server.demand': [
              {
                guard: { type: 'isPerson', params: ({ event }) => event.by },
                target: '#mcp-server.down.gate',
                actions: 'pardon',
              },
              { target: '#mcp-server.down.gate', actions: 'noteDemand' },
            ],
          },
        },
      },
    },
  },
});
