import { type Failure, failure } from '../../machines/vocabulary.js';
import { isIllFormed } from './document.js';
import type { Faults } from './faults.js';
import type { TextAt } from './fields.js';

const NAME = /[A-Za-z_][A-Za-z0-9_]*/y;

/** `${NAME}` or `${NAME:-default}` and where it stands; the default ends at the first brace. */
interface Variable {
  readonly from: number;
  readonly to: number;
  readonly name: string;
  readonly fallback: string | undefined;
}

/**
 * The variables of a text, `null` for each `${` that begins none. Looks at every character once: a file that nobody trusts yet
 * may hold a hundred thousand beginnings without an end.
 */
function* variablesOf(text: string): Generator<Variable | null> {
  const lastBrace = text.lastIndexOf('}');
  for (let from = text.indexOf('${'); from !== -1; ) {
    const variable = variableAt(text, from, lastBrace);
    yield variable;
    from = text.indexOf('${', variable?.to ?? from + 2);
  }
}

function variableAt(text: string, from: number, lastBrace: number): Variable | null {
  NAME.lastIndex = from + 2;
  const name = NAME.exec(text)?.[0];
  if (name === undefined) return null;
  const end = from + 2 + name.length;
  if (text[end] === '}') return { from, to: end + 1, name, fallback: undefined };
  if (!text.startsWith(':-', end) || lastBrace < end) return null;
  const to = text.indexOf('}', end) + 1;
  return { from, to, name, fallback: text.slice(end + 2, to - 1) };
}

/** Whether a text holds a variable; fields that are not expanded refuse it instead of passing it on as it stands. */
export function hasVariable(text: string): boolean {
  for (const variable of variablesOf(text)) if (variable !== null) return true;
  return false;
}

export interface Variables {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** `null` = every name; a workspace file may only use names that the user listed. */
  readonly allowed: readonly string[] | null;
  readonly userFile: string;
  /** Told which value a variable had, its default too. */
  readonly onValue: (name: string, value: string) => void;
}

/**
 * Expands the variables of one text, once: what a variable holds is not looked at again. Set but empty is a value for
 * `${V}` and none for `${V:-d}`. Returns the failure instead when a name is unset, not allowed, or not a name.
 */
export function expand(source: TextAt, variables: Variables, faults: Faults): string | Failure {
  const place = faults.place(source.at, source.key);
  const pieces: string[] = [];
  let done = 0;
  let problem: Failure | null = null;
  for (const variable of variablesOf(source.text)) {
    if (variable === null)
      return failure('CONFIG_INVALID', `${place}: "\${" begins no variable`, 'Write ${NAME} or ${NAME:-default}.');
    const value = valueOf(variable, variables, place);
    if (typeof value === 'string') {
      variables.onValue(variable.name, value);
      pieces.push(source.text.slice(done, variable.from), value);
    } else problem ??= value;
    done = variable.to;
  }
  if (problem !== null) return problem;
  const expanded = pieces.join('') + source.text.slice(done);
  const isUsable = !expanded.includes('\0') && !isIllFormed(expanded);
  return isUsable ? expanded : failure('CONFIG_INVALID', `${place}: holds a character no process can be given, once expanded`);
}

function valueOf({ name, fallback }: Variable, { env, allowed, userFile }: Variables, place: string): string | Failure {
  if (allowed !== null && !allowed.includes(name)) {
    const hint = `Add "workspaceVariables": ["${name}"] to ${userFile}.`;
    return failure('UNSET_VARIABLE', `${place}: a workspace file may not read the variable ${name}`, hint);
  }
  const value = Object.hasOwn(env, name) ? env[name] : undefined;
  if (fallback !== undefined) return value === undefined || value === '' ? fallback : value;
  if (value !== undefined) return value;
  const hint = `Set ${name} in the environment of the host, or write "\${${name}:-default}" in this line.`;
  return failure('UNSET_VARIABLE', `${place}: the variable ${name} is not set`, hint);
}
