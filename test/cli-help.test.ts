import { expect, test } from 'vitest';
import { EXIT } from '../adapters/cli/exit-codes.js';
import { helpPage } from '../adapters/cli/help.js';
import { COMMANDS, parseCommandLine } from '../adapters/cli/parse.js';
import { command } from './support/fake-command.js';

const overview = helpPage(null);
const pages = COMMANDS.map((name) => [name, helpPage(name)] as const);

/** Words of a command line as a shell would split it; single quotes only. */
const words = (line: string): string[] => [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare ?? '');

test('the overview names every command, every exit code, and the files with their places', () => {
  for (const name of COMMANDS) expect(overview).toMatch(new RegExp(`^  (\\w+, )?${name}\\b`, 'm'));
  for (const code of Object.values(EXIT)) expect(overview).toMatch(new RegExp(`(^|[ ·])${code} \\w`, 'm'));
  expect(overview).toContain('$XDG_CONFIG_HOME/mcp-supervisor/mcp.json');
  expect(overview).toContain('.mcp.json');
});

test('the overview names every option that every command takes, and each page those of its own', () => {
  for (const option of ['workspace', 'user-config', 'state-dir', 'json', 'timeout', 'trust', 'enable', 'approve'])
    expect(overview).toMatch(new RegExp(`^  --${option}\\b`, 'm'));
  const owned = [
    ['status', '--connect'],
    ['serve', '--direct'],
    ['serve', '--http'],
    ['remove', '--yes'],
    ['import', '--yes'],
    ['import', '--replace'],
    ['example', '--once'],
  ] as const;
  for (const [name, option] of owned) expect(helpPage(name)).toContain(option);
});

test.each(pages)(
  'the page of %s begins with its usage and ends with its exit codes or an example that can be typed',
  (name, page) => {
    expect(page.startsWith(`Usage: mcp-supervisor ${name === 'serve' ? '[serve]' : name}`)).toBe(true);
    const examples = page.split('\n').filter((line) => line.startsWith('  mcp-supervisor '));
    expect(examples.length + (name === 'serve' ? 1 : 0)).toBe(1);
    for (const line of examples) {
      const [, ...argv] = words(line);
      expect(parseCommandLine(argv)).toMatchObject({ kind: 'run', command: name });
    }
  },
);

test.each([['overview', overview] as const, ...pages])(
  '%s fits a terminal of 80 columns, plain and without blanks at the end of a line',
  (_name, page) => {
    const lines = page.split('\n');
    expect(lines.filter((line) => line.length > 80 || line !== line.trimEnd())).toEqual([]);
    expect(page).toMatch(/^[\n -~·…]*\n$/);
  },
);

test('help is what both ways of asking print, exit 0, nothing on stderr', async () => {
  const asked = await Promise.all([command({}, 'help', 'call'), command({}, 'call', '--help')]);
  for (const ran of asked) expect(ran).toEqual({ exit: 0, out: helpPage('call'), err: '', log: [] });
  expect(await command({}, 'help')).toMatchObject({ exit: 0, out: overview });
});
