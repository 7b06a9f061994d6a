import { type Failure, failure } from '../../actors/errors.js';
import type { ClockPort } from '../../actors/ports.js';
import type { ChildPort } from '../../actors/wire-ports.js';
import { FRAME_LIMITS, type FrameProblem, FrameSplitter } from '../shared/frame-splitter.js';
import { type Message, readMessage } from './message.js';
import { INFLOW_PACE, NoiseMeter, Pace } from './pace.js';

const SAMPLE_LENGTH_MAX = 256;

export interface InflowEvents {
  message(message: Message): void;
  /** Whether somebody waits for the answer with this id; `null`: for any answer. */
  wants(id: string | number | null): boolean;
  /** An answer was dropped for its size or shape. */
  dropped(id: string | number, problem: Failure): void;
  noise(sample: string): void;
  /** The output is of no more use; may be told more than once. */
  unusable(problem: Failure): void;
}

/** The output of one process as messages, at a pace that leaves the other servers and every timer their turn. */
export class Inflow {
  readonly #child: Pick<ChildPort, 'pauseOutput' | 'resumeOutput'>;
  readonly #clock: ClockPort;
  readonly #events: InflowEvents;
  readonly #splitter: FrameSplitter;
  readonly #pace: Pace;
  readonly #noise: NoiseMeter;
  #pause: unknown = null;

  constructor(child: Pick<ChildPort, 'pauseOutput' | 'resumeOutput'>, clock: ClockPort, events: InflowEvents) {
    this.#child = child;
    this.#clock = clock;
    this.#events = events;
    this.#pace = new Pace(clock);
    this.#noise = new NoiseMeter(clock);
    this.#splitter = new FrameSplitter({
      frame: (text) => this.#frame(text),
      noise: (sample, bytes) => this.#noticed(sample, bytes),
      blank: () => this.#spend(INFLOW_PACE.unaskedLineBytes),
      wants: (id) => events.wants(id),
      dropped: (problem, id, bytes) => this.#dropped(problem, id, bytes),
    });
  }

  push(chunk: Uint8Array): void {
    this.#splitter.push(chunk);
    this.#spend(chunk.length);
  }

  /** Nothing more will come: reads now what it would have read later, as far as that is not too much for one turn. */
  drain(): void {
    if (this.#pause !== null) this.#resume();
  }

  /** Reads nothing more, and lets the process write what it likes. */
  close(): void {
    this.#splitter.close();
    if (this.#pause === null) return;
    this.#clock.clearTimeout(this.#pause);
    this.#pause = null;
    this.#child.resumeOutput();
  }

  #frame(text: string): void {
    const message = readMessage(text);
    if (message === null) {
      this.#noticed(text.slice(0, SAMPLE_LENGTH_MAX), text.length);
      return;
    }
    const isAsked = message.kind === 'answer' && this.#events.wants(message.id);
    this.#events.message(message);
    if (!isAsked) this.#spend(INFLOW_PACE.unaskedLineBytes);
  }

  #dropped(problem: FrameProblem, id: string | number | null, bytes: number): void {
    const tooLarge = failure('MESSAGE_TOO_LARGE', DROP_REASONS[problem]);
    if (id !== null) {
      this.#events.dropped(id, tooLarge);
      this.#spend(INFLOW_PACE.unaskedLineBytes);
    } else if (problem === 'bytes') this.#events.unusable(tooLarge);
    else this.#noticed(DROP_REASONS[problem], bytes);
  }

  #noticed(sample: string, bytes: number): void {
    this.#events.noise(sample);
    this.#spend(INFLOW_PACE.unaskedLineBytes);
    const much = this.#noise.count(bytes);
    if (much === null) return;
    this.#events.unusable(failure('LINK_LOST', `The server floods its output with what is no message: ${much}.`));
  }

  #spend(bytes: number): void {
    if (this.#pause !== null) return;
    const waitMs = this.#pace.spend(bytes);
    if (waitMs === 0) return;
    this.#splitter.pause();
    this.#child.pauseOutput();
    this.#pause = this.#clock.setTimeout(() => this.#resume(), waitMs);
  }

  #resume(): void {
    this.#clock.clearTimeout(this.#pause);
    this.#pause = null;
    this.#pace.restart();
    this.#splitter.resume();
    // What was kept may have used up this period too.
    if (this.#pause === null) this.#child.resumeOutput();
  }
}

const DROP_REASONS: Readonly<Record<FrameProblem, string>> = {
  bytes: `A message of the server is larger than ${FRAME_LIMITS.bytesMax} bytes.`,
  depth: `A message of the server is nested deeper than ${FRAME_LIMITS.depthMax} levels.`,
  nodes: `A message of the server holds more than ${FRAME_LIMITS.nodesMax} values.`,
  unwanted: `A message of more than ${FRAME_LIMITS.inlineBytesMax} bytes that nobody waits for.`,
  memory: 'A large message of the server came while too many others were being read.',
};
