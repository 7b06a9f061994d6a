import type { Json, Question } from '../../actors/ports.js';
import { type Code, type Failure, failure } from '../../machines/vocabulary.js';
import { type ApprovalForm, approvalForm, decisionIn, type FormDecision } from './approval-form.js';
import { createProgressGate } from './progress-gate.js';
import type { RunOptions, ServedResult } from './served-workspace.js';

/** One request of a client for a tool: the first one of a call, or the next one, which brings a person's answer. */
export interface CallLeg {
  /** What the gateway is asked; the same in every request of one call. */
  readonly request: Json;
  readonly session: string;
  /** Aborted when the client withdraws this very request. */
  readonly signal: AbortSignal;
  readonly onProgress: RunOptions['onProgress'];
  /** How the person behind the client is asked: not at all, while the request is open, or by answering the request with a form. */
  readonly asking: 'never' | 'returns' | ((form: ApprovalForm, signal: AbortSignal) => Promise<unknown>);
  /** What came with a request that answers a form. */
  readonly resumed?: { readonly state: string; readonly answer: unknown };
}

/** How a request ends: with the result of its call, or with a form whose answer comes with another request. */
export type LegEnd =
  | { readonly kind: 'result'; readonly result: ServedResult }
  | { readonly kind: 'form'; readonly form: ApprovalForm; readonly state: string };

export interface OpenCallsDeps {
  readonly run: (request: Json, options: RunOptions) => Promise<ServedResult>;
  /** Unguessable; whoever knows it may answer the form. */
  readonly nonce: () => string;
  /** Monotonic milliseconds. */
  readonly now: () => number;
  /** Calls of this client that are open at once, those that wait for an answer included; `OVERLOADED` past it. */
  readonly openMax: number;
}

interface Asked {
  readonly form: ApprovalForm;
  readonly signal: AbortSignal;
  readonly answer: (decision: FormDecision) => void;
}

/** One call, and the questions about it that nobody has taken to the client yet. */
class OpenCall {
  /** The request, to the letter: an answer given for another one is none. */
  readonly text: string;
  readonly abort = new AbortController();
  onProgress: RunOptions['onProgress'];
  readonly #asked: Asked[] = [];
  #wake: ((asked: Asked) => void) | null = null;

  constructor({ request, onProgress }: CallLeg) {
    this.text = JSON.stringify(request);
    this.onProgress = onProgress;
  }

  readonly approve = (question: Question, { signal }: { readonly signal: AbortSignal }): Promise<FormDecision> => {
    // A server is not for a client to approve.
    if (question.kind !== 'call') return Promise.resolve('deny');
    return new Promise((resolve) => {
      signal.addEventListener('abort', () => resolve('deny'), { once: true });
      const asked: Asked = { form: approvalForm(question), signal, answer: resolve };
      if (this.#wake === null) this.#asked.push(asked);
      else this.#wake(asked);
      this.#wake = null;
    });
  };

  /** The next question. One at a time waits for it: whoever follows the call. */
  asked(): Promise<Asked> {
    const [first] = this.#asked.splice(0, 1);
    return first === undefined ? new Promise((resolve) => (this.#wake = resolve)) : Promise.resolve(first);
  }
}

interface Running {
  readonly call: OpenCall;
  readonly result: Promise<ServedResult>;
}

/**
 * The calls a client has open. Each request is answered once; a call that waits for a person in a form outlives its request,
 * until the next one brings the answer, the question is withdrawn, or the client ends.
 */
export class OpenCalls {
  readonly #deps: OpenCallsDeps;
  readonly #open = new Set<OpenCall>();
  /** Calls whose form is with the client, by the state that came with it. Good for one answer. */
  readonly #parked = new Map<string, { readonly running: Running; readonly asked: Asked }>();
  #isClosed = false;

  constructor(deps: OpenCallsDeps) {
    this.#deps = deps;
  }

  get size(): number {
    return this.#open.size;
  }

  /** Never rejects but for a bug: what is refused is a result that a model can read. */
  async serve(leg: CallLeg): Promise<LegEnd> {
    if (leg.resumed !== undefined) return this.#resume(leg, leg.resumed);
    if (this.#isClosed) return refused('SUPERVISOR_CLOSED', 'the server is closing');
    if (this.#open.size >= this.#deps.openMax)
      return refused('OVERLOADED', `${this.#open.size} calls of this client are open already`);
    return this.#follow(this.#start(leg), leg);
  }

  /** Withdraws whatever is open. */
  close(): void {
    this.#isClosed = true;
    this.#parked.clear();
    for (const { abort } of this.#open) abort.abort();
  }

  async #resume(leg: CallLeg, { state, answer }: NonNullable<CallLeg['resumed']>): Promise<LegEnd> {
    const parked = this.#parked.get(state);
    // Single use, and for nothing but the request it was asked about.
    if (parked === undefined || parked.running.call.text !== JSON.stringify(leg.request))
      return refused('APPROVAL_STALE', 'this question is not open, or it was about another call');
    this.#parked.delete(state);
    parked.running.call.onProgress = leg.onProgress;
    const follows = this.#follow(parked.running, leg);
    parked.asked.answer(decisionIn(answer));
    return follows;
  }

  #start(leg: CallLeg): Running {
    const { request, session, asking } = leg;
    const call = new OpenCall(leg);
    const gate = createProgressGate(this.#deps.now, (progress) => call.onProgress(progress));
    this.#open.add(call);
    const options = { session, signal: call.abort.signal, onProgress: gate.report };
    const running = this.#deps.run(request, asking === 'never' ? options : { ...options, approve: call.approve });
    const result = running.finally(() => {
      gate.close();
      this.#open.delete(call);
    });
    // Parked, it may fail while nobody follows it; whoever follows it hears of it all the same.
    result.catch(() => undefined);
    return { call, result };
  }

  async #follow(running: Running, { signal, asking }: CallLeg): Promise<LegEnd> {
    const { call, result } = running;
    const withdraw = (): void => call.abort.abort();
    if (signal.aborted) withdraw();
    signal.addEventListener('abort', withdraw, { once: true });
    try {
      const ended = result.then((value) => ({ kind: 'result', result: value }) as const);
      for (;;) {
        const happened = await Promise.race([ended, call.asked()]);
        if ('kind' in happened) return happened;
        const { form, signal: open, answer } = happened;
        if (asking === 'returns') return { kind: 'form', form, state: this.#park(running, happened) };
        // An error of the channel is a no.
        const said = asking === 'never' ? undefined : await asking(form, open).catch(() => undefined);
        answer(decisionIn(said));
      }
    } finally {
      signal.removeEventListener('abort', withdraw);
    }
  }

  #park(running: Running, asked: Asked): string {
    const state = this.#deps.nonce();
    this.#parked.set(state, { running, asked });
    asked.signal.addEventListener('abort', () => this.#parked.delete(state), { once: true });
    return state;
  }
}

const refused = (code: Code, message: string): LegEnd => ({ kind: 'result', result: failureResult(failure(code, message)) });

/** A failure of our own as a result that a model can read. */
export function failureResult({ code, stage, message, retryable }: Failure): ServedResult {
  const content = [{ type: 'text', text: `${code}: ${message}` }];
  return { isError: true, content, structuredContent: { code, stage, message, retryable } };
}
