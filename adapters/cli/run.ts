import { SupervisorError } from '../../actors/errors.js';
import type { Failure } from '../../machines/vocabulary.js';
import { visibleText } from '../shared/visible-text.js';
import { callCommand, parseArguments } from './commands/call.js';
import { describeCommand } from './commands/describe.js';
import { exampleCommand } from './commands/example.js';
import { explainCommand } from './commands/explain.js';
import { searchCommand } from './commands/search.js';
import { statusCommand } from './commands/status.js';
import { testCommand } from './commands/test.js';
import { EXIT, exitCodeOf } from './exit-codes.js';
import { Interrupted, type Io, write } from './io.js';
import { packageRoot } from './package-root.js';
import { type Flags, type Invocation, parseCommandLine } from './parse.js';
import { failureJson, failureText, jsonLine } from './report.js';
import { withWorkspace } from './session.js';
import { USAGE } from './usage.js';
import { UsageError } from './usage-error.js';

/**
 * One run of the command: settles with its exit code when all output is written and nothing that it started is left.
 * Never rejects.
 */
export async function run(argv: readonly string[], io: Io): Promise<number> {
  const invocation = parseCommandLine(argv);
  switch (invocation.kind) {
    case 'help':
      await write(io.stdout, USAGE);
      return EXIT.done;
    case 'version':
      await write(io.stdout, `${packageRoot().version}\n`);
      return EXIT.done;
    case 'usage':
      return complainOfUsage(io, invocation.message);
    case 'run':
      try {
        return await dispatch(invocation, io);
      } catch (error) {
        return await explainEnd(error, invocation.flags, io);
      }
  }
}

/** Commands that connect may ask on the terminal; the others leave questions open. */
async function dispatch({ command, operands, flags }: Extract<Invocation, { kind: 'run' }>, io: Io): Promise<number> {
  const [name = ''] = operands;
  const connects = { asks: true, discover: false };
  const looks = { asks: false, discover: false };
  switch (command) {
    case 'status':
      return withWorkspace(io, flags, flags.connect ? connects : looks, statusCommand);
    case 'explain':
      return withWorkspace(io, flags, looks, (session) => explainCommand(session, name));
    case 'search':
      return withWorkspace(io, flags, connects, (session) => searchCommand(session, operands.join(' ')));
    case 'describe':
      return withWorkspace(io, flags, connects, (session) => describeCommand(session, name));
    case 'call': {
      const args = parseArguments(operands[1]);
      return withWorkspace(io, flags, connects, (session) => callCommand(session, name, args));
    }
    case 'test':
      return withWorkspace(io, flags, connects, (session) => testCommand(session, name));
    case 'example':
      return exampleCommand(io, flags);
  }
}

async function explainEnd(error: unknown, flags: Flags, io: Io): Promise<number> {
  if (error instanceof Interrupted) return error.exitCode;
  if (error instanceof UsageError) return complainOfUsage(io, error.message);
  if (SupervisorError.is(error)) return reportFailure(error.toFailure(), flags, io);
  await write(io.stderr, `bug: ${visibleText(error instanceof Error ? (error.stack ?? error.message) : String(error))}\n`);
  return EXIT.failed;
}

async function reportFailure(problem: Failure, { json }: Flags, io: Io): Promise<number> {
  if (json) await write(io.stdout, jsonLine({ ok: false, error: failureJson(problem) }));
  else await write(io.stderr, failureText(problem));
  return exitCodeOf(problem);
}

async function complainOfUsage(io: Io, message: string): Promise<number> {
  await write(io.stderr, `${visibleText(message)}\nmcp-supervisor --help shows what there is.\n`);
  return EXIT.usage;
}
