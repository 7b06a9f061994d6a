import { join } from 'node:path';
import type { ConfigScope, LayerReading } from '../../actors/ports.js';

export interface FileLayer {
  readonly layer: Extract<LayerReading['layer'], 'user' | 'workspace' | 'workspace-override'>;
  locate(scope: ConfigScope): string;
  /** The person's own file: may hold secrets, sets the switches everybody obeys, and its policies may allow. */
  readonly isUser: boolean;
  /** Per-server keys that have an effect from here; the rest is ignored with a warning. */
  readonly fields: ReadonlySet<string>;
}

/** Every per-server key there is. */
export const SERVER_FIELDS: ReadonlySet<string> = new Set(
  (
    'type command args env cwd url headers oauth lifecycle idleTimeout timeout initTimeout tools approveTools description ' +
    'maxTools'
  ).split(' '),
);

/** What the file that many hosts share may say; `tools` may only tighten, `approveTools` is shown and does nothing. */
const SHARED_FILE_FIELDS: ReadonlySet<string> = new Set('type command args env url headers tools approveTools'.split(' '));

/** The files, low to high. The user's comes first: it says which variables and hosts the others may use. */
export function fileLayers(userConfigFile: string, hostDir: string): readonly FileLayer[] {
  return [
    { layer: 'user', locate: () => userConfigFile, isUser: true, fields: SERVER_FIELDS },
    { layer: 'workspace', locate: ({ root }) => join(root, '.mcp.json'), isUser: false, fields: SHARED_FILE_FIELDS },
    { layer: 'workspace-override', locate: ({ root }) => join(root, hostDir, 'mcp.json'), isUser: false, fields: SERVER_FIELDS },
  ];
}
