/** How each program writes variables, in our own form: `${NAME}` or `${NAME:-default}`, expanded once. */

export type Translated = { readonly text: string; readonly problem?: never } | { readonly problem: string };

export interface VariablePlace {
  /** Whether `.` stands for the workspace here: the server runs in it. */
  readonly isInWorkspace: boolean;
  /** Called with the id of what the program asks a person for; returns the variable that takes its place. */
  readonly onInput: (id: string) => string;
}

export interface VariableSyntax {
  /** One variable of theirs. */
  readonly pattern: RegExp;
  /** The same as ours, or null where there is nothing like it. */
  readonly translate: (match: RegExpMatchArray, place: VariablePlace) => string | null;
}

const NAME = '[A-Za-z_][A-Za-z0-9_]*';
/** What follows `:-`; bounded, so that a text of nothing but beginnings is read in linear time. */
const DEFAULT = '(?::-[^}]{0,512})?';
const IS_NAME = new RegExp(`^${NAME}$`);
const named = (name: string): string | null => (IS_NAME.test(name) ? `\${${name}}` : null);
const asItIs = ([text]: RegExpMatchArray): string => text;

/** Claude Code and whoever took its form: the same as ours. */
const SHELL_BRACES: VariableSyntax = { pattern: new RegExp(`\\$\\{${NAME}${DEFAULT}\\}`, 'g'), translate: asItIs };

/** Gemini: `$NAME` as well. */
const SHELL: VariableSyntax = {
  pattern: new RegExp(`\\$\\{${NAME}${DEFAULT}\\}|\\$(${NAME})`, 'g'),
  translate: ([text, bare]) => (bare === undefined ? text : `\${${bare}}`),
};

/** VS Code and its kin: `${env:NAME}`, `${input:id}`, and the names of places. */
const EDITOR: VariableSyntax = {
  pattern: /\$\{([^}]{0,512})\}/g,
  translate: ([, inner = ''], { isInWorkspace, onInput }) => {
    if (inner.startsWith('env:')) return named(inner.slice('env:'.length));
    if (inner.startsWith('input:')) return named(onInput(inner.slice('input:'.length)));
    if (inner === 'userHome') return named('HOME');
    if (inner === 'workspaceFolder') return isInWorkspace ? '.' : null;
    return inner === 'pathSeparator' || inner === '/' ? '/' : null;
  },
};

/** OpenCode: `{env:NAME}`; `{file:path}` has no counterpart. */
const BRACES: VariableSyntax = {
  pattern: /\{(env|file):([^}]{0,512})\}/g,
  translate: ([, kind, name = '']) => (kind === 'env' ? named(name) : null),
};

/** No variables at all. */
const NONE: VariableSyntax = { pattern: /(?!)/g, translate: asItIs };

export const SYNTAX = { NONE, SHELL_BRACES, SHELL, EDITOR, BRACES } as const;

/**
 * Translates the variables of one text. The problem instead where one has no counterpart, or where the text holds `${` as it
 * stands, which would become a variable here: a text that comes to mean something else is worse than none.
 */
export function translateVariables(text: string, { pattern, translate }: VariableSyntax, place: VariablePlace): Translated {
  const pieces: string[] = [];
  let end = 0;
  for (const match of text.matchAll(pattern)) {
    const ours = translate(match, place);
    if (ours === null) return { problem: 'uses a variable that has no counterpart here' };
    pieces.push(text.slice(end, match.index), ours);
    end = match.index + match[0].length;
  }
  pieces.push(text.slice(end));
  if (pieces.some((piece, at) => at % 2 === 0 && piece.includes('${')))
    return { problem: 'holds "${" as it stands, which would begin a variable here' };
  return { text: pieces.join('') };
}
