import { type Failure, failure } from '../../machines/vocabulary.js';
import { isOwnEnvName, isRefusedEnvName, isSensitive } from '../shared/sensitive.js';
import type { EntryContext, EntryParts, NamedText } from './entry-parts.js';
import { hasVariable } from './expand.js';
import type { TextAt } from './fields.js';
import { isUrlFault, readUrl, sensitiveQueryKey } from './url-rules.js';

/**
 * What a workspace file may not ask of one server: credentials, variables where they would reach a command line or a URL,
 * and environment names that change what runs. The first found is told.
 */
export function workspaceRefusal(parts: EntryParts, context: EntryContext): Failure | null {
  return secretRefusal(parts, context) ?? variableRefusal(parts, context) ?? envRefusal(parts, context);
}

function secretRefusal({ clientSecretAt, headers, url }: EntryParts, { faults, userFile }: EntryContext): Failure | null {
  const refuse = (at: number, key: string, what: string): Failure =>
    failure(
      'CONFIG_PROJECT_SECRET',
      `${faults.place(at, key)}: ${what}; a workspace file may not carry one`,
      `Define this server in ${userFile}.`,
    );

  if (clientSecretAt !== null) return refuse(clientSecretAt.nameAt, clientSecretAt.key, 'this is a client secret');
  const header = headers.find(({ name, text }) => isSensitive(name, text));
  if (header !== undefined) return refuse(header.nameAt, header.key, 'this header looks like a credential');
  const parsed = url === null ? null : readUrl(url.text);
  if (url !== null && parsed !== null && !isUrlFault(parsed) && sensitiveQueryKey(parsed) !== undefined) {
    return refuse(url.at, url.key, 'the query of this URL looks like a credential');
  }
  return null;
}

function variableRefusal({ command, args, url }: EntryParts, { faults, userFile }: EntryContext): Failure | null {
  const refuse = (code: Failure['code'], { at, key }: TextAt): Failure =>
    failure(
      code,
      `${faults.place(at, key)}: a workspace file may use variables in env values and headers only`,
      `Define this server in ${userFile}.`,
    );

  if (url !== null && hasVariable(url.text)) return refuse('REFUSED_URL', url);
  if (command !== null && hasVariable(command.text)) return refuse('REFUSED_COMMAND', command);
  const arg = args.find(({ text }) => hasVariable(text));
  return arg === undefined ? null : refuse('CONFIG_PROJECT_SECRET', arg);
}

const isEnvRefused = ({ name }: NamedText): boolean => isRefusedEnvName(name);

function envRefusal({ env }: EntryParts, { faults, userFile }: EntryContext): Failure | null {
  const refused = env.find(isEnvRefused);
  if (refused === undefined) return null;
  const what = 'this variable changes what runs or whom it talks to; a workspace file may not set it';
  return failure('REFUSED_ENV', `${faults.place(refused.nameAt, refused.key)}: ${what}`, `Define this server in ${userFile}.`);
}

/** The user may set what a workspace may not, and is told what it can do; only our own names are refused to everybody. */
export function userEnvRefusal({ env }: EntryParts, { faults }: EntryContext): Failure | null {
  for (const { name, nameAt, key } of env.filter(isEnvRefused)) {
    if (isOwnEnvName(name)) {
      return failure(
        'REFUSED_ENV',
        `${faults.place(nameAt, key)}: names that begin with MCP_SUP_ belong to the supervisor`,
        'Use another name.',
      );
    }
    faults.warn('REFUSED_ENV', nameAt, key, 'this variable can change what runs; it is set because this is your own file');
  }
  return null;
}
