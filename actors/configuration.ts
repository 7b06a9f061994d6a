import type { Candidate } from '../machines/candidates.js';
import { type ConfigVerdict, configVerdict, isCountedLayer } from '../machines/config-verdict.js';
import { restartPolicy } from '../machines/restart-policy.js';
import { defaultServerOptions, type ServerOptions } from '../machines/server-options.js';
import { type CandidateKey, candidateKey, isWorkspaceLayer } from '../machines/vocabulary.js';
import { LIVE_SLOTS } from './live-slots.js';
import type { ConfigFault, LayerReading, PolicyRule, ServerDefinition, UserSettings } from './ports.js';

/** One reading of all layers, judged: what to take, and what to show. */
export interface JudgedConfig {
  readonly verdict: ConfigVerdict;
  readonly definitions: ReadonlyMap<CandidateKey, ServerDefinition>;
  readonly candidates: readonly Candidate[];
  /** Of every valid layer; those of a workspace count only as long as it is trusted. */
  readonly rules: readonly PolicyRule[];
  /** `null` when the user's file is absent or was rejected. */
  readonly settings: UserSettings | null;
  /** Whether there is one, valid or not. */
  readonly hasUserFile: boolean;
  readonly errors: readonly ConfigFault[];
  readonly warnings: readonly ConfigFault[];
}

/** Weighs the layers against each other by the fault table; reads nothing itself. */
export function judgeConfig(
  readings: readonly LayerReading[],
  facts: { readonly isTrusted: boolean; readonly hasRuntime: boolean },
): JudgedConfig {
  const verdict = configVerdict(readings, facts);
  const valid = readings.filter(({ state }) => state === 'valid');
  const definitions = new Map(
    valid.flatMap(({ servers }) => servers.map((one) => [candidateKey(one.layer, one.id), one] as const)),
  );
  const settings = valid.find(({ layer }) => layer === 'user')?.settings ?? null;
  const counts = ({ layer }: LayerReading): boolean => isCountedLayer(layer, facts.isTrusted);
  return {
    verdict,
    definitions,
    candidates: [...definitions.values()].map(candidateOf),
    rules: [...(settings?.toolPolicies ?? []), ...valid.flatMap(({ servers }) => servers.flatMap(({ policies }) => policies))],
    settings,
    hasUserFile: readings.some(({ layer, state }) => layer === 'user' && state !== 'absent'),
    errors: readings.filter(counts).flatMap(({ errors }) => errors),
    // What an untrusted workspace gets wrong has no effect, but its owner wants to know.
    warnings: [
      ...readings.flatMap((one) => (counts(one) ? one.warnings : [...one.errors, ...one.warnings])),
      ...crowded(definitions, readings),
    ],
  };
}

/** As many kept servers as slots leave none for the others: they would wait for ever. */
function crowded(
  definitions: ReadonlyMap<CandidateKey, ServerDefinition>,
  readings: readonly LayerReading[],
): readonly ConfigFault[] {
  const user = readings.find(({ layer }) => layer === 'user');
  const { live } = limitsOf(user?.settings ?? null);
  const kept = [...definitions.values()].filter(({ lifecycle }) => lifecycle === 'keep-alive').length;
  if (kept < live) return [];
  const message = `${kept} servers are to be kept alive, and there are ${live} live slots: others may never get one`;
  return [{ file: user?.file ?? '', line: null, column: null, key: 'limits.live', code: 'CONFIG_LIMIT', message }];
}

/** What the machines may know of a definition. */
function candidateOf(definition: ServerDefinition): Candidate {
  const { id, layer, transport, lifecycle, configHash, isRemote, refusal, idleTimeoutMs, initTimeoutMs, url } = definition;
  const candidate = { id, layer, transport, lifecycle, configHash, isRemote, refusal, idleTimeoutMs, initTimeoutMs };
  return url === undefined ? candidate : { ...candidate, origin: originOf(url) };
}

/** A URL that is none is refused elsewhere; here it stands for itself. */
const originOf = (url: string): string => (URL.canParse(url) ? new URL(url).origin : url);

export interface EffectiveLimits {
  readonly tools: number;
  readonly live: number;
}

export function limitsOf(settings: UserSettings | null): EffectiveLimits {
  return { tools: settings?.limits.tools ?? 64, live: settings?.limits.live ?? LIVE_SLOTS };
}

/** How many tools of a server can be called; a workspace may only lower it. */
export function toolLimitOf(definition: ServerDefinition | undefined, settings: UserSettings | null): number {
  const { tools } = limitsOf(settings);
  const { maxTools = null, layer = 'user' } = definition ?? {};
  if (maxTools === null) return tools;
  return isWorkspaceLayer(layer) ? Math.min(maxTools, tools) : maxTools;
}

/** The numbers of the machines. Pages and items only fall, whatever the file says. */
export function serverOptionsOf(settings: UserSettings | null, approvalTimeoutMs: number | null): ServerOptions {
  const { pages, items } = defaultServerOptions;
  return {
    ...defaultServerOptions,
    restart: restartPolicy(settings?.restart ?? {}),
    pages: Math.min(settings?.limits.pages ?? pages, pages),
    items: Math.min(settings?.limits.items ?? items, items),
    approvalTimeoutMs,
  };
}
