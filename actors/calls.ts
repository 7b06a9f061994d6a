import type { PolicyAnswer } from '../machines/policy.js';
import { candidateKey, type Failure, failure, type ServerId } from '../machines/vocabulary.js';
import { Admission, type CallSubject } from './admission.js';
import type { CallOptions, CallResult } from './api.js';
import { CallPolicy } from './call-policy.js';
import type { RequestOptions } from './call-table.js';
import { SupervisorError, supervisorError } from './errors.js';
import type { Json } from './ports.js';
import type { ReadyServer } from './serving.js';
import type { ToolEntry } from './tool-entry.js';
import type { WorkspaceRuntime } from './workspace-runtime.js';

/** A ready server, and what is left of the caller's own bound, if it set one. */
interface Reached extends ReadyServer {
  readonly leftMs: number | undefined;
}

/** Definitions that change while a call is being approved are asked again; a server that never holds still is given up. */
const DEFINITION_TRIES = 3;

/**
 * The way of a call: exact name, policy, approval, a ready server, the call table. Settles once; a call that may have had
 * an effect is never sent again. One for a runtime, whichever of its handles a call came by.
 */
export class Calls {
  readonly #runtime: WorkspaceRuntime;
  readonly #policy: CallPolicy;
  readonly #admission: Admission;

  constructor(runtime: WorkspaceRuntime) {
    this.#runtime = runtime;
    this.#policy = new CallPolicy(runtime);
    this.#admission = new Admission(runtime);
    const changed = (): void => {
      this.#policy.forget();
      this.#admission.check();
    };
    runtime.changes.subscribe({ next: changed, error: () => undefined });
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
          requestOptions(ready, options, options.timeoutMs),
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
    if (this.#runtime.candidateFor(server) === undefined) throw unknownServer(server);
    const label = `${server}.${method}`;
    const subject: CallSubject = { server, tool: method, label, method, params, arguments: params };
    const policy = this.#policy.of(server, method);
    await this.#admission.admit(subject, policy, options);
    const reached = await this.#reach(server, options, options.timeoutMs);
    if (!isStillAllowed(subject, policy, this.#policy.of(server, method)))
      throw supervisorError('APPROVAL_STALE', `"${label}" has to be asked about since it was sent on its way`);
    return send(reached, subject, options);
  }

  /** What the rules say of one tool, before the host's own word and any question. */
  policyOf(server: ServerId, tool: string): PolicyAnswer {
    return this.#policy.of(server, tool);
  }

  /** Cancels what this session has open, at whatever point of its way. */
  endSession(session: string): void {
    this.#admission.endSession(session);
    this.#runtime.endSession(session);
  }

  async #callSlowly(name: string, args: Json | undefined, options: CallOptions): Promise<CallResult> {
    this.#refuseEnded();
    if (!isArguments(args)) throw supervisorError('INVALID_ARGUMENTS', `the arguments of "${name}" are not an object`);
    let leftMs = await this.#firstListing(name, options);
    let entry = this.#toolNamed(name);
    for (let tries = 0; tries < DEFINITION_TRIES; tries += 1) {
      const { server, tool, digest } = entry;
      const subject: CallSubject = {
        server,
        tool,
        label: name,
        method: 'tools/call',
        params: { name: tool, arguments: args ?? {} },
        arguments: args ?? {},
      };
      const policy = this.#policy.ofTool(entry);
      await this.#admission.admit(subject, policy, options);
      if (entry.changed) this.#policy.accept(entry);
      const reached = await this.#reach(server, options, leftMs);
      leftMs = reached.leftMs;
      // What was approved is what was listed and ruled then; the server or the rules may say something else by now.
      entry = this.#toolNamed(name);
      const isStill = isStillAllowed(subject, policy, this.#policy.ofTool(entry));
      if (isStill && entry.digest === digest && entry.server === server) return send(reached, subject, options);
    }
    throw supervisorError('APPROVAL_STALE', `"${name}" changes its definition faster than it can be approved`);
  }

  /**
   * A name tells whose tool it is: a server that nobody has listed yet, or that may not be shown, is demanded before the tool is
   * unknown, so that a shut gate is told as what it is. Returns what is left of the caller's own bound.
   */
  async #firstListing(name: string, options: CallOptions): Promise<number | undefined> {
    const { catalogue, context } = this.#runtime;
    if (catalogue.tool(name) !== undefined) return options.timeoutMs;
    const owner = context.candidates.find(({ id }) => name.startsWith(`mcp__${id}__`));
    if (owner === undefined || catalogue.counts(owner.id).tools.state !== 'unknown') return options.timeoutMs;
    return (await this.#reach(owner.id, options, options.timeoutMs)).leftMs;
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
    return authorizeCall === undefined && !this.#runtime.isEnded && this.#policy.ofTool(entry).verdict === 'allow';
  }

  /** The server's open connection; a call that finds none demands one and waits. */
  async #reach(server: ServerId, { signal, session }: CallOptions, boundMs: number | undefined): Promise<Reached> {
    this.#refuseEnded();
    const { waiters, serving } = this.#runtime;
    const ready = serving.readyServer(server);
    if (ready !== undefined) return { ...ready, leftMs: boundMs };
    const candidate = this.#runtime.candidateFor(server);
    const key = candidate === undefined ? undefined : candidateKey(candidate.layer, server);
    const ref = key === undefined ? undefined : this.#runtime.serverRef(key);
    if (candidate === undefined || key === undefined || ref === undefined) throw unknownServer(server);
    const waiting = waiters.wait(key, { budgetMs: boundMs ?? candidate.initTimeoutMs, signal, session });
    ref.send({ type: 'server.demand', by: 'call' });
    // The demand may have met a shut gate, without any news for those who wait.
    serving.update(key);
    const { live, leftMs } = await waiting;
    return { live, timeoutMs: this.#runtime.timeoutMsOf(key), leftMs: boundMs === undefined ? undefined : leftMs };
  }

  #refuseEnded(): void {
    const { ended } = this.#runtime;
    if (ended !== null) throw new SupervisorError(ended);
  }
}

export const closedFailure = (root: string): Failure => failure('SUPERVISOR_CLOSED', `the workspace "${root}" is closed`);

const unknownServer = (id: string): SupervisorError =>
  supervisorError('UNKNOWN_SERVER', `no server has the id "${id.slice(0, 64)}"`);

/** False when what passed without a question would be asked about by now. Throws for what is denied by now. */
function isStillAllowed({ label }: CallSubject, before: PolicyAnswer, now: PolicyAnswer): boolean {
  if (now.verdict === 'deny') throw supervisorError('BLOCKED_BY_POLICY', `"${label}" is blocked: ${now.rule}`);
  return now.verdict === 'allow' || before.verdict !== 'allow';
}

const send = (reached: Reached, { method, params }: CallSubject, options: CallOptions): Promise<CallResult> =>
  reached.live.calls.request(method, params, requestOptions(reached, options, reached.leftMs));

/** What an explicit time-out leaves after the wait bounds the whole of the call; without one only the server's own counts. */
function requestOptions({ timeoutMs }: ReadyServer, options: CallOptions, leftMs: number | undefined): RequestOptions {
  const { timeoutMs: ownMs, signal, session, onProgress } = options;
  return { timeoutMs: ownMs ?? timeoutMs, totalMs: leftMs, signal, session, onProgress };
}

const isArguments = (args: Json | undefined): args is { readonly [key: string]: Json } | undefined =>
  args === undefined || (typeof args === 'object' && args !== null && !Array.isArray(args));
