import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { bytes, change, counted, percent, short, whole } from './numbers.ts'

describe('numbers', () => {
  it('B12: a share is shown as 0 % or 100 % only if it is exact', () => {
    expect([0, 0.001, 0.38, 0.999, 1].map(percent)).toEqual(['0 %', '< 1 %', '38 %', '> 99 %', '100 %'])
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1e6 }), fc.integer({ min: 1, max: 1e6 }), (part, rest) => {
        expect(['0 %', '100 %']).not.toContain(percent(part / (part + rest)))
      }),
    )
    expect(percent(Number.NaN)).toBe('–')
  })

  it('F8: counts are exact, with grouped digits', () => {
    expect(whole(1_234_567)).toBe('1 234 567')
    expect(counted(1, 'letter')).toBe('1 letter')
    expect(counted(1_200, 'letter')).toBe('1 200 letters')
  })

  it('F8: abbreviated counts stay short', () => {
    expect([950, 9_999, 12_345, 4_100_000].map(short)).toEqual(['950', '9 999', '12.3k', '4.1M'])
    fc.assert(fc.property(fc.integer({ min: 0, max: 9e8 }), value => short(value).length <= 6))
    expect([812, 14_000, 3_200_000].map(bytes)).toEqual(['812 B', '14 kB', '3.2 MB'])
  })

  it('K7: a change is relative to the value before', () => {
    expect(change(150, 100)?.text).toBe('↑ 50 %')
    expect(change(50, 100)?.text).toBe('↓ 50 %')
    expect(change(3_000, 100)?.text).toBe('↑ ×30')
    expect(change(0, 0)?.text).toBe('no change')
    expect(change(5, 0)).toBeUndefined()
  })
})
