import { isAbsolute } from 'node:path';
import type { DigestPort, Json, ServerDefinition } from '../../actors/ports.js';
import { type Failure, failure, type TransportKind } from '../../machines/vocabulary.js';
import { isLoopbackHost } from '../shared/loopback.js';
import { isSensitive } from '../shared/sensitive.js';
import type { Field } from './document.js';
import { type EntryContext, type EntryParts, hasParentSegment, isHeaderValue, type NamedText, readParts } from './entry-parts.js';
import { userEnvRefusal, workspaceRefusal } from './entry-refusals.js';
import { expand, type Variables } from './expand.js';
import { objectOf, type TextAt } from './fields.js';
import { isServerId, LIMITS } from './settings.js';
import { isPlaintextRefused, isUrlFault, readUrl, userinfoFault } from './url-rules.js';

/**
 * Reads one entry of `mcpServers`. Faults of the file go to `context.faults`; what keeps only this server from starting
 * becomes its `refusal`. `null` when there is nothing to name.
 */
export function readServer(field: Field, context: EntryContext, digest: DigestPort): ServerDefinition | null {
  const { faults, layer } = context;
  const id = field.name;
  if (!isServerId(id)) {
    faults.error('CONFIG_INVALID', field.nameAt, field.key, 'a server id is 1 to 32 of A-Z a-z 0-9 _ - without "__"');
    return null;
  }
  const fields = objectOf(field, faults);
  if (fields === undefined) return null;
  const parts = readParts(fields, id, context);
  const transport = transportOf(parts, field, context);
  if (transport === null) return null;

  const expanded = expandParts(parts, context);
  const refusals = [
    layer.isOwn ? userEnvRefusal(parts, context) : workspaceRefusal(parts, context),
    ...expanded.problems,
    checkUrl(parts.url, expanded.url, context),
    checkCommand(parts, expanded, context),
  ];
  return {
    id,
    layer: layer.layer,
    transport,
    configHash: digest.ofJson(whatRuns(transport, expanded, context)),
    ...(expanded.command === null ? {} : { command: expanded.command }),
    args: expanded.args,
    env: expanded.env,
    ...(expanded.cwd === null ? {} : { cwd: expanded.cwd }),
    ...(expanded.url === null ? {} : { url: expanded.url }),
    headers: expanded.headers,
    secrets: { ...expanded.variables, ...clientSecretOf(parts) },
    credentialHeaders: Object.keys(expanded.headers).filter((name) => isSensitive(name, expanded.headers[name])),
    isRemote: transport !== 'stdio' && !isLoopback(expanded.url),
    lifecycle: parts.lifecycle,
    idleTimeoutMs: parts.idleTimeoutMs,
    timeoutMs: parts.timeoutMs,
    initTimeoutMs: parts.initTimeoutMs,
    maxTools: maxToolsOf(parts, context),
    description: parts.description,
    policies: parts.policies,
    approveTools: parts.approveTools,
    refusal: refusals.find((refusal) => refusal !== null) ?? null,
    file: faults.file,
    line: faults.lineOf(field.nameAt),
  };
}

/** Exactly one of `command` and `url`, and a `type` that fits it. */
function transportOf(parts: EntryParts, field: Field, { faults }: EntryContext): TransportKind | null {
  const { command, url, type } = parts;
  if ((command === null) === (url === null)) {
    const problem = command === null ? 'has neither "command" nor "url"' : 'has both "command" and "url"';
    faults.error('CONFIG_INVALID', field.nameAt, field.key, problem);
    return null;
  }
  const transport = type ?? (command === null ? 'http' : 'stdio');
  if ((transport === 'stdio') !== (command !== null)) {
    faults.error('CONFIG_INVALID', field.nameAt, `${field.key}.type`, `does not fit "${command === null ? 'url' : 'command'}"`);
  }
  for (const { nameAt, key } of command === null ? parts.stdioOnly : parts.remoteOnly) {
    faults.warn('CONFIG_UNKNOWN_FIELD', nameAt, key, `means nothing beside "${command === null ? 'url' : 'command'}"`);
  }
  return transport;
}

interface Expanded {
  readonly command: string | null;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string | null;
  readonly url: string | null;
  readonly headers: Readonly<Record<string, string>>;
  /** What the variables held that were put in. */
  readonly variables: Readonly<Record<string, string>>;
  readonly problems: readonly Failure[];
}

function expandParts(parts: EntryParts, { layer, env, settings, userFile, faults }: EntryContext): Expanded {
  const values = new Map<string, string>();
  const variables: Variables = {
    env,
    allowed: layer.isOwn ? null : settings.workspaceVariables,
    userFile,
    // One name may have several defaults.
    onValue: (name, value) => void values.set((values.get(name) ?? value) === value ? name : `${name}_${values.size}`, value),
  };
  const problems: Failure[] = [];
  const text = (source: TextAt): string => {
    const result = expand(source, variables, faults);
    if (typeof result === 'string') return result;
    problems.push(result);
    return source.text;
  };
  // A workspace's command line and URL stand as they are written; a variable in them is refused elsewhere.
  const userText = (source: TextAt): string => (layer.isOwn ? text(source) : source.text);
  const record = (named: readonly NamedText[]): Record<string, string> =>
    Object.fromEntries(named.map((source) => [source.name, text(source)]));

  const expanded = {
    command: parts.command === null ? null : userText(parts.command),
    args: parts.args.map(userText),
    env: record(parts.env),
    cwd: parts.cwd?.text ?? null,
    url: parts.url === null ? null : userText(parts.url),
    headers: record(parts.headers),
  };
  const broken = parts.headers.find(({ name }) => !isHeaderValue(expanded.headers[name] ?? ''));
  if (broken !== undefined)
    problems.push(failure('CONFIG_INVALID', `${faults.place(broken.at, broken.key)}: holds a control character once expanded`));
  return { ...expanded, variables: Object.fromEntries(values), problems };
}

function clientSecretOf({ clientSecretAt }: EntryParts): Readonly<Record<string, string>> {
  return clientSecretAt?.value.kind === 'string' ? { 'oauth.clientSecret': clientSecretAt.value.value } : {};
}

/** A URL that is wrong as written rejects the file; one that a variable made wrong keeps only this server down. */
function checkUrl(written: TextAt | null, expanded: string | null, { faults, settings, userFile }: EntryContext): Failure | null {
  if (written === null || expanded === null) return null;
  const place = faults.place(written.at, written.key);
  const userinfo = userinfoFault(written.text);
  if (userinfo !== null) {
    faults.error('CONFIG_INVALID', written.at, written.key, userinfo.problem);
    return failure('REFUSED_URL', `${place}: ${userinfo.problem}`, 'Write an absolute https URL.');
  }
  const url = readUrl(expanded);
  if (isUrlFault(url)) {
    if (expanded === written.text && !expanded.includes('${') && url.rejects)
      faults.error('CONFIG_INVALID', written.at, written.key, url.problem);
    return failure('REFUSED_URL', `${place}: ${url.problem}`, 'Write an absolute https URL.');
  }
  if (url.protocol === 'https:' || isLoopbackHost(url.hostname)) return null;
  if (isPlaintextRefused(url, settings.plaintextHosts)) {
    const line = '"remote": { "plaintextHosts": ["<host of this URL>"] }';
    return failure('REFUSED_URL', `${place}: plain http to another machine`, `Use https, or add ${line} to ${userFile}.`);
  }
  faults.warn(
    'REFUSED_URL',
    written.at,
    written.key,
    'plain http: everything sent can be read on the way; "plaintextHosts" allows it',
  );
  return null;
}

function checkCommand({ command, cwd }: EntryParts, expanded: Expanded, { faults, layer }: EntryContext): Failure | null {
  if (
    command !== null &&
    expanded.command !== command.text &&
    (expanded.command === '' || hasParentSegment(expanded.command ?? ''))
  ) {
    return failure('REFUSED_COMMAND', `${faults.place(command.at, command.key)}: is empty or has a ".." segment once expanded`);
  }
  if (cwd !== null && layer.isOwn && !isAbsolute(cwd.text)) {
    return failure(
      'REFUSED_CWD',
      `${faults.place(cwd.at, cwd.key)}: is not an absolute path`,
      'Write the absolute path, or leave "cwd" out.',
    );
  }
  return null;
}

function isLoopback(url: string | null): boolean {
  return url !== null && URL.canParse(url) && isLoopbackHost(new URL(url).hostname);
}

/** `null` keeps the general limit. A workspace may only lower it. */
function maxToolsOf({ maxTools }: EntryParts, { layer, settings }: EntryContext): number | null {
  return maxTools === null || layer.isOwn ? maxTools : Math.min(maxTools, settings.limits.tools ?? LIMITS.tools);
}

/** The same words in two workspaces are two servers: a relative script is another file there. */
function whatRuns(
  transport: TransportKind,
  { command, args, env, cwd, url, headers }: Expanded,
  { layer, root }: EntryContext,
): Json {
  return { transport, command, args, env, cwd: cwd ?? (layer.isOwn ? null : root), url, headers };
}
