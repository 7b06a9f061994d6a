import { type Failure, failure, supervisorError } from '../../actors/errors.js';
import type { ChildPort } from '../../actors/wire-ports.js';

/** Bytes that may wait for a server that does not read, beside the one frame that crosses the line. */
export const OUTBOX_BYTES_MAX = 4_194_304;

type Written = (error: unknown) => void;

/**
 * What waits to be written to one process. Frames of one turn go out as one write, which is what makes many calls at once
 * cheap; a server that does not read is refused more instead of filling the host's memory.
 */
export class Outbox {
  readonly #child: ChildPort;
  #batch = '';
  #written: Written[] = [];
  #isClosed = false;

  constructor(child: ChildPort) {
    this.#child = child;
  }

  /** Takes one JSON text; says why when it does not. `written` is told `null` once the pipe has it, or what went wrong. */
  push(frame: string, written?: Written): Failure | null {
    if (this.#isClosed) return failure('LINK_LOST', 'The link is closed.');
    const buffered = this.#batch.length + this.#child.bufferedBytes;
    if (buffered > OUTBOX_BYTES_MAX) {
      return failure('BACKPRESSURE', `The server does not read: ${buffered} bytes wait to be written.`);
    }
    if (this.#batch === '') queueMicrotask(() => this.flush());
    this.#batch += frame + '\n';
    if (written !== undefined) this.#written.push(written);
    return null;
  }

  flush(): void {
    if (this.#batch === '') return;
    const batch = this.#batch;
    const written = this.#written;
    this.#batch = '';
    if (written.length === 0) {
      this.#child.write(batch);
      return;
    }
    this.#written = [];
    this.#child.write(batch, (error) => {
      for (const tell of written) tell(error);
    });
  }

  /** Writes out what it has and refuses everything after. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.flush();
  }

  /** The same as a promise, for what is not a call. */
  send(frame: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const refused = this.push(frame, (error) => {
        if (error === null) resolve();
        else reject(supervisorError('LINK_LOST', 'The message could not be written.', { cause: error }));
      });
      if (refused !== null) reject(supervisorError(refused.code, refused.message));
    });
  }
}
