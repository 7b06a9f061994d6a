/**
 * What may carry a credential, and which environment names may change what runs. One place for both, so that a card, a
 * refusal and a message never disagree.
 */

/** Found anywhere in a name, `GITHUB_PERSONAL_ACCESS_TOKEN` and `x-apikey` alike. */
const TELLING_PARTS = (
  'token secret passw passphrase credential authorization authentication cookie apikey accesskey privatekey signingkey ' +
  'encryptionkey bearer sessionid connectionstring'
).split(' ');

/** Too short to look for inside other words: `monkey` is no key. */
const TELLING_WORDS = new Set(
  'key keys auth oauth pass pwd pat jwt sig signature cred creds dsn otp sid session assertion'.split(' '),
);

/** Shapes of well-known credentials, whatever they are called. All linear. */
const TELLING_VALUES = [
  /\b(?:bearer|basic)\s+\S/i,
  /\b(?:sk|pk|rk)[-_][A-Za-z0-9_-]{8,}/,
  /\b(?:gh[opsur]_|github_pat_|glpat-|npm_|hf_|xox[abeoprs]-|ya29\.|dop_v1_|shpat_|lin_api_|ntn_|sntrys_)[A-Za-z0-9_.-]{8,}/,
  /\b(?:AKIA|ASIA)[A-Z0-9]{12,}/,
  /\bAIza[A-Za-z0-9_-]{20,}/,
  /\beyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]+/,
  /-----BEGIN [A-Z ]*PRIVATE KEY/,
  /:\/\/[^/?#\s@]*:[^/?#\s@]*@/,
] as const;

/** A single long run of letters and digits: an opaque key more often than a setting. */
function isOpaque(value: string): boolean {
  return value.length >= 32 && /^[A-Za-z0-9_+=-]+$/.test(value) && /\d/.test(value) && /[A-Za-z]/.test(value);
}

/**
 * Whether an environment name, a header name or a query key, or the value it has, may carry a credential. Errs on the side of yes.
 */
export function isSensitive(name: string, value = ''): boolean {
  const words = name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/);
  const squashed = words.join('');
  if (TELLING_PARTS.some((part) => squashed.includes(part)) || words.some((word) => TELLING_WORDS.has(word))) return true;
  return TELLING_VALUES.some((shape) => shape.test(value)) || isOpaque(value);
}

interface Names {
  readonly exact: ReadonlySet<string>;
  readonly prefixes: readonly string[];
}

/** `FOO` is the name itself, `FOO*` every name that begins so. */
function names(...lines: readonly string[]): Names {
  const all = lines.flatMap((line) => line.split(' '));
  return {
    exact: new Set(all.filter((name) => !name.endsWith('*'))),
    prefixes: all.filter((name) => name.endsWith('*')).map((name) => name.slice(0, -1)),
  };
}

const has = ({ exact, prefixes }: Names, name: string): boolean =>
  exact.has(name) || prefixes.some((prefix) => name.startsWith(prefix));

const LOADER =
  'LD_* DYLD_* _RLD* LIBPATH SHLIB_PATH GCONV_PATH LOCPATH NLSPATH GLIBC_TUNABLES MALLOC_* HOSTALIASES RES_OPTIONS LOCALDOMAIN RESOLV_*';
const SHELL =
  'PATH PATHEXT SHELL SHELLOPTS BASHOPTS BASH_ENV ENV BASH_FUNC_* PROMPT_COMMAND PS1 PS4 IFS CDPATH GLOBIGNORE FPATH ZDOTDIR COMSPEC';
const IDENTITY = 'HOME USERPROFILE HOMEDRIVE HOMEPATH APPDATA LOCALAPPDATA XDG_* TMPDIR TMP TEMP USER LOGNAME SYSTEMROOT WINDIR';
const NODE = 'NODE_* NPM_CONFIG_* YARN_* PNPM_* COREPACK_* BUN_* DENO_* TS_NODE_* ELECTRON_*';
const PYTHON = 'PYTHON* PIP_* UV_* VIRTUAL_ENV CONDA_*';
const RUNTIMES = [
  'RUBYOPT RUBYLIB GEM_* BUNDLE_* PERL5OPT PERL5LIB PERLLIB PERL5DB PERL5SHELL LUA_* PHPRC PHP_INI_SCAN_DIR R_* JULIA_*',
  'JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS CLASSPATH MAVEN_OPTS GRADLE_OPTS DOTNET_* CORECLR_* COR_* COMPLUS_* MSBUILD*',
  'GOFLAGS GOPROXY GOENV GOTOOLCHAIN CARGO_* RUSTC* RUSTFLAGS ERL_* ELIXIR_* OTEL_EXPORTER_*',
];
const NETWORK =
  'HTTP_PROXY HTTPS_PROXY ALL_PROXY FTP_PROXY NO_PROXY SSL_CERT_FILE SSL_CERT_DIR REQUESTS_CA_BUNDLE CURL_CA_BUNDLE CURL_HOME OPENSSL_* SSLKEYLOGFILE';
const TOOLS = [
  'GIT_* SSH_* EDITOR VISUAL PAGER MANPAGER LESS LESSOPEN LESSCLOSE BROWSER TERMINFO* TERMCAP DOCKER_* KUBECONFIG AWS_CONFIG_FILE',
  'AWS_SHARED_CREDENTIALS_FILE AWS_ENDPOINT_URL* GOOGLE_APPLICATION_CREDENTIALS CLOUDSDK_* GTK_* QT_* GIO_*',
];
const VENDORS =
  'ANTHROPIC_* OPENAI_* AZURE_OPENAI_* GEMINI_* GOOGLE_AI_* MISTRAL_* COHERE_* GROQ_* OPENROUTER_* DEEPSEEK_* XAI_* OLLAMA_*';

const REFUSED = names(LOADER, SHELL, IDENTITY, NODE, PYTHON, ...RUNTIMES, NETWORK);
const HIGHLIGHTED = names(...TOOLS, VENDORS);

/** Names that belong to the supervisor; nobody's configuration may set one. */
export const isOwnEnvName = (name: string): boolean => name.toUpperCase().startsWith('MCP_SUP_');

/** Names, in any case, that change which code runs or whom it talks to: refused where a workspace sets them. */
export function isRefusedEnvName(name: string): boolean {
  const upper = name.toUpperCase();
  return isOwnEnvName(upper) || upper.endsWith('_BASE_URL') || has(REFUSED, upper);
}

/** Names a person should look at twice on an approval card: tools and model vendors take orders from them. */
export function isHighlightedEnvName(name: string): boolean {
  const upper = name.toUpperCase();
  return has(HIGHLIGHTED, upper) || upper.endsWith('_API_BASE') || upper.endsWith('_ENDPOINT') || isRefusedEnvName(upper);
}
