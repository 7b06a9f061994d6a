import { SupervisorError, toFailure } from './errors.js';
import type { LiveSlots } from './live-slots.js';
import type { ConfigPort } from './ports.js';
import type { WorkspaceRuntime } from './workspace-runtime.js';

/** One host's word on remote servers. It outranks the user's file, until it is what the file says. */
export class RemoteSwitch {
  readonly #config: ConfigPort;
  readonly #runtimes: ReadonlySet<WorkspaceRuntime>;
  readonly #slots: LiveSlots;
  #word: { readonly on: boolean } | null = null;
  /** One writing after the other, so that the last word is the one that stays. */
  #writing: Promise<unknown> = Promise.resolve();

  constructor(config: ConfigPort, runtimes: ReadonlySet<WorkspaceRuntime>, slots: LiveSlots) {
    this.#config = config;
    this.#runtimes = runtimes;
    this.#slots = slots;
  }

  /** Settles when nothing is left to write. Never rejects. */
  get written(): Promise<unknown> {
    return this.#writing;
  }

  /** Has its effect in this turn; rejects when it was to be written and could not be. */
  set(on: boolean, persist: boolean): Promise<void> {
    const word = { on };
    this.#word = word;
    // A slot that one workspace gives up must not go to a remote server of another that has not been told yet.
    this.#slots.heldBack(() => {
      for (const runtime of this.#runtimes) runtime.setRemote(on);
    });
    if (!persist) return Promise.resolve();
    const written = this.#writing.then(() => this.#write(word));
    this.#writing = written.catch(() => undefined);
    return written;
  }

  /** For a workspace that is opened after the word was given. */
  tell(runtime: WorkspaceRuntime): void {
    if (this.#word !== null) runtime.setRemote(this.#word.on);
  }

  async #write(word: { readonly on: boolean }): Promise<void> {
    try {
      await this.#config.setRemote(word.on);
    } catch (error) {
      throw new SupervisorError(toFailure(error, 'CONFIG_UNREADABLE'), { cause: error });
    }
    // Until the file was read, the word has to stand: an older reading may still be under way.
    await Promise.all([...this.#runtimes].map((runtime) => runtime.config.reload()));
    if (this.#word !== word) return;
    this.#word = null;
    for (const runtime of this.#runtimes) runtime.config.followFile();
  }
}
