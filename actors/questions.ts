import type { Ask, AskOptions, ClockPort, DigestPort, Question, RandomPort } from './ports.js';

/** `always` is an approval that is to be remembered; only a question that can be is answered so. */
export type Answer = 'approve' | 'always' | 'deny' | 'timeout' | 'withdrawn';

/** A question without the name that tells it from every other one. */
type Unasked<Q = Question> = Q extends Question ? Omit<Q, 'nonce'> : never;

interface OpenQuestion {
  readonly question: Question;
  readonly abort: AbortController;
  readonly settle: (answer: Answer) => void;
}

export interface Asked {
  readonly nonce: string;
  readonly answer: Promise<Answer>;
  /** The answer no longer matters; the channel's signal is aborted. */
  withdraw(): void;
}

export interface QuestionDeps {
  readonly ask: Ask | undefined;
  readonly clock: ClockPort;
  readonly random: RandomPort;
  readonly digest: DigestPort;
  /** Told of the one answer of each question, before whoever asked. */
  readonly onAnswered: (question: Question, answer: Answer) => void;
}

/**
 * The open questions of a workspace. Only the exact word is a yes, for the question's own nonce: a channel that throws,
 * hangs up or answers anything else has said no.
 */
export class Questions {
  readonly #deps: QuestionDeps;
  readonly #open = new Map<string, OpenQuestion>();

  constructor(deps: QuestionDeps) {
    this.#deps = deps;
  }

  /** Whether there is somebody to ask; without, a question stays open until it is answered by `answer`. */
  get hasChannel(): boolean {
    return this.#deps.ask !== undefined;
  }

  /** As cards show it; in this process only. */
  readonly digestOf = (value: string): string => this.#deps.digest.keyed(value);

  list(): readonly Question[] {
    return [...this.#open.values()].map(({ question }) => question);
  }

  /** `timeoutMs: null` leaves the time to whoever asked; `ask` is the question's own channel, where it has one. */
  put(unasked: Unasked, timeoutMs: number | null, ask: Ask | undefined = this.#deps.ask): Asked {
    const { clock, random, onAnswered } = this.#deps;
    const nonce = random.nonce();
    const question: Question = { ...unasked, nonce };
    const abort = new AbortController();
    let timer: unknown;
    const answer = new Promise<Answer>((resolve) => {
      const settle = (word: Answer): void => {
        if (!this.#open.delete(nonce)) return;
        clock.clearTimeout(timer);
        abort.abort();
        onAnswered(question, word);
        resolve(word);
      };
      this.#open.set(nonce, { question, abort, settle });
      if (timeoutMs !== null) timer = clock.setTimeout(() => settle('timeout'), timeoutMs);
      const options = { signal: abort.signal, digestOf: this.digestOf };
      if (ask !== undefined) void hear(ask, question, options).then(settle);
    });
    return { nonce, answer, withdraw: () => this.#open.get(nonce)?.settle('withdrawn') };
  }

  /** False when no such question is open. */
  answer(nonce: string, decision: unknown): boolean {
    const open = this.#open.get(nonce);
    if (open === undefined) return false;
    open.settle(answerIn(decision, open.question));
    return true;
  }

  close(): void {
    for (const { settle } of [...this.#open.values()]) settle('withdrawn');
  }
}

async function hear(ask: Ask, question: Question, options: AskOptions): Promise<Answer> {
  try {
    return answerIn(await ask(question, options), question);
  } catch {
    return 'deny';
  }
}

function answerIn(said: unknown, question: Question): Answer {
  if (said === 'approve') return 'approve';
  if (typeof said !== 'object' || said === null || !('decision' in said) || said.decision !== 'approve') return 'deny';
  const isKept = 'remember' in said && said.remember === true && question.kind === 'call' && question.canRemember;
  return isKept ? 'always' : 'approve';
}
