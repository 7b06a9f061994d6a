import type { SupervisorOptions } from './api.js';
import type { LiveSlots } from './live-slots.js';
import type { Ports } from './ports.js';

/** What a running workspace needs of its process. */
export interface RuntimeDeps {
  readonly ports: Ports;
  readonly options: SupervisorOptions;
  readonly slots: LiveSlots;
  /** Fingerprints approved in this process, shared by its workspaces. */
  readonly approved: Set<string>;
  /** Tells the workspaces of a process apart where they hold slots. */
  readonly name: string;
}
