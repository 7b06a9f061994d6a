import type { ServerReport } from '../machines/server-events.js';
import type { CandidateKey, Ticket } from '../machines/vocabulary.js';
import type { LiveSlots } from './live-slots.js';

export interface WorkspaceSlotsDeps {
  readonly slots: LiveSlots;
  /** Tells the workspaces of a process apart. */
  readonly name: string;
  readonly send: (
    key: CandidateKey,
    event: { readonly type: 'slot.granted' | 'slot.reclaimed'; readonly ticket: Ticket },
  ) => void;
}

/** What a server is called among the holders of the process's slots. */
export const holderName = (workspace: string, key: CandidateKey): string => `${workspace}:${key}`;

/** The servers of one workspace as holders of the process's slots: brings their reports there, and the answers back. */
export class WorkspaceSlots {
  readonly #deps: WorkspaceSlotsDeps;

  constructor(deps: WorkspaceSlotsDeps) {
    this.#deps = deps;
  }

  hear(report: Extract<ServerReport, { type: `slot.${string}` }>): void {
    const { slots, send } = this.#deps;
    const { key, ticket } = report;
    const name = this.#name(key);
    switch (report.type) {
      case 'slot.wanted':
        return slots.request(name, ticket, report.keepAlive, {
          granted: (granted) => send(key, { type: 'slot.granted', ticket: granted }),
          reclaimed: (reclaimed) => send(key, { type: 'slot.reclaimed', ticket: reclaimed }),
        });
      case 'slot.released':
        return slots.release(name, ticket);
      case 'slot.quiet':
        return slots.quiet(name, ticket);
      case 'slot.busy':
        return slots.busy(name, ticket);
    }
  }

  /** For a server that can no longer say so itself. */
  releaseAll(key: CandidateKey): void {
    this.#deps.slots.releaseAll(this.#name(key));
  }

  #name(key: CandidateKey): string {
    return holderName(this.#deps.name, key);
  }
}
