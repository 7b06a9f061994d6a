import type { ClockPort } from '../../actors/ports.js';
import type { ListKind } from '../../machines/vocabulary.js';

/** A list is told to have changed at most once in so many milliseconds. */
export const LIST_CHANGE_QUIET_MS = 100;

const KINDS: Readonly<Record<string, readonly ListKind[]>> = {
  'notifications/tools/list_changed': ['tools'],
  'notifications/resources/list_changed': ['resources', 'resourceTemplates'],
  'notifications/prompts/list_changed': ['prompts'],
};

/**
 * What a server announces about its lists, thinned out: the first announcement of a list is told at once, those that follow
 * within `LIST_CHANGE_QUIET_MS` together as one after it, so that no change goes unheard.
 */
export class ListChanges {
  readonly #clock: ClockPort;
  readonly #tell: (kind: ListKind) => void;
  /** By kind, while it is quiet: what ends the quiet, and whether it was announced again. */
  readonly #quiet = new Map<ListKind, { readonly timer: unknown; isDue: boolean }>();

  constructor(clock: ClockPort, tell: (kind: ListKind) => void) {
    this.#clock = clock;
    this.#tell = tell;
  }

  /** Takes the method of an announcement; others than those about lists are none of its business. */
  announced(method: string): void {
    if (!Object.hasOwn(KINDS, method)) return;
    for (const kind of KINDS[method] ?? []) {
      const quiet = this.#quiet.get(kind);
      if (quiet === undefined) this.#say(kind);
      else quiet.isDue = true;
    }
  }

  /** Tells nothing any more. */
  close(): void {
    for (const { timer } of this.#quiet.values()) this.#clock.clearTimeout(timer);
    this.#quiet.clear();
  }

  #say(kind: ListKind): void {
    const timer = this.#clock.setTimeout(() => {
      const isDue = this.#quiet.get(kind)?.isDue === true;
      this.#quiet.delete(kind);
      if (isDue) this.#say(kind);
    }, LIST_CHANGE_QUIET_MS);
    this.#quiet.set(kind, { timer, isDue: false });
    this.#tell(kind);
  }
}
