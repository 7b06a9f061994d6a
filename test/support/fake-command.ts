import { run } from '../../adapters/cli/run.js';
import { type FakeParts, fakeSupervisor } from './fake-supervisor.js';
import { fakeTerminal } from './terminal.js';

export interface Ran {
  readonly exit: number;
  readonly out: string;
  readonly err: string;
  readonly log: readonly string[];
}

/** Runs the command without a terminal, on a library that does what `parts` says. */
export async function command(parts: FakeParts, ...argv: string[]): Promise<Ran> {
  const fake = fakeSupervisor(parts);
  const terminal = fakeTerminal(fake.create);
  const exit = await run(argv, terminal.io);
  return { exit, out: terminal.out(), err: terminal.err(), log: fake.log };
}
