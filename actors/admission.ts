import { type PolicyAnswer, tighten } from '../machines/policy.js';
import { type Failure, failure, type ServerId } from '../machines/vocabulary.js';
import type { CallOptions } from './api.js';
import { supervisorError } from './errors.js';
import { JudgedCalls } from './judged-calls.js';
import type { Json } from './ports.js';
import type { WorkspaceRuntime } from './workspace-runtime.js';

/** What is about to be sent: enough for policy and approval to judge, and for the link to send. */
export interface CallSubject {
  readonly server: ServerId;
  /** For policies: a tool's original name, `resources/read` or `prompts/get`. */
  readonly tool: string;
  /** For people. */
  readonly label: string;
  readonly method: string;
  readonly params: { readonly [key: string]: Json };
  readonly arguments: Json;
  /** Keeps the approval for this very tool as it is defined now; null for what cannot be remembered. */
  readonly remember: (() => void) | null;
}

/** Calls to one server that are judged at once. */
const PENDING_MAX = 1_024;

/** Lets a call pass or not: by its policy, the host's own word, and a person where one has to be asked. */
export class Admission {
  readonly #runtime: WorkspaceRuntime;
  readonly #judged: JudgedCalls;

  constructor(runtime: WorkspaceRuntime) {
    this.#runtime = runtime;
    this.#judged = new JudgedCalls({
      endOf: (server) => this.#endOf(server),
      identityOf: (server) => runtime.identityOf(server),
      pendingMax: PENDING_MAX,
    });
  }

  /** Rejects with `BLOCKED_BY_…` or `APPROVAL_…`, and at once with what keeps the server from running at all. */
  admit(subject: CallSubject, policy: PolicyAnswer, options: CallOptions): Promise<void> {
    const { server, label } = subject;
    return this.#judged.during({ ...options, server }, async (ended) => {
      const answer = tighten(policy, await this.#hostsWord(subject, options));
      const { verdict, rule } = answer;
      const { session, byPerson } = options;
      this.#runtime.audit.judged({ server, tool: label, arguments: subject.arguments, session, byPerson }, answer);
      if (verdict === 'deny') throw supervisorError('BLOCKED_BY_POLICY', `"${label}" is blocked: ${rule}`);
      // Where it is the host that asks, it asks again next time, whatever is remembered.
      const remember = policy.verdict === 'ask' && this.#runtime.grants.canRemember ? subject.remember : null;
      if (verdict === 'ask' && byPerson !== true && !ended.aborted)
        await this.#ask({ ...subject, remember }, rule, options, ended);
    });
  }

  /** After a change of anything that could bar a call. */
  check(): void {
    this.#judged.check();
  }

  interrupt(server: ServerId, problem: Failure): void {
    this.#judged.interrupt(server, problem);
  }

  endSession(session: string): void {
    this.#judged.endSession(session);
  }

  /** Why no call to this server can go on, whoever has agreed to it. */
  #endOf(server: ServerId): Failure | null {
    const { ended } = this.#runtime;
    if (ended !== null) return ended;
    const context = this.#runtime.snapshotOf(server)?.context;
    if (context === undefined) return failure('SERVER_REMOVED', `"${server.slice(0, 64)}" is not in the configuration`);
    return context.shut?.failure ?? (context.blockedBy === 'denied' ? context.problem : null);
  }

  async #hostsWord({ label, server, arguments: args }: CallSubject, { session, timeoutMs }: CallOptions): Promise<unknown> {
    const { approvalTimeoutMs, deps } = this.#runtime;
    const { authorizeCall } = deps.options;
    if (authorizeCall === undefined) return undefined;
    let timer: unknown;
    // A host that does not make up its mind in time has said no.
    const late = new Promise<string>((resolve) => {
      timer = deps.ports.clock.setTimeout(() => resolve('deny'), Math.min(timeoutMs ?? approvalTimeoutMs, approvalTimeoutMs));
    });
    try {
      return await Promise.race([authorizeCall({ tool: label, server, arguments: args, session: session ?? null }), late]);
    } catch {
      return 'deny';
    } finally {
      deps.ports.clock.clearTimeout(timer);
    }
  }

  async #ask(subject: CallSubject, rule: string, options: CallOptions, ended: AbortSignal): Promise<void> {
    const { label, server, tool, arguments: args, remember } = subject;
    const { questions, approvalTimeoutMs } = this.#runtime;
    if (!questions.hasChannel && options.approve === undefined) {
      throw supervisorError('APPROVAL_NO_CHANNEL', `"${label}" has to be approved and nobody can be asked here`, {
        hint: `in the user file: "toolPolicies": { "${server}.${tool}": "allow" }`,
      });
    }
    const session = options.session ?? null;
    const canRemember = remember !== null;
    const question = { kind: 'call', server, tool: label, arguments: args, session, rule, canRemember } as const;
    const asked = questions.put(question, approvalTimeoutMs, options.approve);
    ended.addEventListener('abort', () => asked.withdraw(), { once: true });
    switch (await asked.answer) {
      case 'approve':
        return;
      case 'always':
        return remember?.();
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
}
