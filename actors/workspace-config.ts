import { switchKey } from '../machines/candidates.js';
import { isCountedLayer } from '../machines/config-verdict.js';
import type { CandidateKey, LayerName, ServerId } from '../machines/vocabulary.js';
import type { WorkspaceCommand } from '../machines/workspace-machine.js';
import { type JudgedConfig, judgeConfig, limitsOf, serverOptionsOf, toolLimitOf } from './configuration.js';
import { toFailure } from './errors.js';
import type { LiveSlots } from './live-slots.js';
import type { ConfigFault, ConfigPort, ConfigScope, LayerReading, PolicyRule, ServerDefinition } from './ports.js';

const CALL_TIMEOUT_MS = 30_000;

export interface ConfigState {
  readonly state: 'loading' | 'valid' | 'degraded' | 'rejected';
  /** Counts the configurations taken. */
  readonly revision: number;
  readonly errors: readonly ConfigFault[];
  readonly warnings: readonly ConfigFault[];
}

/** An entry as last seen in a layer, taken or not. */
export interface SeenEntry {
  readonly layer: LayerName;
  readonly file: string;
  /** `null` in a file that could not be taken, and for what stands in no file. */
  readonly line: number | null;
}

export interface WorkspaceConfigDeps {
  readonly config: ConfigPort;
  readonly scope: ConfigScope;
  readonly slots: LiveSlots;
  /** Switched on for this run only. */
  readonly enable: readonly ServerId[];
  readonly approvalTimeoutMs: number | null;
  /** Whether anything starts that nobody asked for. */
  readonly startsUnasked: boolean;
  readonly isTrusted: () => boolean;
  readonly isEnded: () => boolean;
  readonly send: (command: WorkspaceCommand) => void;
  readonly onRead: () => void;
}

/**
 * Reads the layers, one reading at a time, and hands the machine the whole of what is valid or nothing. The definitions,
 * which hold the secrets, stay here.
 */
export class WorkspaceConfig {
  readonly #deps: WorkspaceConfigDeps;
  #reading: Promise<void> = Promise.resolve();
  #judged: JudgedConfig | null = null;
  /** Denials and asks of a valid user file that came with a rejected reading. */
  #tighter: readonly PolicyRule[] = [];
  /** By id, lowest layer first: also what stands in files that were not taken. */
  #seen: ReadonlyMap<ServerId, readonly SeenEntry[]> = new Map();
  /** Switches that this run has turned on; once, so that a person may turn one off again. */
  readonly #enabled = new Set<string>();
  /** A host's own word on remote servers outranks the file's. */
  #remote: boolean | null = null;
  state: ConfigState = { state: 'loading', revision: 0, errors: [], warnings: [] };

  constructor(deps: WorkspaceConfigDeps) {
    this.#deps = deps;
  }

  /** Whatever is asked for while a reading is under way is read after it. */
  reload(): Promise<void> {
    this.#reading = this.#reading.then(() => this.#read());
    return this.#reading;
  }

  /** Those that count now: trust may have come since the layers were read, and their denials come with their servers. */
  get rules(): readonly PolicyRule[] {
    const isTrusted = this.#deps.isTrusted();
    const read = this.#judged?.rules ?? [];
    return [...this.#tighter, ...read.filter(({ layer }) => isCountedLayer(layer, isTrusted))];
  }

  definitionOf(key: CandidateKey): ServerDefinition | undefined {
    return this.#judged?.definitions.get(key);
  }

  /** Request deadline of a server's calls. */
  timeoutMsOf(key: CandidateKey): number {
    return this.definitionOf(key)?.timeoutMs ?? CALL_TIMEOUT_MS;
  }

  /** The layers that name an id, as last read; lowest first. */
  entriesOf(id: ServerId): readonly SeenEntry[] {
    return this.#seen.get(id) ?? [];
  }

  /** Every id that any layer names, taken or not. */
  get seenIds(): readonly ServerId[] {
    return [...this.#seen.keys()];
  }

  toolLimitOf(key: CandidateKey): number {
    return toolLimitOf(this.definitionOf(key), this.#judged?.settings ?? null);
  }

  setRemote(enabled: boolean): void {
    this.#remote = enabled;
    this.#deps.send({ type: 'remote.changed', enabled });
  }

  /** The file says what the host said last: from now on the file's word counts again. */
  followFile(): void {
    this.#remote = null;
  }

  async #read(): Promise<void> {
    const { config, scope, isTrusted, isEnded } = this.#deps;
    if (isEnded()) return;
    try {
      const readings = await config.read(scope);
      if (isEnded()) return;
      this.#seen = seenIn(readings);
      const judged = judgeConfig(readings, { isTrusted: isTrusted(), hasRuntime: this.#judged !== null });
      if (judged.verdict !== 'rejected') this.#take(judged, judged.verdict);
      else {
        this.#tighten(judged);
        this.#reject(judged.errors, judged.warnings);
      }
    } catch (error) {
      // What cannot be read or taken for a reason nobody foresaw is a bad configuration like any other.
      if (isEnded()) return;
      const { code, message } = toFailure(error, 'CONFIG_UNREADABLE');
      this.#reject([{ file: scope.root, line: null, column: null, key: '', code, message }], []);
    }
    this.#deps.onRead();
  }

  #reject(errors: readonly ConfigFault[], warnings: readonly ConfigFault[]): void {
    this.state = { ...this.state, state: 'rejected', errors, warnings };
    this.#deps.send({ type: 'config.rejected' });
  }

  #take(judged: JudgedConfig, state: 'valid' | 'degraded'): void {
    const { slots, scope, send, approvalTimeoutMs, startsUnasked } = this.#deps;
    const { settings, candidates, errors, warnings } = judged;
    // What may throw comes first: a configuration is taken whole or not at all.
    const options = serverOptionsOf(settings, approvalTimeoutMs);
    slots.resize(limitsOf(settings).live);
    this.#judged = judged;
    this.#tighter = [];
    this.state = { state, revision: this.state.revision + 1, errors, warnings };
    for (const key of candidates.filter(({ id }) => this.#deps.enable.includes(id)).map((one) => switchKey(one, scope.root))) {
      if (!this.#enabled.has(key)) send({ type: 'switch.changed', key, on: true });
      this.#enabled.add(key);
    }
    send({ type: 'remote.changed', enabled: this.#remote ?? settings?.remoteEnabled ?? false });
    send({
      type: 'config.taken',
      state,
      candidates: startsUnasked ? candidates : candidates.map((one) => ({ ...one, lifecycle: 'lazy' })),
      options,
    });
  }

  /** A no in a valid user file is not held up by another layer's fault. */
  #tighten({ settings, hasUserFile, rules }: JudgedConfig): void {
    // A user file that is gone says no to remote servers, as one that is silent does; one that is broken says nothing.
    if (settings === null && hasUserFile) return;
    if (settings?.remoteEnabled !== true && this.#remote === null) this.#deps.send({ type: 'remote.changed', enabled: false });
    this.#tighter = rules.filter(({ layer, verdict }) => layer === 'user' && verdict !== 'allow');
  }
}

function seenIn(readings: readonly LayerReading[]): ReadonlyMap<ServerId, readonly SeenEntry[]> {
  const seen = new Map<ServerId, SeenEntry[]>();
  const add = (id: ServerId, entry: SeenEntry): void => void seen.set(id, [...(seen.get(id) ?? []), entry]);
  for (const { layer, file, servers, named = [] } of readings) {
    for (const { id, line } of servers) add(id, { layer, file, line: layer.startsWith('plugin:') ? null : line });
    for (const id of named) add(id, { layer, file, line: null });
  }
  return seen;
}
