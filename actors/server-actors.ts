import { fromPromise } from 'xstate';
import { cancellationMachine } from '../machines/cancellation-machine.js';
import { needsApproval } from '../machines/candidates.js';
import type { ListWalk } from '../machines/list-walk.js';
import { paginationMachine } from '../machines/pagination-machine.js';
import type { TransportInput, VetInput, Vetting } from '../machines/server-events.js';
import { serverMachine } from '../machines/server-machine.js';
import { type CandidateKey, failure, type LinkRef } from '../machines/vocabulary.js';
import { workspaceMachine } from '../machines/workspace-machine.js';
import { SupervisorError, supervisorError, toFailure } from './errors.js';
import type { LinkTable, LiveLink } from './link-table.js';
import { fetchPage } from './list-pages.js';
import type { ConfigScope, DigestPort, Launch, ServerDefinition, VetPort, Vetted } from './ports.js';
import { createTransportActor, type TransportDeps } from './transport-actor.js';
import { UnfinishedWalks } from './unfinished-walks.js';

export interface ServerActorDeps extends Omit<TransportDeps, 'launchFor'> {
  readonly links: LinkTable;
  readonly vet: VetPort;
  readonly digest: DigestPort;
  readonly scope: ConfigScope;
  /** The definition with secrets, which the machines name by key and hash only. */
  readonly definitionOf: (input: VetInput) => ServerDefinition | undefined;
  /** The definition without the headers that may not go to its URL; `isStart` when those it keeps are about to be sent. */
  readonly reduce: (definition: ServerDefinition, isStart: boolean) => Promise<ServerDefinition>;
  /** Fingerprints that somebody said yes to, in this process. */
  readonly approved: ReadonlySet<string>;
  /** The card belongs to the fingerprint that is asked about. */
  readonly onVetted: (input: VetInput, vetted: Vetted) => void;
  /** A list whose server went away before it was read to its end, as far as it was read. */
  readonly onUnfinished: (key: CandidateKey, walk: ListWalk) => void;
}

/** What the servers of one workspace need from outside, for as long as it runs. */
class ServerActors {
  readonly deps: ServerActorDeps;
  readonly unfinished = new UnfinishedWalks();
  /** A user's own server needs no second look between the gate and its start. */
  readonly #launches = new Map<string, Launch>();

  constructor(deps: ServerActorDeps) {
    this.deps = deps;
  }

  async look(input: VetInput, signal: AbortSignal): Promise<Vetting> {
    const { onVetted, approved } = this.deps;
    try {
      const vetted = await this.#vet(input, false);
      const { fingerprint } = vetted;
      // A look that came too late is at what the server no longer is: it must not replace a later one.
      if (!signal.aborted) {
        onVetted(input, vetted);
        if (fingerprint === null) this.#launches.set(input.key, vetted.launch);
      }
      if (fingerprint === null || approved.has(fingerprint)) return { verdict: 'approved', fingerprint };
      return { verdict: 'ask', fingerprint };
    } catch (error) {
      return { verdict: 'refused', failure: toFailure(error, 'REFUSED_COMMAND') };
    }
  }

  /** What to start, looked at anew; rejects with `APPROVAL_STALE` when it is not what was approved. */
  readonly launchFor = (input: TransportInput): Launch | Promise<Launch> => {
    const launch = this.#launches.get(input.key);
    this.#launches.delete(input.key);
    if (input.fingerprint === null && launch !== undefined) return launch;
    return this.#vet(input, true).then((vetted) => {
      if (vetted.fingerprint !== input.fingerprint) {
        throw supervisorError(
          'APPROVAL_STALE',
          `"${input.key}" is no longer what was approved: its files or its configuration changed`,
        );
      }
      return vetted.launch;
    });
  };

  link(source: LinkRef): LiveLink['link'] {
    return linkOf(this.deps.links, source).link;
  }

  async #vet(input: VetInput, isOpening: boolean): Promise<Vetted> {
    const { definitionOf, reduce, vet, scope } = this.deps;
    const definition = definitionOf(input);
    if (definition === undefined) throw supervisorError('UNKNOWN_SERVER', `"${input.key}" is no longer what it was`);
    const isStart = isOpening || !needsApproval(definition.layer);
    const sent = definition.transport === 'stdio' ? definition : await reduce(definition, isStart);
    const vetted = await vet.vet(sent, scope);
    if (vetted.fingerprint === null && needsApproval(definition.layer))
      throw supervisorError('REFUSED_COMMAND', `"${input.key}" needs an approval, and there is nothing to approve`);
    return vetted;
  }
}

interface OfLink {
  readonly input: LinkRef;
  readonly system: object;
}

/** By actor system, of which every workspace has its own. */
const provided = new WeakMap<object, ServerActors>();

function actorsOf(system: object): ServerActors {
  const actors = provided.get(system);
  if (actors === undefined) throw new Error('bug: this workspace was not given what its servers need');
  return actors;
}

/** Says what the servers of this workspace need from outside: once, before its actor is started. */
export function provideServers(system: object, deps: ServerActorDeps): void {
  provided.set(system, new ServerActors(deps));
}

const fetching = paginationMachine.provide({
  actors: {
    fetchPage: fromPromise(async ({ input, signal, system }) => {
      const actors = actorsOf(system);
      const giveUp = (): void => {
        const walk = actors.unfinished.giveUp(input);
        if (walk !== undefined) actors.deps.onUnfinished(input.source.key, walk);
      };
      signal.addEventListener('abort', giveUp, { once: true });
      try {
        const page = await fetchPage(actors.link(input.source), input, signal, actors.deps);
        actors.unfinished.took(input, page);
        return page;
      } finally {
        signal.removeEventListener('abort', giveUp);
      }
    }),
  },
});

const notifying = cancellationMachine.provide({
  actors: {
    notify: fromPromise(({ input, system }) =>
      actorsOf(system).link(input.source).notifyCancelled(input.requestId, input.reason),
    ),
  },
});

/**
 * The workspace machine with all that its servers are made of: one for all workspaces of a process, as to provide a machine
 * costs a millisecond and some fifty kilobytes. What belongs to one workspace is found by its actor system.
 */
export const providedWorkspace = workspaceMachine.provide({
  actors: {
    server: serverMachine.provide({
      actors: {
        vet: fromPromise<Vetting, VetInput>(({ input, signal, system }) => actorsOf(system).look(input, signal)),
        transport: createTransportActor((system) => {
          const { deps, launchFor } = actorsOf(system);
          return { ...deps, launchFor };
        }),
        pagination: fetching,
        cancellation: notifying,
        listen: fromPromise(({ input, system }: OfLink) => actorsOf(system).link(input).listen()),
        probe: fromPromise(({ input, system }: OfLink) => actorsOf(system).link(input).probe()),
      },
    }),
  },
});

function linkOf(links: LinkTable, source: LinkRef): LiveLink {
  const live = links.find(source);
  if (live === undefined)
    throw new SupervisorError(failure('LINK_LOST', `"${source.key}" has no open connection of generation ${source.generation}`));
  return live;
}
