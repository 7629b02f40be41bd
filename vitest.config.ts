import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    pool: 'forks',
    maxWorkers: 2,
    // A bound for a hang, not an assertion: real processes are started here on busy machines.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    reporters: ['default'],
    // What a passed test printed says nothing.
    silent: 'passed-only',
    // Holds what mcpx sends in any test against the official schemas; see docs/testing.md.
    globalSetup: ['test/sweep/sweep.ts'],
    setupFiles: ['test/sweep/each-file.ts'],
  },
})
