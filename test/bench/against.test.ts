import { expect, test } from 'vitest'
import { estimateRatio, medianOf } from '../../bench/against/statistics.ts'
import { seededRandom } from '../../src/testing/seeded-random.ts'

/** Ratios around a true one, with the spread that processes have on a busy machine. */
function ratiosAround(truth: number, count: number, seed: number): number[] {
  const random = seededRandom(seed)
  return Array.from({ length: count }, () => truth + (random() - 0.5) * 0.1)
}

test('the median of an even number of samples is between the two in the middle', () => {
  expect(medianOf([4, 1, 3, 100])).toBe(3.5)
  expect(medianOf([3, 1, 2])).toBe(2)
})

test('the interval of a comparison contains the true ratio in about 19 of 20 comparisons', () => {
  const random = seededRandom(7)
  const estimates = Array.from({ length: 40 }, (_, seed) =>
    estimateRatio(ratiosAround(1.05, 16, seed + 1), random),
  )
  const hits = estimates.filter(({ low, high }) => low <= 1.05 && 1.05 <= high)
  expect(hits.length).toBeGreaterThanOrEqual(34)
})

test('more processes make the interval of a comparison narrower', () => {
  const widthOf = (count: number) => {
    const { low, high } = estimateRatio(ratiosAround(1, count, 3), seededRandom(1))
    return high - low
  }
  expect(widthOf(64)).toBeLessThan(widthOf(8) / 2)
})
