import { defineConfig } from 'vitest/config'
import { ROOT } from '../support/source.ts'

/** A round draws many cases, and other work may share the machine: time tells nothing here. */
const ROUND_MS = 1_800_000

/** For `npm run fuzz`, which names the files: property tests alone, without the servers of the whole run. */
// biome-ignore lint/style/noDefaultExport: vitest reads its configuration from the default export
export default defineConfig({
  root: ROOT,
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts', 'console/src/**/*.test.ts'],
    setupFiles: ['test/fuzz/seed.ts'],
    testTimeout: ROUND_MS,
  },
})
