import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { run } from '../adapters/cli/run.js';
import { createSupervisor } from '../index.js';
import { temporaryDirectory } from './support/temporary-directory.js';

async function typed(...argv: string[]) {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const cwd = await temporaryDirectory('mcp-sup-usage-');
  const exit = await run(argv, {
    stdin,
    stdout,
    stderr,
    env: { HOME: cwd },
    setEnv: () => undefined,
    cwd,
    interrupted: new AbortController().signal,
    load: () => Promise.resolve(createSupervisor),
  });
  const textOf = (stream: PassThrough): string => String(stream.read() ?? '');
  return { exit, out: textOf(stdout), err: textOf(stderr) };
}

test.each([[['nope']], [['remote']], [['call', 'x', '[']], [['status', '--workspace', '/no/such']]])(
  'with --json a command line that is none (%j) has its reason as one value on stdout, and for people on stderr',
  async (argv) => {
    const { exit, out, err } = await typed(...argv, '--json');
    expect(exit).toBe(2);
    expect(JSON.parse(out)).toMatchObject({ ok: false, error: { code: 'INVALID_ARGUMENTS', retryable: false } });
    expect(err).toContain('--help shows');
    expect(await typed(...argv)).toMatchObject({ exit: 2, out: '' });
  },
);
