import { SupervisorError } from '../../actors/errors.js';
import { type Failure, failure } from '../../machines/vocabulary.js';
import { withoutSecretShapes } from '../shared/secret-shapes.js';
import { visibleText } from '../shared/visible-text.js';
import { EXIT, exitCodeOf } from './exit-codes.js';
import { Interrupted, type Io, write } from './io.js';
import type { Flags } from './parse.js';
import { failureJson, failureText, jsonLine } from './report.js';
import { UsageError } from './usage-error.js';

/** Tells whoever typed the command why it ended early; settles with the exit code that says so. */
export async function explainEnd(error: unknown, flags: Flags, io: Io): Promise<number> {
  if (error instanceof Interrupted) return error.exitCode;
  if (error instanceof UsageError) return complainOfUsage(io, error.message, flags.json);
  if (SupervisorError.is(error)) return reportFailure(error.toFailure(), flags, io);
  const story = error instanceof Error ? (error.stack ?? error.message) : String(error);
  await write(io.stderr, `bug: ${visibleText(withoutSecretShapes(story))}\n`);
  return EXIT.failed;
}

/** With `--json` whoever reads stdout finds there why it is no result. */
export async function complainOfUsage(io: Io, message: string, json: boolean): Promise<number> {
  const problem = failure('INVALID_ARGUMENTS', message, 'mcp-supervisor --help shows what there is.');
  if (json) await write(io.stdout, jsonLine({ ok: false, error: failureJson(problem) }));
  await write(io.stderr, `${visibleText(message)}\nmcp-supervisor --help shows what there is.\n`);
  return EXIT.usage;
}

async function reportFailure(problem: Failure, { json }: Flags, io: Io): Promise<number> {
  if (json) await write(io.stdout, jsonLine({ ok: false, error: failureJson(problem) }));
  else await write(io.stderr, failureText(problem));
  return exitCodeOf(problem);
}
