import { createInterface } from 'node:readline';
import type { Ask, AskOptions, Question } from '../../actors/ports.js';
import { renderComparison, renderQuestion } from './approval-card.js';
import { type Input, type Io, type Output, write } from './io.js';

export interface TerminalPrompt {
  readonly ask: Ask;
  /** Settles when no question is on the screen and none waits for its turn. */
  idle(): Promise<void>;
  /** Withdraws whatever is open; later questions are denied unasked. */
  close(): void;
}

export interface PromptHooks {
  /** The terminal is about to show a question. */
  asking(): void;
  answered(): void;
}

export interface PromptOptions extends PromptHooks {
  /** Whether to ask this one; any other stays open, as it does where nobody can be asked. Absent: all are asked. */
  readonly isAsked?: (question: Question) => boolean;
}

const DROP_MS = 30;
const START = 'Start it? A yes counts for this run only. Type y or approve: ';
const CALL = 'Allow this call? Type y or approve: ';
const CALL_OR_ALWAYS = 'Allow this call? Type y or approve, or a for always in this workspace, until the tool changes: ';
/** In front of a value that is to be compared with the digests of the card. */
const COMPARE = '=';

/**
 * Asks on a terminal, one question at a time. Only `y` or `approve`, typed after the whole card was shown, is a yes for the
 * question on the screen, and `a` where it can be remembered; any other line, the end of input, a withdrawn question and a
 * closed prompt are a no. A line that begins with `=` answers nothing: it is told whose digest on the card the rest of it has,
 * and the question stays.
 */
export function createTerminalPrompt(input: Input, output: Output, hooks: PromptOptions): TerminalPrompt {
  const closing = new AbortController();
  let waiting = 0;
  let last: Promise<unknown> = Promise.resolve();

  const answer = async (question: Question, { signal, digestOf }: AskOptions): Promise<Decision> => {
    if (signal.aborted) return 'deny';
    hooks.asking();
    try {
      let shown = renderQuestion(question);
      for (;;) {
        const line = await askLine(input, output, `${shown.join('\n')}\n${lastLine(question)}`, signal);
        if (line === null) return 'deny';
        if (question.kind === 'call' || !line.startsWith(COMPARE)) return decisionIn(line, question);
        shown = [renderComparison(question.card, digestOf(line.slice(COMPARE.length)))];
      }
    } finally {
      hooks.answered();
    }
  };

  return {
    ask: (question, { signal, digestOf }) => {
      if (hooks.isAsked?.(question) === false) return untilAborted(signal);
      waiting += 1;
      const mine = last.then(() => answer(question, { signal: AbortSignal.any([signal, closing.signal]), digestOf }));
      last = mine
        .catch(() => 'deny')
        .finally(() => {
          waiting -= 1;
        });
      return mine;
    },
    idle: async () => {
      while (waiting > 0) await last;
    },
    close: () => closing.abort(),
  };
}

type Decision = 'approve' | 'deny' | { readonly decision: 'approve'; readonly remember: true };

function lastLine(question: Question): string {
  if (question.kind === 'server') return START;
  return question.canRemember ? CALL_OR_ALWAYS : CALL;
}

function decisionIn(line: string, question: Question): Decision {
  const word = line.trim().toLowerCase();
  if (word === 'a' && question.kind === 'call' && question.canRemember) return { decision: 'approve', remember: true };
  return word === 'y' || word === 'approve' ? 'approve' : 'deny';
}

/** Asks once; only `y` or `yes` is a yes, the end of input and an aborted signal are a no. The text is escaped already. */
export async function confirm({ stdin, stderr }: Io, text: string, signal: AbortSignal): Promise<boolean> {
  const line = await askLine(stdin, stderr, `${text} [y/N] `, signal);
  return line !== null && /^y(es)?$/i.test(line.trim());
}

/** Asks once for a word; null for the end of input and an aborted signal. The text is escaped already. */
export async function askWord({ stdin, stderr }: Io, text: string, signal: AbortSignal): Promise<string | null> {
  const line = await askLine(stdin, stderr, text, signal);
  return line === null ? null : line.trim().toLowerCase();
}

async function askLine(input: Input, output: Output, text: string, signal: AbortSignal): Promise<string | null> {
  await dropTypedAhead(input);
  await write(output, `\n${text}`);
  return readLine(input, output, signal);
}

function untilAborted(signal: AbortSignal): Promise<'deny'> {
  return new Promise((resolve) => {
    const end = (): void => resolve('deny');
    if (signal.aborted) end();
    else signal.addEventListener('abort', end, { once: true });
  });
}

/** What was typed before the question could be read answers nothing. */
async function dropTypedAhead(input: Input): Promise<void> {
  const drop = (): void => undefined;
  input.on('data', drop);
  input.resume();
  // Long enough for the system to hand over what it holds, too short for a person to have read anything.
  await new Promise((resolve) => setTimeout(resolve, DROP_MS));
  input.off('data', drop);
  input.pause();
}

/** One line, or null when the input ends or the question is withdrawn first. */
function readLine(input: Input, output: Output, signal: AbortSignal): Promise<string | null> {
  if (signal.aborted || input.readableEnded || input.destroyed) return Promise.resolve(null);
  return new Promise((resolve) => {
    // Not in terminal mode: the system edits the line, and Ctrl-C stays a signal.
    const lines = createInterface({ input, terminal: false });
    let unanswered = '\n';
    const withdraw = (): void => {
      unanswered = '\n(withdrawn)\n';
      lines.close();
    };
    signal.addEventListener('abort', withdraw, { once: true });
    lines.once('line', (line) => {
      resolve(line);
      unanswered = '';
      lines.close();
    });
    lines.once('close', () => {
      signal.removeEventListener('abort', withdraw);
      // What comes next begins on a line of its own.
      void write(output, unanswered);
      resolve(null);
    });
  });
}
