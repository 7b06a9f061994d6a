import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { SupervisorError, supervisorError } from '../actors/errors.js';
import { redactedError, redactedFailure } from '../actors/redacted-errors.js';
import { createRedaction } from '../adapters/shared/redaction.js';
import { failure } from '../machines/vocabulary.js';

const SECRET = 'sn7_0123abcd-Kx';
const redaction = createRedaction();
redaction.hold([{ env: { A_TOKEN: SECRET } }]);

const printed = (error: unknown): string =>
  [inspect(error, { depth: null, showHidden: true }), JSON.stringify(error), error instanceof Error ? error.stack : ''].join(
    '\n',
  );

describe('an error that is redacted', () => {
  test.each([
    ['its message', () => new Error(`no ${SECRET}`)],
    ['its stack', () => Object.assign(new Error('no'), { stack: `Error: no\n    at ${SECRET} (file.js:1:1)` })],
    ['its name', () => Object.assign(new Error('no'), { name: SECRET })],
    ['its code', () => Object.assign(new Error('no'), { code: SECRET })],
    [
      'what it carries besides, as errors of spawn do',
      () => Object.assign(new Error('no'), { spawnargs: ['--key', SECRET], path: SECRET }),
    ],
    ['its cause', () => new Error('no', { cause: new Error(SECRET) })],
    [
      'the cause of its cause',
      () => new Error('no', { cause: new TypeError('not', { cause: { headers: { authorization: SECRET } } }) }),
    ],
    ['the hint of one of ours', () => supervisorError('SERVER_ERROR', 'no', { hint: `try ${SECRET}` })],
    ['the cause of one of ours', () => supervisorError('SERVER_ERROR', 'no', { cause: new Error(SECRET) })],
    ['the parts of one made of several', () => new AggregateError([new Error(SECRET)], 'no')],
    ['data instead of an error', () => ({ code: -1, data: [{ [SECRET]: SECRET }, SECRET] })],
    ['a text instead of an error', () => `no ${SECRET}`],
    ['data under a name that tells, whoever\u2019s it is', () => ({ data: { password: SECRET.slice(1, 9) } })],
  ])('holds no secret in %s, however it is printed (S152)', (_place, make) => {
    const clean = printed(redactedError(redaction, make()));
    expect(printed(make())).toContain(SECRET.slice(1, 9));
    expect(clean).not.toContain(SECRET.slice(1, 9));
    // What may be said of it still is.
    expect(clean).toMatch(/\bno\b|\[redacted\]/);
  });

  test('keeps its code, and one of ours all that a host branches on', () => {
    const ours = redactedError(
      redaction,
      supervisorError('SERVER_ERROR', `no ${SECRET}`, { cause: Object.assign(new Error('x'), { code: 'ENOENT' }) }),
    );
    expect(ours).toBeInstanceOf(SupervisorError);
    expect(ours).toMatchObject({
      code: 'SERVER_ERROR',
      stage: 'call',
      message: 'no [redacted]',
      cause: { code: 'ENOENT', message: 'x' },
    });
  });

  test.each([
    [
      'throws at every touch',
      () =>
        new Proxy(new Error('no'), {
          get: () => {
            throw new Error(SECRET);
          },
        }),
    ],
    [
      'is its own cause',
      () => {
        const error = new Error('no');
        error.cause = error;
        return error;
      },
    ],
    [
      'is its own part',
      () => {
        const data: Record<string, unknown> = {};
        data['data'] = data;
        return data;
      },
    ],
    ['is wide and deep', () => Array.from({ length: 1_000 }, () => Array.from({ length: 1_000 }, () => SECRET))],
  ])('is made of one that %s', (_what, make) => {
    expect(printed(redactedError(redaction, make()))).not.toContain(SECRET);
  });

  test('is the same failure where there is nothing to take out', () => {
    const problem = failure('SERVER_ERROR', 'The server answers tools/call with HTTP 500.');
    expect(redactedFailure(redaction, problem)).toBe(problem);
    expect(redactedFailure(redaction, failure('SERVER_ERROR', `one\n${SECRET}`)).message).toBe('one\\n[redacted]');
  });
});
