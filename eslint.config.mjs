import { defineConfig, globalIgnores } from 'eslint/config';
import tseslint from 'typescript-eslint';

const throughPort = 'Not here: it comes through a port (actors/ports.ts).';
/** What the pure and the port-driven layers may not touch: time, chance, output, network and process come through ports. */
const ambient = [
  'Date',
  'Intl',
  'performance',
  'process',
  'console',
  'setTimeout',
  'setInterval',
  'setImmediate',
  'Buffer',
  'crypto',
  'fetch',
  'WebSocket',
  'EventSource',
  'XMLHttpRequest',
  'navigator',
  'Worker',
  'BroadcastChannel',
  'MessageChannel',
  'SharedArrayBuffer',
  'WebAssembly',
  'require',
  // Doors to all of them.
  'global',
  'globalThis',
  'self',
].map((name) => ({ name, message: throughPort }));
/** The globals of what has one home among the adapters; `.dependency-cruiser.mjs` says the same of the modules. */
const network = ['fetch', 'WebSocket', 'EventSource', 'XMLHttpRequest'].map((name) => ({
  name,
  message: 'Not here: the network is at home in adapters/http, adapters/oauth and adapters/web.',
}));
const chance = { name: 'crypto', message: 'Not here: it is at home in adapters/node-digest.ts and adapters/system-random.ts.' };
const builtinByName = { property: 'getBuiltinModule', message: 'Nowhere: the import rules cannot see it.' };
const hiddenFromVirtualTime = [
  { object: 'Math', property: 'random', message: 'Not here: chance comes from a seed or through the random port.' },
  { object: 'AbortSignal', property: 'timeout', message: 'Not here: a virtual clock cannot reach it.' },
];
const unreadableImport = {
  selector: 'ImportExpression:not([source.type="Literal"])',
  message: 'Not here: the import rules cannot see where it leads.',
};
const requireByHand = { name: 'node:module', message: 'Not here: the import rules cannot see what it loads.' };

export default defineConfig(
  globalIgnores(['dist/', 'coverage/', 'test/cases/']),
  { linterOptions: { reportUnusedDisableDirectives: 'error' } },
  {
    files: ['**/*.ts'],
    extends: [tseslint.configs.strictTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      '@typescript-eslint/no-confusing-void-expression': [
        'error',
        { ignoreArrowShorthand: true, ignoreVoidReturningFunctions: true },
      ],
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'inline-type-imports' }],
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
      '@typescript-eslint/ban-ts-comment': ['error', { 'ts-expect-error': 'allow-with-description' }],
      // A key taken out of an object by destructuring is named so that the rest can be kept.
      '@typescript-eslint/no-unused-vars': ['error', { ignoreRestSiblings: true, argsIgnorePattern: '^_' }],
      eqeqeq: 'error',
      'no-eval': 'error',
      'no-restricted-properties': ['error', builtinByName],
    },
  },
  {
    files: ['index.ts', 'machines/**/*.ts', 'actors/**/*.ts', 'adapters/**/*.ts'],
    rules: {
      'no-restricted-syntax': ['error', unreadableImport],
      'no-restricted-imports': ['error', requireByHand, { ...requireByHand, name: 'module' }],
    },
  },
  {
    files: ['machines/**/*.ts', 'actors/**/*.ts'],
    rules: {
      'no-restricted-globals': ['error', ...ambient],
      'no-restricted-properties': ['error', builtinByName, ...hiddenFromVirtualTime],
    },
  },
  {
    files: ['adapters/**/*.ts'],
    ignores: ['adapters/http/**', 'adapters/oauth/**', 'adapters/web/**'],
    rules: { 'no-restricted-globals': ['error', ...network, chance] },
  },
  {
    // The names of its files are no secret and need no port: an unguessable one is made where it is used.
    files: ['adapters/private-files.ts'],
    rules: { 'no-restricted-globals': ['error', ...network] },
  },
  {
    // XState infers event types that its own signatures have widened before; the assertions that narrow them back look idle.
    files: ['machines/**/*.ts'],
    rules: {
      '@typescript-eslint/no-unnecessary-type-assertion': 'off',
      // `fromPromise<void, …>` is how XState says that an actor has no output.
      '@typescript-eslint/no-invalid-void-type': 'off',
    },
  },
  {
    // A port's method is async by contract, whether or not this implementation has to wait.
    files: ['adapters/**/*.ts', 'test/**/*.ts', 'properties/**/*.ts', 'bench/**/*.ts'],
    rules: { '@typescript-eslint/require-await': 'off' },
  },
  {
    files: ['**/*.mjs'],
    rules: {
      eqeqeq: 'error',
      'no-eval': 'error',
      'no-restricted-properties': ['error', builtinByName],
      'no-unused-vars': 'error',
      'no-const-assign': 'error',
      'no-dupe-keys': 'error',
      'no-unreachable': 'error',
      'no-redeclare': 'error',
      'no-self-assign': 'error',
      'valid-typeof': 'error',
      'prefer-const': 'error',
    },
  },
);
