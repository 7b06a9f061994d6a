import { describe, expect, test } from 'vitest';
import { isHighlightedEnvName, isRefusedEnvName, isSensitive } from '../adapters/shared/sensitive.js';
import { childEnv } from '../adapters/vet/child-env.js';
import { server } from './support/simulated-ports.js';

describe('environment names a workspace may not set', () => {
  /** Every name of the list; one that ends in * stands for all that begin so, and is tried bare, with one more letter and with many. */
  const refused = [
    'LD_* DYLD_* _RLD* LIBPATH SHLIB_PATH GCONV_PATH LOCPATH NLSPATH GLIBC_TUNABLES MALLOC_* HOSTALIASES RES_OPTIONS LOCALDOMAIN RESOLV_*',
    'PATH PATHEXT SHELL SHELLOPTS BASHOPTS BASH_ENV ENV BASH_FUNC_* PROMPT_COMMAND PS1 PS4 IFS CDPATH GLOBIGNORE FPATH ZDOTDIR COMSPEC',
    'HOME USERPROFILE HOMEDRIVE HOMEPATH APPDATA LOCALAPPDATA XDG_* TMPDIR TMP TEMP USER LOGNAME SYSTEMROOT WINDIR',
    'NODE_* NODE_OPTIONS NODE_PATH NODE_EXTRA_CA_CERTS NODE_TLS_REJECT_UNAUTHORIZED NODE_REPL_HISTORY NODE_V8_COVERAGE',
    'NODE_REDIRECT_WARNINGS NODE_ICU_DATA NODE_USE_ENV_PROXY NODE_COMPILE_CACHE',
    'NPM_CONFIG_* YARN_* PNPM_* COREPACK_* BUN_* DENO_* TS_NODE_* ELECTRON_*',
    'PYTHON* PYTHONPATH PYTHONHOME PYTHONSTARTUP PYTHONWARNINGS PYTHONINSPECT PYTHONBREAKPOINT PYTHONEXECUTABLE PYTHONUSERBASE',
    'PYTHONPLATLIBDIR PIP_* UV_* VIRTUAL_ENV CONDA_*',
    'RUBYOPT RUBYLIB GEM_* BUNDLE_* PERL5OPT PERL5LIB PERLLIB PERL5DB PERL5SHELL LUA_* PHPRC PHP_INI_SCAN_DIR R_* JULIA_*',
    'JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS CLASSPATH MAVEN_OPTS GRADLE_OPTS DOTNET_* CORECLR_* COR_* COMPLUS_* MSBUILD*',
    'GOFLAGS GOPROXY GOENV GOTOOLCHAIN CARGO_* RUSTC* RUSTFLAGS ERL_* ELIXIR_* OTEL_EXPORTER_*',
    'HTTP_PROXY HTTPS_PROXY ALL_PROXY FTP_PROXY NO_PROXY SSL_CERT_FILE SSL_CERT_DIR REQUESTS_CA_BUNDLE CURL_CA_BUNDLE CURL_HOME OPENSSL_* SSLKEYLOGFILE',
    'ANTHROPIC_BASE_URL OPENAI_BASE_URL X_BASE_URL MCP_SUP_*',
  ];
  const highlighted = [
    'GIT_* SSH_* EDITOR VISUAL PAGER MANPAGER LESS LESSOPEN LESSCLOSE BROWSER TERMINFO* TERMCAP DOCKER_* KUBECONFIG AWS_CONFIG_FILE',
    'AWS_SHARED_CREDENTIALS_FILE AWS_ENDPOINT_URL* GOOGLE_APPLICATION_CREDENTIALS CLOUDSDK_* GTK_* QT_* GIO_*',
    'ANTHROPIC_API_KEY OPENAI_X SOME_API_BASE SOME_ENDPOINT',
  ];
  const namesOf = (lines: readonly string[]): readonly string[] =>
    lines
      .flatMap((line) => line.split(' '))
      .flatMap((name) => (name.endsWith('*') ? ['', 'X', 'CONFIG_KEY_0%%'].map((tail) => name.slice(0, -1) + tail) : [name]));
  const mixed = (name: string): string =>
    name.replace(/./g, (letter, at: number) => (at % 2 === 0 ? letter.toLowerCase() : letter));
  const spellings = (name: string): readonly string[] => [name, name.toLowerCase(), mixed(name)];

  test.each(namesOf(refused))('%s, in upper, lower and mixed case (S019, S020, S021, S023)', (name) => {
    expect(spellings(name).map(isRefusedEnvName)).toEqual([true, true, true]);
  });

  test.each(namesOf(refused))('%s refuses its server, which is told the name and never the value (S019)', (name) => {
    for (const spelling of spellings(name)) {
      const definition = server('x', { layer: 'workspace', env: { FINE: '1', [spelling]: 'cAnArY' } });
      const start = (): unknown => childEnv(definition, {}, 'mark', 'linux');
      expect(start).toThrow(expect.objectContaining({ code: 'REFUSED_ENV' }) as Error);
      expect(start).toThrow(`env.${spelling} `);
      expect(start).not.toThrow('cAnArY');
    }
  });

  test.each('LANG LC_ALL PORT API_KEY DEBUG PATHS NODE ENVIRONMENT HOMEPAGE GIT_DIR BROWSER OPENAI_API_KEY'.split(' '))(
    '%s is not one',
    (name) => {
      expect(isRefusedEnvName(name)).toBe(false);
    },
  );

  test.each(namesOf(highlighted))('%s is highlighted on the card instead, in any case', (name) => {
    expect(spellings(name).map(isRefusedEnvName)).toEqual([false, false, false]);
    expect(spellings(name).map(isHighlightedEnvName)).toEqual([true, true, true]);
  });
});

describe('what may carry a credential', () => {
  test.each(
    (
      'Authorization Proxy-Authorization Cookie Set-Cookie X-Api-Key x-goog-api-key api_key apikey apiKey key access_token X-Auth-Token Mcp-Session-Id ' +
      'client_secret password PGPASSWORD DB_PASS GITHUB_PERSONAL_ACCESS_TOKEN AWS_SECRET_ACCESS_KEY SENTRY_DSN sig X-Amz-Signature jwt GH_PAT'
    ).split(' '),
  )('by its name: %s (B180)', (name) => {
    expect(isSensitive(name, 'v')).toBe(true);
  });

  test.each([
    'Bearer abc',
    'Basic YTpi',
    'ghp_0123456789abcdef',
    'sk-ant-0123456789',
    'AKIAIOSFODNN7EXAMPLE',
    'xoxb-0123456789',
    'eyJhbGciOi.eyJzdWIi.x',
    '-----BEGIN RSA PRIVATE KEY-----',
    'postgres://u:p@h/db',
    '0123456789abcdef0123456789abcdef',
  ])('by its value: %s (S026)', (value) => {
    expect(isSensitive('PLAIN', value)).toBe(true);
  });

  test.each([
    ['MODE', 'fast'],
    ['KEYBOARD', 'us'],
    ['MONKEY', '1'],
    ['Accept', 'application/json'],
    ['MEMORY_FILE_PATH', '/home/someone/some-long-directory/memory.json'],
    ['LANG', 'en_GB.UTF-8'],
  ])('%s=%s does not', (name, value) => {
    expect(isSensitive(name, value)).toBe(false);
  });

  test('is told of a megabyte in linear time', () => {
    expect(isSensitive('PLAIN', 'sk-a:// '.repeat(125_000))).toBe(false);
  });
});
