import { initialContext } from './server-context.js';
import { down } from './server-down.js';
import { server } from './server-setup.js';
import { up } from './server-up.js';

/**
 * One MCP server. The six public phases are tags (`phaseOf` in `server-view.ts` reads them); the states below may grow.
 * What it refuses: to run two generations at once, to run what was not approved, to believe news of an older generation.
 */
export const serverMachine = server.createMachine({
  id: 'mcp-server',
  context: ({ input }) => initialContext(input),
  initial: 'down',
  on: {
    'server.demand': { actions: 'noteDemand' },
    'demand.ended': { actions: 'endWaiting' },
    'options.changed': { actions: 'setOptions' },
    'profile.adjusted': { actions: 'adjustProfile' },
    'restart.forgotten': { actions: 'forgetRestart' },
    'cancellation.settled': { actions: 'countCancellation' },
  },
  states: {
    down,
    up,
    // Transient: the one place that decides between another try, giving up and rest.
    crashed: {
      always: [
        { guard: 'isHeadingOut', target: 'gone' },
        { guard: { type: 'crashesTo', params: 'gate' }, target: 'down.gate' },
        { guard: { type: 'crashesTo', params: 'failed' }, target: 'down.failed', actions: 'giveUp' },
        { guard: { type: 'crashesTo', params: 'backoff' }, target: 'down.backoff', actions: 'wantIfKept' },
        { target: 'down.idle' },
      ],
    },
    gone: { type: 'final', entry: 'sayGone' },
  },
  options: { maxIterations: 1_000 },
});
