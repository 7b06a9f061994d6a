#!/usr/bin/env node
import { constants } from 'node:os';
import { Interrupted } from './io.js';
import { run } from './run.js';

const interruption = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  // Closing takes its bounded time; a second signal changes nothing, for what it would leave behind is what we are here to end.
  process.on(signal, () => interruption.abort(new Interrupted(signal, 128 + constants.signals[signal])));
}
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    // Nobody reads any more. A command that runs until it is told to end is told by this.
    if (error.code === 'EPIPE' || error.code === 'EIO')
      interruption.abort(new Interrupted('EPIPE', 128 + constants.signals.SIGPIPE));
    else throw error;
  });
}

// No process.exit: what was written may still be on its way.
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
