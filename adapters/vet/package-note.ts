import type { Invocation } from './invocation.js';

interface Runner {
  /** Words that make the program fetch; none where it always does. */
  readonly verbs: readonly string[];
  /** Options that name packages, apart from the operand. */
  readonly packages: readonly string[];
  /** Options that change nothing about which code runs. */
  readonly harmless: readonly string[];
  /** What names one release, not whatever is newest: no URL, no repository, no alias, no tag. */
  readonly release: RegExp;
}

/** `name@1.2.3` or `@scope/name@1.2.3`. */
const NPM_RELEASE = /^(?:@[a-z0-9._~-]+\/)?[a-z0-9_~-][a-z0-9._~-]*@v?\d+\.\d+\.\d+(?:-[a-z0-9.-]+)?(?:\+[a-z0-9.-]+)?$/i;
/** `name==1.2.3`, `name@1.2.3` or `name[extra]==1.2.3`. */
const PYTHON_RELEASE = /^[a-z0-9][a-z0-9._-]*(?:\[[a-z0-9,._-]+\])?(?:==|@)\d+\.\d+\.\d+[a-z0-9.+]*$/i;

const NPM: Runner = {
  verbs: [],
  packages: ['-p', '--package'],
  harmless: ['-y', '--yes', '-q', '--quiet', '-s', '--silent', '--prefer-offline', '--offline', '--no-install', '--bun', '--'],
  release: NPM_RELEASE,
};
const PYTHON: Runner = {
  verbs: [],
  packages: ['--from', '--with', '-w', '--spec'],
  harmless: ['-q', '--quiet', '--offline', '--isolated', '--no-cache', '--'],
  release: PYTHON_RELEASE,
};
const INIT = ['init', 'create', 'innit', 'c'];
const INSTALL = ['install', 'i', 'add', 'ci', 'update', 'upgrade'];
const RUNNERS: Readonly<Record<string, Runner>> = {
  npx: NPM,
  pnpx: NPM,
  bunx: NPM,
  npm: { ...NPM, verbs: ['exec', 'x', ...INIT, ...INSTALL] },
  pnpm: { ...NPM, verbs: ['dlx', ...INIT, ...INSTALL] },
  yarn: { ...NPM, verbs: ['dlx', ...INIT, ...INSTALL] },
  bun: { ...NPM, verbs: ['x', ...INIT, ...INSTALL] },
  uvx: PYTHON,
  uv: { ...PYTHON, verbs: ['tool', 'run', 'x', 'sync', 'pip'] },
  pipx: { ...PYTHON, verbs: ['run', 'install', 'upgrade'] },
  pip: { ...PYTHON, verbs: ['install'] },
  go: { ...PYTHON, verbs: ['run', 'install', 'get'] },
  cargo: { ...PYTHON, verbs: ['run', 'install'] },
};
/** Verbs that take what the project or the registry has at that moment. */
const NEVER_PINNED = new Set([...INSTALL, 'sync', 'pip', 'get']);

/** What a person should know of a program that fetches packages; `null` where it fetches none. */
export function packageNote({ program, args }: Invocation): string | null {
  if (program === 'deno') return args.some((arg) => /^(?:https?|npm|jsr):/i.test(arg)) ? DOWNLOADS : null;
  const runner = Object.hasOwn(RUNNERS, program) ? RUNNERS[program] : undefined;
  if (runner === undefined) return null;
  const at = runner.verbs.length === 0 ? -1 : verbAt(args, runner);
  if (at === null) return null;
  const verb = args[at] ?? '';
  const rest = args.slice(at + 1);
  if (INIT.includes(verb) && !rest.some((arg) => !arg.startsWith('-'))) return null;
  const isProject = NEVER_PINNED.has(verb) || (verb === 'run' && ['uv', 'cargo', 'go'].includes(program));
  const hasPrefix = args.slice(0, Math.max(at, 0)).some((arg) => !runner.harmless.includes(arg));
  const operands = isProject || hasPrefix ? null : packagesOf(program === 'uv' ? withoutVerb(rest) : rest, runner, at !== -1);
  return operands !== null && operands.length > 0 && operands.every((spec) => runner.release.test(spec))
    ? ONE_RELEASE
    : DOWNLOADS;
}

const ONE_RELEASE = 'runs one release of a package, fetched where it is missing';
const DOWNLOADS = 'downloads code: which release runs is decided at every start';

/** `uv tool run name`. */
const withoutVerb = (args: readonly string[]): readonly string[] => (args[0] === 'run' ? args.slice(1) : args);

/** `null` where the first word is another verb. Behind an unknown option any word may be the verb. */
function verbAt(args: readonly string[], { verbs }: Runner): number | null {
  const at = args.findIndex((arg) => verbs.includes(arg));
  const isOther = args[0] !== undefined && !args[0].startsWith('-') && at !== 0;
  return at === -1 || isOther ? null : at;
}

/**
 * Every package that is asked for; `null` where it cannot be told. Behind a verb options count up to `--`, elsewhere up to
 * the operand, for the rest belongs to the package.
 */
function packagesOf(args: readonly string[], runner: Runner, isVerb: boolean): readonly string[] | null {
  const named: string[] = [];
  let operand: string | null = null;
  for (let at = 0; at < args.length; at += 1) {
    const arg = args[at] ?? '';
    if (arg === '--') {
      operand ??= args[at + 1] ?? null;
      break;
    }
    const [option = ''] = arg.split('=', 1);
    if (!arg.startsWith('-')) operand ??= arg;
    else if (runner.packages.includes(option)) {
      named.push(...(arg === option ? (args[at + 1] ?? '') : arg.slice(option.length + 1)).split(','));
      if (arg === option) at += 1;
    } else if (!runner.harmless.includes(arg)) return null;
    if (operand !== null && !isVerb) break;
  }
  const isAmended = runner.packages.includes('--with') && !args.some((arg) => /^--(?:from|spec)\b/.test(arg));
  return named.length === 0 || isAmended ? [...named, ...(operand === null ? [] : [operand])] : named;
}
