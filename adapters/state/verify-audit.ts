import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { DigestPort } from '../../actors/ports.js';
import { type Line, readLine, type Seen } from './audit-chain.js';
import { auditDirectory, auditLogs } from './audit-log.js';

export interface AuditProblem {
  /** Name of the log. */
  readonly log: string;
  /** From 1; null where it is about the whole log. */
  readonly line: number | null;
  readonly problem: string;
}

export interface AuditReport {
  readonly directory: string;
  readonly logs: number;
  /** How many lines are as they were written. */
  readonly records: number;
  /** The newest of them, 100 at most, oldest first. */
  readonly newest: readonly AuditRecord[];
  /** What cannot be as it was written: a line that was changed, removed, added or moved, a log that is gone. */
  readonly problems: readonly AuditProblem[];
  /** Logs without a last line: their process is running, was ended, or the end was cut off. */
  readonly unfinished: readonly string[];
}

export type AuditRecord = Line;

interface ReadLog {
  readonly name: string;
  readonly first: Line | undefined;
  readonly last: Line | undefined;
  readonly hashes: ReadonlySet<string>;
}

const NEWEST = 100;
/** A line costs a digest; a log of thousands must not hold up the loop. */
const LINES_A_TURN = 128;

/**
 * Reads the audit of a state directory and compares every line with its digest, with the line before it, and every log with
 * what those that were begun later saw of it. Whoever can write to the directory can write all of it anew, which nothing here
 * would show; a change to a part is told. The oldest logs are removed in time, so nothing is said of what was before them.
 */
export async function verifyAudit(stateDir: string, digest: DigestPort): Promise<AuditReport> {
  const directory = auditDirectory(stateDir);
  const problems: AuditProblem[] = [];
  const logs: ReadLog[] = [];
  let newest: Line[] = [];
  for (const name of await auditLogs(directory)) {
    const text = await readFile(join(directory, name), 'utf8');
    const lines = await readLog(name, text, digest, problems);
    newest = [...newest, ...lines.slice(-NEWEST)].sort((one, other) => one.at - other.at).slice(-NEWEST);
    logs.push({ name, first: lines[0], last: lines.at(-1), hashes: new Set(lines.map(({ hash }) => hash)) });
  }
  for (const log of logs) checkSeen(log, logs, problems);
  const unfinished = logs.filter(({ last }) => last?.entry.event !== 'end').map(({ name }) => name);
  const records = logs.reduce((sum, { hashes }) => sum + hashes.size, 0);
  return { directory, logs: logs.length, records, newest, problems, unfinished };
}

async function readLog(name: string, text: string, digest: DigestPort, problems: AuditProblem[]): Promise<readonly Line[]> {
  const lines: Line[] = [];
  const tell = (at: number, problem: string): void => void problems.push({ log: name, line: at + 1, problem });
  const texts = text.split('\n');
  // A write that was cut short leaves half a line, and no end of the log.
  const half = texts.pop();
  let prev: string | null = '';
  for (const [at, one] of texts.entries()) {
    if (at % LINES_A_TURN === LINES_A_TURN - 1) await new Promise((resolve) => setImmediate(resolve));
    const line = readLine(one, digest);
    if (line === null) tell(at, 'it is not as it was written');
    else {
      if (prev !== null && line.prev !== prev) tell(at, 'the line before it is another one, or gone');
      else if (line.seq !== at) tell(at, 'lines before it were removed or added');
      if ((line.entry.event === 'begin') !== (at === 0)) tell(at, 'it is no place for the beginning of a log');
      if (lines.at(-1)?.entry.event === 'end') tell(at, 'it stands after the end');
      lines.push(line);
    }
    prev = line?.hash ?? null;
  }
  if (half !== '' && lines.at(-1)?.entry.event === 'end') tell(texts.length, 'it stands after the end');
  return lines;
}

function checkSeen({ first }: ReadLog, logs: readonly ReadLog[], problems: AuditProblem[]): void {
  const oldest = logs[0]?.name ?? '';
  for (const { log, hash } of (first?.entry['after'] ?? []) as readonly Seen[]) {
    const seen = logs.find(({ name }) => name === log);
    const tell = (problem: string): void => {
      if (!problems.some((one) => one.log === log && one.problem === problem)) problems.push({ log, line: null, problem });
    };
    // The oldest are removed in time; one that is missing between others was not.
    if (seen === undefined && log > oldest) tell('this log is gone');
    if (seen !== undefined && hash !== '' && !seen.hashes.has(hash)) tell('lines at its end are gone or changed');
  }
}
