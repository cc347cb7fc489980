import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { addToWindow, emptyWindow, windowTotal } from './window.ts'

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

  it('B2: a clock going backwards counts into the newest slice', () => {
    const window = addToWindow(emptyWindow(3_000, 3), 10_500, 2)
    const later = addToWindow(window, 4_000, 3)
    expect(later).toEqual({ sliceMs: 1_000, slice: 10, counts: [0, 0, 5] })
    expect(windowTotal(later, 0)).toBe(5)
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
})
