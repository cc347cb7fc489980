import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { barsOf, barsPath, partsOf } from './spark.ts'

const counts = fc.array(fc.integer({ min: 0, max: 1_000_000 }), { minLength: 1, maxLength: 60 })

describe('bars', () => {
  it('K7: every bar is inside the chart, the highest fills it, and a value above zero is visible', () => {
    fc.assert(
      fc.property(counts, each => {
        const bars = barsOf(each, 120, 24)
        for (const [index, bar] of bars.entries()) {
          expect(bar.y).toBeGreaterThanOrEqual(0)
          expect(bar.y + bar.height).toBeCloseTo(24, 1)
          expect(bar.height > 0).toBe(each[index]! > 0)
        }
      }),
    )
    expect(barsOf([1, 2, 4], 30, 20).map(bar => bar.height)).toEqual([5, 10, 20])
  })

  it('K7: no values draw no bars', () => {
    expect(barsPath([0, 0, 0], 120, 24)).toBe('')
    expect(barsPath([], 120, 24)).toBe('')
    expect(barsPath([1], 10, 10)).toBe('M0 0h9v10h-9z')
  })
})

describe('partsOf', () => {
  it('B12: one failure among a million is visible, and the parts fill the bar', () => {
    const parts = partsOf([1, 999_999, 0], 600)
    expect(parts.map(part => part.width)).toEqual([3, 597, 0])
    expect(parts[1]!.x).toBe(3)
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 1e6 }), { minLength: 1, maxLength: 7 }), each => {
        const widths = partsOf(each, 600).map(part => part.width)
        for (const [index, width] of widths.entries()) expect(width > 0).toBe(each[index]! > 0)
        const total = widths.reduce((sum, width) => sum + width, 0)
        if (each.some(count => count > 0)) expect(Math.abs(total - 600)).toBeLessThan(1)
      }),
    )
  })
})
