import { decidePolicy, type PolicyAnswer, tighten } from '../machines/policy.js';
import { candidateKey, type Failure, failure, type ServerId } from '../machines/vocabulary.js';
import type { CallOptions, CallResult } from './api.js';
import type { RequestOptions } from './call-table.js';
import { SupervisorError, supervisorError } from './errors.js';
import type { Json } from './ports.js';
import type { ReadyServer } from './serving.js';
import type { ToolEntry } from './tool-entry.js';
import type { WorkspaceRuntime } from './workspace-runtime.js';

/** What is about to be sent: enough for policy and approval to judge, and for the link to send. */
interface Subject {
  readonly server: ServerId;
  /** For policies: a tool's original name, `resources/read` or `prompts/get`. */
  readonly tool: string;
  /** For people. */
  readonly label: string;
  readonly method: string;
  readonly params: { readonly [key: string]: Json };
  readonly arguments: Json;
}

/** Definitions that change while a call is being approved are asked again; a server that never holds still is given up. */
const DEFINITION_TRIES = 3;
const DEFAULT_TIMEOUT_MS = 30_000;

/**
 * The way of a call: exact name, policy, approval, a ready server, the call table. Settles once; a call that may have had
 * an effect is never sent again.
 */
export class Calls {
  readonly #runtime: WorkspaceRuntime;
  /** Decided policies by full name, until rules or lists change. */
  readonly #decided = new Map<string, PolicyAnswer>();

  constructor(runtime: WorkspaceRuntime) {
    this.#runtime = runtime;
    // Rules, layers or definitions may be others now.
    runtime.changes.subscribe({ next: () => this.#decided.clear(), error: () => undefined });
  }

  call(name: string, args: Json | undefined, options: CallOptions): Promise<CallResult> {
    const entry = this.#runtime.catalogue.tool(name);
    if (entry?.callable === true && isArguments(args) && this.#isFree(entry)) {
      // Nothing to ask and nothing to wait for: one lookup each, and no promise besides the call's own.
      const ready = this.#runtime.serving.readyServer(entry.server);
      if (ready !== undefined)
        return ready.live.calls.request(
          'tools/call',
          { name: entry.tool, arguments: args ?? {} },
          requestOptions(ready, options),
        );
    }
    return this.#callSlowly(name, args, options);
  }

  /** `resources/read` or `prompts/get`, under the same policy, approval and bounds as a call. */
  async request(
    server: ServerId,
    method: 'resources/read' | 'prompts/get',
    params: { readonly [key: string]: Json },
    options: CallOptions,
  ): Promise<CallResult> {
    this.#refuseEnded();
    const label = `${server}.${method}`;
    const subject: Subject = { server, tool: method, label, method, params, arguments: params };
    await this.#admit(subject, this.policyOf(server, method), options);
    const startedMs = this.#runtime.deps.ports.clock.now();
    return this.#send(await this.#ready(server, options), subject, options, startedMs);
  }

  /** What the rules say of one tool, before the host's own word and any question. */
  policyOf(server: ServerId, tool: string): PolicyAnswer {
    const { config } = this.#runtime;
    const candidate = this.#runtime.candidateFor(server);
    const definition = candidate === undefined ? undefined : config.definitionOf(candidateKey(candidate.layer, server));
    if (candidate === undefined) return { verdict: 'deny', rule: 'no such server' };
    return decidePolicy({
      server,
      tool,
      servedBy: candidate.layer,
      rules: config.rules,
      approveTools: definition?.approveTools ?? [],
      granted: false,
    });
  }

  async #callSlowly(name: string, args: Json | undefined, options: CallOptions): Promise<CallResult> {
    this.#refuseEnded();
    if (!isArguments(args)) throw supervisorError('INVALID_ARGUMENTS', `the arguments of "${name}" are not an object`);
    await this.#firstListing(name, options);
    let entry = this.#toolNamed(name);
    for (let tries = 0; tries < DEFINITION_TRIES; tries += 1) {
      const { server, tool, digest } = entry;
      const subject: Subject = {
        server,
        tool,
        label: name,
        method: 'tools/call',
        params: { name: tool, arguments: args ?? {} },
        arguments: args ?? {},
      };
      await this.#admit(subject, this.#policyOfTool(entry), options);
      if (entry.changed) {
        this.#runtime.catalogue.acceptChange(name);
        this.#decided.delete(name);
      }
      const startedMs = this.#runtime.deps.ports.clock.now();
      const ready = await this.#ready(subject.server, options);
      // What was approved is what was listed; the server may have listed something else since.
      entry = this.#toolNamed(name);
      if (entry.digest === digest && entry.server === server) return this.#send(ready, subject, options, startedMs);
    }
    throw supervisorError('APPROVAL_STALE', `"${name}" changes its definition faster than it can be approved`);
  }

  /** A name tells whose tool it is. A server that nobody has listed yet is demanded, and its list read, before it is unknown. */
  async #firstListing(name: string, options: CallOptions): Promise<void> {
    const { catalogue, context } = this.#runtime;
    if (catalogue.tool(name) !== undefined) return;
    const owner = context.candidates.find(({ id }) => name.startsWith(`mcp__${id}__`));
    if (owner !== undefined && catalogue.counts(owner.id).tools.state === 'unknown') await this.#ready(owner.id, options);
  }

  #toolNamed(name: string): ToolEntry {
    const entry = this.#runtime.catalogue.tool(name);
    if (entry === undefined)
      throw supervisorError('UNKNOWN_TOOL', `no tool has the name "${name.slice(0, 128)}"`, {
        hint: 'search for it; only exact full names pass',
      });
    if (!entry.callable)
      throw supervisorError('ITEM_OVER_LIMIT', `"${name}" is past the limit of tools of "${entry.server}"`, {
        hint: 'raise "limits.tools" in the user file',
      });
    return entry;
  }

  #isFree(entry: ToolEntry): boolean {
    const { authorizeCall } = this.#runtime.deps.options;
    return authorizeCall === undefined && !this.#runtime.isEnded && this.#policyOfTool(entry).verdict === 'allow';
  }

  #policyOfTool(entry: ToolEntry): PolicyAnswer {
    const known = this.#decided.get(entry.fullName);
    if (known !== undefined) return known;
    const decided = this.policyOf(entry.server, entry.tool);
    // A definition nobody has agreed to is asked about, whatever a rule allowed for the one before.
    const answer: PolicyAnswer =
      decided.verdict === 'allow' && entry.changed ? { verdict: 'ask', rule: 'ask, as the definition has changed' } : decided;
    this.#decided.set(entry.fullName, answer);
    return answer;
  }

  async #admit(subject: Subject, policy: PolicyAnswer, options: CallOptions): Promise<void> {
    const { verdict, rule } = tighten(policy, await this.#hostsWord(subject, options));
    if (verdict === 'deny') throw supervisorError('BLOCKED_BY_POLICY', `"${subject.label}" is blocked: ${rule}`);
    if (verdict === 'ask' && options.byPerson !== true) await this.#ask(subject, options);
  }

  async #hostsWord({ label, server, arguments: args }: Subject, { session }: CallOptions): Promise<unknown> {
    const { authorizeCall } = this.#runtime.deps.options;
    if (authorizeCall === undefined) return undefined;
    try {
      return await authorizeCall({ tool: label, server, arguments: args, session: session ?? null });
    } catch {
      return 'deny';
    }
  }

  async #ask(subject: Subject, { session, signal }: CallOptions): Promise<void> {
    const { questions, approvalTimeoutMs } = this.#runtime;
    const { label, server, tool } = subject;
    if (!questions.hasChannel) {
      throw supervisorError('APPROVAL_NO_CHANNEL', `"${label}" has to be approved and nobody can be asked here`, {
        hint: `in the user file: "toolPolicies": { "${server}.${tool}": "allow" }`,
      });
    }
    const asked = questions.put(
      { kind: 'call', server, tool: label, arguments: subject.arguments, session: session ?? null },
      approvalTimeoutMs,
    );
    const withdraw = (): void => asked.withdraw();
    signal?.addEventListener('abort', withdraw, { once: true });
    if (signal?.aborted === true) withdraw();
    const answer = await asked.answer.finally(() => signal?.removeEventListener('abort', withdraw));
    this.#refuseEnded();
    switch (answer) {
      case 'approve':
        return;
      case 'deny':
        throw supervisorError('BLOCKED_BY_USER', `"${label}" was not approved`);
      case 'timeout':
        throw supervisorError(
          'APPROVAL_TIMEOUT',
          `the question about "${label}" was not answered within ${approvalTimeoutMs} ms`,
        );
      case 'withdrawn':
        throw supervisorError('CALL_CANCELLED', `the call to "${label}" was withdrawn before it was approved`);
    }
  }

  #send(
    { live, timeoutMs }: ReadyServer,
    { method, params }: Subject,
    options: CallOptions,
    startedMs: number,
  ): Promise<CallResult> {
    const spentMs = this.#runtime.deps.ports.clock.now() - startedMs;
    return live.calls.request(method, params, requestOptions({ live, timeoutMs }, options, spentMs));
  }

  /** The server's open connection; a call that finds none demands one and waits. */
  async #ready(server: ServerId, { signal, session, timeoutMs: ownMs }: CallOptions): Promise<ReadyServer> {
    const { waiters, serving } = this.#runtime;
    const ready = serving.readyServer(server);
    if (ready !== undefined) return ready;
    const candidate = this.#runtime.candidateFor(server);
    const key = candidate === undefined ? undefined : candidateKey(candidate.layer, server);
    const ref = key === undefined ? undefined : this.#runtime.serverRef(key);
    if (candidate === undefined || key === undefined || ref === undefined) {
      throw supervisorError('UNKNOWN_SERVER', `no server has the id "${server.slice(0, 64)}"`);
    }
    const waiting = waiters.wait(key, { budgetMs: ownMs ?? candidate.initTimeoutMs, signal, session });
    ref.send({ type: 'server.demand', by: 'call' });
    // The demand may have met a shut gate, without any news for those who wait.
    serving.update(key);
    return { live: await waiting, timeoutMs: this.#runtime.config.definitionOf(key)?.timeoutMs ?? DEFAULT_TIMEOUT_MS };
  }

  #refuseEnded(): void {
    const { ended } = this.#runtime;
    if (ended !== null) throw new SupervisorError(ended);
  }
}

export const closedFailure = (root: string): Failure => failure('SUPERVISOR_CLOSED', `the workspace "${root}" is closed`);

/** What an explicit time-out leaves after the wait bounds the whole of the call; without one only the server's own counts. */
function requestOptions({ timeoutMs }: ReadyServer, options: CallOptions, spentMs = 0): RequestOptions {
  const { timeoutMs: ownMs, signal, session, onProgress } = options;
  return {
    timeoutMs: ownMs ?? timeoutMs,
    totalMs: ownMs === undefined ? undefined : Math.max(0, ownMs - spentMs),
    signal,
    session,
    onProgress,
  };
}

const isArguments = (args: Json | undefined): args is { readonly [key: string]: Json } | undefined =>
  args === undefined || (typeof args === 'object' && args !== null && !Array.isArray(args));
