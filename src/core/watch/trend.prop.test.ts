import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { trendOf } from './trend.ts'

const WITHIN = 0.2
const depth = fc.nat(100_000)
const series = fc.array(depth, { minLength: 3, maxLength: 30 })

describe('the trend of a depth', () => {
  it.each([
    [[10, 10, 10, 10, 10, 12, 12, 12, 12, 12], 'stable'],
    [[10, 10, 10, 10, 10, 12, 12, 12, 12, 13], 'rising'],
    [[10, 10, 10, 10, 10, 8, 8, 8, 8, 8], 'stable'],
    [[10, 10, 10, 10, 10, 8, 8, 8, 8, 7], 'falling'],
    [[100, 120, 140], 'rising'],
    [[140, 0, 100], 'falling'],
    [[0, 0, 0], 'stable'],
    [[0, 0, 1], 'rising'],
    [[1, 0, 0], 'falling'],
    [[5, 50], 'unknown'],
    [[5], 'unknown'],
    [[], 'unknown'],
  ] as const)('K7: of %j it is %s', (depths, trend) => {
    expect(trendOf(depths, WITHIN)).toBe(trend)
  })

  it('K7: what stays the same is stable, and what grows by a half with each snapshot rises', () => {
    fc.assert(
      fc.property(depth, fc.integer({ min: 3, max: 30 }), (value, length) => {
        expect(trendOf(Array(length).fill(value), WITHIN)).toBe('stable')
        const growing = Array.from({ length }, (_, index) => (value + 1) * 1.5 ** index)
        expect(trendOf(growing, WITHIN)).toBe('rising')
        expect(trendOf(growing.toReversed(), WITHIN)).toBe('falling')
      }),
    )
  })

  it('K7: a reversed rise is not a rise, and a reversed fall is not a fall', () => {
    fc.assert(
      fc.property(series, depths => {
        const trends = [trendOf(depths, WITHIN), trendOf(depths.toReversed(), WITHIN)]
        expect(trends.filter(trend => trend === 'rising').length).toBeLessThan(2)
        expect(trends.filter(trend => trend === 'falling').length).toBeLessThan(2)
      }),
    )
  })

  it('K7: it is a matter of shares: twice as much of everything changes nothing', () => {
    fc.assert(
      fc.property(series, depths => {
        const doubled = depths.map(each => each * 2)
        expect(trendOf(doubled, WITHIN)).toBe(trendOf(depths, WITHIN))
      }),
    )
  })

  it('K7: one more at the end never turns a rise into something else', () => {
    fc.assert(
      fc.property(series, fc.nat(1_000), (depths, more) => {
        const higher = depths.with(-1, depths.at(-1)! + more)
        if (trendOf(depths, WITHIN) === 'rising') expect(trendOf(higher, WITHIN)).toBe('rising')
        if (trendOf(higher, WITHIN) === 'falling') expect(trendOf(depths, WITHIN)).toBe('falling')
      }),
    )
  })
})
