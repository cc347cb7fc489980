import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { durationMs } from '../config/duration.ts'
import { readTime } from './read-time.ts'

const NOW = Date.UTC(2026, 2, 1, 12)

describe('times are typed as people say them', () => {
  it.each([
    ['2026-03-01T09:30:00Z', Date.UTC(2026, 2, 1, 9, 30)],
    ['2026-03-01T09:30', Date.UTC(2026, 2, 1, 9, 30)],
    ['2026-03-01 09:30:15.250', Date.UTC(2026, 2, 1, 9, 30, 15, 250)],
    ['2026-03-01T09:30+02:00', Date.UTC(2026, 2, 1, 7, 30)],
    ['2026-03-01', Date.UTC(2026, 2, 1)],
    ['now', NOW],
    ['2h', NOW - 7_200_000],
    ['1d12h', NOW - 129_600_000],
  ])('F8: %s', (text, expected) => {
    expect(readTime(text, NOW, 'past')).toBe(expected)
  })

  it('F8: a duration lies ahead where a time to come is asked for', () => {
    expect(readTime('3d', NOW, 'future')).toBe(NOW + 3 * 86_400_000)
  })

  it.each([
    '',
    'yesterday',
    '2026-02-30',
    '2026-13-01',
    '2026-03-01T25:00',
    '2 h',
    '-2h',
    'h',
    '1e3s',
    '2026',
  ])('F8: %j is not a time', text => {
    expect(readTime(text, NOW, 'past')).toBeUndefined()
  })

  it('F8: every time that is printed can be typed', () => {
    fc.assert(
      fc.property(fc.date({ min: new Date(0), max: new Date('9999-12-31'), noInvalidDate: true }), date => {
        expect(readTime(date.toISOString(), NOW, 'past')).toBe(date.getTime())
      }),
    )
  })

  it('F8: parts of a duration add up', () => {
    const part = fc.tuple(
      fc.nat(1_000),
      fc.constantFrom(['s', 1_000], ['m', 60_000], ['h', 3_600_000]) as fc.Arbitrary<[string, number]>,
    )
    fc.assert(
      fc.property(fc.array(part, { minLength: 1, maxLength: 4 }), parts => {
        const text = parts.map(([amount, [unit]]) => `${amount}${unit}`).join('')
        expect(durationMs(text)).toBe(parts.reduce((sum, [amount, [, ms]]) => sum + amount * ms, 0))
      }),
    )
  })
})
