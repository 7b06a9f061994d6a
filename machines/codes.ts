/** The step of a server's life in which something happens or fails. */
export type Stage = 'config' | 'trust' | 'approval' | 'slot' | 'transport' | 'auth' | 'initialize' | 'list' | 'call' | 'closing';

interface CodeFacts {
  /** The step of a server's life in which the code arises. */
  readonly stage: Stage;
  /** Whether the same request may succeed later without anybody changing anything. */
  readonly retryable: boolean;
  /** One sentence for the README's table. */
  readonly meaning: string;
}

const fact = (stage: Stage, retryable: boolean, meaning: string): CodeFacts => ({ stage, retryable, meaning });

/** Every code a host can meet, the one list. The README's table is generated from it; a code is never renamed. */
export const CODES = {
  CONFIG_UNREADABLE: fact('config', false, 'A configuration file exists and cannot be read.'),
  CONFIG_SYNTAX: fact('config', false, 'A configuration file is not JSON with comments.'),
  CONFIG_DUPLICATE_KEY: fact('config', false, 'A key stands twice, or an id that reads the same in two layers.'),
  CONFIG_INVALID: fact('config', false, 'A value has the wrong type or breaks a rule of its field.'),
  CONFIG_UNKNOWN_FIELD: fact('config', false, 'A key nothing reads; a warning.'),
  CONFIG_PROJECT_SECRET: fact('config', false, 'A workspace file carries a credential.'),
  CONFIG_LIMIT: fact('config', false, 'More servers than the limit admits.'),
  UNSET_VARIABLE: fact('config', false, 'A variable has no value and no default.'),
  REFUSED_ENV: fact('config', false, 'An environment name a workspace may not set.'),
  REFUSED_COMMAND: fact('config', false, 'The command cannot be resolved to one executable file.'),
  REFUSED_CWD: fact('config', false, 'The working directory is missing or outside the workspace.'),
  REFUSED_URL: fact('config', false, 'The URL may not be used from this layer or over this scheme.'),
  REMOTE_OFF: fact('config', false, 'Remote servers are switched off.'),
  SHADOWED: fact('config', false, 'A higher layer serves this id.'),
  UNTRUSTED: fact('trust', false, 'The workspace is not trusted.'),
  DISABLED: fact('trust', false, 'The server is switched off.'),
  APPROVAL_DENIED: fact('approval', false, 'The question was answered with no.'),
  APPROVAL_NO_CHANNEL: fact('approval', false, 'Nobody can be asked from here.'),
  APPROVAL_TIMEOUT: fact('approval', true, 'The question was not answered in time.'),
  APPROVAL_STALE: fact('approval', true, 'What would run is no longer what was approved.'),
  SPAWN_FAILED: fact('transport', true, 'The process could not be started.'),
  EXITED_EARLY: fact('transport', true, 'The process ended before the handshake.'),
  CONNECT_FAILED: fact('transport', true, 'The endpoint cannot be reached.'),
  CONNECT_TIMEOUT: fact('transport', true, 'The endpoint did not accept a connection in time.'),
  REDIRECT_REFUSED: fact('transport', false, 'A redirect led to another origin.'),
  TLS_FAILED: fact('transport', false, 'The certificate was not accepted.'),
  AUTH_REQUIRED: fact('auth', false, 'A person has to authorise this server.'),
  AUTH_FAILED: fact('auth', false, 'The server refused the credentials.'),
  ERA_NEGOTIATION_FAILED: fact('initialize', true, 'No protocol revision in common.'),
  INITIALIZE_TIMEOUT: fact('initialize', true, 'The handshake did not end in time.'),
  INITIALIZE_FAILED: fact('initialize', true, 'The server refused the handshake.'),
  ENGINE_MISSING: fact('initialize', false, 'The package of the chosen engine is not installed.'),
  SESSION_EXPIRED: fact('transport', true, 'The server has forgotten the session.'),
  PROBE_FAILED: fact('transport', true, 'A server that is kept alive stopped answering.'),
  LIST_FAILED: fact('list', true, 'A page of a list could not be read.'),
  LIST_TRUNCATED_PAGES: fact('list', false, 'A list has more pages than the cap.'),
  LIST_TRUNCATED_ITEMS: fact('list', false, 'A list has more items than the cap.'),
  LIST_CURSOR_LOOP: fact('list', false, 'A list led back to a cursor already followed.'),
  ITEM_NAME: fact('list', false, 'An item has no usable name; it is skipped.'),
  ITEM_SCHEMA: fact('list', false, 'A tool has no usable input schema; it is skipped.'),
  ITEM_DESCRIPTION: fact('list', false, 'A description is too long.'),
  ITEM_DUPLICATE: fact('list', false, 'An item stands twice; the first is kept.'),
  ITEM_OVER_LIMIT: fact('list', false, 'A tool past the limit: searchable, not callable.'),
  UNKNOWN_SERVER: fact('call', false, 'No server has this id.'),
  UNKNOWN_TOOL: fact('call', false, 'No server in the catalogue has a tool of exactly this name.'),
  NOT_READY: fact('call', true, 'The server did not become ready in time.'),
  BLOCKED_BY_POLICY: fact('call', false, 'A policy denies this tool.'),
  BLOCKED_BY_USER: fact('call', false, 'The user said no to this call.'),
  INVALID_ARGUMENTS: fact('call', false, 'The arguments are not what the action takes.'),
  CALL_TIMEOUT: fact('call', true, 'The call did not answer before its deadline.'),
  CALL_CANCELLED: fact('call', false, 'The caller withdrew the call.'),
  LINK_LOST: fact('call', true, 'The connection ended while the call was open; the call may have had its effect.'),
  SERVER_REMOVED: fact('call', false, 'The server left the configuration.'),
  SERVER_ERROR: fact('call', false, 'The server answered with an error.'),
  OVERLOADED: fact('call', true, 'Too many calls wait for this server.'),
  BACKPRESSURE: fact('call', true, 'The server does not read what it is sent.'),
  MESSAGE_TOO_LARGE: fact('call', false, 'A message is over the size limit.'),
  RESULT_INVALID: fact('call', false, 'The answer is not a result.'),
  INPUT_REQUIRED_REFUSED: fact('call', false, 'The server asks for input this host does not give.'),
  RESTART_INTENSITY: fact('transport', true, 'The server died too often in too short a time.'),
  WORKSPACE_CONFLICT: fact('config', false, 'The workspace is already open with other options.'),
  SUPERVISOR_CLOSED: fact('closing', false, 'The supervisor or the workspace is closed.'),
  STORE_UNSAFE: fact('config', false, 'A state file or its directory is open to others.'),
  STORE_FAILED: fact('config', true, 'The state could not be read or written.'),
  SPILL_FAILED: fact('call', true, 'A long output could not be written to its file.'),
} as const satisfies Record<string, CodeFacts>;

export type Code = keyof typeof CODES;
