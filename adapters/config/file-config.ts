import type { ClockPort, ConfigPort, ConfigScope, DigestPort, LayerReading } from '../../actors/ports.js';
import { type FileLayer, fileLayers } from './layers.js';
import { errorCode } from './read-file.js';
import { emptyReading, readLayer } from './read-layer.js';
import { NO_SETTINGS } from './settings.js';
import { watchFiles } from './watch-files.js';

export interface FileConfigOptions {
  /** Absolute path of the user's file; it need not exist. */
  readonly userConfigFile: string;
  /** The host's directory inside a workspace, `.mcp-supervisor`. */
  readonly hostDir: string;
  /** The environment that variables are taken from. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: ClockPort;
  readonly digest: DigestPort;
}

/** Configuration from files. Reads the user's file first: it says which variables and hosts the workspace's may use. */
export function createFileConfig({ userConfigFile, hostDir, env, clock, digest }: FileConfigOptions): ConfigPort {
  const layers = fileLayers(userConfigFile, hostDir);
  return {
    async read(scope) {
      const readings: LayerReading[] = [];
      const ids = new Set<string>();
      for (const layer of layers) {
        const settings = readings.find((reading) => reading.layer === 'user')?.settings ?? NO_SETTINGS;
        const input = {
          layer,
          file: layer.locate(scope),
          root: scope.root,
          userFile: userConfigFile,
          settings,
          env,
          digest,
          ids,
        };
        readings.push(await readLayer(input).catch((error: unknown) => unread(layer, scope, error)));
      }
      return readings;
    },
    watch: (scope, changed) => watchFiles([...layers.map((layer) => layer.locate(scope))], changed, clock),
  };
}

/** A fault of ours must not empty a configuration either. */
function unread(layer: FileLayer, scope: ConfigScope, error: unknown): LayerReading {
  const file = layer.locate(scope);
  const message = `cannot be read (${errorCode(error)})`;
  return emptyReading(layer, file, 'rejected', [{ file, line: null, column: null, key: '', code: 'CONFIG_UNREADABLE', message }]);
}
