import { type Candidate } from '../machines/candidates.js';
import type { PolicyAnswer } from '../machines/policy.js';
import { candidateKey, type Failure, failure, type ServerId } from '../machines/vocabulary.js';
import { refuse } from './explain-gates.js';
import type { OnDemand, PolicyVerdictExplained, ToolExplained } from './explanation.js';
import type { ToolEntry } from './tool-entry.js';
import type { WorkspaceRuntime } from './workspace-runtime.js';

/** What has rules of its own beside the tools. */
export const isRequest = (name: string): boolean => name === 'resources/read' || name === 'prompts/get';

/** What the rules say of one tool, read or prompt of a server, and which of them decided. */
export function policyExplained(
  runtime: WorkspaceRuntime,
  { id, layer }: Candidate,
  answer: PolicyAnswer,
): PolicyVerdictExplained {
  const { verdict, rule, decidedBy } = answer;
  const definition = runtime.config.definitionOf(candidateKey(layer, id));
  // A glob of `approveTools` is a part of its entry, and stands where that stands.
  const isInEntry = rule.startsWith('approveTools') && !layer.startsWith('plugin:');
  const place = decidedBy?.place ?? (isInEntry ? definition : undefined);
  return {
    verdict,
    rule,
    layer: decidedBy?.layer ?? null,
    file: place?.file ?? null,
    line: place?.line ?? null,
    isHostAsked: runtime.deps.options.authorizeCall !== undefined,
  };
}

/** How a tool stands in the catalogue; `name` is what its server calls it. */
export function toolExplained(runtime: WorkspaceRuntime, server: ServerId, name: string): ToolExplained {
  const { catalogue } = runtime;
  const entry = catalogue.toolOf(server, name);
  if (entry !== undefined) {
    const { fullName, tool, cached } = entry;
    return { name: fullName, tool, state: 'listed', cached, reasons: reasonsOf(entry) };
  }
  const { tools } = catalogue.counts(server);
  const left = tools.skipped.find((one) => one.name === name);
  const reason =
    left === undefined ? notListed(server, name, tools.state) : failure(left.code, `"${name}" was left out when it was listed`);
  return { name: null, tool: name, state: left === undefined ? 'unlisted' : 'left-out', cached: false, reasons: [reason] };
}

function reasonsOf({ tool, server, overLimit, changed, stale, unapproved }: ToolEntry): readonly Failure[] {
  return [
    ...(overLimit
      ? [
          failure(
            'ITEM_OVER_LIMIT',
            `"${tool}" is past the limit of tools of "${server}"`,
            'Raise "limits": { "tools": … } in the user file, or "maxTools" of its entry there.',
          ),
        ]
      : []),
    ...(changed ? [failure('APPROVAL_STALE', `the definition of "${tool}" has changed; it is asked about again`)] : []),
    ...(stale ? [failure('UNKNOWN_TOOL', `the last listing of "${server}" was cut short and did not come to "${tool}"`)] : []),
    ...(unapproved ? [failure('APPROVAL_NO_CHANNEL', `"${server}" has to be approved before "${tool}" can be called`)] : []),
  ];
}

function notListed(server: ServerId, name: string, state: string): Failure {
  if (state === 'unknown')
    return failure('NOT_READY', `the tools of "${server}" were never listed`, `\`mcp-supervisor test ${server}\` lists them.`);
  const how = state === 'complete' ? 'does not offer' : 'is not known to offer';
  return failure('UNKNOWN_TOOL', `"${server}" ${how} a tool "${name.slice(0, 128)}"`);
}

/** What a call of it would meet: first its name, then the rules, then the server. */
export function onCall(server: OnDemand, policy: PolicyVerdictExplained, tool: ToolExplained | null, label: string): OnDemand {
  const [first] = tool?.reasons ?? [];
  const isBarred =
    first !== undefined && (first.code === 'ITEM_OVER_LIMIT' || (tool?.state !== 'listed' && first.code !== 'NOT_READY'));
  if (isBarred) return refuse(first);
  if (policy.verdict === 'deny') return refuse(failure('BLOCKED_BY_POLICY', `"${label}" is blocked: ${policy.rule}`));
  if (policy.verdict === 'allow' || server.does === 'refuse') return server;
  return { does: 'ask', why: `a person is asked about it; then ${server.why}`, failure: null };
}

/** The tools that a name of a person's may stand for: `name` is an original one, of any server. */
export function toolsCalled(
  { catalogue, context }: WorkspaceRuntime,
  name: string,
): readonly { server: ServerId; tool: string }[] {
  const ids = [...new Set(context.candidates.map(({ id }) => id))].sort();
  return ids.flatMap((server) => {
    const isKnown =
      catalogue.toolOf(server, name) !== undefined || catalogue.counts(server).tools.skipped.some((one) => one.name === name);
    return isKnown ? [{ server, tool: name }] : [];
  });
}
