import type { Link } from '../../actors/ports.js';
import type { Code, Failure, ListKind } from '../../machines/vocabulary.js';

/** How long what must happen may take on a busy machine before it is taken for not happening. */
export const PATIENCE = { timeout: 10_000 } as const;

export type EngineName = 'client' | 'sdk';
export type ServerKind = 'legacy' | 'dual' | 'modern';
export type Transport = 'stdio' | 'http' | 'sse';

/**
 * What a case has its link to: `shared`, a ready link that other cases use too; `own`, a ready link to a server of this case
 * alone; `mute`, a link that waits in its handshake with a server that takes everything and answers nothing.
 */
export type Counterpart = 'shared' | 'own' | 'mute';

/** What a link told its owner, in order. */
export interface Heard {
  readonly opened: (number | null)[];
  readonly lost: Failure[];
  readonly changed: ListKind[];
  /** Called in the very moment of a loss. */
  onLost?: () => void;
}

/** What one case is given: a link to a real server, and sight of what that server gets and does. */
export interface LinkRig {
  readonly engine: EngineName;
  readonly kind: ServerKind;
  readonly transport: Transport;
  readonly link: Link;
  readonly heard: Heard;
  /** What the server has told so far, a line each: `got METHOD ID`, `connections N` and what its tools do. */
  seen(): readonly string[];
  /** Timers of this process that neither fired nor were cleared, with where each was started. */
  timers(): readonly string[];
  /** Resolves when the server sees nobody any more, or is gone where it is a process of the link's own. */
  isLeft(): Promise<void>;
}

export interface ContractCase {
  /** A sentence about links. */
  readonly title: string;
  /** Default: `shared`. */
  readonly on?: Counterpart;
  /** The transports it is about. Default: every one. */
  readonly transports?: readonly Transport[];
  readonly run: (rig: LinkRig) => Promise<void>;
}

export type Column = `${EngineName} on ${ServerKind}`;
/** What comes of a case: it holds, or the code it fails with because the engine or the era lacks what it takes. */
export type Verdict = 'yes' | Code;

export interface Outcome {
  readonly result?: unknown;
  readonly problem?: Failure;
  readonly cause?: unknown;
}

/** One request and what the link tells of it. */
export class Asked {
  readonly id: string;
  readonly progress: { readonly progress: number; readonly total?: number }[] = [];
  readonly outcomes: Outcome[] = [];
  readonly settled: Promise<Outcome>;

  constructor(link: Link, method: string, params?: object) {
    let settle: (outcome: Outcome) => void = () => undefined;
    this.settled = new Promise((resolve) => {
      settle = resolve;
    });
    const told = (outcome: Outcome): void => {
      this.outcomes.push(outcome);
      settle(outcome);
    };
    this.id = link.request(method, params, {
      result: (result) => told({ result }),
      failed: (problem, cause) => told({ problem, cause }),
      progress: (report) => void this.progress.push(report),
    });
  }
}

export const call = (link: Link, name: string, args: object = {}): Asked =>
  new Asked(link, 'tools/call', { name, arguments: args });

/** The text a tool answers with; anything else is thrown as it came. */
export async function textOf(asked: Asked): Promise<string> {
  const { result, problem } = await asked.settled;
  if (problem !== undefined) throw Object.assign(new Error(problem.message), problem);
  const { content, isError } = result as { content: readonly { text: string }[]; isError?: boolean };
  const text = content.map((block) => block.text).join('');
  if (isError === true) throw Object.assign(new Error(text), { code: 'SERVER_ERROR' });
  return text;
}

/** The code a promise rejects with; `nothing` when it does not. */
export const codeOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'nothing',
    (thrown: unknown) => String((thrown as { code?: unknown }).code),
  );
