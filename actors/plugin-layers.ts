import { SupervisorError, supervisorError } from './errors.js';
import type { ConfigPort, ConfigScope, Json, PluginLayer } from './ports.js';

const PLUGINS_MAX = 64;
const NAME = /^[A-Za-z0-9_-]{1,32}$/;
/** The same bounds as a file has. */
const [DEPTH_MAX, VALUES_MAX, CHARS_MAX] = [60, 20_000, 1024 * 1024] as const;

/**
 * What a host gives as plugins, copied to plain JSON: from then on no getter runs, no prototype counts and nobody changes it.
 * Throws `CONFIG_INVALID`, naming plugin and key, for a bad or doubled name and for whatever JSON cannot say, is nested too
 * deeply or is too large. `undefined` is a key left out.
 */
export function plainPlugins(given: unknown): readonly PluginLayer[] {
  if (given === undefined) return [];
  const names = new Set<string>();
  return listOf(given).map((one, position) => {
    const { name, servers } = partsOf(one, position);
    if (names.has(name)) throw invalid(`two plugins are called "${name}"`);
    names.add(name);
    return { name, servers };
  });
}

/** Rejects with `CONFIG_INVALID` for a plugin with a fault that would reject a file. */
export async function refuseFaultyPlugins(config: ConfigPort, scope: ConfigScope): Promise<void> {
  if ((scope.plugins ?? []).length === 0) return;
  const readings = await config.read(scope);
  const faulty = readings.find(({ layer, state }) => layer.startsWith('plugin:') && state === 'rejected');
  const [fault] = faulty?.errors ?? [];
  if (faulty !== undefined) throw invalid(`${faulty.layer}: ${fault?.key ?? ''}: ${fault?.message ?? 'is not valid'}`);
}

const invalid = (message: string): SupervisorError =>
  supervisorError('CONFIG_INVALID', message, { hint: 'Plugins are given to openWorkspace in code.' });

function listOf(given: unknown): readonly unknown[] {
  try {
    if (!Array.isArray(given)) throw invalid('"plugins" is no list');
    if (given.length > PLUGINS_MAX) throw invalid(`more than ${PLUGINS_MAX} plugins`);
    return Array.from(given as readonly unknown[]);
  } catch (error) {
    throw SupervisorError.is(error) ? error : invalid('"plugins" cannot be read');
  }
}

function partsOf(one: unknown, position: number): PluginLayer {
  const place = `plugins[${position}]`;
  const { name, servers } = readKeys(one, place);
  if (typeof name !== 'string' || !NAME.test(name)) throw invalid(`${place}.name: expected 1 to 32 of A-Z a-z 0-9 _ -`);
  const copy = new PlainCopy(`plugin:${name}`).of(servers, 'servers', 0);
  if (typeof copy !== 'object' || copy === null || Array.isArray(copy))
    throw invalid(`plugin:${name}: servers: expected an object`);
  return { name, servers: copy as PluginLayer['servers'] };
}

/** A host's object may throw at any touch. */
function readKeys(one: unknown, place: string): { readonly name: unknown; readonly servers: unknown } {
  try {
    const { name, servers } = one as { readonly name: unknown; readonly servers: unknown };
    return { name, servers };
  } catch {
    throw invalid(`${place}: expected an object with "name" and "servers"`);
  }
}

class PlainCopy {
  readonly #plugin: string;
  #values = 0;
  #chars = 0;

  constructor(plugin: string) {
    this.#plugin = plugin;
  }

  of(value: unknown, key: string, depth: number): Json {
    this.#values += 1;
    if (this.#values > VALUES_MAX) throw this.#refusal(key, `more than ${VALUES_MAX} values`);
    if (depth > DEPTH_MAX) throw this.#refusal(key, `nested deeper than ${DEPTH_MAX} levels`);
    if (typeof value === 'string') return this.#text(value, key);
    if (value === null || typeof value === 'boolean') return value;
    if (typeof value === 'number' && Number.isFinite(value)) return value;
    if (this.#touch(key, () => Array.isArray(value))) return this.#list(value as readonly unknown[], key, depth);
    if (typeof value === 'object') return this.#object(value, key, depth);
    throw this.#refusal(key, 'JSON has no such value');
  }

  #list(list: readonly unknown[], key: string, depth: number): Json {
    const length = this.#touch(key, () => list.length);
    if (length > VALUES_MAX) throw this.#refusal(key, `more than ${VALUES_MAX} values`);
    return Array.from({ length }, (_, at) =>
      this.of(
        this.#touch(key, () => list[at]),
        `${key}[${at}]`,
        depth + 1,
      ),
    );
  }

  #object(object: object, key: string, depth: number): Json {
    if (!this.#touch(key, () => isPlain(object))) throw this.#refusal(key, 'is no plain object');
    const names = this.#touch(key, () => Object.keys(object));
    if (names.length > VALUES_MAX) throw this.#refusal(key, `more than ${VALUES_MAX} values`);
    // Without a prototype, `__proto__` is a key like any other, for whoever checks keys to refuse.
    const copy = Object.create(null) as Record<string, Json>;
    for (const name of names) {
      const inner = `${key}.${this.#text(name, key).slice(0, 80)}`;
      const value = this.#touch(inner, () => (object as Record<string, unknown>)[name]);
      if (value !== undefined) copy[name] = this.of(value, inner, depth + 1);
    }
    return copy;
  }

  #text(text: string, key: string): string {
    this.#chars += text.length;
    if (this.#chars > CHARS_MAX) throw this.#refusal(key, `more than ${CHARS_MAX} characters`);
    if (/\p{Surrogate}/u.test(text)) throw this.#refusal(key, 'half a surrogate pair');
    return text;
  }

  #touch<T>(key: string, look: () => T): T {
    try {
      return look();
    } catch {
      throw this.#refusal(key, 'cannot be read');
    }
  }

  #refusal(key: string, problem: string): SupervisorError {
    return invalid(`${this.#plugin}: ${key}: ${problem}`);
  }
}

/** An object literal, of this realm or another; a class or a Map would come out as something else than it is. */
function isPlain(object: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(object);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}
