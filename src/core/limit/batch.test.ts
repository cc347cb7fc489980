import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Batch, initialBatch, takeFromBatch } from './batch.ts'

function starts(batch: Batch, arrivals: readonly number[]): number[] {
  let state = initialBatch(batch)
  return arrivals.map(now => {
    state = takeFromBatch(batch, state, now)
    return state.releaseAt
  })
}

describe('batches', () => {
  it('E5: 250 at once with 100 per 1 s start as 100, 100 and 50, a second apart', () => {
    const released = starts({ size: 100, everyMs: 1_000 }, new Array(250).fill(5_000))
    const count = (at: number) => released.filter(start => start === at).length
    expect([count(5_000), count(6_000), count(7_000)]).toEqual([100, 100, 50])
  })

  it('E5: what comes after a release waits for the next one', () => {
    const batch = { size: 100, everyMs: 1_000 }
    expect(starts(batch, [5_000, 5_001, 5_999, 6_000, 6_001, 9_000])).toEqual([
      5_000, 6_000, 6_000, 6_000, 7_000, 9_000,
    ])
  })

  it('E5: the first one starts at once, even at time 0', () => {
    expect(starts({ size: 1, everyMs: 60_000 }, [0, 0])).toEqual([0, 60_000])
  })

  it('E5: any half-open window of everyMs sees at most size, nobody starts early, for any arrivals', () => {
    const gaps = fc.array(fc.oneof(fc.constant(0), fc.nat(20), fc.nat(3_000)), {
      maxLength: 200,
      size: 'max',
    })
    const batch = fc.record({
      size: fc.integer({ min: 1, max: 20 }),
      everyMs: fc.integer({ min: 1, max: 2_000 }),
    })
    fc.assert(
      fc.property(batch, fc.nat(1e6), gaps, (batch, start, gaps) => {
        let now = start
        const arrivals = gaps.map(gap => (now += gap))
        const released = starts(batch, arrivals)
        for (const [index, at] of released.entries()) {
          expect(at).toBeGreaterThanOrEqual(arrivals[index]!)
          const inWindow = released.filter(other => other >= at && other < at + batch.everyMs)
          expect(inWindow.length).toBeLessThanOrEqual(batch.size)
        }
      }),
    )
  })
})
