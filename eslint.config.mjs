import { defineConfig, globalIgnores } from 'eslint/config';
import tseslint from 'typescript-eslint';

/** What the pure and the port-driven layers may not touch: time, chance, output and the process come through ports. */
const ambient = [
  'Date',
  'performance',
  'process',
  'console',
  'setTimeout',
  'setInterval',
  'setImmediate',
  'Buffer',
  'fetch',
  'require',
].map((name) => ({ name, message: 'Not here: it comes through a port (actors/ports.ts).' }));
const mathRandom = {
  object: 'Math',
  property: 'random',
  message: 'Not here: chance comes from a seed or through the random port.',
};
const throughGlobalThis = {
  selector: 'MemberExpression[object.name="globalThis"]',
  message: 'Not here: a global reached through globalThis escapes the rules for globals.',
};
const timeoutSignal = {
  selector: 'MemberExpression[object.name="AbortSignal"][property.name="timeout"]',
  message: 'Not here: a virtual clock cannot reach AbortSignal.timeout.',
};

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
    },
  },
  {
    files: ['machines/**/*.ts', 'actors/**/*.ts'],
    rules: {
      'no-restricted-globals': ['error', ...ambient],
      'no-restricted-properties': ['error', mathRandom],
      'no-restricted-syntax': ['error', throughGlobalThis, timeoutSignal],
    },
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
