import type { PolicyRule, UserSettings } from '../../actors/ports.js';
import type { LayerName } from '../../machines/vocabulary.js';
import type { Field } from './document.js';
import type { Faults } from './faults.js';
import { booleanOf, integerOf, MS_MAX, objectOf, ruleAt, stringsOf, verdictOf } from './fields.js';

/** Top-level keys that only the user's file may set; `toolPolicies` of a workspace may tighten. */
export const SETTING_KEYS: ReadonlySet<string> = new Set(['remote', 'workspaceVariables', 'limits', 'restart', 'toolPolicies']);

/** A person's machine bears this much at most; a slip of the finger should not ask for a million. */
const RAISED_MAX = 10_000;
/** What holds when the file is silent: servers over all layers, tools a server, live connections, pages and items a list. */
export const LIMITS = { servers: 32, tools: 64, live: 16, pages: 100, items: 10_000 } as const;
/** Pages and items bound what a hostile server can make us do: they only fall. */
const LIMIT_BOUNDS: Readonly<Record<keyof typeof LIMITS, number>> = {
  servers: RAISED_MAX,
  tools: RAISED_MAX,
  live: RAISED_MAX,
  pages: LIMITS.pages,
  items: LIMITS.items,
};
const isLimit = (name: string): name is keyof typeof LIMITS => Object.hasOwn(LIMITS, name);

/** Bounds of a wait between restarts where the file is silent, in ms. */
const [FLOOR_MS, CAP_MS] = [50, 30_000];

const VARIABLE_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
const ID = /^[A-Za-z0-9_-]{1,32}$/;

/** 1–32 bytes of `[A-Za-z0-9_-]`, no `__`: names of tools are joined with it. */
export const isServerId = (id: string): boolean => ID.test(id) && !id.includes('__');

/** What holds without a user file. */
export const NO_SETTINGS: UserSettings = {
  remoteEnabled: false,
  plaintextHosts: [],
  workspaceVariables: [],
  limits: {},
  restart: {},
  toolPolicies: [],
};

export function readSettings(fields: readonly Field[], faults: Faults): UserSettings {
  const settings: Mutable<UserSettings> = { ...NO_SETTINGS };
  for (const field of fields) {
    if (field.name === 'remote') Object.assign(settings, readRemote(field, faults));
    if (field.name === 'workspaceVariables') settings.workspaceVariables = readVariables(field, faults);
    if (field.name === 'limits') settings.limits = readLimits(field, faults);
    if (field.name === 'restart') settings.restart = readRestart(field, faults);
    if (field.name === 'toolPolicies') settings.toolPolicies = readToolPolicies(field, 'user', faults);
  }
  return settings;
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

function readRemote(field: Field, faults: Faults): Partial<UserSettings> {
  const read: Partial<Mutable<UserSettings>> = {};
  for (const inner of objectOf(field, faults) ?? []) {
    if (inner.name === 'enabled') read.remoteEnabled = booleanOf(inner, faults) ?? false;
    else if (inner.name === 'plaintextHosts') read.plaintextHosts = readHosts(inner, faults);
    else warnUnknown(inner, faults);
  }
  return read;
}

/** Names only, as a URL would write them: no scheme, no port, no path. */
function readHosts(field: Field, faults: Faults): readonly string[] {
  const hosts: string[] = [];
  for (const { text, at, key } of stringsOf(field, faults) ?? []) {
    const url = /^[^\s/?#@\\]+$/.test(text) && URL.canParse(`http://${text}`) ? new URL(`http://${text}`) : null;
    if (url === null || url.port !== '' || /:\d*$/.test(text.replace(/^\[.*\]/, ''))) {
      faults.error('CONFIG_INVALID', at, key, 'expected a host name without scheme, port and path');
    } else hosts.push(url.hostname);
  }
  return hosts;
}

function readVariables(field: Field, faults: Faults): readonly string[] {
  const texts = stringsOf(field, faults) ?? [];
  for (const { text, at, key } of texts) {
    if (!VARIABLE_NAME.test(text)) faults.error('CONFIG_INVALID', at, key, 'expected the name of an environment variable');
  }
  return texts.map(({ text }) => text);
}

function readLimits(field: Field, faults: Faults): UserSettings['limits'] {
  const limits: Partial<Record<keyof typeof LIMITS, number>> = {};
  for (const inner of objectOf(field, faults) ?? []) {
    if (!isLimit(inner.name)) {
      warnUnknown(inner, faults);
      continue;
    }
    const value = integerOf(inner, { min: 1, max: LIMIT_BOUNDS[inner.name] }, faults);
    if (value !== undefined) limits[inner.name] = value;
  }
  return limits;
}

/** Options of the restart policy: counts, and times in ms. */
export const RESTART_OPTIONS = [
  'intensity',
  'windowMs',
  'backoffBaseMs',
  'backoffCapMs',
  'backoffFloorMs',
  'stableAfterMs',
  'halfOpenAfterMs',
] as const;

function readRestart(field: Field, faults: Faults): UserSettings['restart'] {
  const options: Partial<Record<string, number>> = {};
  for (const inner of objectOf(field, faults) ?? []) {
    const name = RESTART_OPTIONS.find((option) => option === inner.name);
    if (name === undefined) warnUnknown(inner, faults);
    else options[name] = integerOf(inner, { min: 1, max: MS_MAX }, faults);
  }
  const { backoffFloorMs = FLOOR_MS, backoffCapMs = CAP_MS } = options;
  if (backoffFloorMs > backoffCapMs)
    faults.error('CONFIG_INVALID', field.value.at, field.key, 'backoffFloorMs is above backoffCapMs');
  return Object.fromEntries(Object.entries(options).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));
}

/** `"server"` or `"server.tool"`, split at the first dot. No `*` server: a rule for everything is no rule. */
export function readToolPolicies(field: Field, layer: LayerName, faults: Faults): readonly PolicyRule[] {
  const rules: PolicyRule[] = [];
  for (const inner of objectOf(field, faults) ?? []) {
    const dot = inner.name.indexOf('.');
    const server = dot === -1 ? inner.name : inner.name.slice(0, dot);
    const tool = dot === -1 ? null : inner.name.slice(dot + 1);
    if (!isServerId(server) || tool === '') {
      faults.error('CONFIG_INVALID', inner.nameAt, inner.key, 'expected "server" or "server.tool", with the id of one server');
    }
    const verdict = verdictOf(inner, faults);
    if (verdict !== undefined) rules.push({ server, tool, verdict, layer, ...ruleAt(inner, faults) });
  }
  return rules;
}

export function warnUnknown(field: Field, faults: Faults): void {
  faults.warn('CONFIG_UNKNOWN_FIELD', field.nameAt, field.key, 'nothing reads this key');
}
