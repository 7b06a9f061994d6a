import { supervisorError } from '../../actors/errors.js';
import type { ClockPort } from '../../actors/ports.js';
import type { GuardedResponse } from '../../actors/wire-ports.js';
import type { HttpEndpoint } from './http-endpoint.js';
import { checkJson, readEvents, readJson } from './http-reading.js';
import { mediaType, readError } from './http-status.js';
import { type Message, readMessages } from './message.js';
import { INFLOW_PACE, NoiseMeter } from './pace.js';
import type { StreamPosition } from './resumption.js';

const SAMPLE_LENGTH_MAX = 1_024;

export interface ReadingSource {
  readonly abort: AbortController;
  /** Whether somebody waits for what is read; see `ReadingOptions`. */
  wants(): boolean;
  readonly position: StreamPosition;
  /** An answer of JSON holds an error that does not say what it answers, as one to what could not be read. */
  nameless?(error: unknown): void;
}

export interface ServerEvent {
  /** `message` where the server gave none. */
  readonly type: string;
  readonly data: string;
}

/** The answers of one endpoint as messages: at the pace of one server, within the limits of one message, noise counted. */
export class MessageReader {
  readonly #endpoint: HttpEndpoint;
  readonly #noise: NoiseMeter;
  #noiseLines = 0;
  /** The start of the last thing that was no message. */
  lastNoise = '';

  constructor(endpoint: HttpEndpoint, clock: ClockPort) {
    this.#endpoint = endpoint;
    this.#noise = new NoiseMeter(clock);
  }

  get noiseLines(): number {
    return this.#noiseLines;
  }

  /** The messages of an answer, of JSON or of events; an answer of another type has none. */
  async *read(response: GuardedResponse, source: ReadingSource): AsyncGenerator<Message> {
    const type = mediaType(response.header('content-type'));
    if (type === 'text/event-stream') {
      for await (const event of this.events(response, source)) yield* await this.messagesOf(event, source);
    } else if (type === 'application/json') {
      const text = await readJson(this.#endpoint.paced(response, source.abort), source);
      const messages = readMessages(text);
      if (messages.length === 0) source.nameless?.(readError(text));
      yield* messages;
    } else response.discard();
  }

  async *events(response: GuardedResponse, source: ReadingSource): AsyncGenerator<ServerEvent> {
    const { abort, position } = source;
    const options = { wants: () => source.wants(), retry: (delayMs: number) => position.retry(delayMs) };
    for await (const { id, event, data } of readEvents(this.#endpoint.paced(response, abort), options)) {
      position.advance(id);
      if (data !== '') yield { type: event ?? 'message', data };
      if (!source.wants()) await this.#endpoint.spend(INFLOW_PACE.unaskedLineBytes, abort);
    }
  }

  /** Throws `MESSAGE_TOO_LARGE` for a text that is too deep or holds too much, `LINK_LOST` for a flood of what is no message. */
  async messagesOf({ type, data }: ServerEvent, source: ReadingSource): Promise<readonly Message[]> {
    if (type === 'message') {
      await checkJson(data);
      const messages = readMessages(data);
      if (messages.length > 0) return messages;
    }
    await this.noticed(data, source.abort);
    return [];
  }

  async noticed(text: string, abort: AbortController): Promise<void> {
    this.#noiseLines += 1;
    this.lastNoise = text.slice(0, SAMPLE_LENGTH_MAX);
    const much = this.#noise.count(text.length);
    if (much !== null) throw supervisorError('LINK_LOST', `The server floods its streams with what is no message: ${much}.`);
    await this.#endpoint.spend(INFLOW_PACE.unaskedLineBytes, abort);
  }
}
