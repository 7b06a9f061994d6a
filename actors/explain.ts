import type { Candidate } from '../machines/candidates.js';
import { phaseOf, stageOf } from '../machines/server-view.js';
import { type CandidateKey, candidateKey, failure, type ServerId } from '../machines/vocabulary.js';
import type { Calls } from './calls.js';
import { supervisorError } from './errors.js';
import { gatesOf, onDemandOf, refuse, UNTRIED } from './explain-gates.js';
import { isRequest, onCall, policyExplained, toolExplained, toolsCalled } from './explain-tool.js';
import type { Explanation, ShadowedEntry } from './explanation.js';
import { nearNames } from './near-names.js';
import { whyNotServed } from './served-candidates.js';
import type { ConfigState, SeenEntry } from './workspace-config.js';
import type { WorkspaceRuntime } from './workspace-runtime.js';
import { holderName } from './workspace-slots.js';
import { serverStatus } from './workspace-status.js';

/** A server, or what of it is asked about: a tool's original name, `resources/read`, `prompts/get`. */
interface Subject {
  readonly server: ServerId;
  readonly of?: string | undefined;
}

/** Everything that a name stands for, explained; see `Workspace.explain`. */
export function explainName(runtime: WorkspaceRuntime, calls: Calls, name: string): readonly Explanation[] {
  const subjects = subjectsOf(runtime, name);
  if (subjects.length === 0) throw unknownName(runtime, name);
  return subjects.map((subject) => explain(runtime, calls, subject));
}

/** One server, or one thing of it: `of` is a tool's original or full name, `resources/read` or `prompts/get`. */
export function explainServer(runtime: WorkspaceRuntime, calls: Calls, server: ServerId, of?: string): Explanation {
  if (!isKnown(runtime, server)) throw unknownName(runtime, server);
  const entry = of === undefined ? undefined : runtime.catalogue.tool(of);
  return explain(runtime, calls, { server, of: entry?.server === server ? entry.tool : of });
}

const isKnown = (runtime: WorkspaceRuntime, id: ServerId): boolean =>
  runtime.candidateFor(id) !== undefined || runtime.config.entriesOf(id).length > 0;

/** Ids first, then exact full names, then what a rule would call it, and last what servers call their tools. */
function subjectsOf(runtime: WorkspaceRuntime, name: string): readonly Subject[] {
  if (isKnown(runtime, name)) return [{ server: name }];
  const entry = runtime.catalogue.tool(name);
  if (entry !== undefined) return [{ server: entry.server, of: entry.tool }];
  const dot = name.indexOf('.');
  if (dot > 0 && dot < name.length - 1 && isKnown(runtime, name.slice(0, dot)))
    return [{ server: name.slice(0, dot), of: name.slice(dot + 1) }];
  const ids = new Set([...runtime.context.candidates.map(({ id }) => id), ...runtime.config.seenIds]);
  const owners = [...ids].filter((id) => name.startsWith(`mcp__${id}__`) && name.length > id.length + 7);
  if (owners.length > 0) return owners.map((server) => ({ server, of: name.slice(server.length + 7) }));
  return toolsCalled(runtime, name).map(({ server, tool }) => ({ server, of: tool }));
}

/** Suggests nothing that a person has not agreed to be shown: ids of entries, and tools of servers that may run. */
function unknownName(runtime: WorkspaceRuntime, name: string): Error {
  const { catalogue, context } = runtime;
  const tools = [...catalogue.entries()].filter(({ unapproved }) => !unapproved);
  const near = nearNames(name, [
    ...context.candidates.map(({ id }) => id),
    ...tools.flatMap(({ fullName, tool }) => [fullName, tool]),
  ]);
  const text = `no server is called "${name.slice(0, 128)}", and no known server has such a tool`;
  if (near.length === 0) return supervisorError('UNKNOWN_SERVER', text, { hint: '`mcp-supervisor status` lists the servers.' });
  return supervisorError('UNKNOWN_SERVER', text, { hint: `Did you mean ${near.map((one) => `"${one}"`).join(' or ')}?` });
}

function explain(runtime: WorkspaceRuntime, calls: Calls, subject: Subject): Explanation {
  const candidate = runtime.candidateFor(subject.server);
  return candidate === undefined ? untaken(runtime, subject) : taken(runtime, calls, subject, candidate);
}

const labelOf = ({ server, of }: Subject): string => (of === undefined ? server : `${server}.${of}`);

function taken(runtime: WorkspaceRuntime, calls: Calls, subject: Subject, candidate: Candidate): Explanation {
  const { server, of } = subject;
  const key = candidateKey(candidate.layer, server);
  const definition = runtime.config.definitionOf(key);
  const snapshot = runtime.snapshotOf(server);
  const gates = gatesOf(runtime, candidate, snapshot);
  const status = serverStatus(runtime, server);
  const onDemand = onDemandOf(runtime, gates, snapshot);
  const common: Explanation = {
    subject: labelOf(subject),
    server,
    layer: candidate.layer,
    file: definition?.file ?? null,
    line: lineOf(candidate, definition?.line),
    shadowed: shadowedBy(runtime, candidate),
    phase: snapshot === undefined ? 'failed' : phaseOf(snapshot),
    stage: snapshot === undefined ? null : stageOf(snapshot),
    gates,
    error: status?.error ?? null,
    retry: retryOf(runtime, status?.retryAtMs ?? null),
    restarts: restartsOf(runtime, key),
    slot: slotOf(runtime, key),
    lastClose: status?.lastClose ?? null,
    onDemand,
    faults: faultsOf(runtime.config.state, subject, runtime.config.entriesOf(server)),
    policy: null,
    tool: null,
  };
  if (of === undefined) return common;
  const entry = runtime.catalogue.toolOf(server, of);
  const policy = policyExplained(
    runtime,
    candidate,
    entry === undefined ? calls.policyOf(server, of) : calls.policyOfTool(entry),
  );
  const tool = isRequest(of) ? null : toolExplained(runtime, server, of);
  return { ...common, policy, tool, onDemand: onCall(onDemand, policy, tool, common.subject) };
}

/** Named in a file that was not taken, and in none that was. */
function untaken(runtime: WorkspaceRuntime, subject: Subject): Explanation {
  const { server } = subject;
  const { config, context } = runtime;
  const entries = config.entriesOf(server);
  const { layer, file, line } = entries.at(-1) as SeenEntry;
  const faults = faultsOf(config.state, subject, entries);
  const fault = faults.find((one) => one.file === file) ?? faults[0];
  const error =
    fault === undefined
      ? failure('NOT_READY', `the entry of "${server}" is not taken yet`)
      : failure(fault.code, `${placeOf(fault)}: ${fault.message}`, 'Mend the file; until then nothing of it is taken.');
  const { restart } = context.options;
  return {
    subject: labelOf(subject),
    server,
    layer,
    file,
    line,
    shadowed: [],
    phase: 'idle',
    stage: 'config',
    gates: UNTRIED,
    error,
    retry: null,
    restarts: { count: 0, max: restart.intensity, windowMs: restart.windowMs },
    slot: null,
    lastClose: null,
    onDemand: refuse(error),
    faults,
    policy: null,
    tool: null,
  };
}

const placeOf = ({ file, line, column }: { file: string; line: number | null; column: number | null }): string =>
  line === null ? file : `${file}:${line}:${column ?? 1}`;

/** What a plugin gives in code has no lines. */
const lineOf = ({ layer }: Candidate, line: number | undefined): number | null =>
  layer.startsWith('plugin:') ? null : (line ?? null);

function shadowedBy(runtime: WorkspaceRuntime, { id, layer }: Candidate): readonly ShadowedEntry[] {
  const { candidates } = runtime.context;
  const others = candidates.filter((one) => one.id === id && one.layer !== layer);
  const known = others.map((other) => {
    const definition = runtime.config.definitionOf(candidateKey(other.layer, id));
    const { code, message } = whyNotServed(runtime.context, other);
    return { layer: other.layer, file: definition?.file ?? null, line: lineOf(other, definition?.line), code, why: message };
  });
  const seen = runtime.config
    .entriesOf(id)
    .filter((one) => !candidates.some((taken) => taken.id === id && taken.layer === one.layer));
  return [
    ...known,
    ...seen.map((one) => ({ ...one, code: 'CONFIG_INVALID' as const, why: 'its file has a fault, and nothing of it is taken' })),
  ];
}

function retryOf(runtime: WorkspaceRuntime, atMs: number | null): Explanation['retry'] {
  return atMs === null ? null : { atMs, inMs: Math.max(0, atMs - runtime.deps.ports.clock.epoch()) };
}

function restartsOf(runtime: WorkspaceRuntime, key: CandidateKey): Explanation['restarts'] {
  const { intensity, windowMs } = runtime.context.options.restart;
  const count = runtime.serverRef(key)?.getSnapshot().context.restarts.length ?? 0;
  return { count, max: intensity, windowMs };
}

function slotOf({ deps }: WorkspaceRuntime, key: CandidateKey): Explanation['slot'] {
  const { waiting, capacity } = deps.slots.pool;
  const at = waiting.findIndex(({ holder }) => holder === holderName(deps.name, key));
  return at === -1 ? null : { position: at + 1, capacity };
}

/**
 * Every error, as a reload with one is not taken; of the warnings those of this entry, of rules for it, and of the files that
 * name it where they could not be taken whole.
 */
function faultsOf({ errors, warnings }: ConfigState, { server }: Subject, entries: readonly SeenEntry[]): Explanation['faults'] {
  const untaken = new Set(
    entries.filter(({ line, layer }) => line === null && !layer.startsWith('plugin:')).map(({ file }) => file),
  );
  const isAbout = ({ file, key }: FaultPlace): boolean =>
    untaken.has(file) || ['mcpServers.', 'toolPolicies.', ''].some((parent) => isUnder(key, `${parent}${server}`));
  return [
    ...errors.map((fault) => ({ ...fault, severity: 'error' as const })),
    ...warnings.filter(isAbout).map((fault) => ({ ...fault, severity: 'warning' as const })),
  ];
}

type FaultPlace = Pick<ConfigState['errors'][number], 'file' | 'key'>;

const isUnder = (key: string, parent: string): boolean => key === parent || key.startsWith(`${parent}.`);
