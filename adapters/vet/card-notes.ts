import { basename } from 'node:path';
import type { ServerDefinition } from '../../actors/ports.js';
import { isHighlightedEnvName } from '../shared/sensitive.js';

/** Programs that fetch a package and run it, and the words that make them do so. */
const RUNNERS: Readonly<Record<string, readonly string[]>> = {
  npx: [],
  pnpx: [],
  bunx: [],
  uvx: [],
  npm: ['exec', 'x'],
  pnpm: ['dlx'],
  yarn: ['dlx'],
  bun: ['x'],
  uv: ['tool'],
  pipx: ['run'],
};
const SHELLS = new Set(['sh', 'bash', 'zsh', 'dash', 'ksh', 'fish', 'cmd', 'powershell', 'pwsh']);
const SHELL_FLAGS = new Set(['-c', '/c', '/k', '-command', '-encodedcommand', '-lc', '-ic', '-ec']);
const CODE_FLAGS = new Set(['-e', '--eval', '-p', '--print', '-c', '-r', '--require', '--import', '--loader']);
/** `name@1.2.3` or `name==1.2.3`: one release, not whatever is newest. */
const PINNED = /^.+(?:@|==)v?\d+\.\d+\.\d+[A-Za-z0-9.+-]*$/;

/** Sentences a person should read before saying yes. They name no value of the definition. */
export function stdioNotes({ command = '', args, env }: ServerDefinition): readonly string[] {
  const program = basename(command)
    .toLowerCase()
    .replace(/\.(?:exe|cmd|bat|js)$/, '');
  const notes = [runnerNote(program, args)];
  const flags = args.map((arg) => arg.toLowerCase());
  if (SHELLS.has(program) && flags.some((flag) => SHELL_FLAGS.has(flag)))
    notes.push('runs a shell command line, which can do anything');
  else if (flags.some((flag) => CODE_FLAGS.has(flag.split('=', 1)[0] ?? '')))
    notes.push('is given code or modules on its command line');
  if (program === 'docker' || program === 'podman') notes.push('starts a container, whose image may be downloaded');
  if (program === 'sudo' || program === 'doas') notes.push('asks for the rights of another user');
  if (Object.keys(env).some(isHighlightedEnvName)) notes.push('sets variables that tools or model vendors take orders from');
  return notes.filter((note) => note !== null);
}

function runnerNote(program: string, args: readonly string[]): string | null {
  const verbs = Object.hasOwn(RUNNERS, program) ? RUNNERS[program] : undefined;
  if (verbs === undefined) return null;
  const words = args.filter((arg) => !arg.startsWith('-'));
  if (verbs.length > 0 && !verbs.includes(words[0] ?? '')) return null;
  const operands = words.slice(verbs.length > 0 ? 1 : 0).filter((word) => !(program === 'uv' && word === 'run'));
  const isPinned = PINNED.test(operands[0] ?? '');
  return isPinned
    ? 'runs one release of a package, fetched where it is missing'
    : 'downloads code: which release runs is decided at every start';
}
