import type { PolicyRule, UserSettings } from '../../actors/ports.js';
import type { Lifecycle, TransportKind } from '../../machines/vocabulary.js';
import type { Field } from './document.js';
import type { Faults } from './faults.js';
import { integerOf, MS_MAX, objectOf, ruleAt, stringOf, stringsOf, type TextAt, textAt, verdictOf, wordOf } from './fields.js';
import type { ConfigLayer } from './layers.js';

/** What one entry is read against. */
export interface EntryContext {
  readonly layer: ConfigLayer;
  readonly root: string;
  readonly settings: UserSettings;
  readonly userFile: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly faults: Faults;
}

/** One entry as written: types and rules of single fields checked, nothing expanded. */
export interface EntryParts {
  type: TransportKind | null;
  command: TextAt | null;
  args: readonly TextAt[];
  env: readonly NamedText[];
  cwd: TextAt | null;
  url: TextAt | null;
  headers: readonly NamedText[];
  lifecycle: Lifecycle;
  idleTimeoutMs: number;
  timeoutMs: number;
  initTimeoutMs: number;
  maxTools: number | null;
  description: string | null;
  policies: readonly PolicyRule[];
  approveTools: readonly string[];
  clientSecretAt: Field | null;
  /** Transport fields in the order written, for those that the transport does not have. */
  readonly stdioOnly: Field[];
  readonly remoteOnly: Field[];
}

export interface NamedText extends TextAt {
  readonly name: string;
  readonly nameAt: number;
}

const emptyParts = (): EntryParts => ({
  type: null,
  command: null,
  args: [],
  env: [],
  cwd: null,
  url: null,
  headers: [],
  lifecycle: 'lazy',
  idleTimeoutMs: 600_000,
  timeoutMs: 30_000,
  initTimeoutMs: 60_000,
  maxTools: null,
  description: null,
  policies: [],
  approveTools: [],
  clientSecretAt: null,
  stdioOnly: [],
  remoteOnly: [],
});

const TYPES = ['stdio', 'http', 'streamable-http', 'sse'] as const;
const LIFECYCLES = ['lazy', 'eager', 'keep-alive'] as const;
const MS = { min: 1, max: MS_MAX } as const;

type ReadField = (parts: EntryParts, field: Field, context: EntryContext, id: string) => void;

/** One reader a field; a name that is not here is unknown. */
const READERS: Readonly<Record<string, ReadField>> = {
  type: (parts, field, { faults }) => {
    const word = wordOf(field, TYPES, faults);
    parts.type = word === 'streamable-http' ? 'http' : (word ?? null);
  },
  command: (parts, field, { faults }) => {
    parts.command = processText(field, faults);
    if (parts.command === null) return;
    if (parts.command.text === '') faults.error('CONFIG_INVALID', field.value.at, field.key, 'is empty');
    if (hasParentSegment(parts.command.text)) faults.error('CONFIG_INVALID', field.value.at, field.key, 'has a ".." segment');
  },
  args: (parts, field, { faults }) => {
    parts.stdioOnly.push(field);
    parts.args = stringsOf(field, faults) ?? [];
    for (const { text, at, key } of parts.args) checkNul(text, at, key, faults);
  },
  env: (parts, field, { faults }) => {
    parts.stdioOnly.push(field);
    parts.env = readEnv(field, faults);
  },
  cwd: (parts, field, { faults }) => {
    parts.stdioOnly.push(field);
    parts.cwd = processText(field, faults);
  },
  url: (parts, field, { faults }) => {
    parts.url = processText(field, faults);
  },
  headers: (parts, field, { faults }) => {
    parts.remoteOnly.push(field);
    parts.headers = readHeaders(field, faults);
  },
  oauth: (parts, field, { faults }) => {
    parts.remoteOnly.push(field);
    parts.clientSecretAt = readOauth(field, faults);
  },
  lifecycle: (parts, field, { faults }) => {
    parts.lifecycle = wordOf(field, LIFECYCLES, faults) ?? parts.lifecycle;
  },
  idleTimeout: (parts, field, { faults }) => {
    parts.idleTimeoutMs = integerOf(field, MS, faults) ?? parts.idleTimeoutMs;
  },
  timeout: (parts, field, { faults }) => {
    parts.timeoutMs = integerOf(field, MS, faults) ?? parts.timeoutMs;
  },
  initTimeout: (parts, field, { faults }) => {
    parts.initTimeoutMs = integerOf(field, MS, faults) ?? parts.initTimeoutMs;
  },
  tools: (parts, field, context, id) => {
    parts.policies = readTools(field, id, context);
  },
  approveTools: (parts, field, { faults }) => {
    parts.approveTools = (stringsOf(field, faults) ?? []).map(({ text }) => text);
  },
  description: (parts, field, { faults }) => {
    parts.description = stringOf(field, faults) ?? null;
  },
  maxTools: (parts, field, { faults }) => {
    parts.maxTools = integerOf(field, { min: 0, max: MS_MAX }, faults) ?? null;
  },
};

/** Reads the fields of one entry. What a layer has no say in is ignored with a warning; a wrong policy word is refused even there. */
export function readParts(fields: readonly Field[], id: string, context: EntryContext): EntryParts {
  const { layer, faults } = context;
  const parts = emptyParts();
  for (const field of fields) {
    const read = Object.hasOwn(READERS, field.name) ? READERS[field.name] : undefined;
    if (field.name === 'disabled') {
      faults.warn('CONFIG_UNKNOWN_FIELD', field.nameAt, field.key, disabledHint(layer, id));
    } else if (read === undefined) {
      faults.warn('CONFIG_UNKNOWN_FIELD', field.nameAt, field.key, 'nothing reads this key');
    } else if (layer.fields.has(field.name)) {
      read(parts, field, context, id);
    } else {
      faults.warn('CONFIG_UNKNOWN_FIELD', field.nameAt, field.key, 'this file has no say in this; the key is ignored');
      // A credential is refused wherever it stands, an ignored key or not.
      if (field.name === 'oauth') parts.clientSecretAt = clientSecretOf(field);
    }
  }
  return parts;
}

/** What does switch a server: nothing in a file of servers, so that no checkout can switch one on. */
function disabledHint({ isOwn }: ConfigLayer, id: string): string {
  return isOwn
    ? `nothing reads this key; \`mcp-supervisor disable ${id}\` keeps this server from starting`
    : `nothing reads this key; a workspace server is off until \`mcp-supervisor enable ${id}\``;
}

export const hasParentSegment = (command: string): boolean => command.split(/[/\\]/).includes('..');

function checkNul(text: string, at: number, key: string, faults: Faults): void {
  if (text.includes('\0')) faults.error('CONFIG_INVALID', at, key, 'holds a NUL character');
}

function processText(field: Field, faults: Faults): TextAt | null {
  const text = stringOf(field, faults);
  if (text === undefined) return null;
  checkNul(text, field.value.at, field.key, faults);
  return textAt(field, text);
}

const ENV_NAME_CHARS_MAX = 256;
/** More than any process is given; each is looked at in one turn of the loop. */
const NAMES_MAX = 1_000;

/** The names of an `env` or of `headers`. */
function namesOf(field: Field, faults: Faults): readonly Field[] {
  const names = objectOf(field, faults) ?? [];
  if (names.length <= NAMES_MAX) return names;
  faults.error('CONFIG_INVALID', field.value.at, field.key, `has more than ${NAMES_MAX} names`);
  return [];
}

function readEnv(field: Field, faults: Faults): readonly NamedText[] {
  const read: NamedText[] = [];
  for (const inner of namesOf(field, faults)) {
    const { name, nameAt, key } = inner;
    if (name === '' || name.length > ENV_NAME_CHARS_MAX || /[=\u0000-\u001f\u007f]/.test(name)) {
      faults.error('CONFIG_INVALID', nameAt, key, 'no process can be given a variable of this name');
    }
    const text = processText(inner, faults);
    if (text !== null) read.push({ ...text, name, nameAt });
  }
  return read;
}

const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,256}$/;
/** Line ends would begin another header. */
export const isHeaderValue = (value: string): boolean => !/[\u0000-\u0008\u000a-\u001f\u007f]/.test(value);

function readHeaders(field: Field, faults: Faults): readonly NamedText[] {
  const read: NamedText[] = [];
  const seen = new Set<string>();
  for (const inner of namesOf(field, faults)) {
    const { name, nameAt, key } = inner;
    if (!HEADER_NAME.test(name)) faults.error('CONFIG_INVALID', nameAt, key, 'is no name of an HTTP header');
    if (seen.has(name.toLowerCase()))
      faults.error('CONFIG_DUPLICATE_KEY', nameAt, key, 'this header stands twice; case does not count');
    seen.add(name.toLowerCase());
    const text = stringOf(inner, faults);
    if (text === undefined) continue;
    if (!isHeaderValue(text)) faults.error('CONFIG_INVALID', inner.value.at, key, 'holds a control character');
    read.push({ ...textAt(inner, text), name, nameAt });
  }
  return read;
}

function clientSecretOf({ value }: Field): Field | null {
  return value.kind === 'object' ? (value.fields.find(({ name }) => name === 'clientSecret') ?? null) : null;
}

/** Checked here; who authorises reads it. */
function readOauth(field: Field, faults: Faults): Field | null {
  for (const inner of objectOf(field, faults) ?? []) {
    if (['clientId', 'clientSecret', 'authServerMetadataUrl'].includes(inner.name)) stringOf(inner, faults);
    else if (inner.name === 'callbackPort') integerOf(inner, { min: 1, max: 65_535 }, faults);
    else if (inner.name === 'scopes') stringsOf(inner, faults);
    else faults.warn('CONFIG_UNKNOWN_FIELD', inner.nameAt, inner.key, 'nothing reads this key');
  }
  return clientSecretOf(field);
}

/** A workspace may tighten only: its `allow` is said to do nothing and dropped. */
function readTools(field: Field, id: string, { layer, faults }: EntryContext): readonly PolicyRule[] {
  const rules: PolicyRule[] = [];
  for (const inner of objectOf(field, faults) ?? []) {
    const verdict = verdictOf(inner, faults);
    if (inner.name === '') faults.error('CONFIG_INVALID', inner.nameAt, inner.key, 'a glob is expected here');
    if (verdict !== undefined)
      rules.push({ server: id, tool: inner.name, verdict, layer: layer.layer, ...ruleAt(inner, faults) });
  }
  return layer.isOwn ? rules : tighteningOnly(rules, field, faults);
}

export function tighteningOnly(rules: readonly PolicyRule[], field: Field, faults: Faults): readonly PolicyRule[] {
  const kept = rules.filter(({ verdict }) => verdict !== 'allow');
  if (kept.length < rules.length) {
    faults.warn(
      'CONFIG_UNKNOWN_FIELD',
      field.nameAt,
      field.key,
      '"allow" does nothing in a workspace file; only "ask" and "deny" count',
    );
  }
  return kept;
}
