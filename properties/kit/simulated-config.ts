import { supervisorError } from '../../actors/errors.js';
import type { ConfigPort, ConfigScope, LayerReading, PolicyRule, ServerDefinition, UserSettings } from '../../actors/ports.js';
import { candidateKey, failure, isWorkspaceLayer, type LayerName, type Lifecycle } from '../../machines/vocabulary.js';
import { byLuck, type InFlight } from './in-flight.js';

/** One entry of a file, in as many words as a schedule changes. */
export interface Entry {
  readonly id: string;
  readonly layer: LayerName;
  readonly transport: 'stdio' | 'http';
  /** Any non-loopback URL. */
  readonly isRemote: boolean;
  readonly version: number;
  readonly lifecycle: Lifecycle;
  readonly idleTimeoutMs: number;
  readonly timeoutMs: number;
  readonly initTimeoutMs: number;
  readonly isRefused: boolean;
  /** The user has denied the tool `free` of it. */
  readonly isTightened: boolean;
}

export type File = 'user' | 'workspace' | 'workspace-override';

/** The files of one computer: the user's, and those of each workspace. */
export interface Files {
  entries: readonly Entry[];
  isBroken: boolean;
}

export const hashOf = ({ id, layer, version, transport, isRemote }: Entry): string =>
  `${layer}-${id}-${transport}${isRemote ? '-remote' : ''}-${version}`;

/** A reading as it was handed over, for whoever judges what it did. */
export interface Reading {
  readonly root: string;
  readonly layers: readonly LayerReading[];
}

export interface ConfigWorld {
  readonly inFlight: InFlight;
  readonly settings: () => UserSettings;
  /** Entries of the layer that a host gives in code. */
  readonly plugins: readonly Entry[];
  /** Told before a reading arrives. */
  readonly onReading: (reading: Reading) => void;
}

/** Configuration files that exist in memory only, and are read when a schedule says so. */
export class SimulatedConfig implements ConfigPort {
  readonly #world: ConfigWorld;
  readonly #files = new Map<string, Files>();
  readonly #watchers = new Map<() => void, string>();

  constructor(world: ConfigWorld) {
    this.#world = world;
  }

  /** The user's file has no root. */
  file(file: File, root: string): Files {
    const name = file === 'user' ? 'user' : `${root} ${file}`;
    const known = this.#files.get(name);
    if (known !== undefined) return known;
    const made: Files = { entries: [], isBroken: false };
    this.#files.set(name, made);
    return made;
  }

  get watchers(): number {
    return this.#watchers.size;
  }

  /** The files have changed: whoever watches is told, when that arrives. */
  changed(file: File, root: string): void {
    for (const [changed, watched] of [...this.#watchers]) {
      if (file !== 'user' && watched !== root) continue;
      this.#world.inFlight.post(`${watched} hears of a change`, () => {
        if (this.#watchers.has(changed)) changed();
      });
    }
  }

  read({ root, plugins = [] }: ConfigScope): Promise<readonly LayerReading[]> {
    return this.#world.inFlight.promise(`${root} is read`, (luck) => {
      const how = byLuck(luck, 'whole', [
        [3, 'half'],
        [1, 'throws'],
      ]);
      if (how === 'throws') throw supervisorError('CONFIG_UNREADABLE', 'the files cannot be read');
      const files = ['user', 'workspace', 'workspace-override'] as const;
      const layers = files.map((file, at) => this.#reading(file, root, how === 'half' && at === (luck > 0.3 ? 1 : 0)));
      for (const { name } of plugins)
        layers.splice(1, 0, layerReading(`plugin:${name}`, this.#world.plugins, this.#world.settings()));
      // What was half written is whole a little later, and the watch says so.
      if (how === 'half') this.changed('workspace', root);
      this.#world.onReading({ root, layers });
      return layers;
    });
  }

  watch({ root }: ConfigScope, changed: () => void): { close(): Promise<void> } {
    this.#watchers.set(changed, root);
    return {
      close: () => {
        this.#watchers.delete(changed);
        return this.#world.inFlight.promise(`${root} is watched no more`, () => undefined);
      },
    };
  }

  remove({ root }: ConfigScope, layer: LayerName, id: string): Promise<{ readonly file: string }> {
    return this.#world.inFlight.promise(`"${id}" is taken out`, (luck) => {
      if (layer.startsWith('plugin:')) throw supervisorError('CONFIG_INVALID', `"${id}" was given in code`);
      if (luck > 0.7) throw supervisorError('CONFIG_UNREADABLE', 'the file cannot be written (ENOSPC)');
      const file = this.file(layer as File, root);
      file.entries = file.entries.filter((entry) => entry.id !== id);
      return { file: layer };
    });
  }

  setRemote(): Promise<{ readonly file: string }> {
    return Promise.reject(supervisorError('CONFIG_INVALID', 'there is no such file'));
  }

  #reading(file: File, root: string, isHalf: boolean): LayerReading {
    const { entries, isBroken } = this.file(file, root);
    if (!isBroken && !isHalf) return layerReading(file, entries, this.#world.settings());
    const error = { file, line: 1, column: 1, key: '', code: 'CONFIG_SYNTAX', message: 'the file ends too early' } as const;
    return { layer: file, file, state: 'rejected', servers: [], settings: null, errors: [error], warnings: [] };
  }
}

/** One valid layer of these entries; only the user's has settings. */
export function layerReading(layer: LayerName, entries: readonly Entry[], settings: UserSettings): LayerReading {
  const tightened = entries.filter(({ isTightened }) => isTightened).map(({ id }) => rule(id, 'free', 'deny', layer));
  return {
    layer,
    file: layer,
    state: 'valid',
    servers: entries.map((entry) => definitionOf(entry)),
    settings: layer === 'user' ? { ...settings, toolPolicies: [...settings.toolPolicies, ...tightened] } : null,
    errors: [],
    warnings: [],
  };
}

const rule = (server: string, tool: string, verdict: PolicyRule['verdict'], layer: LayerName): PolicyRule => ({
  server,
  tool,
  verdict,
  layer,
});

function definitionOf(entry: Entry): ServerDefinition {
  const { id, layer, transport, isRemote, lifecycle, idleTimeoutMs, timeoutMs, initTimeoutMs, isRefused } = entry;
  const url = `${isRemote ? 'https://remote.example' : 'http://127.0.0.1:1'}/${candidateKey(layer, id)}`;
  return {
    id,
    layer,
    transport,
    configHash: hashOf(entry),
    ...(transport === 'stdio' ? { command: candidateKey(layer, id) } : { url }),
    args: [],
    env: {},
    headers: transport === 'http' ? { authorization: `token ${id}` } : {},
    credentialHeaders: transport === 'http' ? ['authorization'] : [],
    isRemote,
    lifecycle,
    idleTimeoutMs,
    timeoutMs,
    initTimeoutMs,
    maxTools: null,
    description: null,
    policies: [
      rule(id, 'denied', 'deny', layer),
      ...(isWorkspaceLayer(layer) && entry.isTightened ? [rule(id, 'free', 'deny', layer)] : []),
    ],
    approveTools: ['free', 'long', 'extra-*'],
    refusal: isRefused ? failure('REFUSED_ENV', `"${id}" may not set LD_PRELOAD`) : null,
    file: layer,
    line: 1,
  };
}
