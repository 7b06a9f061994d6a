import { mergeConfig } from 'vitest/config';
import base from '../../vitest.config.js';
import { hollowProduct } from './hollow.mjs';

/** The tests as they are, against a product that does nothing. */
export default mergeConfig(base, {
  root: new URL('../..', import.meta.url).pathname,
  plugins: [hollowProduct(process.env['HOLLOW'] ?? 'nothing')],
  test: {
    setupFiles: ['test/citations/setup.ts'],
    runner: 'test/citations/runner.ts',
    // What does nothing may never end; nobody waits long for it.
    testTimeout: 1_500,
    hookTimeout: 1_500,
    teardownTimeout: 2_000,
    dangerouslyIgnoreUnhandledErrors: true,
  },
});
