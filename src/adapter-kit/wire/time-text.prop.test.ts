import fc from 'fast-check'
import { expect, it } from 'vitest'
import { timeText } from '../../core/event/attributes.ts'
import { TimeTextReader } from './time-text.ts'

const runs = { seed: 22, numRuns: 500 }

it('B20: a time that we wrote is read as it was, in any order of times', () => {
  const times = fc.array(
    fc.oneof(fc.integer({ min: 0, max: 120_000 }), fc.integer({ min: 0, max: 253_402_300_799_999 })),
  )
  fc.assert(
    fc.property(times, all => {
      const reader = new TimeTextReader()
      expect(all.map(ms => reader.read(timeText(ms)))).toEqual(all)
    }),
    runs,
  )
})

it('B20: a time in another form is left to others, and one that does not exist is refused', () => {
  const texts = fc.array(
    fc
      .tuple(
        fc.integer({ min: 0, max: 120_000 }),
        fc.nat({ max: 23 }),
        fc.constantFrom(...'0123456789-:TZ. x'),
      )
      .map(([ms, at, character]) => {
        const text = timeText(ms)
        return text.slice(0, at) + character + text.slice(at + 1)
      }),
  )
  fc.assert(
    fc.property(texts, all => {
      const reader = new TimeTextReader()
      for (const text of all) {
        const ms = Date.parse(text)
        const isOurs = !Number.isNaN(ms) && timeText(ms) === text
        expect(reader.read(text)).toBe(isOurs ? ms : undefined)
      }
    }),
    runs,
  )
  const reader = new TimeTextReader()
  for (const text of [
    '',
    '2026-01-02T03:04:05Z',
    '2026-01-02T03:04:05.678+00:00',
    '2026-02-30T03:04:05.678Z',
  ])
    expect(reader.read(text)).toBeUndefined()
})
