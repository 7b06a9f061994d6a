import {
  type CandidateKey,
  type Code,
  candidateKey,
  type Failure,
  failure,
  type Gate,
  type GateName,
  isWorkspaceLayer,
  type LayerName,
  type ServerId,
  type ServerProfile,
} from './vocabulary.js';

/** One entry of one layer. An id may have one in every layer: they form its stack. */
export interface Candidate extends ServerProfile {
  /** Scheme, host and port of an http or sse server. */
  readonly origin?: string;
}

export interface CandidateFacts {
  /** Real path of the workspace. */
  readonly root: string;
  readonly trusted: boolean;
  readonly remoteEnabled: boolean;
  /** What a person decided, by `switchKey`: on or off. */
  readonly switches: ReadonlyMap<string, boolean>;
  /** Whether what this candidate would run was approved in this process. Asked only where approval is needed. */
  readonly approved: (key: CandidateKey) => boolean;
}

/** A denial is known to the server's own machine alone. */
export type StackGate = Exclude<Gate, 'denied'>;

/** The first gate that is shut; the failure says which and how to open it. */
export interface ShutStackGate {
  readonly gate: StackGate;
  readonly failure: Failure;
}

export interface CandidateVerdict {
  readonly key: CandidateKey;
  /** `null` when all gates are open. One that is open and not effective waits for its approval. */
  readonly shut: ShutStackGate | null;
  /** This candidate serves its id. At most one of an id. */
  readonly isEffective: boolean;
  readonly needsApproval: boolean;
}

/** What a workspace brings along runs only after a person has seen exactly what it is. */
export function needsApproval(layer: LayerName): boolean {
  return isWorkspaceLayer(layer);
}

/** Position of a switch nobody has touched: on for the user and for plugins, off for whatever a workspace brings. */
export function defaultSwitch(layer: LayerName): boolean {
  return !isWorkspaceLayer(layer);
}

/**
 * Name of a candidate's switch. For workspace layers it holds the root and what is connected to, so that neither another
 * checkout nor another endpoint inherits a yes. Without an origin the whole definition stands in for it.
 */
export function switchKey(candidate: Candidate, root: string): string {
  const { id, layer, transport, origin, configHash } = candidate;
  const name = `mcp.disabled.${layer}.${id}`;
  if (!isWorkspaceLayer(layer)) return name;
  // Neither an id nor an origin holds a '#', and the root comes last: no two candidates share a key.
  const identity = transport === 'stdio' ? transport : `${transport} ${origin ?? configHash}`;
  return `${name}#${identity}#${root}`;
}

/**
 * What a remembered grant is bound to besides the root, the tool and its definition: the layer and what is connected to. Of a
 * workspace's server it is the whole definition, for its owner can change what it connects to and offer the same tools.
 */
export function grantOwner({ layer, transport, origin, configHash }: Candidate): string {
  return `${layer} ${transport} ${isWorkspaceLayer(layer) ? configHash : (origin ?? '')}`;
}

/** What a person decided for this candidate, else the position nobody has touched. */
export function isSwitchedOn(candidate: Candidate, { root, switches }: Pick<CandidateFacts, 'root' | 'switches'>): boolean {
  return switches.get(switchKey(candidate, root)) ?? defaultSwitch(candidate.layer);
}

/**
 * Decides for each candidate whether it may start, and for each id which one serves it: the highest whose gates are open
 * and that needs no approval or has it. Order of layers: user, plugins as given, workspace, workspace-override.
 */
export function decideCandidates(
  candidates: readonly Candidate[],
  facts: CandidateFacts,
): ReadonlyMap<CandidateKey, CandidateVerdict> {
  const stack = bottomUp(candidates);
  const effective = new Map<ServerId, Candidate>();
  // A higher one that passes replaces what is below it.
  for (const candidate of stack) {
    if (shutGate(candidate, facts, undefined) === null && isApproved(candidate, facts)) effective.set(candidate.id, candidate);
  }

  const verdicts = new Map<CandidateKey, CandidateVerdict>();
  const reached = new Set<ServerId>();
  for (const candidate of stack) {
    const server = effective.get(candidate.id);
    if (server === candidate) reached.add(candidate.id);
    const above = reached.has(candidate.id) ? undefined : server;
    const key = keyOf(candidate);
    const shut = shutGate(candidate, facts, above);
    verdicts.set(key, { key, shut, isEffective: server === candidate, needsApproval: needsApproval(candidate.layer) });
  }
  return verdicts;
}

export interface CandidateDiff<C extends Candidate> {
  readonly added: readonly C[];
  /** As they were before. */
  readonly removed: readonly C[];
  /** Another definition: close, then through the gates again. */
  readonly changed: readonly C[];
  /** Differs only in what a running server can take over, such as its idle time. */
  readonly adjusted: readonly C[];
  readonly kept: readonly C[];
}

/** What a reload does to each candidate. Those in `kept` and `adjusted` keep their process. */
export function diffCandidates<C extends Candidate>(before: readonly C[], after: readonly C[]): CandidateDiff<C> {
  const old = new Map(before.map((candidate) => [keyOf(candidate), candidate]));
  const diff = { added: [] as C[], removed: [] as C[], changed: [] as C[], adjusted: [] as C[], kept: [] as C[] };
  for (const candidate of after) {
    const previous = old.get(keyOf(candidate));
    diff[previous === undefined ? 'added' : compare(previous, candidate)].push(candidate);
    old.delete(keyOf(candidate));
  }
  diff.removed.push(...old.values());
  return diff;
}

function compare(a: Candidate, b: Candidate): 'changed' | 'adjusted' | 'kept' {
  const isSameServer =
    a.configHash === b.configHash &&
    a.transport === b.transport &&
    a.origin === b.origin &&
    a.isRemote === b.isRemote &&
    // A refusal that comes must close what runs, one that goes must let it start.
    (a.refusal === null) === (b.refusal === null);
  if (!isSameServer) return 'changed';
  const isEqual =
    a.lifecycle === b.lifecycle &&
    a.idleTimeoutMs === b.idleTimeoutMs &&
    a.initTimeoutMs === b.initTimeoutMs &&
    a.refusal?.code === b.refusal?.code &&
    a.refusal?.message === b.refusal?.message &&
    a.refusal?.hint === b.refusal?.hint;
  return isEqual ? 'kept' : 'adjusted';
}

export const keyOf = ({ layer, id }: Candidate): CandidateKey => candidateKey(layer, id);

function rank(layer: LayerName): number {
  if (layer === 'user') return 0;
  if (layer === 'workspace') return 2;
  return layer === 'workspace-override' ? 3 : 1;
}

/** Stable: plugins keep the order they were given in, the later one on top. */
const bottomUp = (candidates: readonly Candidate[]): readonly Candidate[] =>
  candidates.toSorted((a, b) => rank(a.layer) - rank(b.layer));

const isApproved = (candidate: Candidate, facts: CandidateFacts): boolean =>
  !needsApproval(candidate.layer) || facts.approved(keyOf(candidate));

/** The gates in their order. `above` is the candidate that serves the id from a higher layer, if one does. */
function shutGate(candidate: Candidate, facts: CandidateFacts, above: Candidate | undefined): ShutStackGate | null {
  return (
    remoteGate(candidate, facts) ??
    trustGate(candidate, facts) ??
    switchGate(candidate, facts) ??
    (above === undefined ? null : shadowGate(candidate, above)) ??
    refusalGate(candidate)
  );
}

/**
 * Each gate as it would be found, whatever the ones before it say: `null` for an open one. Whether what would run is approved
 * is known to its server alone.
 */
export function gateVerdicts(
  candidate: Candidate,
  facts: Omit<CandidateFacts, 'approved'>,
): Readonly<Record<Exclude<GateName, 'approval'>, Failure | null>> {
  return {
    remote: failureOf(remoteGate(candidate, facts)),
    trust: failureOf(trustGate(candidate, facts)),
    enabled: failureOf(switchGate(candidate, facts)),
    refusals: candidate.refusal,
  };
}

const failureOf = (shut: ShutStackGate | null): Failure | null => (shut === null ? null : shut.failure);

function remoteGate({ id, isRemote }: Candidate, facts: Pick<CandidateFacts, 'remoteEnabled'>): ShutStackGate | null {
  if (!isRemote || facts.remoteEnabled) return null;
  return shutFor(
    'remoteOff',
    'REMOTE_OFF',
    `Remote servers are switched off, and "${id}" is one`,
    'Run `mcp-supervisor remote on`, or set "remote": { "enabled": true } in the user file.',
  );
}

function trustGate({ id, layer }: Candidate, facts: Pick<CandidateFacts, 'trusted'>): ShutStackGate | null {
  if (!isWorkspaceLayer(layer) || facts.trusted) return null;
  return shutFor(
    'untrusted',
    'UNTRUSTED',
    `The workspace that brings "${id}" is not trusted`,
    'Look at what it would run; if you trust this workspace, run `mcp-supervisor trust`.',
  );
}

function switchGate(candidate: Candidate, facts: Pick<CandidateFacts, 'root' | 'switches'>): ShutStackGate | null {
  if (isSwitchedOn(candidate, facts)) return null;
  const { id, layer } = candidate;
  return shutFor('disabled', 'DISABLED', `"${id}" of the ${layer} layer is switched off`, `Run \`mcp-supervisor enable ${id}\`.`);
}

function shadowGate({ id, layer }: Candidate, above: Candidate): ShutStackGate {
  const text = `"${id}" of the ${layer} layer is covered by the one of the ${above.layer} layer`;
  return shutFor('shadowed', 'SHADOWED', text, 'Give one of the two another id, or leave the other one switched off.');
}

const refusalGate = ({ refusal }: Candidate): ShutStackGate | null =>
  refusal === null ? null : { gate: 'refused', failure: refusal };

const shutFor = (gate: StackGate, code: Code, message: string, hint: string): ShutStackGate => ({
  gate,
  failure: failure(code, message, hint),
});
