import type { ApprovalCard, DigestPort, HttpLaunch, ServerDefinition, StdioLaunch } from '../../actors/ports.js';
import { isHighlightedEnvName, isSensitive } from '../shared/sensitive.js';
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
  notes: readonly string[],
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
    notes,
  };
}

export function httpCard(
  definition: ServerDefinition,
  launch: HttpLaunch,
  fingerprint: string,
  digest: DigestPort,
): ApprovalCard {
  const url = new URL(launch.url);
  const notes = definition.isRemote ? ['is another machine: the arguments of every call go there'] : [];
  if (definition.isRemote && url.protocol === 'http:') notes.push('is plain http: what is sent can be read on the way');
  return {
    server: definition.id,
    layer: definition.layer,
    transport: launch.transport,
    fingerprint,
    url: shownUrl(url, digest),
    headers: Object.entries(launch.headers).map(([name, value]) => ({ name, digest: digest.keyed(value) })),
    notes,
  };
}

/** The URL as it is sent, each part of the query in its place and as written; only a sensitive value becomes a digest. */
function shownUrl({ href, hash }: URL, digest: DigestPort): string {
  const sent = href.slice(0, href.length - hash.length);
  const at = sent.indexOf('?') + 1;
  if (at === 0) return href;
  const pairs = sent.slice(at).split('&');
  return `${sent.slice(0, at)}${pairs.map((written) => shownPair(written, digest)).join('&')}${hash}`;
}

function shownPair(written: string, digest: DigestPort): string {
  const equals = written.indexOf('=');
  if (equals === -1) return isSensitive('', decoded(written)) ? digest.keyed(decoded(written)) : written;
  const [key, value] = [written.slice(0, equals), written.slice(equals + 1)];
  return isSensitive(decoded(key), decoded(value)) ? `${key}=${digest.keyed(decoded(value))}` : written;
}

/** As the parser decodes one part of a query; it never fails. */
const decoded = (part: string): string => new URLSearchParams(`v=${part}`).get('v') ?? part;
