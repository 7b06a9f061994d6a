import { join } from 'node:path';
import type { ConfigScope, PluginLayer } from '../../actors/ports.js';
import type { LayerName } from '../../machines/vocabulary.js';

export interface ConfigLayer {
  readonly layer: LayerName;
  /** The person's own file, or what the host gives in code: may hold secrets and any variable, and its policies may allow. */
  readonly isOwn: boolean;
  /** Per-server keys that have an effect from here; the rest is ignored with a warning. */
  readonly fields: ReadonlySet<string>;
}

export interface FileLayer extends ConfigLayer {
  readonly layer: 'user' | 'workspace' | 'workspace-override';
  locate(scope: ConfigScope): string;
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

/** The files, low to high; plugins have their place after the user's, which says what variables and hosts the others may use. */
export function fileLayers(userConfigFile: string, hostDir: string): readonly [FileLayer, ...FileLayer[]] {
  return [
    { layer: 'user', locate: () => userConfigFile, isOwn: true, fields: SERVER_FIELDS },
    { layer: 'workspace', locate: ({ root }) => join(root, '.mcp.json'), isOwn: false, fields: SHARED_FILE_FIELDS },
    { layer: 'workspace-override', locate: ({ root }) => join(root, hostDir, 'mcp.json'), isOwn: false, fields: SERVER_FIELDS },
  ];
}

/** What the host gives in code is read as the user's own entries are; settings it has none. */
export function pluginLayer({ name }: PluginLayer): ConfigLayer {
  return { layer: `plugin:${name}`, isOwn: true, fields: SERVER_FIELDS };
}
