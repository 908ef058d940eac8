import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // Two cores: a file is a process of its own, and real servers and kill loops must not starve each other.
    maxWorkers: 2,
    // A bound for what hangs, not a measure: some tests start a dozen processes, on machines that are busy.
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
