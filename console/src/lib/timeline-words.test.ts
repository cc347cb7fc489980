import { describe, expect, it } from 'vitest'
import { beganText, bucketName, shareOf } from './timeline-words.ts'

describe('the words of a timeline', () => {
  it.each([
    [180_000, 'process', 'Began with release 2.4.0, 3 min after its first process started.'],
    [7_200_000, 'letter', 'Began with release 2.4.0, 2 h after its first failure.'],
    [0, 'letter', 'Began with release 2.4.0, with its first failure.'],
  ] as const)('F8: %d ms after the %s', (afterMs, since, text) => {
    expect(beganText({ release: '2.4.0', afterMs, since })).toBe(text)
  })

  it('F8: a mark stands at its share of the time', () => {
    const timeline = {
      ...{ from: '2026-05-04T03:00:00Z', bucketMs: 60_000, counts: [1, 0, 0, 2], releases: [], examined: 3 },
    }
    expect(shareOf(timeline, '2026-05-04T03:01:00Z')).toBe(0.25)
    expect(shareOf(timeline, '2026-05-04T02:00:00Z')).toBe(0)
    expect(shareOf(timeline, '2026-05-04T09:00:00Z')).toBe(1)
  })

  it('F8: a bucket has a name', () => {
    expect([60_000, 900_000, 3_600_000, 604_800_000].map(bucketName)).toEqual([
      ...['minute', 'span of 15 minutes', 'hour', 'span of 7 days'],
    ])
  })
})
