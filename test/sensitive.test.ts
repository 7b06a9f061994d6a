import { describe, expect, test } from 'vitest';
import { isHighlightedEnvName, isRefusedEnvName, isSensitive } from '../adapters/shared/sensitive.js';

describe('environment names a workspace may not set', () => {
  /** At least one of every entry, wildcard ones with a tail. */
  const refused =
    'LD_ANYTHING DYLD_ANYTHING _RLD_LIST LIBPATH SHLIB_PATH GCONV_PATH LOCPATH NLSPATH GLIBC_TUNABLES MALLOC_X HOSTALIASES RES_OPTIONS LOCALDOMAIN RESOLV_X ' +
    'PATH PATHEXT SHELL SHELLOPTS BASHOPTS BASH_ENV ENV BASH_FUNC_x%% PROMPT_COMMAND PS1 PS4 IFS CDPATH GLOBIGNORE FPATH ZDOTDIR COMSPEC ' +
    'HOME USERPROFILE HOMEDRIVE HOMEPATH APPDATA LOCALAPPDATA XDG_CONFIG_HOME TMPDIR TMP TEMP USER LOGNAME SYSTEMROOT WINDIR ' +
    'NODE_OPTIONS NODE_PATH NODE_TLS_REJECT_UNAUTHORIZED npm_config_registry YARN_X PNPM_X COREPACK_X BUN_X DENO_X TS_NODE_X ELECTRON_RUN_AS_NODE ' +
    'PYTHONWARNINGS PYTHONPATH PIP_X UV_X VIRTUAL_ENV CONDA_X RUBYOPT RUBYLIB GEM_X BUNDLE_X PERL5OPT PERL5LIB PERLLIB PERL5DB PERL5SHELL LUA_X PHPRC ' +
    'PHP_INI_SCAN_DIR R_X JULIA_X JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS CLASSPATH MAVEN_OPTS GRADLE_OPTS DOTNET_X CORECLR_X COR_X COMPLUS_X ' +
    'MSBUILDX GOFLAGS GOPROXY GOENV GOTOOLCHAIN CARGO_X RUSTC_WRAPPER RUSTFLAGS ERL_X ELIXIR_X OTEL_EXPORTER_X HTTP_PROXY https_proxy ALL_PROXY FTP_PROXY ' +
    'NO_PROXY SSL_CERT_FILE SSL_CERT_DIR REQUESTS_CA_BUNDLE CURL_CA_BUNDLE CURL_HOME OPENSSL_CONF SSLKEYLOGFILE ANTHROPIC_BASE_URL MCP_SUP_ID Node_Options Ld_Preload';

  test.each(refused.split(' '))('%s (S019, S020, S021, S023)', (name) => {
    expect(isRefusedEnvName(name)).toBe(true);
  });

  test.each('LANG LC_ALL PORT API_KEY DEBUG PATHS NODE ENVIRONMENT HOMEPAGE GIT_DIR BROWSER OPENAI_API_KEY'.split(' '))(
    '%s is not one',
    (name) => {
      expect(isRefusedEnvName(name)).toBe(false);
    },
  );

  test.each(
    'GIT_CONFIG_KEY_0 BROWSER editor SSH_X TERMINFO_DIRS AWS_ENDPOINT_URL_S3 OPENAI_X SOME_ENDPOINT SOME_API_BASE'.split(' '),
  )('%s is highlighted on the card instead', (name) => {
    expect([isRefusedEnvName(name), isHighlightedEnvName(name)]).toEqual([false, true]);
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
