import { homedir } from 'node:os';
import { join } from 'node:path';

export interface SupervisorPaths {
  /** Absolute path of the user's configuration. Default `$XDG_CONFIG_HOME/mcp-supervisor/mcp.json`. */
  readonly userConfig?: string;
  /** Absolute path of the directory for state. Default `$XDG_STATE_HOME/mcp-supervisor`. */
  readonly stateDir?: string;
  /** Name of the host's directory inside a workspace. Default `.mcp-supervisor`. */
  readonly hostDir?: string;
}

/** Where configuration and state are, unless the host says otherwise; by the XDG base directory rules. */
export function defaultPaths(
  paths: SupervisorPaths,
  env: Readonly<Record<string, string | undefined>>,
): Required<SupervisorPaths> {
  const base = (name: string, fallback: string): string => {
    const value = env[name];
    // The rules say to ignore a relative one.
    return join(value?.startsWith('/') === true ? value : join(homedir(), fallback), 'mcp-supervisor');
  };
  return {
    userConfig: paths.userConfig ?? join(base('XDG_CONFIG_HOME', '.config'), 'mcp.json'),
    stateDir: paths.stateDir ?? base('XDG_STATE_HOME', join('.local', 'state')),
    hostDir: paths.hostDir ?? '.mcp-supervisor',
  };
}
