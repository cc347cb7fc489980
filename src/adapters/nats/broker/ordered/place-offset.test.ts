import { describe, expect, it } from 'vitest'
import { placeOffset } from './place-offset.ts'

const OLD = 1_000_000
const NEW = 2_000_000

const held = (source: 'e' | 'r', sequence: number, place: number, storedAt: number) => ({
  heldKey: `${storedAt.toString(36)}-${source}${sequence}`,
  place,
})

const position = (lastSequence: number, firstStoredAt: number | undefined = undefined, createdAt = 0) => ({
  createdAt,
  firstSequence: 1,
  firstStoredAt,
  lastStoredAt: undefined,
  lastSequence,
})

describe('placeOffset', () => {
  it('B9: is 0 while a stream counts on', () => {
    expect(placeOffset([], position(0))).toBe(0)
    expect(placeOffset([held('e', 7, 7, OLD), held('r', 1, 9, OLD)], position(9, OLD))).toBe(0)
  })

  it('B9: puts the events of a stream that counts from 1 again behind those that are held', () => {
    expect(placeOffset([held('e', 5_000, 5_000, OLD)], position(0))).toBe(5_000)
    expect(placeOffset([held('e', 5_000, 5_000, OLD)], position(6_000, NEW))).toBe(5_000)
  })

  it('B9: puts the events of a stream that was made again behind those that are held', () => {
    expect(placeOffset([held('e', 5, 5, OLD)], position(9, undefined, NEW))).toBe(5)
  })

  it('B9: stays the same for the next owner', () => {
    const events = [held('e', 5_000, 5_000, OLD), held('e', 3, 5_003, NEW)]
    expect(placeOffset(events, position(9, NEW))).toBe(5_000)
    expect(placeOffset(events.slice(1), position(9, NEW))).toBe(5_000)
  })

  it('B9: puts new events behind a replay that is held since before', () => {
    expect(placeOffset([held('r', 1, 5_000, OLD)], position(9, NEW))).toBe(5_000)
  })
})
