import { type Meter, matchesGlob } from './glob.js';
import type { LayerName, ServerId } from './vocabulary.js';

export type Verdict = 'allow' | 'ask' | 'deny';

/** A rule for the tools of one server. `tool` is a glob over the original name; `null` stands for the whole server. */
export interface ToolRule {
  readonly server: ServerId;
  readonly tool: string | null;
  readonly verdict: Verdict;
  readonly layer: LayerName;
  /** Where it stands; absent for one that stands in no file. */
  readonly place?: { readonly file: string; readonly line: number };
}

export interface PolicyQuestion {
  readonly server: ServerId;
  /** The name the server gave; `resources/read` and `prompts/get` for those requests. */
  readonly tool: string;
  /** The layer whose definition serves the id now. */
  readonly servedBy: LayerName;
  /** Of every layer, in any order. */
  readonly rules: readonly ToolRule[];
  /** Globs of the serving definition's `approveTools`. */
  readonly approveTools: readonly string[];
  /** Whether a remembered grant names this very tool with its current definition. */
  readonly granted: boolean;
  /** Whether the tool is not as it was when it was first known, and nobody has agreed to that. */
  readonly changed: boolean;
}

export interface PolicyAnswer {
  readonly verdict: Verdict;
  /** The rule that decided, in words. */
  readonly rule: string;
  /** That rule itself, where one of the configuration decided. */
  readonly decidedBy?: ToolRule;
}

/** As many words as a megabyte of rules takes for a name of 1 500 characters; the catalogue has none over 256 bytes. */
const STEPS_MAX = 2 ** 26;

/**
 * Decides a call: a deny of any layer, then a remembered grant, then an explicit ask of any layer, then an allow or
 * `approveTools` of the user, else ask. An allow counts only for a server that the user or a plugin defines: the user's for
 * any of them, a plugin's for its own; and for no definition that has changed, for which only a grant of its own is a yes.
 * What cannot be evaluated, or not within bounds, is a deny.
 */
export function decidePolicy(question: PolicyQuestion): PolicyAnswer {
  try {
    return decide(question);
  } catch {
    return { verdict: 'deny', rule: 'a rule that cannot be evaluated' };
  }
}

/** The policy's verdict after the host's own word on the call, which can only tighten it. */
export function tighten(answer: PolicyAnswer, word: unknown): PolicyAnswer {
  if (word === 'deny') return { verdict: 'deny', rule: 'deny by the host' };
  if (word === 'ask' && answer.verdict === 'allow') return { verdict: 'ask', rule: 'ask by the host' };
  return answer;
}

function decide({ server, tool, servedBy, rules, approveTools, granted, changed }: PolicyQuestion): PolicyAnswer {
  const matches = matcherFor(tool);
  let asked: ToolRule | null = null;
  let allowed: ToolRule | null = null;
  for (const rule of rules) {
    if (rule.server !== server || !(rule.tool === null || matches(rule.tool))) continue;
    if (rule.verdict === 'ask') asked ??= rule;
    else if (rule.verdict !== 'allow') return byRule('deny', rule);
    else if (isUsers(servedBy) && (rule.layer === 'user' || rule.layer === servedBy)) allowed ??= rule;
  }
  if (granted) return { verdict: 'allow', rule: 'a remembered grant' };
  if (asked !== null) return byRule('ask', asked);
  const approved = allowed === null && isUsers(servedBy) ? approveTools.find(matches) : undefined;
  const allowing = allowed ?? (approved === undefined ? null : approvingRule(server, approved, servedBy));
  if (allowing === null) return { verdict: 'ask', rule: 'ask, as no rule says otherwise' };
  // What was allowed is what was known then.
  if (changed) return { verdict: 'ask', rule: 'ask, as the definition has changed' };
  if (allowing === allowed) return byRule('allow', allowed);
  return { verdict: 'allow', rule: `approveTools "${approved}" of ${servedBy}`, decidedBy: allowing };
}

/** A glob of `approveTools`, as the rule that it is. */
const approvingRule = (server: ServerId, tool: string, layer: LayerName): ToolRule => ({ server, tool, verdict: 'allow', layer });

function matcherFor(tool: string): (glob: string) => boolean {
  const meter: Meter = { steps: 0 };
  return (glob) => {
    if (meter.steps > STEPS_MAX) throw new RangeError('the rules take too long to evaluate');
    return matchesGlob(glob, tool, meter);
  };
}

const isUsers = (layer: LayerName): boolean => layer === 'user' || layer.startsWith('plugin:');

const byRule = (verdict: Verdict, rule: ToolRule): PolicyAnswer => ({ verdict, rule: inWords(rule), decidedBy: rule });

const inWords = ({ verdict, server, tool, layer }: ToolRule): string =>
  `${verdict} "${tool === null ? server : `${server}.${tool}`}" of ${layer}`;
