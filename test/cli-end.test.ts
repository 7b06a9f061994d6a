import { describe, expect, test, vi } from 'vitest';
import { failure, SupervisorError } from '../actors/errors.js';
import { Interrupted } from '../adapters/cli/io.js';
import { run } from '../adapters/cli/run.js';
import { command } from './support/fake-command.js';
import { fakeSupervisor } from './support/fake-supervisor.js';
import { fakeTerminal } from './support/terminal.js';

describe('the end', () => {
  const never = new Promise<never>(() => undefined);

  test('comes when --timeout is over, exit 4', async () => {
    expect(await command({ loaded: never }, 'status', '--timeout', '1')).toMatchObject({
      exit: 4,
      log: ['open', 'close'],
      err: expect.stringContaining('NOT_READY') as string,
    });
  });

  test.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ])('comes with %s: closes, prints nothing more, exit %i', async (signal, exit) => {
    const fake = fakeSupervisor({ call: () => never });
    const terminal = fakeTerminal(fake.create);
    const running = run(['call', 'mcp__files__read'], terminal.io);
    await vi.waitFor(() => expect(fake.log).toContain('call mcp__files__read {}'));
    terminal.interrupt(new Interrupted(signal, exit));
    expect(await running).toBe(exit);
    expect(fake.log.at(-1)).toBe('close');
    expect(terminal.out() + terminal.err()).toBe('');
  });

  test('comes with a signal while the library loads: nothing is opened when it has loaded', async () => {
    const fake = fakeSupervisor();
    const create = vi.fn(fake.create);
    const terminal = fakeTerminal(create);
    let finishLoading = (): void => undefined;
    const load = vi.fn(
      () =>
        new Promise<typeof create>((resolve) => {
          finishLoading = () => resolve(create);
        }),
    );
    const running = run(['status', '--connect'], { ...terminal.io, load });
    await vi.waitFor(() => expect(load).toHaveBeenCalled());
    terminal.interrupt(new Interrupted('SIGINT', 130));
    finishLoading();
    expect(await running).toBe(130);
    await new Promise(setImmediate);
    expect(create).not.toHaveBeenCalled();
    expect(fake.log).toEqual([]);
  });

  test('comes with a signal before anything was looked at: the library is not even loaded', async () => {
    const terminal = fakeTerminal(fakeSupervisor().create);
    const load = vi.fn(terminal.io.load);
    terminal.interrupt(new Interrupted('EPIPE', 141));
    expect(await run(['status'], { ...terminal.io, load })).toBe(141);
    expect(load).not.toHaveBeenCalled();
  });

  test('comes with a signal while the workspace opens or loads: what is open is closed, and nothing connects', async () => {
    const fake = fakeSupervisor({ loaded: never });
    const terminal = fakeTerminal(fake.create);
    const running = run(['status', '--connect'], terminal.io);
    await vi.waitFor(() => expect(fake.log).toContain('open'));
    terminal.interrupt(new Interrupted('SIGTERM', 143));
    expect(await running).toBe(143);
    expect(fake.log).toEqual(['open', 'close']);
  });

  test('comes loudly for a bug, and closes all the same', async () => {
    const call = async (): Promise<never> => {
      throw new TypeError('x is not a function');
    };
    const ran = await command({ call }, 'call', 'mcp__files__read');
    expect(ran).toMatchObject({ exit: 1, err: expect.stringContaining('bug: TypeError') as string });
    expect(ran.log.at(-1)).toBe('close');
  });

  test('keeps the code of an error from another copy of the package', async () => {
    const foreign = Object.assign(new Error('x'), {
      [Symbol.for('mcp-supervisor.error')]: true,
      toFailure: () => failure('OVERLOADED', 'Full.'),
    });
    expect(SupervisorError.is(foreign)).toBe(true);
    const ran = await command({ call: async () => Promise.reject(foreign) }, 'call', 'mcp__files__read');
    expect(ran.err).toContain('OVERLOADED');
  });
});
