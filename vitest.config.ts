import { defineConfig } from 'vitest/config';

const source = (path: string) => new URL(path, import.meta.url).pathname;

export default defineConfig({
  resolve: {
    // The package by its own name is its source here, so that a test never judges a stale build.
    alias: [
      { find: /^mcp-supervisor$/, replacement: source('index.ts') },
      { find: 'mcp-supervisor/core', replacement: source('actors/index.ts') },
      { find: 'mcp-supervisor/machines', replacement: source('machines/index.ts') },
      { find: 'mcp-supervisor/testing', replacement: source('properties/kit/index.ts') },
    ],
  },
  test: {
    include: ['test/**/*.test.ts', 'properties/**/*.property.ts'],
    globalSetup: ['test/support/seed.ts', 'test/support/build.ts'],
    setupFiles: ['test/support/setup.ts'],
    // A process a file: what a test leaves behind, a child or a listener, cannot be mistaken for another's.
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 30_000,
    reporters: process.env['CI'] ? ['default', ['json', { outputFile: 'coverage/test-results.json' }]] : ['default'],
    restoreMocks: true,
    unstubEnvs: true,
    coverage: {
      provider: 'v8',
      include: ['machines/**', 'actors/**', 'adapters/**', 'index.ts'],
      reporter: ['text-summary', 'json-summary', 'html'],
      reportsDirectory: 'coverage',
      thresholds: { 'machines/**': { branches: 100, functions: 100, lines: 100, statements: 100 } },
    },
  },
});
