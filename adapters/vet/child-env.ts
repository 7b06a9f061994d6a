import type { ServerDefinition } from '../../actors/ports.js';
import { isWorkspaceLayer } from '../../machines/vocabulary.js';
import { isOwnEnvName, isRefusedEnvName } from '../shared/sensitive.js';
import { refusal } from './paths.js';

/** What a server gets from the host's environment; nothing else is inherited. */
const INHERITED = ['HOME', 'LANG', 'LC_ALL', 'LC_CTYPE', 'LOGNAME', 'PATH', 'SHELL', 'TMPDIR', 'USER'] as const;

/** Names the server's processes, so that what escapes its group can still be found. */
export const MARKER_NAME = 'MCP_SUP_ID';

/** What programs of Windows cannot do without besides; none of it is a person's own. */
const INHERITED_ON_WINDOWS = (
  'APPDATA COMSPEC HOMEDRIVE HOMEPATH LOCALAPPDATA NUMBER_OF_PROCESSORS OS PATHEXT PROCESSOR_ARCHITECTURE PROGRAMDATA ' +
  'PROGRAMFILES PROGRAMFILES(X86) PROGRAMW6432 SYSTEMDRIVE SYSTEMROOT TEMP TMP USERDOMAIN USERNAME USERPROFILE WINDIR'
).split(' ');

export type Env = Readonly<Record<string, string>>;
export type HostEnv = Readonly<Record<string, string | undefined>>;

/** A variable of the host; on Windows in whatever case it is spelled there, `Path` for `PATH`. */
export function hostValue(host: HostEnv, name: string, platform: NodeJS.Platform): string | undefined {
  const key = platform === 'win32' ? Object.keys(host).find((one) => one.toUpperCase() === name) : name;
  return key !== undefined && Object.hasOwn(host, key) ? host[key] : undefined;
}

/**
 * The whole environment of a server: inherited, declared, marked. What is declared stands in place of what is inherited, on
 * Windows whatever its case. Throws `REFUSED_ENV`.
 */
export function childEnv(definition: ServerDefinition, host: HostEnv, marker: string, platform: NodeJS.Platform): Env {
  const isRefused = isWorkspaceLayer(definition.layer) ? isRefusedEnvName : isOwnEnvName;
  for (const name of Object.keys(definition.env)) {
    if (isRefused(name)) throw refusal('REFUSED_ENV', definition, `env.${name}`, 'this variable may not be set from this layer');
  }
  const isWindows = platform === 'win32';
  const declared = new Set(Object.keys(definition.env).map((name) => (isWindows ? name.toUpperCase() : name)));
  const inherited = [...INHERITED, ...(isWindows ? INHERITED_ON_WINDOWS : [])].flatMap((name): [string, string][] => {
    const value = declared.has(name) ? undefined : hostValue(host, name, platform);
    return value === undefined ? [] : [[name, value]];
  });
  return Object.fromEntries([...inherited, ...Object.entries(definition.env), [MARKER_NAME, marker]]);
}
