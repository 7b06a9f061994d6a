import type { ServerReport } from '../machines/server-events.js';
import { type CandidateKey, failure } from '../machines/vocabulary.js';
import type { ServerRef } from '../machines/workspace-machine.js';
import type { ApprovalCard } from './ports.js';
import type { Asked, Questions } from './questions.js';

export interface ApprovalDeps {
  readonly questions: Questions;
  /** Fingerprints approved in this process. */
  readonly approved: Set<string>;
  readonly onApproved: (fingerprint: string) => void;
  readonly cardOf: (key: CandidateKey) => ApprovalCard | undefined;
  readonly serverRef: (key: CandidateKey) => ServerRef | undefined;
}

/** Puts a server's question to a person, with its card, and brings the answer back. Its time-out is the machine's. */
export class ServerApprovals {
  readonly #deps: ApprovalDeps;
  readonly #asked = new Map<CandidateKey, Asked>();

  constructor(deps: ApprovalDeps) {
    this.#deps = deps;
  }

  ask({ key, fingerprint }: Extract<ServerReport, { type: 'approval.wanted' }>): void {
    const { questions, approved, onApproved, cardOf, serverRef } = this.#deps;
    const card = cardOf(key);
    const deny = (message: string): void =>
      serverRef(key)?.send({ type: 'approval.denied', fingerprint, failure: failure('APPROVAL_DENIED', message) });
    // A card for anything else than what is asked about must not be shown.
    if (card?.fingerprint !== fingerprint) return queueMicrotask(() => deny(`"${key}" changed while its question was made`));

    const asked = questions.put({ kind: 'server', server: card.server, fingerprint, card }, null);
    this.#asked.set(key, asked);
    void asked.answer.then((answer) => {
      if (answer === 'approve') {
        approved.add(fingerprint);
        onApproved(fingerprint);
        serverRef(key)?.send({ type: 'approval.granted', fingerprint });
      } else if (answer === 'deny') deny(`"${card.server}" was not approved`);
    });
  }

  /** The question was answered, or the server has left it. */
  close({ key }: Extract<ServerReport, { type: 'approval.closed' }>): void {
    this.#asked.get(key)?.withdraw();
    this.#asked.delete(key);
  }
}
