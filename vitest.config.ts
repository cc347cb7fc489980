import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { COMPILE_CACHE_ENV } from './test/services/compile-cache.ts'
import { LongestFirst } from './test/services/longest-first.ts'
import { TEMPORARY_ENV } from './test/services/temporary.ts'

/** These start servers and processes. All others leave nothing behind, so they share a worker that loads each module once. */
const WITH_SERVERS = ['**/*.int.test.ts', '**/*.e2e.test.ts']

// biome-ignore lint/style/noDefaultExport: vitest reads its configuration from the default export
export default defineConfig({
  test: {
    globalSetup: 'test/services/prepare.ts',
    setupFiles: ['test/fuzz/seed.ts'],
    // It ends a test that hangs. A test that is slow on a busy machine must not fail by it.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    env: { ...COMPILE_CACHE_ENV, ...TEMPORARY_ENV, LAZARET_TEST_POSTGRES_UNSYNCED: '1' },
    // The slow ones also wait for servers, leases and browsers. One worker more than there are cores uses that time.
    maxWorkers: availableParallelism() + 1,
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        extends: true,
        test: {
          name: 'apart',
          include: ['src/**/*.{int,e2e}.test.ts', 'test/**/*.test.ts'],
          // Node loads the sources itself, from the compile cache. Vite would send every module to every one of these workers.
          experimental: { viteModuleRunner: false, nodeLoader: false },
        },
      },
      {
        extends: true,
        test: {
          name: 'sharing',
          // One example has decorators, which Node cannot load.
          include: ['src/**/*.test.ts', 'console/src/**/*.test.ts', 'examples/**/*.test.ts'],
          exclude: WITH_SERVERS,
          isolate: false,
        },
      },
    ],
  },
})
