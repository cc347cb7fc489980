import { describe } from 'vitest'

/** Set by `npm run matrix`: these tests need several servers each, which `npm test` has no time for. */
export const TOPOLOGIES = 'LAZARET_TEST_TOPOLOGIES'

interface Findable {
  readonly found: boolean
  readonly why?: string
}

/** Tests on several servers that belong together. The name of a skipped one says why. */
export function topology(name: string, server: Findable, tests: () => void): void {
  const why = process.env[TOPOLOGIES] === '1' ? server.why : 'npm run matrix runs it'
  if (why === undefined) describe(name, tests)
  else describe.skip(`${name} (skipped: ${why})`, tests)
}
