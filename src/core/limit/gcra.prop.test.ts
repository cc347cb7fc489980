import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { advance, IDLE, notBefore, type Rate, rate } from './gcra.ts'

const NOON = Date.UTC(2026, 0, 1, 12)
const start = fc.oneof(fc.nat(5_000), fc.integer({ min: NOON, max: NOON + 1e9 }))

const fractional = fc.oneof(start, fc.double({ min: 0, max: 5_000, noNaN: true }))

/** Reserves for each arrival; returns the starts, which are in order. */
function reserved(limit: Rate, arrivals: readonly number[], from = IDLE): number[] {
  let tat = from
  return arrivals.map(now => {
    const at = notBefore(limit, tat, now)
    tat = advance(limit, tat, now)
    return at
  })
}

/** The most starts that any half-open window of this length sees; a window of the most begins with a start. */
function mostIn(starts: readonly number[], windowMs: number): number {
  let most = 0
  let first = 0
  for (const [index, at] of starts.entries()) {
    while (starts[first]! <= at - windowMs) first++
    most = Math.max(most, index - first + 1)
  }
  return most
}

function times(start: number, gaps: readonly number[]): number[] {
  let now = start
  return gaps.map(gap => (now += gap))
}

describe('token bucket bounds', () => {
  it('E5: exactly perSecond and never one more in any half-open second, for every whole rate up to 10 000', () => {
    for (let perSecond = 1; perSecond <= 10_000; perSecond++) {
      for (const now of [perSecond % 7, NOON + perSecond]) {
        const limit = rate({ perSecond, burst: 1 })
        const atOnce = new Array<number>(30).fill(now)
        let tat = IDLE
        for (let i = 0; i < perSecond; i++) tat = advance(limit, tat, now)
        const [early, late] = [reserved(limit, atOnce), reserved(limit, atOnce, tat)]
        // When each start is exactly a second before the one perSecond places later, no second has one more or less.
        const off = late.findIndex((at, index) => at !== early[index]! + 1_000)
        if (off !== -1) throw new Error(`${perSecond}/s: start ${off} is not a second before its next`)
      }
    }
  })

  it('E5: never more than perSecond starts in any half-open second, for any arrivals', () => {
    const gaps = fc.array(fc.oneof(fc.constant(0), fc.nat(3), fc.nat(2_000)), { maxLength: 300, size: 'max' })
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 60 }), start, gaps, (perSecond, start, gaps) => {
        const starts = reserved(rate({ perSecond, burst: 1 }), times(start, gaps))
        expect(mostIn(starts, 1_000)).toBeLessThanOrEqual(perSecond)
      }),
      { numRuns: 1_000 },
    )
  })

  it('E14: never admits more than burst + rate × t, for any arrivals, waits and clocks with fractions', () => {
    const perSecond = fc.oneof(
      fc.integer({ min: 1, max: 5_000 }),
      fc.double({ min: 0.01, max: 50, noNaN: true }),
    )
    const gap = fc.oneof(fc.constant(0), fc.nat(50), fc.double({ min: 0, max: 500, noNaN: true }))
    const arrivals = fc.array(fc.tuple(gap, fc.boolean()), { maxLength: 150, size: 'max' })
    fc.assert(
      fc.property(
        perSecond,
        fc.integer({ min: 1, max: 40 }),
        start,
        arrivals,
        (perSecond, burst, start, arrivals) => {
          const limit = rate({ perSecond, burst })
          let [tat, now] = [IDLE, start]
          const starts: number[] = []
          for (const [gap, waits] of arrivals) {
            now += gap
            const at = notBefore(limit, tat, now)
            if (at > now && !waits) continue
            starts.push(at)
            tat = advance(limit, tat, now)
          }
          // Times are told to the microsecond.
          const allowed = (from: number, to: number) => burst + (perSecond * (to - from + 0.002)) / 1_000
          const over = starts.findIndex((end, last) =>
            starts.slice(0, last).some((at, first) => last - first + 1 > allowed(at, end)),
          )
          expect(over).toBe(-1)
        },
      ),
      { numRuns: 300 },
    )
  })

  it('E14: exactly the burst goes through at once after a quiet time, at any rate and time', () => {
    const whole = fc.integer({ min: 1, max: 10_000 })
    const perSecond = fc.oneof(whole, fc.double({ min: 0.01, max: 999, noNaN: true }))
    fc.assert(
      fc.property(perSecond, fc.integer({ min: 1, max: 2_000 }), fractional, (perSecond, burst, now) => {
        const starts = reserved(rate({ perSecond, burst }), new Array(burst + 1).fill(now))
        expect([starts.filter(at => at <= now).length, starts[burst]! > now]).toEqual([burst, true])
      }),
      { numRuns: 500 },
    )
  })

  it('E5: a rate is used up: under load the n-th start is n intervals after the first', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 10_000 }),
        start,
        fc.integer({ min: 1, max: 5_000 }),
        (perSecond, now, n) => {
          const starts = reserved(rate({ perSecond, burst: 1 }), new Array(n + 1).fill(now))
          expect(Math.abs(starts[n]! - now - (n * 1_000) / perSecond)).toBeLessThan(0.001)
        },
      ),
    )
  })
})
