import { readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { run } from '../adapters/cli/run.js';
import { createFileConfig } from '../adapters/config/file-config.js';
import { createNodeDigest } from '../adapters/node-digest.js';
import { systemClock } from '../adapters/system-clock.js';
import { fakeSupervisor } from '../test/support/fake-supervisor.js';
import { fakeTerminal } from '../test/support/terminal.js';

/** Stands for every secret: it looks like one, and each text below carries it. */
const CANARY = 'sk-cAnArY7cAnArY7';

const fixtures = [
  '.claude.json',
  '.vscode/mcp.json',
  '.cursor/mcp.json',
  'windsurf/mcp_config.json',
  '.gemini/settings.json',
  'codex/config.toml',
  'opencode/opencode.jsonc',
  'zed/settings.json',
].map((name) =>
  readFileSync(new URL(`../test/fixtures/import/${name}`, import.meta.url), 'utf8').replaceAll(/sentinel-\w+/g, CANARY),
);

const text = fc.constantFrom(
  CANARY,
  `https://h.test/${CANARY}/mcp?key=${CANARY}`,
  `https://u:${CANARY}@h.test/`,
  `unix:///${CANARY}`,
  `Bearer ${CANARY}`,
  `--token=${CANARY}`,
  `\${A:-${CANARY}}`,
  `\${env:A}${CANARY}`,
  `$A ${CANARY}`,
  `{env:A}${CANARY}`,
  `\${1}${CANARY}`,
  `${CANARY}\u0000\n`,
  `/${CANARY}/../x`,
);
const value = fc.oneof(
  { weight: 4, arbitrary: text },
  fc.array(fc.oneof(text, fc.constant(3)), { maxLength: 3 }),
  fc.dictionary(fc.constantFrom('A', 'TOKEN', 'X-Key', '', 'A=B', 'clientSecret', 'client_id', 'scopes', 'path', '__x__'), text),
  fc.constantFrom(null, true, false, 1, -1, 0.5, 1e300),
);
const keys = (
  'type command args env cwd url headers oauth auth serverUrl httpUrl timeout environment disabled enabled autoApprove trust envFile ' +
  'env_vars bearer_token_env_var http_headers env_http_headers startup_timeout_sec tool_timeout_sec scopes settings description other'
).split(' ');
const sound = fc.oneof(fc.constant({ command: 'x' }), fc.constant({ url: 'https://h.test/mcp' }), fc.constant({}));
const entry = fc
  .tuple(sound, fc.dictionary(fc.constantFrom(...keys), value, { maxKeys: 4 }))
  .map(([base, more]) => ({ ...base, ...more }));
const name = fc.oneof(
  fc.constantFrom('a', 'A', 'b', 'a b', 'a__b', 'constructor', 'toString', 'mcpServers', 'x'.repeat(50)),
  fc.string(),
);
const servers = fc.dictionary(name, fc.oneof({ weight: 6, arbitrary: entry }, value), { maxKeys: 5 });
const root = fc.dictionary(fc.constantFrom('mcpServers', 'servers', 'mcp', 'context_servers', 'mcp_servers', 'other'), servers, {
  minKeys: 1,
});
/** A whole file that was cut, or had a piece of itself put elsewhere. */
const broken = fc.tuple(fc.constantFrom(...fixtures), fc.nat(2_000), fc.nat(2_000)).map(([file, one, other]) => {
  const [from, to] = [one % file.length, other % file.length];
  return from < to ? file.slice(0, from) + file.slice(to) : file.slice(0, from) + file.slice(to, from) + file.slice(from);
});
/** Names are shown: a secret that a cut has made the name of a key is one. */
const namesASecret = (file: string): boolean => new RegExp(`${CANARY}[^"\\n]*"?\\s*[:=]`).test(file);
const theirs = fc.oneof(
  { weight: 4, arbitrary: root.map((json) => JSON.stringify(json)) },
  { weight: 2, arbitrary: broken.filter((file) => !namesASecret(file)) },
  fc.json(),
  fc.string(),
);
const mine = fc.constantFrom(
  null,
  '{}',
  `{ "remote": { "enabled": false } /* ${CANARY} */ }`,
  `{ "mcpServers": { "a": { "command": "old", "env": { "T": "${CANARY}" } }, /* token ${CANARY} */ } }`,
  `{\r\n\t"a": { "command": "old" }, // ${CANARY}\r\n}`,
  '{"mcpServers":{}}',
);

let home: string;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'import-property-'));
});
afterAll(() => rm(home, { recursive: true, force: true }));

test('whatever another program has, import does not crash, shows no secret, and writes what our reader takes', async () => {
  const [theirFile, userFile] = [join(home, 'theirs'), join(home, 'mcp.json')];
  let wrote = 0;
  await fc.assert(
    fc.asyncProperty(theirs, mine, fc.boolean(), async (source, own, replaces) => {
      await writeFile(theirFile, source);
      if (own === null) await rm(userFile, { force: true });
      else await writeFile(userFile, own);
      const { io, out, err } = fakeTerminal(fakeSupervisor().create, { env: { HOME: home, A: 'set' } });
      const places = own === null ? [] : ['--user-config', userFile];
      const env = { ...io.env, XDG_CONFIG_HOME: home };
      const exit = await run(['import', theirFile, '--yes', ...places, ...(replaces ? ['--replace'] : [])], { ...io, env });
      expect([0, 3]).toContain(exit);
      expect(out() + err()).not.toContain(CANARY);
      expect(out() + err()).not.toContain('bug:');
      const file = own === null ? join(home, 'mcp-supervisor', 'mcp.json') : userFile;
      const after = await readFile(file, 'utf8').catch(() => null);
      if (own === null) await rm(file, { force: true });
      if (exit !== 0 || after === null) expect(after).toBe(own);
      else expect((await readingOf(file, after)).state).toBe('valid');
      if (after !== own) wrote += 1;
    }),
    { numRuns: 150 },
  );
  // Not all of them were refused.
  expect(wrote).toBeGreaterThan(0);
});

async function readingOf(file: string, content: string) {
  await writeFile(`${file}.copy`, content);
  const config = createFileConfig({
    userConfigFile: `${file}.copy`,
    hostDir: '.none',
    env: {},
    clock: systemClock,
    digest: createNodeDigest(),
  });
  const [reading] = await config.read({ root: home });
  if (reading === undefined) throw new Error('no user layer');
  return reading;
}
