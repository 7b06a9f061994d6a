import { grantOwner } from '../machines/candidates.js';
import { decidePolicy, type PolicyAnswer, type PolicyQuestion } from '../machines/policy.js';
import { candidateKey, type ServerId } from '../machines/vocabulary.js';
import type { ToolEntry } from './tool-entry.js';
import type { WorkspaceRuntime } from './workspace-runtime.js';

/** What the rules say of a call now: before the host's own word, and before any question. */
export class CallPolicy {
  readonly #runtime: WorkspaceRuntime;
  /** By full name, until rules, layers or lists change. */
  readonly #decided = new Map<string, PolicyAnswer>();

  constructor(runtime: WorkspaceRuntime) {
    this.#runtime = runtime;
  }

  /** Rules, layers or definitions may be others now. */
  forget(): void {
    this.#decided.clear();
  }

  /** `tool` is a tool's original name, `resources/read` or `prompts/get`. */
  of(server: ServerId, tool: string): PolicyAnswer {
    return this.#decide(server, tool, { granted: false, changed: false });
  }

  ofTool(entry: ToolEntry): PolicyAnswer {
    const known = this.#decided.get(entry.fullName);
    if (known !== undefined) return known;
    const { server, tool, fullName, changed } = entry;
    const grant = this.#runtime.grants.of(fullName, () => this.grantDigest(entry));
    const decided = this.#decide(server, tool, { granted: grant === 'granted', changed });
    const isOther = grant === 'other' && decided.verdict === 'ask';
    const answer = isOther ? { ...decided, rule: 'ask, as the definition is not the one that was remembered' } : decided;
    this.#decided.set(fullName, answer);
    return answer;
  }

  /** What a remembered approval is for: this definition, of what serves the id now. */
  grantDigest({ server, digest }: ToolEntry): string {
    const candidate = this.#runtime.candidateFor(server);
    return this.#runtime.deps.ports.digest.ofJson([candidate === undefined ? '' : grantOwner(candidate), digest]);
  }

  #decide(server: ServerId, tool: string, facts: Pick<PolicyQuestion, 'granted' | 'changed'>): PolicyAnswer {
    const { config } = this.#runtime;
    const candidate = this.#runtime.candidateFor(server);
    if (candidate === undefined) return { verdict: 'deny', rule: 'no such server' };
    return decidePolicy({
      server,
      tool,
      servedBy: candidate.layer,
      rules: config.rules,
      approveTools: config.definitionOf(candidateKey(candidate.layer, server))?.approveTools ?? [],
      ...facts,
    });
  }

  /** Exactly what was asked about is known from now on, not what the server may have listed meanwhile. */
  accept(entry: ToolEntry): void {
    const { catalogue } = this.#runtime;
    entry.acceptDefinition();
    if (catalogue.tool(entry.fullName)?.digest === entry.digest) catalogue.acceptChange(entry.fullName);
    this.#decided.delete(entry.fullName);
  }
}
