import type { SecretSource } from '../../actors/ports.js';
import { SECRET_UNITS_MIN } from './secret-matcher.js';
import { isSensitive } from './sensitive.js';

/** What every process inherits: where things lie and who is at work, in every other message. */
const INHERITED = new Set('HOME LANG LC_ALL LC_CTYPE LOGNAME PATH SHELL TMPDIR USER'.split(' '));
/** Values that stand where a secret should, and in many a sentence. */
const WORDS = new Set(
  (
    'localhost password passwd secret secrets changeme default example undefined production development staging anonymous username ' +
    'access bearer disabled enabled public private server supervisor required optional client gateway workspace project token tokens'
  ).split(' '),
);
/** Letters with blanks and punctuation between them: a word, a sentence, a media type. */
const PROSE = /^[\p{L}\s.,:;()_/*+-]+$/u;
const NUMBERS = /^v?[\d.,:]+(?:ms|s|m|h|d|kb|mb|gb|k|b)?$/i;
const PATH = /^(?:~|\.{1,2}|[A-Za-z]:)?[/\\]/;
const HOST = /^(?:[a-z][a-z0-9-]*\.)+[a-z]{2,12}(?::\d{1,5})?$|^[a-z]+:\d{1,5}$/;
/** Capitals inside of a word, or beside digits, are chance or a name of code. */
const RANDOM_LETTERS = /^(?=\S{12})\S*[a-z][A-Z]/;
const RANDOM_SEGMENT = /^(?=.*\d)(?=.*[A-Z])(?=.*[a-z])[\w.~+=-]{16,}$/;
/** RFC 9110 §11.4 */
const SCHEME = /^(?:bearer|basic|token|digest|apikey)\s+(\S+)$/i;
const OPAQUE_SEGMENT = /^(?=.*\d)(?=.*[A-Za-z])[A-Za-z0-9_.~-]{16,}$/;

/**
 * The values of a definition or a launch that no message may hold: what a sensitive name or shape marks, and every other value
 * but plain words, numbers, hosts and paths, as no list of names is complete; parts of them that stand alone elsewhere; user,
 * query values and opaque path segments of URLs; values of options whose name tells. Values under six characters, and words
 * that stand in many a message, are left out.
 */
export function secretValues(source: SecretSource): ReadonlySet<string> {
  const found = new SecretValues();
  for (const [name, value] of Object.entries(source.env ?? {})) if (!INHERITED.has(name)) found.named(name, value);
  for (const [name, value] of Object.entries(source.secrets ?? {})) if (!INHERITED.has(name)) found.named(name, value);
  for (const [name, value] of Object.entries(source.headers ?? {})) found.named(name, value);
  if (source.url !== undefined) found.url(source.url);
  found.arguments(source.args ?? []);
  return found.values;
}

class SecretValues {
  readonly values = new Set<string>();

  named(name: string, value: string): void {
    this.#partsOf(value);
    if (isSensitive(name, value) || !isOrdinary(value)) this.#add(value);
  }

  /** User and password as written and as meant; every value of the query; what looks like a key in the path. */
  url(text: string): void {
    if (!URL.canParse(text)) return;
    const { username, password, search, hash, pathname } = new URL(text);
    for (const part of [username, password]) this.#decoded(part);
    for (const pair of [search, hash].flatMap((query) => query.slice(1).split('&'))) {
      const equals = pair.indexOf('=');
      const [name, value] = equals === -1 ? ['', pair] : [pair.slice(0, equals), pair.slice(equals + 1)];
      if (isSensitive(name) || !isOrdinary(value)) this.#decoded(value);
    }
    for (const segment of pathname.split('/')) if (OPAQUE_SEGMENT.test(segment)) this.#decoded(segment);
  }

  /** `--name value`, `--name=value`, `NAME=value`, `Name: value`, and what looks like a secret by itself. */
  arguments(args: readonly string[]): void {
    args.forEach((arg, at) => {
      this.#partsOf(arg);
      const option = args[at - 1] ?? '';
      const follows = /^--?[A-Za-z]/.test(option) && !option.includes('=') && !arg.startsWith('--') && isSensitive(option);
      if (follows || isSensitive('', arg)) this.#add(arg);
      const [, name = '', value = ''] = /^([A-Za-z-][\w.-]*)(?:=|:\s*)([^]+)$/.exec(arg) ?? [];
      if (value !== '' && isSensitive(name, value)) this.named(name, value);
    });
  }

  /** What of a value may stand somewhere without the rest. */
  #partsOf(value: string): void {
    const credentials = SCHEME.exec(value.trim())?.[1];
    if (credentials !== undefined) {
      this.#add(credentials);
      this.#userAndPassword(credentials);
    }
    if (value.includes('://')) this.url(value);
    for (const pair of value.includes('=') ? value.split(/[;&]\s*/) : []) {
      const [, name = '', part = ''] = /^([^=\s]+)=([^]+)$/.exec(pair) ?? [];
      if (part !== '' && (isSensitive(name, part) || !isOrdinary(part))) this.#decoded(part);
    }
  }

  /** RFC 7617: `Basic` carries both in base64. */
  #userAndPassword(credentials: string): void {
    const plain = Buffer.from(credentials, 'base64').toString('utf8');
    const colon = plain.indexOf(':');
    if (colon > 0 && !plain.includes('\ufffd')) this.#add(plain.slice(colon + 1));
  }

  #decoded(text: string): void {
    this.#add(text);
    try {
      this.#add(decodeURIComponent(text.replaceAll('+', ' ')));
    } catch {
      // Not what a URL may hold: it is only ever seen as it is written.
    }
  }

  #add(value: string): void {
    const trimmed = value.trim();
    if (trimmed.length >= SECRET_UNITS_MIN && !WORDS.has(trimmed.toLowerCase())) this.values.add(trimmed);
  }
}

/** What a setting looks like that is nobody's secret. */
function isOrdinary(value: string): boolean {
  if (PATH.test(value)) return !value.split(/[/\\]/).some((segment) => RANDOM_SEGMENT.test(segment));
  if (PROSE.test(value)) return !RANDOM_LETTERS.test(value);
  return NUMBERS.test(value) || HOST.test(value) || value.includes('://');
}
