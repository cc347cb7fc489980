import { defineConfig } from 'vitest/config'

// biome-ignore lint/style/noDefaultExport: vitest reads its configuration from the default export
export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'console/src/**/*.test.ts', 'test/**/*.test.ts'],
    globalSetup: 'test/services/prepare.ts',
    testTimeout: 20_000,
    // Half of the time of the slow ones is waiting for a server; by itself it would leave a core idle.
    maxWorkers: '100%',
  },
})
