import fc from 'fast-check'
import { expect, it } from 'vitest'
import { TimeWriter } from './time-writer.ts'

it('B20: a time is written as a date writes it, in any order of times', () => {
  const times = fc.array(
    fc.oneof(
      fc.integer({ min: -120_000, max: 120_000 }),
      fc.integer({ min: -8_640_000_000_000_000, max: 8_640_000_000_000_000 }),
      fc.double({ min: 0, max: 120_000, noNaN: true }),
    ),
  )
  fc.assert(
    fc.property(times, all => {
      const writer = new TimeWriter()
      expect(all.map(ms => writer.write(ms))).toEqual(all.map(ms => new Date(ms).toISOString()))
    }),
    { seed: 22, numRuns: 500 },
  )
})

it('B20: a number that is not a time is refused, as a date refuses it', () => {
  const writer = new TimeWriter()
  for (const ms of [Number.NaN, Number.POSITIVE_INFINITY, 9e15])
    expect(() => writer.write(ms)).toThrow(RangeError)
})
