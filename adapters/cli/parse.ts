import { parseArgs } from 'node:util';
import { visibleLine } from '../shared/visible-text.js';

/** What every command understands. */
export interface Flags {
  readonly workspace?: string;
  readonly userConfig?: string;
  readonly stateDir?: string;
  readonly trust: boolean;
  readonly enable: readonly string[];
  readonly approve: readonly string[];
  readonly json: boolean;
  readonly timeoutMs?: number;
  /** `status` only. */
  readonly connect: boolean;
  /** `example` only. */
  readonly once: boolean;
  /** `remove` and `import` only: the question is answered already. */
  readonly yes: boolean;
  /** `import` only: entries of the same id that differ are replaced. */
  readonly replace: boolean;
  /** `serve` only: allowed tools under their full names in place of the gateway tool. */
  readonly direct: boolean;
  /** `serve` only: the port of 127.0.0.1 to serve on instead of stdin and stdout; 0 is any free one. */
  readonly http?: number;
}

export type Invocation =
  | { readonly kind: 'help'; readonly command: CommandName | null }
  | { readonly kind: 'version' }
  | { readonly kind: 'usage'; readonly message: string }
  | { readonly kind: 'run'; readonly command: CommandName; readonly operands: readonly string[]; readonly flags: Flags };

const OPTIONS = {
  workspace: { type: 'string', multiple: true },
  'user-config': { type: 'string', multiple: true },
  'state-dir': { type: 'string', multiple: true },
  trust: { type: 'boolean' },
  enable: { type: 'string', multiple: true },
  approve: { type: 'string', multiple: true },
  connect: { type: 'boolean' },
  once: { type: 'boolean' },
  yes: { type: 'boolean' },
  replace: { type: 'boolean' },
  direct: { type: 'boolean' },
  http: { type: 'string', multiple: true },
  json: { type: 'boolean' },
  timeout: { type: 'string', multiple: true },
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean' },
} as const;

/** Operands a command takes: at least, at most, and what they are called. */
const OPERANDS = {
  serve: [0, 0, ''],
  status: [0, 0, ''],
  search: [1, Number.POSITIVE_INFINITY, 'QUERY'],
  describe: [1, 1, 'NAME'],
  call: [1, 2, 'NAME [ARGS]'],
  test: [1, 1, 'SERVER'],
  explain: [1, 1, 'NAME'],
  enable: [1, 1, 'SERVER'],
  disable: [1, 1, 'SERVER'],
  trust: [0, 0, ''],
  untrust: [0, 0, ''],
  remote: [1, 1, 'on or off'],
  remove: [1, 1, 'SERVER'],
  audit: [0, 0, ''],
  import: [0, 1, 'FILE'],
  example: [0, 0, ''],
} as const satisfies Readonly<Record<string, readonly [least: number, most: number, names: string]>>;

export type CommandName = keyof typeof OPERANDS;
export const COMMANDS = Object.keys(OPERANDS) as readonly CommandName[];

/** Named in the documentation, not part of this version. */
const LATER: ReadonlySet<string> = new Set(['authorize']);
/** What they decide is kept; `--trust`, `--enable` and `--approve` are for one run. */
const DECIDING: ReadonlySet<CommandName> = new Set(['enable', 'disable', 'trust', 'untrust', 'remote', 'remove', 'import']);
const TIMEOUT_MS_MAX = 2 ** 31 - 1;
const PORT_MAX = 65_535;

/**
 * Reads a command line. Refuses what it does not know, what is given twice though it counts once, and options of another
 * command; never throws, reads no file.
 */
export function parseCommandLine(argv: readonly string[]): Invocation {
  const command = commandIn(argv);
  if (command !== undefined && LATER.has(command)) return usage(`This version does not have the command "${command}".`);
  try {
    const { values, positionals } = parseArgs({ args: [...argv], options: OPTIONS, allowPositionals: true, strict: true });
    const [name = 'serve', ...operands] = positionals;
    if (name === 'help') return helpOf(operands);
    if (values.help === true) return { kind: 'help', command: positionals.length > 0 && isCommand(name) ? name : null };
    if (values.version === true) return { kind: 'version' };
    if (!isCommand(name)) return usage(unknownCommand(name));
    const flags = flagsFrom(values);
    checkOperands(name, operands);
    checkFlags(name, flags);
    return { kind: 'run', command: name, operands, flags };
  } catch (error) {
    return usage(visibleLine(error instanceof Error ? error.message : String(error)));
  }
}

const usage = (message: string): Invocation => ({ kind: 'usage', message });
const isCommand = (name: string): name is CommandName => Object.hasOwn(OPERANDS, name);
const unknownCommand = (name: string): string => `There is no command "${visibleLine(name)}".`;

function helpOf([name, ...others]: readonly string[]): Invocation {
  if (name === undefined) return { kind: 'help', command: null };
  if (LATER.has(name)) return usage(`This version does not have the command "${name}".`);
  if (!isCommand(name)) return usage(unknownCommand(name));
  return others.length === 0 ? { kind: 'help', command: name } : usage('"help" takes one command.');
}

/** The first operand, whatever options stand around it: a command of another version may have options of its own. */
function commandIn(argv: readonly string[]): string | undefined {
  return parseArgs({ args: [...argv], options: OPTIONS, allowPositionals: true, strict: false }).positionals[0];
}

type Values = ReturnType<typeof parseArgs<{ options: typeof OPTIONS }>>['values'];

function flagsFrom(values: Values): Flags {
  const workspace = single('--workspace', values.workspace);
  const userConfig = single('--user-config', values['user-config']);
  const stateDir = single('--state-dir', values['state-dir']);
  const timeout = single('--timeout', values.timeout);
  const http = single('--http', values.http);
  return {
    ...(workspace === undefined ? {} : { workspace }),
    ...(userConfig === undefined ? {} : { userConfig }),
    ...(stateDir === undefined ? {} : { stateDir }),
    ...(timeout === undefined ? {} : { timeoutMs: wholeNumber('--timeout', timeout, 'whole milliseconds', 1, TIMEOUT_MS_MAX) }),
    ...(http === undefined ? {} : { http: wholeNumber('--http', http, 'a port', 0, PORT_MAX) }),
    trust: values.trust === true,
    enable: filled('--enable', values.enable ?? []),
    approve: filled('--approve', values.approve ?? []),
    connect: values.connect === true,
    once: values.once === true,
    yes: values.yes === true,
    replace: values.replace === true,
    direct: values.direct === true,
    json: values.json === true,
  };
}

function single(option: string, given: readonly string[] | undefined): string | undefined {
  if (given === undefined) return undefined;
  if (given.length > 1) throw new Error(`${option} is given ${given.length} times and counts once.`);
  return filled(option, given)[0];
}

function filled(option: string, given: readonly string[]): readonly string[] {
  if (given.includes('')) throw new Error(`${option} needs a value.`);
  return given;
}

function wholeNumber(option: string, text: string, unit: string, least: number, most: number): number {
  const value = /^\d{1,10}$/.test(text) ? Number(text) : -1;
  if (value < least || value > most) throw new Error(`${option} takes ${unit} from ${least} to ${most}, not "${text}".`);
  return value;
}

function checkOperands(command: CommandName, operands: readonly string[]): void {
  const [least, most, names] = OPERANDS[command];
  const [first] = operands;
  if (operands.length < least) throw new Error(`"${command}" needs ${names}.`);
  if (operands.length > most)
    throw new Error(`"${command}" takes ${names === '' ? 'no operand' : names}, not "${operands.at(-1) ?? ''}" as well.`);
  if (operands.includes('')) throw new Error(`"${command}" needs ${names}, not an empty text.`);
  if (command === 'remote' && first !== 'on' && first !== 'off')
    throw new Error(`"remote" needs on or off, not "${first ?? ''}".`);
}

function checkFlags(command: CommandName, flags: Flags): void {
  const owners = [
    ['--connect', flags.connect, ['status']],
    ['--once', flags.once, ['example']],
    ['--yes', flags.yes, ['remove', 'import']],
    ['--replace', flags.replace, ['import']],
    ['--direct', flags.direct, ['serve']],
    ['--http', flags.http !== undefined, ['serve']],
  ] as const satisfies readonly (readonly [option: string, isGiven: boolean, owners: readonly CommandName[]])[];
  for (const [option, isGiven, commands] of owners) {
    if (isGiven && !commands.some((owner) => owner === command))
      throw new Error(`${option} belongs to "${commands.join('" and "')}".`);
  }
  if (DECIDING.has(command) && (flags.trust || flags.enable.length > 0 || flags.approve.length > 0))
    throw new Error(`What "${command}" decides is kept; --trust, --enable and --approve are for one run.`);
  if (command === 'serve' && flags.json) throw new Error('"serve" speaks JSON-RPC and has no --json.');
  if (command === 'example') checkExample(flags);
}

/** The example brings its own workspace, user file and state. */
function checkExample({ workspace, userConfig, stateDir, json }: Flags): void {
  if (workspace !== undefined || userConfig !== undefined || stateDir !== undefined) {
    throw new Error('"example" brings its own --workspace, --user-config and --state-dir.');
  }
  if (json) throw new Error('"example" has no --json; "status" does.');
}
