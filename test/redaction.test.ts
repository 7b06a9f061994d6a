import { describe, expect, test } from 'vitest';
import { createRedaction } from '../adapters/shared/redaction.js';
import { withoutSecretShapes } from '../adapters/shared/secret-shapes.js';
import { secretValues } from '../adapters/shared/secret-values.js';

const BODY = 'a1B2c3D4e5F6g7H8i9J0k1L2';
const PEM = `-----BEGIN RSA PRIVATE KEY-----\nMIIE${BODY}\n${BODY}\n-----END RSA PRIVATE KEY-----`;

/** A text with a secret of a well-known shape, and what must not be left of it. */
const SHAPES: readonly (readonly [string, string, string])[] = [
  ['Bearer credentials', `Authorization: Bearer ${BODY}`, BODY],
  ['Basic credentials', 'sent Basic dXNlcjpodW50ZXIyMg==', 'dXNlcjpodW50ZXIyMg'],
  ['Digest credentials', `digest ${BODY}`, BODY],
  ['a JWT', `got eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.${BODY}`, BODY],
  ['a GitHub token', `ghp_${BODY}`, BODY],
  ['a GitHub app token', `ghs_${BODY}`, BODY],
  ['a fine-grained GitHub token', `github_pat_${BODY}`, BODY],
  ['a GitLab token', `glpat-${BODY}`, BODY],
  ['an npm token', `npm_${BODY}`, BODY],
  ['a PyPI token', `pypi-${BODY}`, BODY],
  ['a Hugging Face token', `hf_${BODY}`, BODY],
  ['an OpenAI key', `sk-proj-${BODY}`, BODY],
  ['an Anthropic key', `sk-ant-api03-${BODY}`, BODY],
  ['a Stripe key', `sk_live_${BODY}`, BODY],
  ['a web hook secret', `whsec_${BODY}`, BODY],
  ['a Slack token', `xoxb-${BODY}`, BODY],
  ['a Slack hook', `https://hooks.slack.com/services/T00000000/B00000000/${BODY}`, BODY],
  ['an AWS key id', 'key AKIAIOSFODNN7EXAMPLE used', 'IOSFODNN7EXAMPLE'],
  ['an AWS secret', `aws_secret_access_key=${BODY}/x+y`, BODY],
  ['a Google key', `AIza${BODY}`, BODY],
  ['a Google access token', `ya29.${BODY}`, BODY],
  ['a Google client secret', `GOCSPX-${BODY}`, BODY],
  ['a SendGrid key', `SG.${BODY}`, BODY],
  ['a DigitalOcean token', `dop_v1_${BODY}`, BODY],
  ['a Shopify token', `shpat_${BODY}`, BODY],
  ['a Vault token', `hvs.${BODY}`, BODY],
  ['a Telegram token', '123456789:AAH1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q', 'AAH1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q'],
  ['a private key', `key:\n${PEM}\nend`, 'MIIE'],
  ['a private key that is cut off', `-----BEGIN PRIVATE KEY-----\n${BODY}`, BODY],
  ['a private key in JSON', JSON.stringify({ key: PEM }), 'MIIE'],
  ['a cookie', `Cookie: sid=${BODY}; theme=dark`, BODY],
  ['a cookie that is set', `set-cookie: sid=${BODY}; HttpOnly`, BODY],
  ['an authorization code', `GET /callback?code=${BODY}&state=s1`, BODY],
  ['a state of OAuth', `/callback?state=${BODY}`, BODY],
  ['an access token in a query', `#access_token=${BODY}`, BODY],
  ['a refresh token in JSON', `{"refresh_token":"${BODY}"}`, BODY],
  ['a token in JSON in JSON', JSON.stringify(`{"token":"${BODY}"}`), BODY],
  ['a client secret in a form', `client_id=me&client_secret=${BODY}`, BODY],
  ['a password in a connection string', `Server=db;Password=${BODY};`, BODY],
  ['an account key', `AccountKey=${BODY}==`, BODY],
  ['the user of a URL', 'postgres://app:hunter2@db.example/x', 'hunter2'],
  ['a query of a URL', 'at https://h.example/p?anything=hunter2', 'hunter2'],
  ['a header of a key', `x-api-key: ${BODY}`, BODY],
  ['a line of an environment', `MY_SERVICE_TOKEN=${BODY}`, BODY],
];

describe('by shape', () => {
  test('there are forty of them or more', () => {
    expect(SHAPES.length).toBeGreaterThanOrEqual(40);
  });

  test.each(SHAPES)('%s is taken out (S152)', (_what, text, secret) => {
    expect(text).toContain(secret);
    const clean = withoutSecretShapes(text);
    expect(clean).not.toContain(secret);
    expect(clean).toContain('[redacted]');
  });

  test('of a URL user and query values go, scheme, host, path and names stay (B179)', () => {
    expect(withoutSecretShapes('see https://u:p@h.example:8443/a/b?api_key=k1&x=2#f=3 for it')).toBe(
      'see https://[redacted]@h.example:8443/a/b?api_key=[redacted]&x=[redacted]#f=[redacted] for it',
    );
  });

  test.each([
    'The server answers tools/call with HTTP 401.',
    'https://h.example wants to be authorised (HTTP 401).',
    'user.json:3:5: mcpServers.h.headers.Authorization: this header looks like a credential; a workspace file may not carry one',
    'user.json:3:5: mcpServers.h.env.API_TOKEN: the variable TOKEN is not set',
    'mcpServers.h.headers.Cookie: holds a control character once expanded',
    'Unexpected token: expected a string',
    'basic authentication is needed, bearer authentication too',
    `--approve ${'0123456789abcdef'.repeat(4)}`,
    '"mcp__files__read_file" was not approved',
    'no tool has the name "mcp__vault__get_secret"',
    'Check "headers.Authorization".',
  ])('a sentence without a secret stays as it is: %s', (sentence) => {
    expect(withoutSecretShapes(sentence)).toBe(sentence);
  });
});

describe('the values of a definition that no message may hold', () => {
  test.each([
    ['what a telling name marks', { env: { API_TOKEN: 'correcthorse' } }, ['correcthorse']],
    [
      'what a plain name has, unless it is plain too',
      { env: { MODE: 'production', PORT: '8080', DIR: '/srv/app1', X: 'SENTINEL-6' } },
      ['SENTINEL-6'],
    ],
    [
      'the credentials of a header without their scheme',
      { headers: { Authorization: 'Bearer abcdef12' } },
      ['Bearer abcdef12', 'abcdef12'],
    ],
    [
      'the password of Basic',
      { headers: { Authorization: 'Basic dXNlcjpodW50ZXIyMg==' } },
      ['Basic dXNlcjpodW50ZXIyMg==', 'dXNlcjpodW50ZXIyMg==', 'hunter22'],
    ],
    [
      'user, password and query values of a URL, as written and as meant',
      { url: 'https://h.example/mcp?k=a%2Bb-c1d' },
      ['a%2Bb-c1d', 'a+b-c1d'],
    ],
    ['a key in the path of a URL', { url: 'https://h.example/s/k3yk3yk3yk3yk3y1/mcp' }, ['k3yk3yk3yk3yk3y1']],
    ['what follows an option that tells', { args: ['serve', '--key', 'SENTINEL-3', '--port', '80801'] }, ['SENTINEL-3']],
    ['what is given to one', { args: ['--api-key=SENTINEL-3'] }, ['SENTINEL-3']],
    [
      'a URL in a value',
      { env: { DB: 'postgres://app:s3cret-pass@db.example/x' } },
      ['s3cret-pass', 'postgres://app:s3cret-pass@db.example/x'],
    ],
    [
      'a variable and a client secret',
      { secrets: { HOST_KEY: 'value-1', 'oauth.clientSecret': 'value-2' } },
      ['value-1', 'value-2'],
    ],
  ])('are %s', (_what, source, values) => {
    const found = secretValues(source);
    for (const value of values) expect(found).toContain(value);
    for (const value of found) expect(values.some((known) => known.includes(value) || value.includes(known))).toBe(true);
  });

  test('are none of what every process inherits, of words in many a sentence, and of less than six characters', () => {
    const env = { HOME: '/home/me-12345', API_TOKEN: 'changeme', PIN_SECRET: '12345', LANG: 'en_GB.UTF-8' };
    expect([...secretValues({ env })]).toEqual([]);
  });
});

describe('a text that is redacted', () => {
  const secret = 'multi-1234567\nline-7654321';

  test('loses each line of a value of several lines, and the beginning of one that was cut at its end (B180)', () => {
    const redaction = createRedaction();
    redaction.hold([{ env: { A_SECRET: secret } }]);
    expect(redaction.text('it is line-7654321!\nand multi-1234')).toBe('it is [redacted]!\nand [redacted]');
  });

  test('is one line that neither moves a cursor nor hides anything (S153)', () => {
    const forged = 'name\n{"level":50,"msg":"forged"}\r\u001b[2J\u202egnp.exe';
    expect(createRedaction().line(forged)).toBe('name\\n{"level":50,"msg":"forged"}\\r\\u001b[2J\\u202egnp.exe');
    expect(createRedaction().text('one\r\ntwo\u001b[31m')).toBe('one\ntwo\\u001b[31m');
  });
});
