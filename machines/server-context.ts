import type { PaginationInput } from './pagination-machine.js';
import { backoffMs, isIntensityExceeded } from './restart-policy.js';
import type { CancellationCounts, ShutGate, SupervisorRef } from './server-events.js';
import type { ServerOptions } from './server-options.js';

import {
  type CandidateKey,
  type CloseOutcome,
  candidateKey,
  type Failure,
  failure,
  type Gate,
  type Generation,
  type Handshake,
  isWorkspaceLayer,
  LIST_KINDS,
  type ListKind,
  type ListState,
  type ServerProfile,
  type Stage,
  type Ticket,
} from './vocabulary.js';

export interface ServerInput {
  readonly profile: ServerProfile;
  readonly shut: ShutGate;
  readonly seed: number;
  readonly options: ServerOptions;
  readonly supervisor: SupervisorRef;
}

/** Where `closing` leads once the transport says that nothing is left. */
export type Heading = 'rest' | 'crash' | 'gone';

export interface ServerContext {
  readonly key: CandidateKey;
  readonly profile: ServerProfile;
  readonly options: ServerOptions;
  readonly supervisor: SupervisorRef;

  readonly shut: ShutGate;
  readonly blockedBy: Gate | null;
  /** Why it is not ready, or what went wrong last. */
  readonly problem: Failure | null;

  /** A start that somebody asked for and that has not led to `ready` yet. */
  readonly wanted: boolean;
  /** Calls wait for `ready`. */
  readonly waiting: boolean;
  /** Calls are in flight. */
  readonly busy: boolean;

  /** As last seen on disk; `approved` and `denied` are the fingerprints a person said yes and no to. */
  readonly fingerprint: string | null;
  readonly approved: string | null;
  readonly denied: string | null;

  readonly generation: Generation;
  readonly ticket: Ticket;
  readonly heading: Heading;
  /** Why this generation ends: what its open calls are settled with. */
  readonly ending: Failure;
  readonly pid: number | null;
  readonly handshake: Handshake | null;
  readonly wroteStderr: boolean;
  readonly lastClose: { readonly generation: Generation; readonly outcome: CloseOutcome; readonly reason: string } | null;

  /** PRNG state and its last draw: jitter that a replay repeats. */
  readonly seed: number;
  readonly draw: number;
  /** Failed attempts since it was last stable; sets the backoff. */
  readonly attempt: number;
  /** Deaths inside the window, by number; a death leaves it by a delayed event, so no clock is read. */
  readonly restarts: readonly number[];
  readonly deaths: number;
  /** One demand may skip the wait of backoff, until the server has proven stable again. */
  readonly mayHurry: boolean;

  readonly lists: Readonly<Record<ListKind, ListState>>;
  /** Walks of this round, the first one running; what changes meanwhile is `stale` and makes the next round. */
  readonly walks: readonly ListKind[];
  readonly stale: readonly ListKind[];
  readonly listAttempt: number;
  /** How often in a row the stream of announcements ended before it had held for a while. */
  readonly silences: number;

  readonly cancelling: number;
  readonly cancellations: CancellationCounts;
}

const UNKNOWN: ListState = { state: 'unknown', count: 0, reason: null };

export function initialContext(input: ServerInput): ServerContext {
  const { profile, shut, seed, options, supervisor } = input;
  return {
    key: candidateKey(profile.layer, profile.id),
    profile,
    options,
    supervisor,
    shut,
    blockedBy: shut?.gate ?? null,
    problem: shut?.failure ?? null,
    wanted: false,
    waiting: false,
    busy: false,
    fingerprint: null,
    approved: null,
    denied: null,
    generation: 0,
    ticket: 0,
    heading: 'rest',
    ending: failure('LINK_LOST', `"${profile.id}" was closed`),
    pid: null,
    handshake: null,
    wroteStderr: false,
    lastClose: null,
    seed,
    draw: 0,
    attempt: 0,
    restarts: [],
    deaths: 0,
    mayHurry: true,
    lists: { tools: UNKNOWN, resources: UNKNOWN, resourceTemplates: UNKNOWN, prompts: UNKNOWN },
    walks: [],
    stale: [],
    listAttempt: 0,
    silences: 0,
    cancelling: 0,
    cancellations: { confirmed: 0, lateAnswer: 0, unconfirmed: 0 },
  };
}

/** Somebody wants it up: an unmet start, or a call that waits. */
export const isHungry = (context: ServerContext): boolean => context.wanted || context.waiting;

export const isKeptAlive = (context: ServerContext): boolean => context.profile.lifecycle === 'keep-alive';

/** Only the workspace's own servers have a question to ask, so only they are looked at before anybody wants them. */
export const hasQuestion = (context: ServerContext): boolean => isWorkspaceLayer(context.profile.layer);

/** Where a try may end in what does not mend itself: a missing authorisation, a bad certificate, a package that is not there. */
const TRYING: ReadonlySet<Stage> = new Set(['auth', 'transport', 'initialize']);

/** The last try ended in such a thing, and another one would too. */
export const needsPerson = ({ problem }: ServerContext): boolean =>
  problem !== null && !problem.retryable && TRYING.has(problem.stage);

/** Where a crash leads; the one place that decides it. */
export function verdictOf(context: ServerContext): 'gate' | 'failed' | 'backoff' | 'idle' {
  if (context.shut !== null) return 'gate';
  if (needsPerson(context) || isIntensityExceeded(context.restarts, context.options.restart)) return 'failed';
  if (isHungry(context) || isKeptAlive(context)) return 'backoff';
  return 'idle';
}

/** How long this attempt waits; also what a status shows as the next retry. */
export function backoffDelayMs(context: ServerContext): number {
  return backoffMs(context.attempt, context.draw, context.options.restart);
}

export const failedLists = (context: ServerContext): readonly ListKind[] =>
  LIST_KINDS.filter((kind) => context.lists[kind].state === 'failed');

/** Input of the next walk; only asked for while there is one to make. */
export function walkInput({ key, generation, walks, options }: ServerContext): PaginationInput {
  return {
    source: { key, generation },
    kind: walks[0] as ListKind,
    limits: { pages: options.pages, items: options.items },
    pageTimeoutMs: options.pageTimeoutMs,
  };
}
