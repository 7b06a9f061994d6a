import { decidePolicy, type PolicyAnswer } from '../machines/policy.js';
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
    const { config } = this.#runtime;
    const candidate = this.#runtime.candidateFor(server);
    if (candidate === undefined) return { verdict: 'deny', rule: 'no such server' };
    return decidePolicy({
      server,
      tool,
      servedBy: candidate.layer,
      rules: config.rules,
      approveTools: config.definitionOf(candidateKey(candidate.layer, server))?.approveTools ?? [],
      granted: false,
    });
  }

  ofTool(entry: ToolEntry): PolicyAnswer {
    const known = this.#decided.get(entry.fullName);
    if (known !== undefined) return known;
    const decided = this.of(entry.server, entry.tool);
    // A definition nobody has agreed to is asked about, whatever a rule allowed for the one before.
    const answer: PolicyAnswer =
      decided.verdict === 'allow' && entry.changed ? { verdict: 'ask', rule: 'ask, as the definition has changed' } : decided;
    this.#decided.set(entry.fullName, answer);
    return answer;
  }

  /** Exactly what was asked about is known from now on, not what the server may have listed meanwhile. */
  accept(entry: ToolEntry): void {
    const { catalogue } = this.#runtime;
    entry.acceptDefinition();
    if (catalogue.tool(entry.fullName)?.digest === entry.digest) catalogue.acceptChange(entry.fullName);
    this.#decided.delete(entry.fullName);
  }
}
