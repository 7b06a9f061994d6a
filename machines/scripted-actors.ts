import { fromCallback, fromPromise } from 'xstate';
import { type CancelledRequest, cancellationMachine } from './cancellation-machine.js';
import { type ListPage, type PageRequest, paginationMachine } from './pagination-machine.js';
import type { TransportCommand, TransportInput, VetInput, Vetting } from './server-events.js';
import { serverMachine } from './server-machine.js';
import { type CandidateKey, type CloseOutcome, type Failure, type Handshake, type LinkRef, type ListKind } from './vocabulary.js';
import { workspaceMachine } from './workspace-machine.js';

/** One life of a scripted server. What is left out goes well. */
export interface ScriptedGeneration {
  /** Lists that have no pages are empty. */
  readonly handshake?: Partial<Handshake>;
  /** The pages of each list, in order; which of them comes next is said by their `nextCursor` alone. */
  readonly pages?: Readonly<Partial<Record<ListKind, readonly ScriptedPage[]>>>;
  /** Reported instead of the handshake. */
  readonly loss?: { readonly failure: Failure; readonly death: boolean };
  readonly close?: { readonly outcome: CloseOutcome; readonly detail: string };
}

/** A page answers to the cursor it names; the first page names none. */
export interface ScriptedPage extends Partial<ListPage> {
  readonly cursor?: string;
}

/** What one server does. Each row is used up in order, and its last entry stands for all that follow. */
export interface ServerScript {
  /** What a look at the disk says; without any, that no question has to be asked. */
  readonly vettings?: readonly Vetting[];
  readonly generations?: readonly ScriptedGeneration[];
}

/**
 * The server machine with actors that play a script: a chart that can be stepped to `ready` and back in any inspector,
 * without a process, a socket or a timer. `scriptOf` may tell servers apart by their key. An actor that the script
 * contradicts, such as a page nobody wrote, fails with a message that says so.
 */
export function scriptedServer(scriptOf: (key: CandidateKey) => ServerScript = () => ({})): typeof serverMachine {
  const looks = new Map<CandidateKey, number>();
  const nextVetting = (key: CandidateKey): Vetting => {
    const count = looks.get(key) ?? 0;
    looks.set(key, count + 1);
    return pick(scriptOf(key).vettings, count) ?? { verdict: 'approved', fingerprint: null };
  };
  const generationOf = ({ key, generation }: LinkRef): ScriptedGeneration =>
    pick(scriptOf(key).generations, generation - 1) ?? {};

  return serverMachine.provide({
    actors: {
      vet: fromPromise<Vetting, VetInput>(({ input }) => Promise.resolve(nextVetting(input.key))),
      transport: scriptedTransport(generationOf),
      pagination: paginationMachine.provide({
        actors: {
          fetchPage: fromPromise<ListPage, PageRequest>(({ input }) => scriptedPage(generationOf(input.source), input)),
        },
      }),
      cancellation: cancellationMachine.provide({
        actors: { notify: fromPromise<unknown, CancelledRequest>(() => Promise.resolve()) },
      }),
      // Announcements never end, a probe is always answered.
      listen: fromPromise<void, LinkRef>(() => new Promise(() => undefined)),
      probe: fromPromise<void, LinkRef>(() => Promise.resolve()),
    },
  });
}

/** The workspace machine over scripted servers. */
export function scriptedWorkspace(scriptOf?: (key: CandidateKey) => ServerScript): typeof workspaceMachine {
  return workspaceMachine.provide({ actors: { server: scriptedServer(scriptOf) } });
}

function scriptedTransport(generationOf: (ref: LinkRef) => ScriptedGeneration) {
  return fromCallback<TransportCommand, TransportInput>(({ input, sendBack, receive }) => {
    const { generation } = input;
    const { handshake, loss, close } = generationOf(input);
    receive(() => sendBack({ type: 'transport.closed', generation, outcome: 'clean', detail: 'scripted', ...close }));
    sendBack({ type: 'transport.opened', generation, pid: null });
    sendBack(
      loss === undefined
        ? { type: 'transport.initialized', generation, handshake: { ...quietHandshake, ...handshake } }
        : { type: 'transport.lost', generation, ...loss },
    );
  });
}

const quietHandshake: Handshake = {
  era: 'legacy',
  protocolVersion: '2025-11-25',
  serverInfo: { name: 'scripted', version: '0.0.0' },
  lists: ['tools'],
  announces: false,
};

function scriptedPage({ pages }: ScriptedGeneration, { kind, cursor }: PageRequest): Promise<ListPage> {
  const list = pages?.[kind] ?? [{}];
  const page = list.find((one) => one.cursor === cursor);
  if (page === undefined) return Promise.reject(new Error(`the script has no page of ${kind} for this cursor`));
  return Promise.resolve({ items: [], skipped: [], nextCursor: undefined, ...page });
}

const pick = <T>(row: readonly T[] | undefined, index: number): T | undefined => row?.[Math.min(index, row.length - 1)];
