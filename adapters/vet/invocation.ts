import { basename } from 'node:path';

/** A command line once the programs that only start another one are taken away. */
export interface Invocation {
  /** Base name in lower case, without version and extension: `python` for `/usr/bin/python3.12`. */
  readonly program: string;
  readonly args: readonly string[];
  /** Programs that were looked through, `sudo` for one. */
  readonly through: readonly string[];
}

const words = (text: string): ReadonlySet<string> => new Set(text.split(' '));

export const SHELLS = words('sh bash zsh dash ash ksh mksh fish csh tcsh cmd powershell pwsh');
/** Programs that run the file they are given. */
export const INTERPRETERS = words(
  'node nodejs bun deno tsx ts-node nodemon python pypy ruby perl php lua luajit julia rscript java groovy elixir erl tclsh wish awk gawk osascript',
);
/** Programs that fetch a package and run it. */
export const FETCHERS = words('npx pnpx bunx uvx npm pnpm yarn bun uv pipx go cargo deno pip');
/** Programs that read what to run from files of the directory they start in. */
export const PROJECT_RUNNERS = words(
  'make gmake just task rake bundle bundler poetry pdm pipenv hatch tox nox invoke mise nx turbo gradle gradlew mvn mvnw sbt ant ' +
    'dotnet cargo go mix composer lerna rush vite vite-node vitest jest mocha wrangler docker-compose podman-compose swift zig cmake ninja bazel nix direnv devbox',
);
/** Programs that start the program named among their arguments. */
const WRAPPERS = words(
  'env sudo doas nice ionice nohup setsid time timeout stdbuf xargs busybox toybox tini dumb-init cross-env dotenv chroot unbuffer',
);

const isKnown = (program: string): boolean =>
  [SHELLS, INTERPRETERS, FETCHERS, PROJECT_RUNNERS, WRAPPERS].some((names) => names.has(program)) ||
  ['docker', 'podman'].includes(program);

/** Looks through `env node …`, `node …/npx-cli.js …` and their like. `resolved` speaks where the written name is unknown. */
export function invocationOf(written: string, resolved: string, args: readonly string[]): Invocation {
  const names = [written, resolved].map(programOf);
  return unwrapped({ program: names.find(isKnown) ?? names[0] ?? '', args, through: [] });
}

/** The name of a program by its path, as in `Invocation`. */
function programOf(path: string): string {
  const name = basename(path.replaceAll('\\', '/'))
    .toLowerCase()
    .replace(/\.(?:exe|com|cmd|bat|js|cjs|mjs)$/, '');
  const plain = isKnown(name) ? name : name.replace(/-?\d+(?:\.\d+)*[a-z]?$/, '');
  return plain.replace(/^(npx|npm|pnpm|pnpx|yarn|yarnpkg|uvx|bunx)-cli$/, '$1').replace(/^yarnpkg$/, 'yarn');
}

function unwrapped(invocation: Invocation): Invocation {
  const { program, args } = invocation;
  const through = [...invocation.through, program];
  if (WRAPPERS.has(program)) {
    // Not the options of every wrapper are known here: the first word that names a program is taken for the one it starts.
    const split = args.flatMap((arg) => (/\s/.test(arg) || /^-[a-z]*S./.test(arg) ? pieces(arg) : [arg]));
    const at = split.findIndex((word) => isKnown(programOf(word)));
    return at === -1 ? invocation : unwrapped({ program: programOf(split[at] ?? ''), args: split.slice(at + 1), through });
  }
  if (!INTERPRETERS.has(program)) return invocation;
  const at = scriptAt(args);
  const script = args[at] ?? '';
  const isFetcher = FETCHERS.has(programOf(script)) && /[/\\]/.test(script);
  return isFetcher ? { program: programOf(script), args: args.slice(at + 1), through } : invocation;
}

/** `env -S "node a.js"` is one argument of several words. */
const pieces = (arg: string): readonly string[] =>
  arg
    .replace(/^(?:-[a-z]*S|--split-string=)/, '')
    .split(/[\s'"]+/)
    .filter((word) => word !== '');

/** Options of interpreters whose value is the next argument. */
const WITH_VALUE = words(
  '-r --require --import --loader --experimental-loader --env-file --env-file-if-exists -C --conditions --config -c -W -X -I -L -l --preload --tsconfig --input-type --title -cp -classpath --watch-path',
);

/** Where the script stands among the arguments of an interpreter; -1 without one. */
export function scriptAt(args: readonly string[]): number {
  for (let at = 0; at < args.length; at += 1) {
    const arg = args[at] ?? '';
    if (arg === '--') return at + 1 < args.length ? at + 1 : -1;
    if (WITH_VALUE.has(arg)) at += 1;
    else if (!arg.startsWith('-') || arg === '-') return at;
  }
  return -1;
}
