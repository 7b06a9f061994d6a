import { parseArgs } from 'node:util';
import { visibleLine } from '../shared/visible-text.js';

export type CommandName = 'status' | 'search' | 'describe' | 'call' | 'test' | 'explain' | 'example';

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
}

export type Invocation =
  | { readonly kind: 'help' }
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
  json: { type: 'boolean' },
  timeout: { type: 'string', multiple: true },
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean' },
} as const;

/** Operands a command takes: at least, at most, and what they are called. */
const OPERANDS: Readonly<Record<CommandName, readonly [least: number, most: number, names: string]>> = {
  status: [0, 0, ''],
  search: [1, Number.POSITIVE_INFINITY, 'QUERY'],
  describe: [1, 1, 'NAME'],
  call: [1, 2, 'NAME [ARGS]'],
  test: [1, 1, 'SERVER'],
  explain: [1, 1, 'NAME'],
  example: [0, 0, ''],
};

/** Named in the documentation, not part of this version. */
const LATER: ReadonlySet<string> = new Set([
  'serve',
  'enable',
  'disable',
  'trust',
  'untrust',
  'remote',
  'remove',
  'authorize',
  'import',
]);
const TIMEOUT_MS_MAX = 2 ** 31 - 1;

/**
 * Reads a command line. Refuses what it does not know, what is given twice though it counts once, and options of another
 * command; never throws, reads no file.
 */
export function parseCommandLine(argv: readonly string[]): Invocation {
  const command = commandIn(argv);
  if (command !== undefined && LATER.has(command)) return usage(`This version does not have the command "${command}".`);
  try {
    const { values, positionals } = parseArgs({ args: [...argv], options: OPTIONS, allowPositionals: true, strict: true });
    if (values.help === true) return { kind: 'help' };
    if (values.version === true) return { kind: 'version' };
    const [name, ...operands] = positionals;
    if (name === undefined) return usage('Without a command it would be "serve", which this version does not have.');
    if (!isCommand(name)) return usage(`There is no command "${visibleLine(name)}".`);
    const flags = flagsFrom(values);
    checkFit(name, operands, flags);
    return { kind: 'run', command: name, operands, flags };
  } catch (error) {
    return usage(visibleLine(error instanceof Error ? error.message : String(error)));
  }
}

const usage = (message: string): Invocation => ({ kind: 'usage', message });
const isCommand = (name: string): name is CommandName => Object.hasOwn(OPERANDS, name);

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
  return {
    ...(workspace === undefined ? {} : { workspace }),
    ...(userConfig === undefined ? {} : { userConfig }),
    ...(stateDir === undefined ? {} : { stateDir }),
    ...(timeout === undefined ? {} : { timeoutMs: milliseconds(timeout) }),
    trust: values.trust === true,
    enable: filled('--enable', values.enable ?? []),
    approve: filled('--approve', values.approve ?? []),
    connect: values.connect === true,
    once: values.once === true,
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

function milliseconds(text: string): number {
  const value = /^\d{1,10}$/.test(text) ? Number(text) : 0;
  if (value < 1 || value > TIMEOUT_MS_MAX)
    throw new Error(`--timeout takes whole milliseconds from 1 to ${TIMEOUT_MS_MAX}, not "${text}".`);
  return value;
}

function checkFit(command: CommandName, operands: readonly string[], flags: Flags): void {
  const [least, most, names] = OPERANDS[command];
  if (operands.length < least) throw new Error(`"${command}" needs ${names}.`);
  if (operands.length > most)
    throw new Error(`"${command}" takes ${names === '' ? 'no operand' : names}, not "${operands.at(-1) ?? ''}" as well.`);
  if (operands.includes('')) throw new Error(`"${command}" needs ${names}, not an empty text.`);
  if (flags.connect && command !== 'status') throw new Error('--connect belongs to "status".');
  if (flags.once && command !== 'example') throw new Error('--once belongs to "example".');
  if (command === 'example') checkExample(flags);
}

/** The example brings its own workspace, user file and state. */
function checkExample({ workspace, userConfig, stateDir, json }: Flags): void {
  if (workspace !== undefined || userConfig !== undefined || stateDir !== undefined) {
    throw new Error('"example" brings its own --workspace, --user-config and --state-dir.');
  }
  if (json) throw new Error('"example" has no --json; "status" does.');
}
