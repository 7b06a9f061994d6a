import type { Ask, Question } from '../../actors/ports.js';
import type { Ledger } from './ledger.js';

interface Asked {
  readonly question: Question;
  readonly signal: AbortSignal;
  readonly resolve: (answer: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** Everything that is no yes, and some that look like one. */
const NOES = ['deny', 'yes', 'Approve', true, null, { decision: 'approved' }, { approve: true }] as const;

/** The people who are asked. They answer when a schedule says so, late too, and not always with a yes or a no. */
export class SimulatedApprovals {
  readonly #ledger: Ledger;
  readonly #asked: Asked[] = [];

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
  }

  get open(): number {
    return this.#asked.length;
  }

  readonly ask: Ask = (question, { signal }) => {
    this.noteQuestion(question);
    return new Promise((resolve, reject) => void this.#asked.push({ question, signal, resolve, reject }));
  };

  /** A question about a call is put: the call's own bound stands still for it. */
  noteQuestion(question: Question): void {
    if (question.kind === 'call') {
      const call = this.#callOf(question);
      if (call !== undefined) call.wasAsked = true;
    }
  }

  /** Answers one of them; a `luck` above 0.6 is no yes. Returns what was said, or null when nobody asks. */
  answer(index: number, luck: number): string | null {
    const [asked] = this.#asked.splice(index, 1);
    if (asked === undefined) return null;
    const { question, signal, resolve, reject } = asked;
    if (luck > 0.95) reject(new Error('the channel broke'));
    else if (luck > 0.6) resolve(NOES[Math.floor(luck * 1_000) % NOES.length]);
    else {
      // A yes that comes when nobody asks any more must mean nothing.
      if (!signal.aborted) this.approve(question);
      resolve(luck < 0.4 ? 'approve' : { decision: 'approve', remember: true });
    }
    return `${question.kind} of ${question.server} is answered${signal.aborted ? ' too late' : ''}`;
  }

  /** A yes was said to this question, by whichever way. */
  approve(question: Question): void {
    if (question.kind === 'server') this.#ledger.decisions.approved.add(question.fingerprint);
    else {
      const call = this.#callOf(question);
      if (call !== undefined) call.isApproved = true;
    }
  }

  #callOf(question: Extract<Question, { kind: 'call' }>) {
    const { n } = question.arguments as { readonly n?: number };
    return this.#ledger.calls.get(n ?? -1);
  }
}
