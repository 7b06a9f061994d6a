import { describe, expect, test } from 'vitest';
import { parseCommandLine } from '../adapters/cli/parse.js';

const read = (...argv: string[]) => parseCommandLine(argv);
const flags = {
  trust: false,
  enable: [],
  approve: [],
  json: false,
  connect: false,
  once: false,
  yes: false,
  replace: false,
  direct: false,
};

describe('the command line', () => {
  test('reads a command, its operands and the common options in any order', () => {
    expect(read('--json', 'call', '--workspace', 'a', 'mcp__x__y', '--timeout', '500', '{"a":1}')).toEqual({
      kind: 'run',
      command: 'call',
      operands: ['mcp__x__y', '{"a":1}'],
      flags: { ...flags, json: true, workspace: 'a', timeoutMs: 500 },
    });
  });

  test('takes --enable and --approve as often as they are given', () => {
    expect(read('status', '--trust', '--enable', 'a', '--enable=b', '--approve', 'f1', '--approve', 'f2')).toMatchObject({
      kind: 'run',
      flags: { trust: true, enable: ['a', 'b'], approve: ['f1', 'f2'] },
    });
  });

  test('takes the words of a search as they are typed', () => {
    expect(read('search', 'read', 'file')).toMatchObject({ kind: 'run', operands: ['read', 'file'] });
  });

  test('shows help, of the command that is named, and the version, whatever else is there', () => {
    expect(read('--help')).toEqual({ kind: 'help', command: null });
    expect(read('help')).toEqual({ kind: 'help', command: null });
    expect(read('call', '-h')).toEqual({ kind: 'help', command: 'call' });
    expect(read('help', 'call')).toEqual({ kind: 'help', command: 'call' });
    expect(read('nope', '--help')).toEqual({ kind: 'help', command: null });
    expect(read('--version')).toEqual({ kind: 'version' });
  });

  test('serves when no command is given', () => {
    expect(read()).toEqual({ kind: 'run', command: 'serve', operands: [], flags });
    expect(read('--direct', '--http', '0')).toMatchObject({ command: 'serve', flags: { direct: true, http: 0 } });
  });

  test('takes the decisions that are kept', () => {
    expect(read('remote', 'off')).toMatchObject({ kind: 'run', command: 'remote', operands: ['off'] });
    expect(read('remove', 'files', '--yes')).toMatchObject({ command: 'remove', operands: ['files'], flags: { yes: true } });
    expect(read('import')).toMatchObject({ command: 'import', operands: [], flags: { yes: false, replace: false } });
    expect(read('import', 'f', '--replace', '--yes')).toMatchObject({ operands: ['f'], flags: { yes: true, replace: true } });
  });

  test('says that this version does not have "authorize", even with options it will have one day', () => {
    expect(read('--workspace', '.', 'authorize', 'x', '--port', '1')).toEqual({
      kind: 'usage',
      message: 'This version does not have the command "authorize".',
    });
  });

  test.each([
    [['nope'], 'no command "nope"'],
    [['toString'], 'no command "toString"'],
    [['status', '--nope'], '--nope'],
    [['status', 'x'], 'takes no operand'],
    [['search'], 'needs QUERY'],
    [['call'], 'needs NAME [ARGS]'],
    [['call', 'n', '{}', 'x'], 'takes NAME [ARGS]'],
    [['test', ''], 'empty text'],
    [['status', '--workspace'], '--workspace'],
    [['status', '--enable='], '--enable needs a value'],
    [['status', '--json=yes'], '--json'],
    [['search', 'x', '--connect'], '--connect belongs to "status"'],
    [['status', '--once'], '--once belongs to "example"'],
    [['status', '--yes'], '--yes belongs to "remove" and "import"'],
    [['status', '--direct'], '--direct belongs to "serve"'],
    [['status', '--http', '1'], '--http belongs to "serve"'],
    [['--connect'], '--connect belongs to "status"'],
    [['serve', '--json'], 'no --json'],
    [['serve', 'x'], 'takes no operand'],
    [['remote'], 'needs on or off'],
    [['remote', 'maybe'], 'needs on or off, not "maybe"'],
    [['enable'], 'needs SERVER'],
    [['remove', 'a', 'b'], 'takes SERVER'],
    [['trust', '--trust'], 'for one run'],
    [['enable', 'a', '--trust'], 'for one run'],
    [['disable', 'a', '--enable', 'a'], 'for one run'],
    [['untrust', '--approve', 'f'], 'for one run'],
    [['help', 'nope'], 'no command "nope"'],
    [['help', 'authorize'], 'does not have the command "authorize"'],
    [['import', 'a', 'b'], 'takes FILE'],
    [['import', '--trust'], 'for one run'],
    [['remove', 'a', '--replace'], '--replace belongs to "import"'],
    [['help', 'call', 'test'], 'takes one command'],
    [['example', '--user-config', 'f'], '"example" brings its own'],
    [['example', '--json'], 'no --json'],
  ])('refuses %j', (argv, message) => {
    expect(read(...argv)).toMatchObject({ kind: 'usage', message: expect.stringContaining(message) as string });
  });

  test.each(['0', '-1', '1.5', '1e3', '', ' 5', '2147483648', '99999999999'])(
    'refuses --timeout=%s rather than guess',
    (text) => {
      expect(read('status', `--timeout=${text}`)).toMatchObject({
        kind: 'usage',
        message: expect.stringContaining('--timeout') as string,
      });
    },
  );

  test.each(['-1', '65536', '1e3', '', ' 80', 'http'])('refuses --http=%s rather than guess', (text) => {
    expect(read('serve', `--http=${text}`)).toMatchObject({
      kind: 'usage',
      message: expect.stringContaining('--http') as string,
    });
  });

  test.each(['--workspace', '--user-config', '--state-dir', '--timeout', '--http'])(
    'refuses %s twice rather than pick one',
    (option) => {
      expect(read('status', option, '1', option, '2')).toMatchObject({
        kind: 'usage',
        message: `${option} is given 2 times and counts once.`,
      });
    },
  );

  test('repeats nothing raw that could move a cursor (S094)', () => {
    const { message } = read('\u001b[2Jx') as { readonly message: string };
    expect(message).toBe('There is no command "\\u001b[2Jx".');
  });
});
