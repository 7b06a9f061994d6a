import { type Failure, failure } from '../../actors/errors.js';
import type { GuardedResponse } from '../../actors/wire-ports.js';
import type { HttpEndpoint } from './http-endpoint.js';
import { connectionFailure, mediaType } from './http-status.js';
import type { Message } from './message.js';
import type { MessageReader } from './message-reader.js';
import { RESUME, StreamPosition } from './resumption.js';

export interface AnnouncementDeps {
  readonly endpoint: HttpEndpoint;
  readonly reader: MessageReader;
  /** Asks for the stream, from behind the last event that was read. */
  readonly get: (abort: AbortController, lastEventId: string | null) => Promise<GuardedResponse>;
  readonly message: (message: Message) => void;
  /** Whether somebody waits for an answer, which an older server may send here. */
  readonly wants: () => boolean;
  /** The stream was there and cannot be had any more. */
  readonly lost: (problem: Failure) => void;
}

/**
 * What a server of the older era says unasked, on a stream of its own (2025-11-25, transports, "Listening for Messages"). A
 * server that refuses it has none, which is no fault whatever the status (B125, B126). One that breaks is taken up again, ever
 * more slowly while it brings nothing; when that fails too often, or the server has forgotten the session, the link is lost.
 */
export async function followAnnouncements(deps: AnnouncementDeps): Promise<void> {
  const abort = new AbortController();
  deps.endpoint.track(abort);
  try {
    await follow(deps, abort);
  } catch (error) {
    if (!abort.signal.aborted) deps.lost(connectionFailure(error));
  } finally {
    deps.endpoint.release(abort);
  }
}

async function follow(deps: AnnouncementDeps, abort: AbortController): Promise<void> {
  const position = new StreamPosition();
  let hasOpened = false;
  let failures = 0;
  for (;;) {
    const outcome = await attempt(deps, abort, position);
    if (abort.signal.aborted) return;
    if (outcome === 'read') {
      hasOpened = true;
      failures = 0;
    } else if (!hasOpened) return;
    else if (outcome === 404) {
      deps.lost(failure('SESSION_EXPIRED', 'The server has forgotten the session (HTTP 404).'));
      return;
    } else if (typeof outcome === 'number' && outcome < 500 && outcome !== 429) return;
    else failures += 1;
    if (failures >= RESUME.attemptsMax) {
      const why = typeof outcome === 'object' ? outcome.message : `HTTP ${outcome}.`;
      deps.lost(failure('LINK_LOST', `The stream of announcements broke and cannot be had again: ${why}`));
      return;
    }
    if (!(await deps.endpoint.sleep(position.nextDelayMs(), abort))) return;
  }
}

/** Reads the stream to its end: what came of it, the status that refused it, or why there was no answer. */
async function attempt(
  deps: AnnouncementDeps,
  abort: AbortController,
  position: StreamPosition,
): Promise<'read' | number | Failure> {
  let hasBegun = false;
  try {
    const response = await deps.get(abort, position.lastEventId);
    if (response.status !== 200 || mediaType(response.header('content-type')) !== 'text/event-stream') {
      response.discard();
      return response.status;
    }
    hasBegun = true;
    for await (const message of deps.reader.read(response, { abort, position, wants: deps.wants })) deps.message(message);
    return 'read';
  } catch (error) {
    const problem = connectionFailure(error);
    if (problem.code === 'MESSAGE_TOO_LARGE') throw error;
    return hasBegun ? 'read' : problem;
  }
}
