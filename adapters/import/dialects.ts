import { type EntryDraft, isList, isObject, type JsonObject, keyUnder } from './entry-draft.js';
import {
  commandLine,
  denied,
  directory,
  ignored,
  lost,
  oauth,
  record,
  scopes,
  switchedOff,
  type Take,
  type Takes,
  takeAll,
  text,
  texts,
  time,
  type,
} from './takes.js';
import { SYNTAX, type VariableSyntax } from './variables.js';

/** How one program writes its servers. */
export interface Dialect {
  /** As people know it. */
  readonly program: string;
  readonly variables: VariableSyntax;
  /** A key that is not here is told as lost. */
  readonly takes: Takes;
  /** After all keys: what they mean together. */
  readonly finish?: (draft: EntryDraft, raw: JsonObject) => void;
}

export type Format =
  | 'claude-desktop'
  | 'claude-code'
  | 'vscode'
  | 'cursor'
  | 'windsurf'
  | 'gemini'
  | 'codex'
  | 'opencode'
  | 'zed';

const APPROVALS = lost('which calls are allowed unasked is decided here anew: "approveTools" or "toolPolicies"');
/** An empty one too: it shuts everything. */
const ONLY_THESE: Take = (draft, _value, key) =>
  draft.lose(key, 'a list of the only tools allowed has no counterpart; each call of another tool is asked about');
const SANDBOX = lost('there is no sandbox here: the server runs with your rights');
const ENV_FILE = lost('no file of variables is read; put what the server needs into "env"');

const stdio: Takes = { command: text('command'), args: texts, env: record('env'), cwd: directory };
const remote: Takes = { url: text('url'), headers: record('headers') };
const common: Takes = {
  ...stdio,
  ...remote,
  type,
  description: text('description'),
  disabled: switchedOff(true),
  enabled: switchedOff(false),
  disabledTools: denied,
  autoApprove: APPROVALS,
  alwaysAllow: APPROVALS,
  envFile: ENV_FILE,
  timeout: lost('its unit differs from program to program; "timeout" here is in ms'),
};

/** Where a program tries both HTTP transports, the address tells which one was meant. */
function guessSse({ entry }: EntryDraft): void {
  const { url, type: given } = entry;
  if (typeof url === 'string' && given === undefined && /^[^?#]*\/sse\/?(?:[?#]|$)/.test(url)) entry['type'] = 'sse';
}

const claude: Takes = {
  ...common,
  oauth: oauth({
    clientId: 'clientId',
    callbackPort: 'callbackPort',
    authServerMetadataUrl: 'authServerMetadataUrl',
    scopes: 'scopes',
  }),
  headersHelper: lost('headers are not made by a program here'),
  alwaysLoad: lost('tools are found by search here, not loaded'),
};

/** `url` speaks HTTP with SSE there, and `httpUrl` the streamable kind. */
function finishGemini({ entry }: EntryDraft, { url, httpUrl }: JsonObject): void {
  if (httpUrl !== undefined) entry['type'] = 'http';
  else if (url !== undefined) entry['type'] ??= 'sse';
}

const bearer: Take = (draft, value, key) => fromEnvironment(draft, 'headers', 'Authorization', value, key, 'Bearer ');

/** Names of headers with the variables they come from. */
const headersOfEnv: Take = (draft, value, key) => {
  for (const [name, variable] of Object.entries(isObject(value) ? value : {}))
    fromEnvironment(draft, 'headers', name, variable, keyUnder(key, name));
  if (!isObject(value)) draft.refuse(key, 'is no object');
};

/** Variables that are handed on: names, or `{ name, source }`. */
const handedOn: Take = (draft, value, key) => {
  if (!isList(value)) draft.refuse(key, 'is no list of names');
  for (const [at, item] of (isList(value) ? value : []).entries()) {
    const { name, source } = isObject(item) ? item : { name: item, source: undefined };
    const place = `${key}[${at}]`;
    if (source === 'remote') draft.lose(place, 'is a variable of another computer');
    else if (typeof name === 'string') fromEnvironment(draft, 'env', name, name, place);
    else draft.refuse(place, 'is no name of a variable');
  }
};

function fromEnvironment(
  draft: EntryDraft,
  to: 'env' | 'headers',
  name: string,
  variable: unknown,
  key: string,
  before = '',
): void {
  if (typeof variable === 'string' && /^[A-Za-z_][A-Za-z0-9_]*$/.test(variable)) draft.put(to, name, `${before}\${${variable}}`);
  else draft.refuse(key, 'is no name of a variable');
}

const codex: Takes = {
  ...stdio,
  url: text('url'),
  env_vars: handedOn,
  bearer_token_env_var: bearer,
  http_headers: record('headers'),
  env_http_headers: headersOfEnv,
  oauth: oauth({ client_id: 'clientId' }),
  scopes,
  enabled: switchedOff(false),
  required: lost('no server is required here; each says why it is not ready'),
  startup_timeout_sec: time('initTimeout', 1_000),
  startup_timeout_ms: time('initTimeout', 1),
  tool_timeout_sec: time('timeout', 1_000),
  enabled_tools: ONLY_THESE,
  disabled_tools: denied,
  default_tools_approval_mode: APPROVALS,
  tools: APPROVALS,
  supports_parallel_tool_calls: lost('calls run side by side here'),
  name: ignored,
};

const gemini: Takes = {
  ...common,
  httpUrl: text('url'),
  timeout: time('timeout', 1),
  trust: APPROVALS,
  includeTools: ONLY_THESE,
  excludeTools: denied,
  oauth: oauth({ clientId: 'clientId', clientSecret: 'clientSecret', scopes: 'scopes' }),
};

const opencode: Takes = {
  type: (draft, value, key) => {
    if (value !== 'local' && value !== 'remote') draft.refuse(key, 'is neither "local" nor "remote"');
  },
  command: commandLine,
  environment: record('env'),
  cwd: directory,
  ...remote,
  enabled: switchedOff(false),
  timeout: time('initTimeout', 1),
  oauth: oauth({ clientId: 'clientId', clientSecret: 'clientSecret', scope: 'scopes' }),
};

const zed: Takes = {
  ...stdio,
  ...remote,
  command: (draft, value, key) => {
    // Older settings have the command with its arguments in an object.
    if (!isObject(value)) text('command')(draft, value, key);
    else takeAll(draft, ZED_COMMAND, value, key);
  },
  source: ignored,
  enabled: switchedOff(false),
  remote: lost('every server runs on this computer'),
  settings: (draft, _value, key) => draft.refuse(key, 'it comes with an extension of Zed'),
  timeout: lost('its unit differs between versions of Zed; "timeout" here is in ms'),
};
const ZED_COMMAND: Takes = { path: text('command'), args: texts, env: record('env') };

export const DIALECTS: Readonly<Record<Format, Dialect>> = {
  'claude-desktop': { program: 'Claude Desktop', variables: SYNTAX.NONE, takes: claude },
  'claude-code': { program: 'Claude Code', variables: SYNTAX.SHELL_BRACES, takes: claude },
  vscode: {
    program: 'VS Code',
    variables: SYNTAX.EDITOR,
    takes: {
      ...common,
      oauth: oauth({ clientId: 'clientId' }),
      dev: lost('it is for who writes the server'),
      sandboxEnabled: SANDBOX,
      sandbox: SANDBOX,
    },
    finish: guessSse,
  },
  cursor: {
    program: 'Cursor',
    variables: SYNTAX.EDITOR,
    takes: { ...common, auth: oauth({ CLIENT_ID: 'clientId', CLIENT_SECRET: 'clientSecret', scopes: 'scopes' }) },
    finish: guessSse,
  },
  windsurf: {
    program: 'Windsurf',
    variables: SYNTAX.EDITOR,
    takes: { ...common, serverUrl: text('url') },
    finish: guessSse,
  },
  gemini: { program: 'Gemini CLI', variables: SYNTAX.SHELL, takes: gemini, finish: finishGemini },
  codex: { program: 'Codex', variables: SYNTAX.NONE, takes: codex },
  opencode: { program: 'OpenCode', variables: SYNTAX.BRACES, takes: opencode, finish: guessSse },
  zed: { program: 'Zed', variables: SYNTAX.NONE, takes: zed, finish: guessSse },
};
