import { type Failure, failure } from '../../machines/vocabulary.js';
import { isIllFormed } from './document.js';
import type { Faults } from './faults.js';
import type { TextAt } from './fields.js';

const NAME = '[A-Za-z_][A-Za-z0-9_]*';
/** `${NAME}` or `${NAME:-default}`; the default ends at the first brace. */
const VARIABLE = new RegExp(`\\$\\{(${NAME})(?::-([^}]*))?\\}`, 'g');

/** Whether a text holds a variable; fields that are not expanded refuse it instead of passing it on as it stands. */
export const hasVariable = (text: string): boolean => text.search(VARIABLE) !== -1;

export interface Variables {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** `null` = every name; a workspace file may only use names that the user listed. */
  readonly allowed: readonly string[] | null;
  readonly userFile: string;
}

/**
 * Expands the variables of one text, once: what a variable holds is not looked at again. Set but empty is a value for
 * `${V}` and none for `${V:-d}`. Returns the failure instead when a name is unset, not allowed, or not a name.
 */
export function expand(source: TextAt, variables: Variables, faults: Faults): string | Failure {
  const place = faults.place(source.at, source.key);
  if (source.text.replace(VARIABLE, ' ').includes('${')) {
    return failure('CONFIG_INVALID', `${place}: "\${" begins no variable`, 'Write ${NAME} or ${NAME:-default}.');
  }
  const problems: Failure[] = [];
  const expanded = source.text.replace(VARIABLE, (_match, name: string, fallback: string | undefined) => {
    const value = valueOf(name, fallback, variables, place);
    if (typeof value === 'string') return value;
    problems.push(value);
    return '';
  });
  const [problem] = problems;
  if (problem !== undefined) return problem;
  const isUsable = !expanded.includes('\0') && !isIllFormed(expanded);
  return isUsable ? expanded : failure('CONFIG_INVALID', `${place}: holds a character no process can be given, once expanded`);
}

function valueOf(
  name: string,
  fallback: string | undefined,
  { env, allowed, userFile }: Variables,
  place: string,
): string | Failure {
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
