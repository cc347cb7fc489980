import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createIdSource, MAX_TIME_MS, uuidv7Time } from './uuid.ts'

const UUIDV7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

/** Chance as hostile as the contract allows, its ends included. */
const randoms = fc.infiniteStream(
  fc.oneof(
    fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
    fc.constantFrom(0, 1 - Number.EPSILON / 2),
  ),
)
const clocks = fc.array(
  fc.oneof(
    fc.integer({ min: 0, max: MAX_TIME_MS }),
    fc.integer({ min: 1_700_000_000_000, max: 1_700_000_000_004 }),
    fc.double({ min: 1_700_000_000_000, max: 1_700_000_000_002 }),
    fc.constantFrom(Number.NaN, Number.POSITIVE_INFINITY, -1),
  ),
  { maxLength: 60 },
)
const drawFrom = (stream: Iterator<number>) => () => stream.next().value as number

describe('UUIDv7 ids', () => {
  it('E10: sort as texts in the order they were made, whatever the clock does', () => {
    fc.assert(
      fc.property(clocks, randoms, (times, stream) => {
        const newId = createIdSource(drawFrom(stream))
        const ids = times.map(newId)
        expect(ids.every(id => UUIDV7.test(id))).toBe(true)
        expect([...ids].sort()).toEqual(ids)
        expect(new Set(ids).size).toBe(ids.length)
      }),
    )
  })

  it('E10: keep their order through roll-overs of the counter while the clock stands still', () => {
    const newId = createIdSource(() => 0.5)
    const ids = Array.from({ length: 20_000 }, () => newId(1_700_000_000_000))
    expect(ids.every((id, index) => index === 0 || id > ids[index - 1]!)).toBe(true)
    const ahead = uuidv7Time(ids.at(-1)!)! - 1_700_000_000_000
    expect(ahead).toBeGreaterThan(0)
    expect(ahead).toBeLessThanOrEqual(20_000 / 2_048)
  })

  it('E10: go on from the last time when the clock steps back, and follow it again later', () => {
    const newId = createIdSource(() => 0.25)
    const times = [2_000, 1_000, 1_999, 2_001].map(now => uuidv7Time(newId(now)))
    expect(times).toEqual([2_000, 2_000, 2_000, 2_001])
  })

  it('E10: carry the time they were made at', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: MAX_TIME_MS }), now => {
        expect(uuidv7Time(createIdSource(() => 0.9)(now))).toBe(now)
      }),
    )
  })

  it('E10: use every random bit, so that two processes do not meet', () => {
    const low = createIdSource(() => 0)(1)
    const high = createIdSource(() => 1 - Number.EPSILON / 2)(1)
    expect(low).toBe('00000000-0001-7000-8000-000000000000')
    expect(high).toBe('00000000-0001-77ff-bfff-ffffffffffff')
  })

  it('E10: no other text has a time', () => {
    for (const text of [
      '',
      'order-1',
      '00000000-0001-4000-8000-000000000000',
      '00000000-0001-7000-c000-000000000000',
    ]) {
      expect(uuidv7Time(text)).toBeUndefined()
    }
    expect(uuidv7Time('00000000-000A-7000-8000-000000000000')).toBe(10)
  })
})
