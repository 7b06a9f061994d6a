import { join } from 'node:path';
import { SupervisorError, supervisorError } from '../../actors/errors.js';
import type { ClockPort, LogPort } from '../../actors/ports.js';
import { type Connection, checkpoint, troubleOf } from './libsql-connection.js';
import { type Opened, openPlace, type Place, setAside } from './opening.js';
import { createRetry, type Retry } from './retry.js';
import { flushFile, identityOf } from './safe-place.js';
import { MIGRATIONS, transact } from './schema.js';

export interface StoreOptions {
  /** Absolute path of a directory that only we can enter; made (0700) when something is first kept. */
  readonly dir: string;
  readonly clock: ClockPort;
  readonly log?: LogPort;
  /** How long a statement is tried again while another process holds the lock. Default 5 000. */
  readonly busyTimeoutMs?: number;
  /** Default: all of them. */
  readonly migrations?: readonly string[];
}

type Work<T> = (connection: Connection) => T;

const BUSY_TIMEOUT_MS = 5_000;
/** Then the log holds about 1 MB: a chunk of a listing is the most that one write brings. */
const WRITES_A_CHECKPOINT = 16;
const REPAIRS_MAX = 2;
const OPENINGS_MAX = 100;

/**
 * SQLite in `<dir>/state.db`, shared with other processes: opened when first needed, and again when the file was replaced.
 * Work on it is synchronous and short and never waits for a lock; what meets one is tried again later. Rejects with
 * `STORE_FAILED` and `STORE_UNSAFE` only.
 */
export class Store {
  readonly path: string;
  /** How often the file turned out to be another one than before. */
  replacements = 0;
  readonly #place: Place;
  readonly #busyTimeoutMs: number;
  readonly #retry: Retry;
  readonly #running = new Set<Promise<unknown>>();
  #current: Opened | null = null;
  #opening: Promise<'opened' | 'absent' | 'replaced'> | null = null;
  #lastWrite: Promise<unknown> = Promise.resolve();
  #checkpointing: Promise<void> | null = null;
  #writes = 0;
  #closing: Promise<void> | null = null;

  constructor({ dir, clock, log, busyTimeoutMs = BUSY_TIMEOUT_MS, migrations = MIGRATIONS }: StoreOptions) {
    this.path = join(dir, 'state.db');
    this.#place = { path: this.path, clock, log, migrations };
    this.#busyTimeoutMs = busyTimeoutMs;
    this.#retry = createRetry(clock);
  }

  /** `work`, all in one turn; `absent` when nothing was ever kept: nothing is made for a reader. */
  read<T>(absent: T, work: Work<T>): Promise<T> {
    return this.#track(async () => {
      const result = await this.#perform(false, this.#deadline(), work);
      return result === null ? absent : result.value;
    });
  }

  /** `work` in one transaction, after the writes asked for before. `durable`: settles when the disk has it. */
  write<T>(work: Work<T>, { durable = false } = {}): Promise<T> {
    return this.#track(async () => {
      const untilMs = this.#deadline();
      const turn = this.#lastWrite.then(() =>
        this.#perform(true, untilMs, (connection) => transact(connection, () => work(connection))),
      );
      this.#lastWrite = turn.catch(() => undefined);
      const result = await turn;
      if (result === null) throw new Error('bug: a write found nothing to write to');
      if (durable) await flushFile(`${this.path}-wal`);
      this.#writes += 1;
      if (this.#writes >= WRITES_A_CHECKPOINT) void this.#checkpoint();
      return result.value;
    });
  }

  /** What was asked for before gets one more try; what meets a lock then is refused. */
  close(): Promise<void> {
    this.#closing ??= this.#end();
    return this.#closing;
  }

  async #end(): Promise<void> {
    this.#retry.stop();
    await Promise.all(this.#running);
    await this.#checkpointing;
    if (this.#writes > 0) await this.#checkpoint();
    this.#disconnect();
  }

  async #track<T>(start: () => Promise<T>): Promise<T> {
    if (this.#closing !== null) {
      throw supervisorError('STORE_FAILED', 'the state is closed; nothing is read or written any more');
    }
    const task = start();
    const ended = task.then(
      () => undefined,
      () => undefined,
    );
    this.#running.add(ended);
    try {
      return await task;
    } catch (error) {
      throw this.#failed(error);
    } finally {
      this.#running.delete(ended);
    }
  }

  #deadline(): number {
    return this.#place.clock.now() + this.#busyTimeoutMs;
  }

  /** `null`: nothing was ever kept, and nothing `isWanted`. */
  async #perform<T>(isWanted: boolean, untilMs: number, work: Work<T>): Promise<{ readonly value: T } | null> {
    for (let tries = 0, repairs = 0; ; tries += 1) {
      try {
        return await this.#attempt(isWanted, work);
      } catch (error) {
        const trouble = troubleOf(error);
        if (trouble === 'corrupt' && repairs < REPAIRS_MAX) repairs += 1;
        else if (trouble !== 'busy' || !(await this.#retry.wait(tries, untilMs))) throw error;
      }
    }
  }

  async #attempt<T>(isWanted: boolean, work: Work<T>): Promise<{ readonly value: T } | null> {
    let open = this.#open();
    for (let openings = 0; open === null; openings += 1) {
      // Where a file is another one at each look, as on some disks of other machines, nothing could ever be told apart.
      if (openings === OPENINGS_MAX) throw supervisorError('STORE_FAILED', `"${this.path}" keeps being replaced`);
      if ((await this.#openOnce(isWanted)) === 'absent' && !isWanted) return null;
      open = this.#open();
    }
    try {
      return { value: work(open.connection) };
    } catch (error) {
      if (troubleOf(error) === 'corrupt') {
        this.#disconnect();
        this.replacements += 1;
        await setAside(this.#place, open.identity);
      }
      throw error;
    }
  }

  /** The connection, unless the file under its name is another one by now: what is written to the old one, nobody sees. */
  #open(): Opened | null {
    if (this.#current !== null && identityOf(this.path) !== this.#current.identity) {
      this.#disconnect();
      this.replacements += 1;
    }
    return this.#current;
  }

  #openOnce(isWanted: boolean): Promise<'opened' | 'absent' | 'replaced'> {
    this.#opening ??= openPlace(this.#place, isWanted)
      .then((opened) => {
        if (typeof opened === 'string') return opened;
        this.#current = opened;
        return 'opened';
      })
      .finally(() => (this.#opening = null));
    return this.#opening;
  }

  #disconnect(): void {
    this.#current?.connection.close();
    this.#current = null;
  }

  /** One at a time. It may wait for the next one: nothing is lost when it fails. */
  #checkpoint(): Promise<void> {
    this.#writes = 0;
    this.#checkpointing ??= checkpoint(this.path)
      .catch((error: unknown) => {
        this.#place.log?.write({ level: 'debug', event: 'state.checkpoint', message: String(error) });
      })
      .finally(() => (this.#checkpointing = null));
    return this.#checkpointing;
  }

  #failed(error: unknown): SupervisorError {
    if (SupervisorError.is(error)) return error;
    const reason = error instanceof Error ? error.message : String(error);
    return supervisorError('STORE_FAILED', `the state in "${this.path}" could not be read or written: ${reason}`, {
      cause: error,
      hint:
        troubleOf(error) === 'busy'
          ? 'another process holds its lock: try again, or end that process'
          : 'see that the disk has room and can be written to',
    });
  }
}
