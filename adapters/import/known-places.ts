import { posix, win32 } from 'node:path';

export interface Machine {
  readonly home: string;
  readonly platform: NodeJS.Platform;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/**
 * Where each program keeps what its user configured, whether the file exists or not. Files of a workspace are not among them:
 * somebody else may have written those, so they are taken only when a person names one.
 */
export function knownPlaces({ home, platform, env }: Machine): readonly string[] {
  const path = platform === 'win32' ? win32 : posix;
  const join = (...parts: readonly string[]): string => path.join(...parts);
  const config = env['XDG_CONFIG_HOME'] ?? join(home, '.config');
  const applications =
    platform === 'darwin'
      ? join(home, 'Library', 'Application Support')
      : platform === 'win32'
        ? (env['APPDATA'] ?? join(home, 'AppData', 'Roaming'))
        : config;
  return [
    join(applications, 'Claude', 'claude_desktop_config.json'),
    join(env['CLAUDE_CONFIG_DIR'] ?? home, '.claude.json'),
    join(applications, 'Code', 'User', 'mcp.json'),
    join(applications, 'Code - Insiders', 'User', 'mcp.json'),
    join(home, '.vscode-server', 'data', 'User', 'mcp.json'),
    join(home, '.cursor', 'mcp.json'),
    join(home, '.codeium', 'windsurf', 'mcp_config.json'),
    join(home, '.gemini', 'settings.json'),
    join(env['CODEX_HOME'] ?? join(home, '.codex'), 'config.toml'),
    join(config, 'opencode', 'opencode.json'),
    join(config, 'opencode', 'opencode.jsonc'),
    platform === 'win32' ? join(applications, 'Zed', 'settings.json') : join(config, 'zed', 'settings.json'),
  ];
}
