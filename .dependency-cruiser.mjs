/** Import direction, as a test: `npm run check` runs it, `test/import-rules.test.ts` plants bad imports and sees each refused. */

/** One vendor or one OS facility a file: what it is, and the only files that may import it. */
const vendors = [
  ['jsonc-parser', 'npm', '^adapters/config/'],
  ['canonicalize', 'npm', '^adapters/node-digest\\.ts$'],
  ['re2js', 'npm', '^adapters/linear-regex\\.ts$'],
  ['@modelcontextprotocol/client', 'npm', '^adapters/links/'],
  ['@modelcontextprotocol/sdk', 'npm', '^adapters/links/'],
  ['@modelcontextprotocol/server', 'npm', '^adapters/serve/'],
  ['smol-toml', 'npm', '^adapters/import/'],
  ['undici', 'npm', '^adapters/http/'],
  ['eventsource-parser', 'npm', '^adapters/links/'],
  ['libsql', 'npm', '^adapters/state/'],
  ['xstate', 'npm', '^(machines|actors)/'],
  ['rxjs', 'npm', '^(actors|adapters/cli)/'],
  ['p-queue', 'npm', '^actors/'],
  ['child_process', 'core', '^adapters/node-process\\.ts$'],
  ['crypto', 'core', '^adapters/((node-digest|system-random)\\.ts$|vet/|shared/|state/|serve/)'],
  ['worker_threads', 'core', '^adapters/(links|shared|state)/'],
  ['readline', 'core', '^adapters/(cli/|terminal)'],
  ['(http|https|http2|net|tls|dns|dgram)', 'core', '^adapters/(http|serve|oauth|web)/'],
  ['(vm|cluster|inspector|repl|v8)', 'core', '^$'],
];

/**
 * `serve` opens a door on what `index.ts` put together; `offline` and `audit` read what is kept, and `import` what other programs
 * have, without loading all of that.
 */
const composers = '^adapters/cli/(commands/(serve|import|audit)|import-(plan|sources)|offline)\\.ts$';

const shipped = '^(machines/|actors/|adapters/|index\\.ts$)';
const escaped = (name, kind) => (kind === 'npm' ? `^node_modules/${name}/` : `^(node:)?${name}(/|$)`);
const rule = (name, comment, from, to) => ({ name, comment, severity: 'error', from, to });

export default {
  forbidden: [
    rule(
      'machines-are-pure',
      'machines import xstate and each other.',
      { path: '^machines/' },
      { pathNot: '^(machines/|node_modules/xstate/)' },
    ),
    rule(
      'actors-know-no-vendor',
      'actors import machines, xstate, rxjs, p-queue and each other.',
      { path: '^actors/' },
      { pathNot: '^(machines/|actors/|node_modules/(xstate|rxjs|p-queue)/)' },
    ),
    rule(
      'adapters-know-only-the-contracts',
      'adapters import the ports, the errors, the vocabulary and the codes; of our own code nothing else but adapters.',
      { path: '^adapters/(?!cli/)' },
      { path: '^(actors|machines)/', pathNot: '^(actors/((wire-)?ports|errors)|machines/(vocabulary|codes))\\.ts$' },
    ),
    rule(
      'the-command-knows-the-library',
      'the command is written against index.ts, the types a host sees and the contracts of every adapter.',
      { path: '^adapters/cli/', pathNot: composers },
      { path: '^(actors|machines)/', pathNot: '^(actors/(api|ports|errors)|machines/(vocabulary|codes))\\.ts$' },
    ),
    rule(
      'adapters-keep-to-their-folder',
      'an adapter in a folder imports that folder and adapters/shared; a few files of the command put others together.',
      { path: '^adapters/([^/]+)/', pathNot: composers },
      { path: '^adapters/', pathNot: ['^adapters/$1/', '^adapters/shared/'] },
    ),
    rule(
      'adapters-do-not-know-each-other',
      'an adapter of one file imports adapters/shared and, where it is the door of a folder, that folder.',
      { path: '^adapters/([^/]+)\\.ts$' },
      { path: '^adapters/', pathNot: ['^adapters/$1/', '^adapters/shared/'] },
    ),
    rule(
      'one-composition-root',
      'only the command imports index.ts.',
      { path: '^(machines|actors|adapters/(?!cli/))' },
      { path: '^index\\.ts$' },
    ),
    rule(
      'shipped-code-imports-no-tests',
      'what is published stands without tests, properties, bench and examples.',
      { path: shipped },
      { path: '^(test|properties|bench|examples)/' },
    ),
    rule(
      'shipped-code-imports-dependencies',
      'nothing published needs a dev dependency.',
      { path: shipped },
      { dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'], dependencyTypesNot: ['npm-peer'] },
    ),
    rule('no-unresolvable', 'every import leads somewhere.', {}, { couldNotResolve: true }),
    rule('no-cycles', 'no file needs itself.', {}, { circular: true }),
    ...vendors.map(([name, kind, owner]) =>
      rule(
        `one-home-for-${name.replace(/[^a-z0-9]+/g, '-').replace(/^-|-$/g, '')}`,
        `${name} is imported only from ${owner}.`,
        { path: shipped, pathNot: owner },
        { path: escaped(name, kind) },
      ),
    ),
  ],
  options: {
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^(dist|coverage)/' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'types', 'node', 'default'] },
  },
};
