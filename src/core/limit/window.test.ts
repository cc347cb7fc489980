import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { addToWindow, emptyWindow, followClock, isInNewestSlice, windowTotal } from './window.ts'

describe('sliding window', () => {
  it('B2: is ten slices unless told otherwise, all empty', () => {
    expect(emptyWindow(10_000)).toEqual({ sliceMs: 1_000, slice: 0, counts: new Array(10).fill(0) })
    expect(emptyWindow(3_000, 3)).toEqual({ sliceMs: 1_000, slice: 0, counts: [0, 0, 0] })
  })

  it('B2: counts into the newest slice and drops the old ones', () => {
    let window = addToWindow(emptyWindow(3_000, 3), 10_500, 2)
    expect(window).toEqual({ sliceMs: 1_000, slice: 10, counts: [0, 0, 2] })
    window = addToWindow(window, 11_000, 5)
    expect(window.counts).toEqual([0, 2, 5])
    expect([11_999, 12_999, 13_000, 14_000, 9e15].map(now => windowTotal(window, now))).toEqual([
      7, 7, 5, 0, 0,
    ])
    expect(addToWindow(window, 13_000, 1).counts).toEqual([5, 0, 1])
    expect(addToWindow(window, 9e12, 1).counts).toEqual([0, 0, 1])
  })

  it('B2: a clock that goes back by less than a slice counts into the newest slice', () => {
    const window = addToWindow(emptyWindow(3_000, 3), 10_500, 2)
    const later = addToWindow(window, 9_600, 3)
    expect(later).toEqual({ sliceMs: 1_000, slice: 10, counts: [0, 0, 5] })
    expect(windowTotal(later, 9_600)).toBe(5)
    expect(followClock(later, 9_600)).toBe(later)
  })

  it('B2: a clock that is set back takes the counts with it, and they expire as they would have', () => {
    const before = addToWindow(addToWindow(emptyWindow(3_000, 3), 9_500, 1), 10_500, 2)
    const window = addToWindow(before, 4_000, 3)
    expect(window).toEqual({ sliceMs: 1_000, slice: 4, counts: [0, 1, 5] })
    expect(followClock(before, 4_000)).toEqual({ sliceMs: 1_000, slice: 4, counts: [0, 1, 2] })
    expect([0, 4_999, 5_000, 6_000, 7_000].map(now => windowTotal(window, now))).toEqual([6, 6, 6, 5, 0])
  })

  it('B2: adding makes a new value and leaves the old one', () => {
    const window = emptyWindow(1_000)
    const before = structuredClone(window)
    expect(addToWindow(window, 50, 1)).not.toBe(window)
    expect(window).toEqual(before)
  })

  it('B2: the total is what was added in the slices that are left, for any arrivals', () => {
    const arrivals = fc.array(fc.tuple(fc.nat(700), fc.nat(10)), { maxLength: 100, size: 'max' })
    fc.assert(
      fc.property(fc.nat(1e9), fc.integer({ min: 1, max: 12 }), arrivals, (start, slices, arrivals) => {
        let window = emptyWindow(slices * 100, slices)
        let now = start
        const added: [slice: number, amount: number][] = []
        for (const [afterMs, amount] of arrivals) {
          now += afterMs
          window = addToWindow(window, now, amount)
          added.push([Math.floor(now / 100), amount])
          const left = added.filter(([slice]) => slice > Math.floor(now / 100) - slices)
          expect(windowTotal(window, now)).toBe(left.reduce((sum, [, amount]) => sum + amount, 0))
          expect(window.counts).toHaveLength(slices)
        }
        expect(JSON.parse(JSON.stringify(window))).toEqual(window)
      }),
    )
  })

  it('B2: however the clock is set, counts last a window, and one that is only set back loses none', () => {
    const moves = fc.array(
      fc.record({
        afterMs: fc.nat(400),
        stepMs: fc.constantFrom(0, 0, 0, 0, -90, -110, -3_600_000, 3_600_000),
        amount: fc.nat(10),
      }),
      { maxLength: 60, size: 'max' },
    )
    fc.assert(
      fc.property(fc.integer({ min: 1e12, max: 2e12 }), fc.boolean(), moves, (start, isForward, moves) => {
        const slices = 10
        let window = emptyWindow(slices * 100, slices)
        let elapsed = 0
        // Without the time before each step back, of which a clock tells nothing.
        let shown = 0
        let now = start
        let stepsBack = 0
        const added: { at: number; shownAt: number; amount: number; stepsBack: number }[] = []
        for (const { afterMs, stepMs, amount } of moves) {
          const step = isForward ? stepMs : Math.min(0, stepMs)
          elapsed += afterMs
          now += afterMs + step
          if (step < 0) stepsBack++
          else shown += afterMs
          const isNewest = isInNewestSlice(window, now)
          const { slice } = window
          window = addToWindow(window, now, amount)
          expect(window.slice === slice).toBe(isNewest)
          added.push({ at: elapsed, shownAt: shown, amount, stepsBack })
          const sum = (some: typeof added) => some.reduce((total, { amount }) => total + amount, 0)
          // A step back may put two slices' worth of time into one.
          const late = added.filter(
            ({ shownAt, stepsBack: then }) => shown - shownAt < slices * 100 + 200 * (stepsBack - then),
          )
          expect(windowTotal(window, now)).toBeLessThanOrEqual(sum(late))
          if (isForward) continue
          const recent = added.filter(({ at }) => elapsed - at <= (slices - 1) * 100)
          expect(windowTotal(window, now)).toBeGreaterThanOrEqual(sum(recent))
        }
      }),
    )
  })
})
