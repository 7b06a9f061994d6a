import { EXIT } from './exit-codes.js';
import { type Io, write } from './io.js';
import { type Invocation, parseCommandLine } from './parse.js';
import type { Session, SessionOptions } from './session.js';

type Run = Extract<Invocation, { kind: 'run' }>;

/**
 * One run of the command: settles with its exit code when all output is written and nothing that it started is left.
 * Never rejects. Everything beyond the command line is loaded when it is needed: a search does not wait for what it does
 * not use.
 */
export async function run(argv: readonly string[], io: Io): Promise<number> {
  const invocation = parseCommandLine(argv);
  switch (invocation.kind) {
    case 'help': {
      const { helpPage } = await import('./help.js');
      await write(io.stdout, helpPage(invocation.command));
      return EXIT.done;
    }
    case 'version': {
      const { packageRoot } = await import('./package-root.js');
      await write(io.stdout, `${packageRoot().version}\n`);
      return EXIT.done;
    }
    case 'usage': {
      const { complainOfUsage } = await import('./failures.js');
      return complainOfUsage(io, invocation.message, argv.includes('--json'));
    }
    case 'run':
      try {
        return await dispatch(invocation, io);
      } catch (error) {
        const { explainEnd } = await import('./failures.js');
        return await explainEnd(error, invocation.flags, io);
      }
  }
}

async function dispatch(invocation: Run, io: Io): Promise<number> {
  const { command, operands, flags } = invocation;
  switch (command) {
    case 'serve': {
      const { serveCommand } = await import('./commands/serve.js');
      return serveCommand(io, flags);
    }
    case 'search': {
      const { searchCommand } = await import('./commands/search.js');
      return searchCommand(io, flags, operands);
    }
    case 'describe': {
      const { describeCommand } = await import('./commands/describe.js');
      return describeCommand(io, flags, operands);
    }
    case 'audit': {
      const { auditCommand } = await import('./commands/audit.js');
      return auditCommand(io, flags);
    }
    case 'import': {
      const { importCommand } = await import('./commands/import.js');
      return importCommand(io, flags, operands);
    }
    case 'example': {
      const { exampleCommand } = await import('./commands/example.js');
      return exampleCommand(io, flags);
    }
    default: {
      const { options, body } = await inWorkspace({ ...invocation, command });
      const { withWorkspace } = await import('./session.js');
      return withWorkspace(io, flags, options, body);
    }
  }
}

interface WorkspaceCommand {
  readonly options: SessionOptions;
  readonly body: (session: Session) => Promise<number>;
}

type InWorkspace = Run & {
  readonly command: Exclude<Run['command'], 'serve' | 'search' | 'describe' | 'import' | 'audit' | 'example'>;
};

/** Commands that connect may ask on the terminal, about what they name; the others leave questions open. */
async function inWorkspace({ command, operands, flags }: InWorkspace): Promise<WorkspaceCommand> {
  const [name = '', second] = operands;
  const looks = { asks: false, discover: false };
  const names = { asks: true, discover: false, asksAbout: name };
  switch (command) {
    case 'status': {
      const { statusCommand } = await import('./commands/status.js');
      return { options: { asks: flags.connect, discover: false }, body: statusCommand };
    }
    case 'explain': {
      const { explainCommand } = await import('./commands/explain.js');
      return { options: looks, body: (session) => explainCommand(session, name) };
    }
    case 'call': {
      const { callCommand, parseArguments } = await import('./commands/call.js');
      const args = parseArguments(second);
      return { options: names, body: (session) => callCommand(session, name, args) };
    }
    case 'test': {
      const { testCommand } = await import('./commands/test.js');
      return { options: names, body: (session) => testCommand(session, name) };
    }
    case 'enable':
    case 'disable': {
      const { switchCommand } = await import('./commands/switch.js');
      const isOn = command === 'enable';
      return { options: isOn ? names : looks, body: (session) => switchCommand(session, name, isOn) };
    }
    case 'trust':
    case 'untrust': {
      const { trustCommand } = await import('./commands/trust.js');
      return { options: looks, body: (session) => trustCommand(session, command === 'trust') };
    }
    case 'remote': {
      const { remoteCommand } = await import('./commands/remote.js');
      return { options: looks, body: (session) => remoteCommand(session, name === 'on') };
    }
    case 'remove': {
      const { removeCommand } = await import('./commands/remove.js');
      return { options: looks, body: (session) => removeCommand(session, name) };
    }
  }
}
