import { type Candidate, switchKey } from '../machines/candidates.js';
import type { CandidateKey, ServerId } from '../machines/vocabulary.js';
import type { WorkspaceCommand } from '../machines/workspace-machine.js';
import { type JudgedConfig, judgeConfig, limitsOf, serverOptionsOf } from './configuration.js';
import type { LiveSlots } from './live-slots.js';
import type { ConfigFault, ConfigPort, PolicyRule, ServerDefinition } from './ports.js';

export interface ConfigState {
  readonly state: 'loading' | 'valid' | 'degraded' | 'rejected';
  /** Counts the configurations taken. */
  readonly revision: number;
  readonly errors: readonly ConfigFault[];
  readonly warnings: readonly ConfigFault[];
}

export interface WorkspaceConfigDeps {
  readonly config: ConfigPort;
  readonly root: string;
  readonly slots: LiveSlots;
  /** Switched on for this run only. */
  readonly enable: readonly ServerId[];
  readonly approvalTimeoutMs: number | null;
  readonly isTrusted: () => boolean;
  readonly isEnded: () => boolean;
  readonly send: (command: WorkspaceCommand) => void;
  readonly onTaken: () => void;
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

  get rules(): readonly PolicyRule[] {
    return [...this.#tighter, ...(this.#judged?.rules ?? [])];
  }

  definitionOf(key: CandidateKey): ServerDefinition | undefined {
    return this.#judged?.definitions.get(key);
  }

  toolLimitOf(key: CandidateKey): number {
    const { tools } = limitsOf(this.#judged?.settings ?? null);
    const own = this.definitionOf(key)?.maxTools ?? null;
    if (own === null) return tools;
    return key.startsWith('workspace') ? Math.min(own, tools) : own;
  }

  setRemote(enabled: boolean): void {
    this.#remote = enabled;
    this.#deps.send({ type: 'remote.changed', enabled });
  }

  async #read(): Promise<void> {
    const { config, root, isTrusted, isEnded, send } = this.#deps;
    if (isEnded()) return;
    const readings = await config.read({ root });
    if (isEnded()) return;
    const judged = judgeConfig(readings, { isTrusted: isTrusted(), hasRuntime: this.#judged !== null });
    const { verdict, errors, warnings } = judged;
    if (verdict === 'rejected') {
      this.#tighten(judged);
      this.state = { ...this.state, state: verdict, errors, warnings };
      send({ type: 'config.rejected' });
    } else {
      this.state = { state: verdict, revision: this.state.revision + 1, errors, warnings };
      this.#take(judged, verdict);
    }
    this.#deps.onTaken();
  }

  #take(judged: JudgedConfig, state: 'valid' | 'degraded'): void {
    const { slots, enable, root, send, approvalTimeoutMs } = this.#deps;
    this.#judged = judged;
    this.#tighter = [];
    slots.resize(limitsOf(judged.settings).live);
    const isOn = (candidate: Candidate): boolean => enable.includes(candidate.id);
    for (const candidate of judged.candidates.filter(isOn))
      send({ type: 'switch.changed', key: switchKey(candidate, root), on: true });
    send({ type: 'remote.changed', enabled: this.#remote ?? judged.settings?.remoteEnabled ?? false });
    send({
      type: 'config.taken',
      state,
      candidates: judged.candidates,
      options: serverOptionsOf(judged.settings, approvalTimeoutMs),
    });
  }

  /** A no in a valid user file is not held up by another layer's fault. */
  #tighten({ settings }: JudgedConfig): void {
    if (settings === null) return;
    if (!settings.remoteEnabled && this.#remote === null) this.#deps.send({ type: 'remote.changed', enabled: false });
    this.#tighter = settings.toolPolicies.filter(({ verdict }) => verdict !== 'allow');
  }
}
