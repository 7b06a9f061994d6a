import type { ApprovalCard, DigestPort, HttpLaunch, ServerDefinition, StdioLaunch } from '../../actors/ports.js';
import { isHighlightedEnvName, isSensitive } from '../shared/sensitive.js';
import { stdioNotes } from './card-notes.js';
import { MARKER_NAME } from './child-env.js';

export interface CodeFile {
  readonly path: string;
  readonly sha256: string;
}

/** Everything that would run, for a person to read. Sensitive values stand as digests keyed for this process. */
export function stdioCard(
  definition: ServerDefinition,
  launch: StdioLaunch,
  files: readonly CodeFile[],
  fingerprint: string,
  digest: DigestPort,
): ApprovalCard {
  const { id, layer, command = '' } = definition;
  const declared = Object.entries(definition.env).map(([name, value]) => {
    const highlight = isHighlightedEnvName(name);
    return isSensitive(name, value) ? { name, digest: digest.keyed(value), highlight } : { name, value, highlight };
  });
  const marker = { name: MARKER_NAME, value: launch.env[MARKER_NAME] ?? '', highlight: false };
  return {
    server: id,
    layer,
    transport: 'stdio',
    fingerprint,
    command: { written: command, resolved: launch.command },
    args: launch.args,
    cwd: launch.cwd,
    env: [...declared, marker],
    files,
    notes: stdioNotes(definition),
  };
}

export function httpCard(
  definition: ServerDefinition,
  launch: HttpLaunch,
  fingerprint: string,
  digest: DigestPort,
): ApprovalCard {
  const url = new URL(launch.url);
  for (const [key, value] of [...url.searchParams]) {
    if (isSensitive(key, value)) url.searchParams.set(key, digest.keyed(value));
  }
  const notes = definition.isRemote ? ['is another machine: the arguments of every call go there'] : [];
  if (definition.isRemote && url.protocol === 'http:') notes.push('is plain http: what is sent can be read on the way');
  return {
    server: definition.id,
    layer: definition.layer,
    transport: launch.transport,
    fingerprint,
    url: url.href,
    headers: Object.entries(launch.headers).map(([name, value]) => ({ name, digest: digest.keyed(value) })),
    notes,
  };
}
