import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { absolute, readSpan, relative, span, timeOfDay } from './times.ts'

const AT = Date.UTC(2026, 4, 4, 3, 12, 9, 120)

describe('times', () => {
  it('F8: a duration is shown in its largest units', () => {
    const spans = [850, 4_260, 42_000, 185_000, 7_800_000, 7_200_000, 90_000_000, 432_000_000]
    expect(spans.map(span)).toEqual(['850 ms', '4.2 s', '42 s', '3 min', '2 h 10 min', '2 h', '25 h', '5 d'])
  })

  it('F8: a time is shown relative to now', () => {
    expect(relative(AT, AT + 1_000)).toBe('just now')
    expect(relative(AT, AT + 240_000)).toBe('4 min ago')
    expect(relative(AT, AT - 7_200_000)).toBe('in 2 h')
    expect(relative(AT, AT + 4_260)).toBe('4 s ago')
  })

  it('F8: a time is shown in UTC or in local time', () => {
    expect(absolute(AT, 'utc')).toBe('2026-05-04 03:12:09 UTC')
    expect(absolute(AT, 'utc', true)).toBe('2026-05-04 03:12:09.120 UTC')
    expect(timeOfDay(AT, 'utc')).toBe('03:12:09.120')
    expect(absolute(Number.NaN, 'utc')).toBe('no time')
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 4e12 }), at => {
        const [day, clock, zone = ''] = absolute(at, 'local', true).split(' ')
        const back = Date.parse(`${day}T${clock}${zone.replace('−', '-')}`)
        expect(back).toBe(at)
      }),
    )
  })

  it('K8: an age has the syntax of the command line', () => {
    expect(['90s', '15m', '24h', '7d', '1.5h'].map(readSpan)).toEqual([
      90_000, 900_000, 86_400_000, 604_800_000, 5_400_000,
    ])
    expect(['', 'x', '5', '5 weeks', '-3h'].map(readSpan)).toEqual(Array(5).fill(undefined))
  })
})
