import { defineConfig } from 'vitest/config';
import { plantMutant } from './plant.js';

/** The properties alone, against the source as it is or with one bug planted in it as it is loaded. */
export default defineConfig({
  root: new URL('../..', import.meta.url).pathname,
  plugins: [plantMutant(process.env['MUTANT'])],
  test: {
    include: ['properties/**/*.property.ts'],
    globalSetup: ['test/support/seed.ts'],
    setupFiles: ['properties/mutants/setup.ts'],
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 240_000,
    hookTimeout: 240_000,
  },
});
