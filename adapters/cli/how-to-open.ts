import type { ServerStatus } from './library.js';

/**
 * What a person can do about a server that may not start, in words of this command and in those of the gate's own failure;
 * null when nothing stands in its way.
 */
export function howToOpen(server: ServerStatus): string | null {
  if (server.phase === 'approving') {
    const flag = server.fingerprint === null ? '' : ` or give --approve ${server.fingerprint}`;
    return `Read its card; then answer on a terminal (\`mcp-supervisor test ${server.id}\`)${flag}.`;
  }
  switch (server.blockedBy) {
    case null:
      return server.error?.hint ?? null;
    case 'untrusted':
      return 'Look at what it would run; if you trust this workspace, run `mcp-supervisor trust`.';
    case 'disabled':
      return `Run \`mcp-supervisor enable ${server.id}\`.`;
    case 'denied':
      return `It was denied. To be asked again, run \`mcp-supervisor test ${server.id}\` on a terminal.`;
    case 'remoteOff':
      return 'Run `mcp-supervisor remote on`, or set "remote": { "enabled": true } in the user file.';
    case 'refused':
      return server.error?.hint ?? server.error?.message ?? 'Its configuration is refused.';
    case 'shadowed':
      return server.error?.hint ?? 'A higher layer serves this id.';
  }
}

/** The same for the example, whose state is gone when it ends: there the flags of one run open a gate. */
export function howToOpenInExample(server: ServerStatus): string | null {
  if (server.blockedBy === 'untrusted')
    return 'Look at what it would run; if you trust this workspace, run `npm start -- --trust`.';
  if (server.blockedBy === 'disabled') return `Run \`npm start -- --trust --enable ${server.id}\`.`;
  return howToOpen(server);
}
