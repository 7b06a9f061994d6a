import type { Json } from '../../actors/ports.js';
import { isSensitive } from '../shared/sensitive.js';
import { translateVariables, type VariableSyntax } from './variables.js';

export interface ImportNote {
  /** The key inside the entry, as the other program names it; empty for the whole entry. */
  readonly key: string;
  /** `lost`: not carried over. `note`: carried over, and worth a look. */
  readonly kind: 'lost' | 'note';
  /** Names keys and variables, never a value. */
  readonly why: string;
}

export type JsonObject = Readonly<Record<string, Json>>;

/** What a Node timer can hold, as our own reader has it. */
const MS_MAX = 2 ** 31 - 1;
/** More than any process is given, and than our own reader takes. */
const ITEMS_MAX = 1_000;
const KEY_CHARS_MAX = 80;
const SAFE_TOOL = /^[A-Za-z0-9_./:-]{1,128}$/;

/** One entry of ours in the making. The first thing that cannot be meant here refuses it; the rest is told as notes. */
export class EntryDraft {
  readonly entry: Record<string, Json> = {};
  readonly notes: ImportNote[] = [];
  readonly #syntax: VariableSyntax;
  readonly #isInWorkspace: boolean;
  readonly #inputs = new Map<string, string>();
  #refusal: ImportNote | null = null;

  constructor(syntax: VariableSyntax, raw: JsonObject) {
    this.#syntax = syntax;
    const { cwd } = raw;
    this.#isInWorkspace = cwd === undefined || cwd === WORKSPACE;
  }

  /** Why there is no entry; null when there is one. */
  get refusal(): ImportNote | null {
    return this.#refusal;
  }

  refuse(key: string, why: string): void {
    this.#refusal ??= { key, kind: 'lost', why };
  }

  lose(key: string, why: string): void {
    this.notes.push({ key, kind: 'lost', why });
  }

  note(key: string, why: string): void {
    this.notes.push({ key, kind: 'note', why });
  }

  /** A text with its variables in our form; undefined, and the entry refused, when there is none. */
  text(value: Json, key: string, field: Field = key): string | undefined {
    if (typeof value !== 'string') {
      this.refuse(key, 'is no text');
      return undefined;
    }
    const translated = translateVariables(value, this.#syntax, {
      isInWorkspace: this.#isInWorkspace && (field === 'args' || field === 'env'),
      onInput: (id) => this.#inputs.get(id) ?? this.#input(id, key),
    });
    if (translated.problem === undefined) return translated.text;
    this.refuse(key, translated.problem);
    return undefined;
  }

  texts(value: Json, key: string, field: Field = key): readonly string[] | undefined {
    if (!isList(value) || value.length > ITEMS_MAX) {
      this.refuse(key, `is no list of at most ${ITEMS_MAX} texts`);
      return undefined;
    }
    const texts = value.map((item, at) => this.text(item, `${key}[${at}]`, field));
    return texts.every((text) => text !== undefined) ? texts : undefined;
  }

  /** Names with texts, added to what stands under `to`. Numbers and switches become texts, as a process is given them. */
  record(value: Json, key: string, to: 'env' | 'headers'): void {
    if (!isObject(value) || Object.keys(value).length > ITEMS_MAX) {
      this.refuse(key, `is no object of at most ${ITEMS_MAX} names`);
      return;
    }
    for (const [name, inner] of Object.entries(value)) {
      const place = keyUnder(key, name);
      if (inner === null) {
        this.lose(place, 'has no value');
        continue;
      }
      const text = this.text(typeof inner === 'number' || typeof inner === 'boolean' ? String(inner) : inner, place, to);
      if (text !== undefined) this.put(to, name, text);
    }
  }

  /** Adds one name to `env` or `headers`; the text is ours already. */
  put(to: 'env' | 'headers', name: string, text: string): void {
    const old = this.entry[to];
    // Each name copies those before it.
    if (isObject(old) && Object.keys(old).length >= ITEMS_MAX) this.refuse(to, `has more than ${ITEMS_MAX} names`);
    if (this.#refusal !== null) return;
    this.entry[to] = Object.fromEntries([...(isObject(old) ? Object.entries(old) : []), [name, text]]);
    if (isSensitive(name, text) && !text.includes('${'))
      this.note(keyUnder(to, name), 'is written as it stands; "${NAME}" in its place would leave it in your environment alone');
  }

  /** A time in units of `unitMs`, written as whole milliseconds. */
  milliseconds(value: Json, key: string, to: 'timeout' | 'initTimeout', unitMs: number): void {
    const ms = typeof value === 'number' ? Math.round(value * unitMs) : Number.NaN;
    if (ms >= 1 && ms <= MS_MAX) this.entry[to] = ms;
    else this.lose(key, `is no time from 1 to ${MS_MAX} ms; the general limit applies`);
  }

  /** Tools that must not be called. */
  deny(value: Json, key: string): void {
    const { tools } = this.entry;
    const denied = Object.entries(isObject(tools) ? tools : {});
    for (const [at, tool] of (isList(value) ? value : [value]).entries()) {
      if (typeof tool === 'string' && SAFE_TOOL.test(tool)) denied.push([tool, 'deny']);
      // Left out it would be a door that was shut there.
      else this.refuse(`${key}[${at}]`, 'is no plain name of a tool, and left out it would open what is shut there');
    }
    if (denied.length > 0) this.entry['tools'] = Object.fromEntries(denied);
  }

  #input(id: string, key: string): string {
    if (this.#inputs.size >= ITEMS_MAX) this.refuse(key, 'asks for too much');
    // Of a refused entry nothing is written, whatever its name would have been.
    if (this.#refusal !== null) return 'REFUSED';
    const name = variableNamed(id, [...this.#inputs.values()]);
    this.#inputs.set(id, name);
    this.note(key, `was asked for when the server started; set the variable ${name} in your environment`);
    return name;
  }
}

type Field = string;

/** A key for a note. What follows `=` in a name is cut: `"TOKEN=value"` is how a value gets into the place of a name. */
export function keyUnder(key: string, name: string): string {
  const [shown = name] = /^[^=]*=/.exec(name) ?? [];
  const cut = shown.slice(0, KEY_CHARS_MAX);
  return `${key === '' ? '' : `${key}.`}${cut}${cut.length < name.length ? '...' : ''}`;
}

/** What editors call the folder they have open. */
export const WORKSPACE = '${workspaceFolder}';

export const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !isList(value);
export const isList = (value: Json | undefined): value is readonly Json[] => Array.isArray(value);

/** `github-token` → `GITHUB_TOKEN`; another id that gives the same gets a number. */
function variableNamed(id: string, taken: readonly string[]): string {
  const upper = id
    .toUpperCase()
    .replaceAll(/[^A-Z0-9]+/g, '_')
    .slice(0, 64);
  const name = /^[A-Z]/.test(upper) ? upper : `INPUT_${upper}`;
  for (let more = 2, free = name; ; free = `${name}_${more++}`) if (!taken.includes(free)) return free;
}
