import { dirname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { runsShellText } from './card-notes.js';
import { INTERPRETERS, type Invocation, PROJECT_RUNNERS, scriptAt } from './invocation.js';

/** A path that an argument may stand for. */
export interface NamedPath {
  readonly path: string;
  /** Which argument, for a refusal; `null` where no single one is. */
  readonly index: number | null;
  /** Whether what is there is run or read as orders, whatever its extension. */
  readonly isRun: boolean;
}

const CODE_OPTIONS = new Set(
  '-r --require --import --loader --experimental-loader --preload --env-file --env-file-if-exists --init-file --rcfile'.split(
    ' ',
  ),
);

/** Every path the arguments may stand for: as written, behind `=` or a glued option, as a file URL, in a shell's text. */
export function namedPaths(args: readonly string[], invocation: Invocation, cwd: string): readonly NamedPath[] {
  const script = INTERPRETERS.has(invocation.program) ? invocation.args[scriptAt(invocation.args)] : undefined;
  const isText = runsShellText(invocation) || invocation.through.includes('env');
  return args.flatMap((arg, index) => {
    if (arg === '' || arg.includes('\0')) return [];
    const isRun =
      arg === script || CODE_OPTIONS.has(args[index - 1] ?? '') || /^-r./.test(arg) || CODE_OPTIONS.has(optionOf(arg));
    const texts = new Set([...readings(arg), ...(isText ? arg.split(/[\s'"`;&|()<>=$]+/) : [])]);
    const paths = new Set([...texts].filter((text) => text !== '').flatMap((text) => pathsOf(text, cwd)));
    return [...paths].map((path) => ({ path, index, isRun }));
  });
}

const optionOf = (arg: string): string => (arg.startsWith('-') ? (arg.split('=', 1)[0] ?? '') : '');

function readings(arg: string): readonly string[] {
  const equals = arg.indexOf('=');
  const value = equals > 0 ? [arg.slice(equals + 1)] : [];
  const glued = /^-[a-z]./i.test(arg) ? [arg.slice(2)] : [];
  // Lists of paths, and what a container mounts; a URL has slashes behind its colon.
  const listed = [arg, ...value].filter((text) => /:(?!\/\/)/.test(text)).flatMap((text) => text.split(':'));
  return [arg, ...value, ...glued, ...listed];
}

/** Loaders of modules take a URL, and decode even a relative one. */
function pathsOf(text: string, cwd: string): readonly string[] {
  const plain = resolve(cwd, text);
  if (!/^file:|[%?#]/i.test(text)) return [plain];
  try {
    const url = new URL(text, pathToFileURL(join(cwd, '_')));
    return url.protocol === 'file:' ? [plain, fileURLToPath(url)] : [plain];
  } catch {
    return [plain];
  }
}

/** Paths nobody wrote that the program reads all the same: a module of Python, the scripts of a package. */
export function impliedPaths(invocation: Invocation, root: string, cwd: string): readonly NamedPath[] {
  const module = pythonModule(invocation);
  const base = module === null ? null : join(cwd, ...module.split('.'));
  const modules = base === null ? [] : [`${base}.py`, join(base, '__init__.py'), join(base, '__main__.py')];
  const scripts = runsScript(invocation) ? upwards(cwd, root).map((dir) => join(dir, 'package.json')) : [];
  return [...modules, ...scripts].map((path) => ({ path, index: null, isRun: true }));
}

function upwards(cwd: string, root: string): readonly string[] {
  return cwd === root || cwd === dirname(cwd) ? [cwd] : [cwd, ...upwards(dirname(cwd), root)];
}

/** Module managers look into `node_modules` and `.npmrc` of where they start, even for one release of a package. */
const NODE_MANAGERS = new Set('npx pnpx bunx npm pnpm yarn bun'.split(' '));

/** Whether the program reads files of the directory it starts in that its command line does not name. */
export function readsDirectory(invocation: Invocation): boolean {
  const { program, args } = invocation;
  if (NODE_MANAGERS.has(program) || PROJECT_RUNNERS.has(program) || runsShellText(invocation)) return true;
  if (program === 'uv') return args.includes('run') && !args.includes('tool');
  if (program === 'docker' || program === 'podman') return args.includes('compose') || args.includes('build');
  if (program === 'python' || program === 'pypy') return pythonText(args);
  if (program === 'deno') return args[0] === 'task';
  // A bare name is looked for in the workspace's own node_modules.
  return INTERPRETERS.has(program) && args.some((arg, index) => isBareModule(arg, args[index - 1]));
}

function isBareModule(arg: string, before: string | undefined): boolean {
  const isLoader = (option: string): boolean => /^(?:-r|--(?:require|import|loader|experimental-loader|preload))$/.test(option);
  const glued = /^-r(.+)/.exec(arg)?.[1] ?? (isLoader(optionOf(arg)) ? arg.slice(optionOf(arg).length + 1) : '');
  const specifier = isLoader(before ?? '') ? arg : glued;
  return specifier !== '' && !/^(?:\.|\/|file:|node:|data:)/.test(specifier);
}

const runsScript = ({ program, args }: Invocation): boolean =>
  NODE_MANAGERS.has(program) && !program.endsWith('x') && args.length > 0;

/** With `-m`, `-c` or no script the directory itself is the first place modules are looked for. */
function pythonText(args: readonly string[]): boolean {
  const at = scriptAt(args);
  const options = args.slice(0, at === -1 ? args.length : at);
  return at === -1 || args[at] === '-' || options.some((arg) => /^-[a-z]*[mc]/i.test(arg));
}

function pythonModule({ program, args }: Invocation): string | null {
  if (program !== 'python' && program !== 'pypy') return null;
  for (const [index, arg] of args.entries()) {
    const found = /^-[a-zA-Z]*?m(.*)$/.exec(arg);
    if (found !== null) return found[1] === '' ? (args[index + 1] ?? null) : (found[1] ?? null);
  }
  return null;
}
