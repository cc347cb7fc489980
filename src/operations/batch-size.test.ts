import { describe, expect, it } from 'vitest'
import { FIRST_BATCH, nextBatchSize } from './batch-size.ts'

/** The batches of a store that needs a fixed time for a call and a time for each letter. */
function batchesOn(callMs: number, letterMs: number, count = 40): { size: number; ms: number }[] {
  const batches: { size: number; ms: number }[] = []
  for (let size = FIRST_BATCH; batches.length < count; ) {
    const ms = callMs + size * letterMs
    batches.push({ size, ms })
    size = nextBatchSize(size, ms)
  }
  return batches
}

describe('the size of a batch', () => {
  it.each([
    ['a fast store', 0.1, 0.005],
    ['a store across a network', 5, 0.02],
    ['a store at 5,000 letters a second', 1, 0.2],
  ])(
    'F8: no batch on %s takes more than 50 ms, and it deletes 5,000 a second or nearly as many as it can',
    (_, callMs, letterMs) => {
      const batches = batchesOn(callMs, letterMs)
      for (const { ms } of batches) expect(ms).toBeLessThanOrEqual(50)
      const settled = batches.slice(10)
      const letters = settled.reduce((sum, { size }) => sum + size, 0)
      const ms = settled.reduce((sum, batch) => sum + batch.ms, 0)
      expect(letters / (ms / 1_000)).toBeGreaterThan(Math.min(5_000, 0.85 / (letterMs / 1_000)))
    },
  )

  it('F8: it shrinks at once when the store becomes slow, and not below 50', () => {
    expect(nextBatchSize(2_000, 100)).toBe(300)
    expect(nextBatchSize(60, 10_000)).toBe(50)
  })

  it('F8: it at most doubles, up to 2,000', () => {
    expect(nextBatchSize(100, 0)).toBe(200)
    expect(nextBatchSize(1_500, 1)).toBe(2_000)
  })
})
