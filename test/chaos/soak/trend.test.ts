import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../../src/testing/seeded-random.ts'
import { median, type Point, trendOf } from './trend.ts'

const COUNT = 200
const EVERY_MS = 10_000

function series(valueAt: (index: number) => number): Point[] {
  return Array.from({ length: COUNT }, (_, index) => ({ atMs: index * EVERY_MS, value: valueAt(index) }))
}

const random = seededRandom(7)
/** Between minus one and one. */
const noise = () => random() * 2 - 1

describe('whether a series grows', () => {
  it('E21: noise around one value is flat', () => {
    expect(
      trendOf(
        series(() => 30 + noise()),
        0.1,
      ).verdict,
    ).toBe('flat')
  })

  it('E21: a leak that is larger than the noise is rising', () => {
    const trend = trendOf(
      series(index => 30 + noise() + index * 0.05),
      0.1,
    )
    expect(trend).toMatchObject({ verdict: 'rising' })
    // 0.05 in each 10 s.
    expect(trend.perHour).toBeCloseTo(18, 0)
  })

  it('E21: growth that ends with the warm-up is flat', () => {
    expect(
      trendOf(
        series(index => Math.min(index, COUNT / 4) + noise()),
        0.1,
      ).verdict,
    ).toBe('flat')
  })

  it('E21: growth that begins in the middle is rising', () => {
    expect(
      trendOf(
        series(index => 30 + noise() + Math.max(0, index - 100) * 0.2),
        0.1,
      ).verdict,
    ).toBe('rising')
  })

  it('E21: a number that goes up by one now and then is rising', () => {
    expect(
      trendOf(
        series(index => 14 + Math.floor(index / 20)),
        3,
      ).verdict,
    ).toBe('rising')
  })

  it('E21: one step in the last quarter is not a slope', () => {
    expect(
      trendOf(
        series(index => (index < 160 ? 30 : 40)),
        0.1,
      ).verdict,
    ).toBe('flat')
  })

  it('E21: the peaks of faults are not growth, even if there are more of them at the end', () => {
    const peaks = series(index => 30 + noise() + (index % (index < 100 ? 20 : 5) === 0 ? 500 : 0))
    expect(trendOf(peaks, 0.1).verdict).toBe('flat')
  })

  it('E21: the teeth of a saw, as of a log that is rewritten, are not growth', () => {
    expect(
      trendOf(
        series(index => index % 30),
        0.1,
      ).verdict,
    ).toBe('flat')
  })

  it('E21: a number that grows by less than the tolerance is flat', () => {
    const twice = series(index => (index < 80 ? 14 : index < 140 ? 15 : 16))
    expect(trendOf(twice, 3).verdict).toBe('flat')
    expect(trendOf(twice, 0.5).verdict).toBe('rising')
  })

  it('E21: a series that sinks is falling', () => {
    expect(
      trendOf(
        series(index => 60 + noise() - index * 0.1),
        0.1,
      ).verdict,
    ).toBe('falling')
  })

  it('E21: too few points have no answer', () => {
    expect(trendOf(series(index => index).slice(0, 15), 0.1).verdict).toBe('short')
  })

  it('takes the middle of the values', () => {
    expect([median([3, 1, 2]), median([4, 1, 3, 2]), median([])]).toEqual([2, 2.5, 0])
  })
})
