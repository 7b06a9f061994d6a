#!/usr/bin/env node
import { constants } from 'node:os';
import { EXIT } from './exit-codes.js';
import { Interrupted } from './io.js';
import { run } from './run.js';

const interruption = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  // Closing takes its bounded time; a second signal changes nothing, for what it would leave behind is what we are here to end.
  process.on(signal, () => interruption.abort(new Interrupted(signal, 128 + constants.signals[signal])));
}
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    // Nobody reads any more, or there is no room: a crash would leave servers behind, this closes them.
    const isGone = error.code === 'EPIPE' || error.code === 'EIO';
    const exitCode = isGone ? 128 + constants.signals.SIGPIPE : EXIT.failed;
    interruption.abort(new Interrupted(error.code ?? error.message, exitCode));
  });
}

// What was written may still be on its way, so the process ends by itself; but nobody may ever read it, so a signal ends it too.
process.exitCode = await run(process.argv.slice(2), {
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  env: process.env,
  setEnv: (name, value) => {
    process.env[name] = value;
  },
  cwd: process.cwd(),
  interrupted: interruption.signal,
  load: async () => (await import('../../index.js')).createSupervisor,
});
if (interruption.signal.aborted) process.exit();
interruption.signal.addEventListener('abort', () => process.exit());
