import { resolve } from 'node:path';
import { supervisorError } from '../../../actors/errors.js';
import { defaultPaths } from '../../default-paths.js';
import { createNodeDigest } from '../../node-digest.js';
import { visibleLine } from '../../shared/visible-text.js';
import { type AuditProblem, type AuditRecord, verifyAudit } from '../../state/verify-audit.js';
import { EXIT } from '../exit-codes.js';
import { type Io, unlessAborted, write } from '../io.js';
import type { Flags } from '../parse.js';
import { jsonLine } from '../report.js';

/** Checks the audit of this computer and shows its newest records; opens no workspace. Exit 1 when a part of it was changed. */
export async function auditCommand(io: Io, flags: Flags): Promise<number> {
  const paths = flags.stateDir === undefined ? {} : { stateDir: resolve(io.cwd, flags.stateDir) };
  const { stateDir } = defaultPaths(paths, io.env);
  const checking = verifyAudit(stateDir, createNodeDigest()).catch((error: unknown) => {
    throw supervisorError('STORE_FAILED', `the audit in "${stateDir}" cannot be read`, { cause: error });
  });
  const report = await unlessAborted(io.interrupted, checking);
  const { problems, newest, records, logs, unfinished } = report;
  if (flags.json) await write(io.stdout, jsonLine({ ok: problems.length === 0, ...report }));
  else {
    const unended = unfinished.length === 0 ? '' : `, ${unfinished.length} without an end (running, ended by force, or cut)`;
    const verdict = problems.length === 0 ? 'as it was written' : 'NOT as it was written';
    await write(io.stdout, [...newest.map(lineOf), `${records} records in ${logs} logs${unended}: ${verdict}`, ''].join('\n'));
    await write(io.stderr, problems.map((problem) => `${problemOf(problem)}\n`).join(''));
  }
  return problems.length === 0 ? EXIT.done : EXIT.failed;
}

function lineOf({ at, entry: { event, workspace: _, ...facts } }: AuditRecord): string {
  const said = Object.entries(facts).flatMap(([name, value]) => (value === null ? [] : [`${name}=${short(value)}`]));
  return visibleLine([new Date(at).toISOString(), event, ...said].join(' '));
}

/** A digest is told from another one by its beginning. */
const short = (value: unknown): string => {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return /^[0-9a-f]{64}$/.test(text) ? text.slice(0, 12) : text;
};

const problemOf = ({ log, line, problem }: AuditProblem): string =>
  visibleLine(`${log}${line === null ? '' : `:${line}`}: ${problem}`);
