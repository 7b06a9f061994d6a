import { supervisorError } from '../../actors/errors.js';
import type { ClockPort, ConfigPort, ConfigScope, DigestPort, LayerReading } from '../../actors/ports.js';
import type { LayerName } from '../../machines/vocabulary.js';
import { type Change, editFile } from './edit-file.js';
import { grantsFileOf } from './grants-file.js';
import { type ConfigLayer, type FileLayer, fileLayers, pluginLayer } from './layers.js';
import { errorCode } from './read-file.js';
import { emptyReading, type LayerInput, readLayer, readServersGiven } from './read-layer.js';
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

/**
 * Configuration from files, and from what the host gives in code. Reads the user's file first: it says which variables and
 * hosts the workspace's may use. Edits are made one after the other.
 */
export function createFileConfig({ userConfigFile, hostDir, env, clock, digest }: FileConfigOptions): ConfigPort {
  const files = fileLayers(userConfigFile, hostDir);
  const [userLayer] = files;
  let editing: Promise<unknown> = Promise.resolve();

  const inputFor = (layer: ConfigLayer, file: string, root: string): LayerInput => ({
    layer,
    file,
    root,
    userFile: userConfigFile,
    settings: NO_SETTINGS,
    env,
    digest,
    lower: new Set(),
    counted: null,
  });

  const read = async (scope: ConfigScope): Promise<readonly LayerReading[]> => {
    const readings: LayerReading[] = [];
    const counted = new Set<string>();
    const take = async (layer: ConfigLayer, file: string, how: (input: LayerInput) => Promise<LayerReading>): Promise<void> => {
      const input = {
        ...inputFor(layer, file, scope.root),
        settings: readings[0]?.settings ?? NO_SETTINGS,
        lower: new Set(readings.flatMap(({ servers }) => servers.map(({ id }) => id))),
        // Plugins stand apart from the limit on what files bring.
        counted: layer.layer.startsWith('plugin:') ? null : counted,
      };
      readings.push(await how(input).catch((error: unknown) => unread(layer, file, error)));
    };
    for (const layer of files) {
      await take(layer, layer.locate(scope), readLayer);
      if (layer !== userLayer) continue;
      for (const plugin of scope.plugins ?? [])
        await take(pluginLayer(plugin), `plugin:${plugin.name}`, (input) => readServersGiven(plugin.servers, input));
    }
    return readings;
  };

  const edit = (layer: FileLayer, scope: ConfigScope, change: Change): Promise<{ readonly file: string }> => {
    const file = layer.locate(scope);
    const made = editing.then(() => editFile(inputFor(layer, file, scope.root), change));
    editing = made.catch(() => undefined);
    return made.then(() => ({ file }));
  };

  return {
    read,
    async remove(scope, name, id) {
      return edit(fileLayerOf(files, name), scope, { kind: 'remove', id });
    },
    setRemote: (enabled) => edit(userLayer, { root: '/' }, { kind: 'remote', enabled }),
    watch: (scope, changed) =>
      watchFiles([...files.map((layer) => layer.locate(scope)), grantsFileOf(scope.root, hostDir)], changed, clock),
  };
}

function fileLayerOf(files: readonly FileLayer[], name: LayerName): FileLayer {
  const layer = files.find((one) => one.layer === name);
  if (layer !== undefined) return layer;
  throw supervisorError('CONFIG_INVALID', `the servers of "${name}" stand in no file: the host gives them in code`, {
    hint: 'Take it out where the host gives it, or switch it off.',
  });
}

/** A fault of ours must not empty a configuration either. */
function unread(layer: ConfigLayer, file: string, error: unknown): LayerReading {
  const message = `cannot be read (${errorCode(error)})`;
  return emptyReading(layer, file, 'rejected', [{ file, line: null, column: null, key: '', code: 'CONFIG_UNREADABLE', message }]);
}
