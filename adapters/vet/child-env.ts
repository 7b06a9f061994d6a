import type { ServerDefinition } from '../../actors/ports.js';
import { isWorkspaceLayer } from '../../machines/vocabulary.js';
import { isOwnEnvName, isRefusedEnvName } from '../shared/sensitive.js';
import { refusal } from './paths.js';

/** What a server gets from the host's environment; nothing else is inherited. */
const INHERITED = ['HOME', 'LANG', 'LC_ALL', 'LC_CTYPE', 'LOGNAME', 'PATH', 'SHELL', 'TMPDIR', 'USER'] as const;

/** Names the server's processes, so that what escapes its group can still be found. */
export const MARKER_NAME = 'MCP_SUP_ID';

export type Env = Readonly<Record<string, string>>;

/** The whole environment of a server: inherited, declared, marked. Throws `REFUSED_ENV`. */
export function childEnv(definition: ServerDefinition, host: Readonly<Record<string, string | undefined>>, marker: string): Env {
  const isRefused = isWorkspaceLayer(definition.layer) ? isRefusedEnvName : isOwnEnvName;
  for (const name of Object.keys(definition.env)) {
    if (isRefused(name)) throw refusal('REFUSED_ENV', definition, `env.${name}`, 'this variable may not be set from this layer');
  }
  const inherited = INHERITED.flatMap((name): [string, string][] => {
    const value = Object.hasOwn(host, name) ? host[name] : undefined;
    return value === undefined ? [] : [[name, value]];
  });
  return Object.fromEntries([...inherited, ...Object.entries(definition.env), [MARKER_NAME, marker]]);
}
