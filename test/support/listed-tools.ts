import { supervisorError } from '../../actors/errors.js';
import type { ConfigFault, GrantsPort } from '../../actors/ports.js';

/** The lists of remembered tools of all workspaces, in memory; a test may write them as a person or a clone would. */
export class ListedTools implements GrantsPort {
  /** By root; a root that is not here has no file. */
  readonly files = new Map<string, readonly string[]>();
  fault: ConfigFault | null = null;
  isFull = false;
  reads = 0;

  read({ root }: { readonly root: string }) {
    this.reads += 1;
    const tools = this.files.get(root);
    const { fault } = this;
    if (fault !== null) return Promise.resolve({ file: fault.file, state: 'faulty', tools: [], faults: [fault] } as const);
    const state = tools === undefined ? ('absent' as const) : ('valid' as const);
    return Promise.resolve({ file: `${root}/permissions.local.json`, state, tools: tools ?? [], faults: [] });
  }

  add({ root }: { readonly root: string }, tool: string): Promise<{ readonly file: string }> {
    if (this.isFull) return Promise.reject(supervisorError('CONFIG_UNREADABLE', 'the file cannot be written (ENOSPC)'));
    this.files.set(root, [...(this.files.get(root) ?? []), tool]);
    return Promise.resolve({ file: `${root}/permissions.local.json` });
  }
}
