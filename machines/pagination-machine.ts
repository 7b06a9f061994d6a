import { assign, type ErrorActorEvent, fromPromise, setup } from 'xstate';
import {
  failWalk,
  type ListLimits,
  type ListPage,
  type ListWalk,
  pageFailure,
  startWalk,
  takePage,
  type WalkProgress,
  walkResult,
} from './list-walk.js';
import { failure, type LinkRef, type ListKind } from './vocabulary.js';

export {
  defaultListLimits,
  type ListedItem,
  type ListLimits,
  type ListPage,
  type ListWalk,
  type SkippedItem,
} from './list-walk.js';

export interface PaginationInput {
  /** Whose list; handed on to `fetchPage`. */
  readonly source: LinkRef;
  readonly kind: ListKind;
  readonly limits: ListLimits;
  /** How long one page may take. */
  readonly pageTimeoutMs: number;
}

export interface PageRequest {
  readonly source: LinkRef;
  readonly kind: ListKind;
  /** `undefined`: the first page, sent without a cursor key. `''` is sent as it is. */
  readonly cursor: string | undefined;
}

export interface PaginationContext {
  readonly source: LinkRef;
  readonly limits: ListLimits;
  readonly pageTimeoutMs: number;
  readonly walk: WalkProgress;
}

/**
 * One walk through one list of one server. It always ends by itself, with a `ListWalk`: a page that fails or is late ends
 * it with what was verified before. The only actor to provide is `fetchPage`; without it every walk fails and says so.
 */
export const paginationMachine = setup({
  types: {
    context: {} as PaginationContext,
    input: {} as PaginationInput,
    output: {} as ListWalk,
  },
  actors: {
    fetchPage: fromPromise<ListPage, PageRequest>(() => Promise.reject(new Error('bug: the actor "fetchPage" is not provided'))),
  },
  delays: {
    pageTimeout: ({ context }) => context.pageTimeoutMs,
  },
  guards: {
    isEnded: ({ context }) => context.walk.isEnded,
  },
  actions: {
    takePage: assign({ walk: ({ context }, page: ListPage) => takePage(context.walk, page, context.limits) }),
    fail: assign({ walk: ({ context }, thrown: unknown) => failWalk(context.walk, pageFailure(thrown)) }),
    failLate: assign({
      walk: ({ context: { walk, pageTimeoutMs } }) =>
        failWalk(
          walk,
          failure('LIST_FAILED', `Page ${walk.pages + 1} of the ${walk.kind} list did not come within ${pageTimeoutMs} ms`),
        ),
    }),
  },
}).createMachine({
  id: 'pagination',
  context: ({ input: { kind, ...rest } }) => ({ ...rest, walk: startWalk(kind) }),
  output: ({ context }) => walkResult(context.walk),
  initial: 'fetching',
  states: {
    fetching: {
      invoke: {
        src: 'fetchPage',
        input: ({ context }) => ({ source: context.source, kind: context.walk.kind, cursor: context.walk.cursor }),
        onDone: { target: 'deciding', actions: { type: 'takePage', params: ({ event }) => event.output } },
        onError: { target: 'ended', actions: { type: 'fail', params: ({ event }: { event: ErrorActorEvent }) => event.error } },
      },
      after: { pageTimeout: { target: 'ended', actions: 'failLate' } },
    },
    deciding: { always: [{ guard: 'isEnded', target: 'ended' }, { target: 'fetching' }] },
    ended: { type: 'final' },
  },
});
