import { fromPromise } from 'xstate';
import { cancellationMachine } from '../machines/cancellation-machine.js';
import { needsApproval } from '../machines/candidates.js';
import type { ListWalk } from '../machines/list-walk.js';
import { paginationMachine } from '../machines/pagination-machine.js';
import type { TransportInput, VetInput, Vetting } from '../machines/server-events.js';
import { serverMachine } from '../machines/server-machine.js';
import { type CandidateKey, failure, type LinkRef } from '../machines/vocabulary.js';
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

/** The server machine with everything it needs from outside. Providing costs about a millisecond: once a workspace. */
export function createServerLogic(deps: ServerActorDeps) {
  const { links } = deps;
  // A user's own server needs no second look between the gate and its start.
  const launches = new Map<string, Launch>();
  const unfinished = new UnfinishedWalks();

  const vet = async (input: VetInput, isOpening: boolean): Promise<Vetted> => {
    const definition = deps.definitionOf(input);
    if (definition === undefined) throw supervisorError('UNKNOWN_SERVER', `"${input.key}" is no longer what it was`);
    const isStart = isOpening || !needsApproval(definition.layer);
    const sent = definition.transport === 'stdio' ? definition : await deps.reduce(definition, isStart);
    const vetted = await deps.vet.vet(sent, deps.scope);
    if (vetted.fingerprint === null && needsApproval(definition.layer))
      throw supervisorError('REFUSED_COMMAND', `"${input.key}" needs an approval, and there is nothing to approve`);
    return vetted;
  };

  const launchFor = (input: TransportInput): Launch | Promise<Launch> => {
    const launch = launches.get(input.key);
    launches.delete(input.key);
    if (input.fingerprint === null && launch !== undefined) return launch;
    return vet(input, true).then((vetted) => {
      if (vetted.fingerprint !== input.fingerprint) {
        throw supervisorError(
          'APPROVAL_STALE',
          `"${input.key}" is no longer what was approved: its files or its configuration changed`,
        );
      }
      return vetted.launch;
    });
  };

  return serverMachine.provide({
    actors: {
      vet: fromPromise<Vetting, VetInput>(async ({ input, signal }) => {
        try {
          const vetted = await vet(input, false);
          const { fingerprint } = vetted;
          // A look that came too late is at what the server no longer is: it must not replace a later one.
          if (!signal.aborted) {
            deps.onVetted(input, vetted);
            if (fingerprint === null) launches.set(input.key, vetted.launch);
          }
          if (fingerprint === null || deps.approved.has(fingerprint)) return { verdict: 'approved', fingerprint };
          return { verdict: 'ask', fingerprint };
        } catch (error) {
          return { verdict: 'refused', failure: toFailure(error, 'REFUSED_COMMAND') };
        }
      }),
      transport: createTransportActor({ ...deps, launchFor }),
      pagination: paginationMachine.provide({
        actors: {
          fetchPage: fromPromise(async ({ input, signal }) => {
            const giveUp = (): void => {
              const walk = unfinished.giveUp(input);
              if (walk !== undefined) deps.onUnfinished(input.source.key, walk);
            };
            signal.addEventListener('abort', giveUp, { once: true });
            try {
              const page = await fetchPage(linkOf(links, input.source).link, input, signal, deps);
              unfinished.took(input, page);
              return page;
            } finally {
              signal.removeEventListener('abort', giveUp);
            }
          }),
        },
      }),
      cancellation: cancellationMachine.provide({
        actors: {
          notify: fromPromise(({ input }) => linkOf(links, input.source).link.notifyCancelled(input.requestId, input.reason)),
        },
      }),
      listen: fromPromise(({ input }: { readonly input: LinkRef }) => linkOf(links, input).link.listen()),
      probe: fromPromise(({ input }: { readonly input: LinkRef }) => linkOf(links, input).link.probe()),
    },
  });
}

function linkOf(links: LinkTable, source: LinkRef): LiveLink {
  const live = links.find(source);
  if (live === undefined)
    throw new SupervisorError(failure('LINK_LOST', `"${source.key}" has no open connection of generation ${source.generation}`));
  return live;
}
