import { constants } from 'node:fs';
import { type FileHandle, open, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { AuditEntry, AuditPort, ClockPort, DigestPort, LogPort } from '../../actors/ports.js';
import { letGo } from '../shared/let-go.js';
import { lineOf, type Recorded, type Seen } from './audit-chain.js';
import { identityOf, makeSafeDirectory } from './safe-place.js';

export interface AuditLogOptions {
  /** Absolute path of our state directory; made (0700) when something is first recorded. */
  readonly dir: string;
  readonly clock: ClockPort;
  readonly digest: DigestPort;
  /** Tells the logs of processes apart. */
  readonly nonce: () => string;
  readonly log?: LogPort;
  /** A log that is longer is ended, and another one begun. Default 4 MiB. */
  readonly fileBytesMax?: number;
  /** The oldest logs go when all together are longer. Default 64 MiB. */
  readonly totalBytesMax?: number;
  /** The oldest logs go when there are more. Default 1 000. */
  readonly filesMax?: number;
}

const MIB = 1024 * 1024;
/** Entries are written together, as one write costs more than a hundred lines. */
const PAUSE_MS = 100;
const ENTRIES_A_WRITE = 2_048;
/** Digests of so many are made in one turn of the event loop. */
const ENTRIES_A_TURN = 128;
/** What waits for a disk that does not come back. */
const QUEUE_MAX = 10_000;
/** As many as may be written at the same time: the end of each is known to whichever is begun next. */
const SEEN_MAX = 8;
/** No line is longer. */
const TAIL_BYTES = 16 * 1024;
const LOG_NAME = /^\d{15}-[A-Za-z0-9_-]+\.jsonl$/;

export const auditDirectory = (stateDir: string): string => join(stateDir, 'audit');

/** Names of the logs in a directory, oldest first; none where there is no directory. */
export async function auditLogs(dir: string): Promise<readonly string[]> {
  try {
    return (await readdir(dir)).filter((name) => LOG_NAME.test(name)).sort();
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return [];
    throw error;
  }
}

interface Stamped<Entry> {
  readonly atMs: number;
  readonly entry: Entry;
}

interface OpenLog {
  readonly handle: FileHandle;
  readonly path: string;
  readonly identity: string | null;
  bytes: number;
  seq: number;
  prev: string;
}

/**
 * What was decided and done, one JSON line each in `<state dir>/audit`, in files that only their owner can read (0600). Each
 * line has the digest of the one before; each log begins with those of the newest ones before it. A process has a log of its own, so that
 * none waits for another; nothing is made before something is recorded. A disk that refuses costs records, which are counted,
 * and nothing else: the next ones go to another log.
 */
export function createAuditLog(options: AuditLogOptions): AuditPort {
  const writer = new AuditLog(options);
  return {
    record: (entry) => writer.record(entry),
    lost: () => ({ count: writer.lost, reason: writer.reason }),
    close: () => writer.close(),
  };
}

class AuditLog {
  readonly #options: AuditLogOptions;
  readonly #dir: string;
  readonly #queue: Stamped<AuditEntry>[] = [];
  #timer: unknown = null;
  #writing: Promise<void> = Promise.resolve();
  #current: OpenLog | null = null;
  #isClosed = false;
  /** Lost since the last log that says so was begun. */
  #untold = 0;
  lost = 0;
  reason: string | null = null;

  constructor(options: AuditLogOptions) {
    this.#options = options;
    this.#dir = auditDirectory(options.dir);
  }

  record(entry: AuditEntry): void {
    if (this.#isClosed || this.#queue.length >= QUEUE_MAX)
      return this.#lose(1, this.#isClosed ? 'it is closed' : 'the disk does not keep up');
    const { clock } = this.#options;
    this.#queue.push({ atMs: clock.epoch(), entry });
    this.#timer ??= letGo(clock.setTimeout(() => this.#flush(), PAUSE_MS));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#flush();
    await this.#writing;
  }

  #flush(): void {
    this.#options.clock.clearTimeout(this.#timer);
    this.#timer = null;
    this.#writing = this.#writing.then(() => this.#write());
  }

  /** Never rejects. */
  async #write(): Promise<void> {
    while (this.#queue.length > 0) {
      const batch = this.#queue.splice(0, ENTRIES_A_WRITE);
      await this.#attempt(() => this.#append(batch), batch.length);
    }
    if (this.#isClosed) await this.#attempt(() => this.#end(), 0);
  }

  async #attempt(write: () => Promise<void>, count: number): Promise<void> {
    try {
      await write();
    } catch (error) {
      this.#lose(count, reasonOf(error));
      // A line may have been cut: what comes next goes to another log, which says what is missing.
      await this.#leave();
    }
  }

  async #append(batch: readonly Stamped<AuditEntry>[]): Promise<void> {
    const { fileBytesMax = 4 * MIB } = this.#options;
    // A log that was taken away, or replaced, is written by nobody any more.
    if (this.#current !== null && identityOf(this.#current.path) !== this.#current.identity) await this.#leave();
    if (this.#current !== null && this.#current.bytes >= fileBytesMax) await this.#end();
    this.#current ??= await this.#begin(batch[0]?.atMs ?? 0);
    await this.#put(this.#current, batch);
  }

  async #begin(atMs: number): Promise<OpenLog> {
    const { clock, nonce } = this.#options;
    await makeSafeDirectory(this.#options.dir);
    await makeSafeDirectory(this.#dir);
    const names = await this.#prune(await auditLogs(this.#dir));
    const after = await Promise.all(names.slice(-SEEN_MAX).map((name) => seenIn(this.#dir, name)));
    const path = join(this.#dir, `${String(Math.floor(clock.epoch())).padStart(15, '0')}-${nonce()}.jsonl`);
    const flags = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
    const handle = await open(path, flags, 0o600);
    const log: OpenLog = { handle, path, identity: identityOf(path), bytes: 0, seq: 0, prev: '' };
    const lost = this.#untold;
    try {
      await this.#put(log, [{ atMs, entry: { event: 'begin', after, lost } }]);
    } catch (error) {
      await handle.close().catch(() => undefined);
      throw error;
    }
    this.#untold -= lost;
    return log;
  }

  async #put(log: OpenLog, entries: readonly Stamped<Recorded>[]): Promise<void> {
    const texts: string[] = [];
    for (const [position, { atMs, entry }] of entries.entries()) {
      if (position % ENTRIES_A_TURN === ENTRIES_A_TURN - 1) await new Promise((resolve) => setImmediate(resolve));
      const { text, hash } = lineOf({ seq: log.seq, at: atMs, prev: log.prev }, entry, this.#options.digest);
      texts.push(`${text}\n`);
      log.seq += 1;
      log.prev = hash;
    }
    const bytes = Buffer.from(texts.join(''), 'utf8');
    await log.handle.appendFile(bytes);
    log.bytes += bytes.length;
  }

  /** In good order: a log without this line was cut, or its process was ended. */
  async #end(): Promise<void> {
    if (this.#current === null) return;
    await this.#put(this.#current, [{ atMs: this.#options.clock.epoch(), entry: { event: 'end' } }]);
    await this.#leave();
  }

  async #leave(): Promise<void> {
    const log = this.#current;
    this.#current = null;
    await log?.handle.close().catch(() => undefined);
  }

  /** Removes the oldest until those that stay are within bounds. */
  async #prune(names: readonly string[]): Promise<readonly string[]> {
    const { totalBytesMax = 64 * MIB, filesMax = 1_000 } = this.#options;
    const sizes = await Promise.all(names.map(async (name) => (await stat(join(this.#dir, name))).size));
    let total = sizes.reduce((sum, size) => sum + size, 0);
    let first = 0;
    while (first < names.length && (total > totalBytesMax || names.length - first >= filesMax)) {
      await rm(join(this.#dir, names[first] ?? ''), { force: true });
      total -= sizes[first] ?? 0;
      first += 1;
    }
    return names.slice(first);
  }

  #lose(count: number, reason: string): void {
    if (this.lost === 0)
      this.#options.log?.write({ level: 'warn', event: 'audit.lost', code: 'STORE_FAILED', message: `audit: ${reason}` });
    this.lost += count;
    this.#untold += count;
    this.reason = reason;
  }
}

/** A log as it is now: the digest of its last whole line. */
async function seenIn(dir: string, log: string): Promise<Seen> {
  const handle = await open(join(dir, log), constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    const { size } = await handle.stat();
    const from = Math.max(0, size - TAIL_BYTES);
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(TAIL_BYTES), 0, TAIL_BYTES, from);
    const text = buffer.toString('utf8', 0, bytesRead);
    return { log, hash: /"hash":"([0-9a-f]{64})"\}$/.exec(text.slice(0, text.lastIndexOf('\n')))?.[1] ?? '' };
  } finally {
    await handle.close();
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown error';
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name;
}
