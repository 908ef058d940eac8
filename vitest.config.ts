import { defineConfig } from 'vitest/config';
import { COMPILE_CACHE } from './test/support/compile-cache.ts';

// However tests are run, the threads that they start find our files without their types. Else each takes them out itself, by
// WebAssembly, and V8 now and then frees code of that which another thread still runs (SIGSEGV or SIGTRAP in
// WasmEngine::FreeDeadCode, Node 24.21): a file of tests starts hundreds of threads.
process.env.NODE_COMPILE_CACHE ??= COMPILE_CACHE;

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // Two cores: a file is a process of its own, and real servers and kill loops must not starve each other.
    maxWorkers: 2,
    // A bound for what hangs, not a measure: some tests start a dozen processes, on machines that are busy.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 20_000 } },
  },
});
