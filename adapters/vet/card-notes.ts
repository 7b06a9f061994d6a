import type { ServerDefinition } from '../../actors/ports.js';
import { isHighlightedEnvName } from '../shared/sensitive.js';
import { INTERPRETERS, type Invocation, SHELLS, scriptAt } from './invocation.js';
import { packageNote } from './package-note.js';

const CODE_FLAGS = new Set([
  '-e',
  '--eval',
  '-p',
  '--print',
  '-c',
  '-r',
  '--require',
  '--import',
  '--loader',
  '--experimental-loader',
]);
/** `-pe`, `-r./hook.js`, `-mpkg`: options of interpreters that bring code, alone, in a cluster or with the value glued on. */
const CODE_CLUSTER = /^-[a-z]*[ecrpm]/i;

/** Sentences a person should read before saying yes. They name no value of the definition. */
export function stdioNotes({ env }: ServerDefinition, invocation: Invocation, isOpen: boolean): readonly string[] {
  const { program, args, through } = invocation;
  const notes = [packageNote(invocation)];
  if (runsShellText(invocation)) notes.push('runs a shell command line, which can do anything');
  else if (bringsCode(invocation)) notes.push('is given code or modules on its command line');
  if (args.some((arg) => /^~[/\\]/.test(arg))) notes.push('is given "~" as it stands: no shell expands it');
  if (isOpen) notes.push('runs files of this workspace that this approval does not pin');
  if (program === 'docker' || program === 'podman') notes.push('starts a container, whose image may be downloaded');
  if ([...through, program].some((name) => name === 'sudo' || name === 'doas')) notes.push('asks for the rights of another user');
  if (Object.keys(env).some(isHighlightedEnvName)) notes.push('sets variables that tools or model vendors take orders from');
  return notes.filter((note) => note !== null);
}

/** Whether a shell is given text to run: `-c` alone or in any cluster, `/c` of Windows, and what package runners hand to one. */
export function runsShellText({ program, args }: Invocation): boolean {
  if (['npx', 'npm', 'pnpm'].includes(program)) return args.some((arg) => /^(?:-c|--call(?:=.*)?|--shell-mode)$/.test(arg));
  if (!SHELLS.has(program)) return false;
  if (program === 'powershell' || program === 'pwsh') return args.some((arg) => /^[-/][ec]/i.test(arg));
  if (program === 'cmd') return args.some((arg) => /\/[ckr]/i.test(arg));
  return args.some((arg) => /^[-+][a-z]*c/i.test(arg) || /^--(?:command|init-command)\b/.test(arg));
}

function bringsCode({ program, args }: Invocation): boolean {
  if (args.some((arg) => CODE_FLAGS.has(arg.toLowerCase().split('=', 1)[0] ?? ''))) return true;
  if (!INTERPRETERS.has(program)) return false;
  const at = scriptAt(args);
  return args.slice(0, at === -1 ? args.length : at).some((arg) => CODE_CLUSTER.test(arg));
}
