import type { PolicyAnswer } from '../machines/policy.js';
import { candidateKey, type Failure, failure, type ServerId } from '../machines/vocabulary.js';
import { Admission, type CallSubject } from './admission.js';
import type { CallOptions, CallResult } from './api.js';
import { CallPolicy } from './call-policy.js';
import { SupervisorError, supervisorError } from './errors.js';
import { anotherServer } from './judged-calls.js';
import type { RequestOptions } from './open-call.js';
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
  /** Calls that are not sent yet, with their sessions. */
  readonly #ways = new Set<{ readonly session: string | undefined; isOver: boolean }>();

  constructor(runtime: WorkspaceRuntime) {
    this.#runtime = runtime;
    this.#policy = new CallPolicy(runtime);
    this.#admission = new Admission(runtime);
    const changed = (): void => {
      this.#policy.forget();
      this.#admission.check();
    };
    runtime.changes.subscribe({ next: changed, error: () => undefined });
    runtime.interrupts.subscribe({
      next: ({ key, problem }) => this.#admission.interrupt(key.slice(key.indexOf('/') + 1), problem),
      error: () => undefined,
    });
  }

  call(name: string, args: Json | undefined, options: CallOptions): Promise<CallResult> {
    const entry = this.#runtime.catalogue.tool(name);
    if (entry?.callable === true && isArguments(args) && isTime(options.timeoutMs) && this.#isFree(entry)) {
      // Nothing to ask and nothing to wait for: one lookup each, and no promise besides the call's own.
      const ready = this.#runtime.serving.readyServer(entry.server);
      if (ready?.live.calls.hasRoom === true) {
        const given = args ?? {};
        const { session, byPerson } = options;
        const judged = { server: entry.server, tool: name, arguments: given, session, byPerson };
        this.#runtime.audit.judged(judged, this.#policy.ofTool(entry));
        const params = { name: entry.tool, arguments: given };
        return ready.live.calls.request('tools/call', params, requestOptions(ready, options, options.timeoutMs));
      }
    }
    return this.#underway(options, (isOver) => this.#callSlowly(name, args, options, isOver));
  }

  /** `resources/read` or `prompts/get`, under the same policy, approval and bounds as a call. */
  request(
    server: ServerId,
    method: 'resources/read' | 'prompts/get',
    params: { readonly [key: string]: Json },
    options: CallOptions,
  ): Promise<CallResult> {
    return this.#underway(options, async (isOver) => {
      if (this.#runtime.candidateFor(server) === undefined) throw unknownServer(server);
      const label = `${server}.${method}`;
      const subject: CallSubject = { server, tool: method, label, method, params, arguments: params, remember: null };
      const policy = this.#policy.of(server, method);
      const identity = this.#runtime.identityOf(server);
      await this.#admission.admit(subject, policy, options);
      const reached = await this.#reach(server, options, options.timeoutMs);
      const barred = (): Failure | null =>
        isOver() ??
        (identity === this.#runtime.identityOf(server) ? null : anotherServer(server)) ??
        whyNot(label, policy, this.#policy.of(server, method));
      return send(reached, subject, options, barred);
    });
  }

  /** What the rules say of one tool, by its original name, before the host's own word and any question. */
  policyOf(server: ServerId, tool: string): PolicyAnswer {
    const entry = this.#runtime.catalogue.toolOf(server, tool);
    return entry === undefined ? this.#policy.of(server, tool) : this.#policy.ofTool(entry);
  }

  /** The same of a tool that is listed: a definition that has changed counts too. */
  policyOfTool(entry: ToolEntry): PolicyAnswer {
    return this.#policy.ofTool(entry);
  }

  /** Cancels what this session has open, at whatever point of its way. */
  endSession(session: string): void {
    for (const way of this.#ways) if (way.session === session) way.isOver = true;
    this.#admission.endSession(session);
    this.#runtime.endSession(session);
  }

  /** Follows a call from its making to its sending; what it calls back says whether its session has ended meanwhile. */
  async #underway<T>({ session, timeoutMs }: CallOptions, go: (isOver: () => Failure | null) => Promise<T>): Promise<T> {
    this.#refuseEnded();
    if (!isTime(timeoutMs)) throw supervisorError('INVALID_ARGUMENTS', '"timeoutMs" is no number of milliseconds from 0');
    const way = { session, isOver: false };
    this.#ways.add(way);
    try {
      return await go(() => (way.isOver ? failure('CALL_CANCELLED', 'the session that called has ended') : null));
    } finally {
      this.#ways.delete(way);
    }
  }

  async #callSlowly(
    name: string,
    args: Json | undefined,
    options: CallOptions,
    isOver: () => Failure | null,
  ): Promise<CallResult> {
    if (!isArguments(args)) throw supervisorError('INVALID_ARGUMENTS', `the arguments of "${name}" are not an object`);
    let leftMs = await this.#firstListing(name, options);
    for (let tries = 0; tries < DEFINITION_TRIES; tries += 1) {
      const entry = this.#toolNamed(name);
      const { server, tool, digest } = entry;
      const argumentsOrNone = args ?? {};
      const params = { name: tool, arguments: argumentsOrNone };
      const grant = this.#policy.grantDigest(entry);
      const remember = (): void => void this.#runtime.grants.remember(name, grant);
      const about = { server, tool, label: name, method: 'tools/call' };
      const subject: CallSubject = { ...about, params, arguments: argumentsOrNone, remember };
      const policy = this.#policy.ofTool(entry);
      const identity = this.#runtime.identityOf(server);
      await this.#admission.admit(subject, policy, options);
      if (entry.changed) this.#policy.accept(entry);
      const reached = await this.#reach(server, options, leftMs);
      leftMs = reached.leftMs;
      // What was agreed to is what was listed, ruled and served then; all of it may be another by now.
      const barred = (): Failure | null => {
        const now = this.#runtime.catalogue.tool(name);
        if (now?.digest !== digest || now.server !== server || !now.callable) return changedTool(name);
        if (identity !== this.#runtime.identityOf(server)) return anotherServer(server);
        return isOver() ?? whyNot(name, policy, this.#policy.ofTool(now));
      };
      const problem = barred();
      if (problem === null) return send(reached, subject, options, barred);
      if (problem.code !== 'APPROVAL_STALE') throw new SupervisorError(problem);
    }
    throw supervisorError('APPROVAL_STALE', `"${name}" changes faster than it can be approved`);
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
    return { live, timeoutMs: this.#runtime.config.timeoutMsOf(key), leftMs: boundMs === undefined ? undefined : leftMs };
  }

  #refuseEnded(): void {
    const { ended } = this.#runtime;
    if (ended !== null) throw new SupervisorError(ended);
  }
}

export const closedFailure = (root: string): Failure => failure('SUPERVISOR_CLOSED', `the workspace "${root}" is closed`);

const unknownServer = (id: string): SupervisorError =>
  supervisorError('UNKNOWN_SERVER', `no server has the id "${id.slice(0, 64)}"`);

const changedTool = (name: string): Failure => failure('APPROVAL_STALE', `"${name}" has changed since the call was made`);

/** Why what was let pass before may not be sent now: it is denied, or would be asked about and was not. */
function whyNot(label: string, before: PolicyAnswer, now: PolicyAnswer): Failure | null {
  if (now.verdict === 'deny') return failure('BLOCKED_BY_POLICY', `"${label}" is blocked: ${now.rule}`);
  if (now.verdict === 'allow' || before.verdict !== 'allow') return null;
  return failure('APPROVAL_STALE', `"${label}" has to be asked about since it was sent on its way`);
}

function send(
  reached: Reached,
  { method, params }: CallSubject,
  options: CallOptions,
  recheck: () => Failure | null,
): Promise<CallResult> {
  const problem = recheck();
  if (problem !== null) return Promise.reject(new SupervisorError(problem));
  return reached.live.calls.request(method, params, { ...requestOptions(reached, options, reached.leftMs), recheck });
}

/** Absent, or a time that a clock can be set for: `NaN` would be no bound at all. */
const isTime = (timeMs: number | undefined): boolean => timeMs === undefined || (Number.isFinite(timeMs) && timeMs >= 0);

/** What an explicit time-out leaves after the wait bounds the whole of the call; without one only the server's own counts. */
function requestOptions({ timeoutMs }: ReadyServer, options: CallOptions, leftMs: number | undefined): RequestOptions {
  const { timeoutMs: ownMs, signal, session, onProgress } = options;
  return { timeoutMs: ownMs ?? timeoutMs, totalMs: leftMs, signal, session, onProgress };
}

const isArguments = (args: Json | undefined): args is { readonly [key: string]: Json } | undefined =>
  args === undefined || (typeof args === 'object' && args !== null && !Array.isArray(args));
