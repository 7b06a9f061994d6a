import { applyEdits, type Edit, visit } from 'jsonc-parser';
import type { DigestPort } from '../../actors/ports.js';
import { isSensitive } from '../shared/sensitive.js';

type Path = readonly (string | number)[];

/**
 * A configuration text fit to be shown: what may be a credential is a keyed digest, so that two that differ look different.
 * Values of `env` and `headers` are one always, whatever they are called, unless they only name variables. Has the lines of
 * the text it was made from.
 */
export function maskedText(text: string, digest: DigestPort): string {
  const edits: Edit[] = [];
  let last: { readonly path: Path; readonly value: string } | null = null;
  visit(
    text,
    {
      onLiteralValue: (value: unknown, offset, length, _line, _column, pathOf) => {
        if (typeof value !== 'string') return;
        const path = pathOf();
        const shown = shownAt(path, value, last !== null && isNextTo(last.path, path) ? last.value : null, digest);
        if (shown !== value) edits.push({ offset, length, content: JSON.stringify(shown) });
        last = { path, value };
      },
      onComment: (offset, length) => {
        const comment = text.slice(offset, offset + length);
        if (isSensitive(comment, comment)) edits.push({ offset, length, content: comment.replace(/[^\r\n]+/g, '/* … */') });
      },
    },
    { allowTrailingComma: true },
  );
  return applyEdits(text, edits);
}

/** Items of one list that follow each other. */
const isNextTo = (before: Path, path: Path): boolean =>
  before.length === path.length &&
  typeof path.at(-1) === 'number' &&
  before.at(-2) === path.at(-2) &&
  Number(before.at(-1)) + 1 === path.at(-1);

function shownAt(path: Path, value: string, previous: string | null, digest: DigestPort): string {
  const masked = (secret: string): string => `(secret ${digest.keyed(secret)})`;
  const home = path.at(-2);
  if (home === 'env' || home === 'headers') return onlyNames(value) ? value : masked(value);
  if (path.at(-1) === 'url') return shownUrl(value, masked);
  const isArgument = typeof path.at(-1) === 'number';
  const name = isArgument ? '' : String(path.at(-1) ?? '');
  if (isSensitive(name, value) || holdsAssignment(value)) return masked(value);
  const isValueOfFlag = isArgument && previous !== null && /^-./.test(previous) && !value.startsWith('-');
  return isValueOfFlag && isSensitive(previous) ? masked(value) : value;
}

/** `${NAME}`, alone or behind the word that names the scheme. */
const onlyNames = (value: string): boolean => /^(?:(?:Bearer|Basic|Token) )?(?:\$\{[A-Za-z_][A-Za-z0-9_]*\})+$/.test(value);

/** `--api-key=…`, `KEY=…`, `X-Api-Key: …` in one word of a command line. */
function holdsAssignment(value: string): boolean {
  const [, name = '', given = ''] = /^([^=:]{1,256})[=:](.+)$/s.exec(value) ?? [];
  return given !== '' && !onlyNames(given.trim()) && (isSensitive(name, given.trim()) || /^[A-Z][A-Z0-9_]*=/.test(value));
}

/** A path may carry a key as well as a query does. */
function shownUrl(value: string, masked: (secret: string) => string): string {
  const [, start = '', rest = ''] = /^([^/]*\/\/[^/?#]*)(.*)$/s.exec(value) ?? [];
  if (start === '' || start.includes('@') || isSensitive('', start)) return masked(value);
  const [path = '', after] = rest.split(/[?#](.*)/s);
  const parts = path.split('/').map((part) => (isSensitive('', part) ? masked(part) : part));
  return `${start}${parts.join('/')}${after === undefined ? '' : `?${masked(after)}`}`;
}
