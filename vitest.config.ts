import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['js-tests/**/*.test.ts'],
    // Each test file gets a process of its own: the addon has threads, and some tests change the working directory.
    pool: 'forks',
    // A slow machine is no failure. No test asserts on time; this only ends one that hangs.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 60_000 } },
  },
});
