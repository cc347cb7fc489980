import fc from 'fast-check'
import { expect, it } from 'vitest'
import { FIXED_SEED } from './seed.ts'

it.skipIf(process.env['FUZZ_SEED'] !== undefined)(
  'E21: property tests draw the same cases in every run',
  () => {
    expect(fc.readConfigureGlobal().seed).toBe(FIXED_SEED)
    expect(fc.sample(fc.string(), 20)).toEqual(fc.sample(fc.string(), { numRuns: 20, seed: FIXED_SEED }))
  },
)
