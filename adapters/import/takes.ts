import type { Json } from '../../actors/ports.js';
import { type EntryDraft, isList, isObject, type JsonObject, keyUnder, WORKSPACE } from './entry-draft.js';

/** Takes one key of another program's entry over into ours. */
export type Take = (draft: EntryDraft, value: Json, key: string) => void;
export type Takes = Readonly<Record<string, Take>>;

/** Every key of an object; one that nothing takes is told. */
export function takeAll(draft: EntryDraft, takes: Takes, raw: JsonObject, under = ''): void {
  for (const [name, value] of Object.entries(raw)) {
    // Nothing is nothing to any of these programs.
    if (value === null) continue;
    const take = Object.hasOwn(takes, name) ? takes[name] : undefined;
    const key = keyUnder(under, name);
    if (take === undefined) draft.lose(key, NOTHING_READS);
    else take(draft, value, key);
  }
}

export const text =
  (to: 'command' | 'url' | 'description'): Take =>
  (draft, value, key) => {
    const taken = draft.text(value, key, to);
    if (taken !== undefined) draft.entry[to] = taken;
  };

export const texts: Take = (draft, value, key) => {
  const taken = draft.texts(value, key, 'args');
  if (taken !== undefined) draft.entry['args'] = taken;
};

export const record =
  (to: 'env' | 'headers'): Take =>
  (draft, value, key) =>
    draft.record(value, key, to);

/** The workspace is the default here; any other place is an absolute path, and has no variables. */
export const directory: Take = (draft, value, key) => {
  if (value === WORKSPACE) return;
  if (typeof value === 'string' && !/[${}]/.test(value)) draft.entry['cwd'] = value;
  else draft.refuse(key, 'is no plain path, and a working directory has no variables here');
};

export const time =
  (to: 'timeout' | 'initTimeout', unitMs: number): Take =>
  (draft, value, key) =>
    draft.milliseconds(value, key, to, unitMs);

export const lost =
  (why: string): Take =>
  (draft, value, key) => {
    // A switch that is off and an empty list ask for nothing.
    if (value !== false && !(isList(value) && value.length === 0)) draft.lose(key, why);
  };

/** Says nothing about the server. */
export const ignored: Take = () => undefined;

/** An entry here starts switched on. */
export const switchedOff =
  (off: boolean): Take =>
  (draft, value, key) => {
    if (value !== !off) draft.refuse(key, 'it is switched off there, and an entry here begins switched on');
  };

export const denied: Take = (draft, value, key) => draft.deny(value, key);

const TYPES: Readonly<Record<string, 'stdio' | 'http' | 'sse'>> = {
  stdio: 'stdio',
  local: 'stdio',
  http: 'http',
  'streamable-http': 'http',
  streamableHttp: 'http',
  streamable_http: 'http',
  sse: 'sse',
};

export const type: Take = (draft, value, key) => {
  const known = typeof value === 'string' && Object.hasOwn(TYPES, value) ? TYPES[value] : undefined;
  if (known === undefined) draft.refuse(key, 'is a transport that is not spoken here');
  else draft.entry['type'] = known;
};

/** Ours is `{ clientId, clientSecret, callbackPort, scopes, authServerMetadataUrl }`; `names` says what they call each. */
export const oauth =
  (names: Readonly<Record<string, 'clientId' | 'clientSecret' | 'callbackPort' | 'scopes' | 'authServerMetadataUrl'>>): Take =>
  (draft, value, key) => {
    if (!isObject(value)) {
      lost('the server is asked how it wants to be authorised')(draft, value, key);
      return;
    }
    for (const [name, inner] of Object.entries(value)) {
      const to = Object.hasOwn(names, name) ? names[name] : undefined;
      const place = keyUnder(key, name);
      if (to === undefined) draft.lose(place, NOTHING_READS);
      else putOauth(draft, to, to === 'scopes' ? scopesOf(inner) : inner, place);
    }
  };

export const scopes: Take = (draft, value, key) => putOauth(draft, 'scopes', scopesOf(value), key);

/** A list, or words with blanks between them. */
const scopesOf = (value: Json): Json => (typeof value === 'string' ? value.split(/\s+/).filter((word) => word !== '') : value);

function putOauth(draft: EntryDraft, name: string, value: Json, key: string): void {
  const written = JSON.stringify(value);
  if (written.includes('${') || written.includes('{env:')) {
    draft.lose(key, 'has a variable, and none is expanded there');
    return;
  }
  const { oauth: old } = draft.entry;
  draft.entry['oauth'] = { ...(isObject(old) ? old : {}), [name]: value };
  if (name === 'clientSecret') draft.note(key, 'is a secret, and written as it stands');
}

const NOTHING_READS = 'nothing here reads this key';

/** A command with its arguments in one list. */
export const commandLine: Take = (draft, value, key) => {
  const words = isList(value) ? draft.texts(value, key, 'args') : undefined;
  const [command, ...args] = words ?? [];
  if (command === undefined) draft.refuse(key, 'is no list with a command');
  else Object.assign(draft.entry, args.length === 0 ? { command } : { command, args });
};
