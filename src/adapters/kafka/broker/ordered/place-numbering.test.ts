import { describe, expect, it } from 'vitest'
import { numberingFor, placeIn } from './place-numbering.ts'

const OLD = '0ld0ld00'
const NOW = 'n0wn0wn0-5b00-7d3e-9a41-2f1c5e7b8a90'
const TAG = NOW.slice(0, 8)

const held = (topic: string, firstPlace: number, place: number) => ({ topic, firstPlace, place })

describe('the numbering of places', () => {
  it('B9: places are offsets while a topic is never created again', () => {
    expect(numberingFor(NOW, [])).toEqual({ topic: TAG, firstPlace: 0 })
    expect(numberingFor(NOW, [held(TAG, 0, 5_000)])).toEqual({ topic: TAG, firstPlace: 0 })
  })

  it('B9: the first record of a topic that was created again stands behind everything that is held', () => {
    expect(numberingFor(NOW, [held(OLD, 0, 5_000), held(OLD, 0, 0)]).firstPlace).toBe(5_001)
    expect(numberingFor(NOW, [held(OLD, 0, 0)]).firstPlace).toBe(1)
  })

  it('B9: the next owner numbers in the same way, also when the events of the deleted topic are done', () => {
    const current = held(TAG, 5_001, 5_004)
    for (const all of [[held(OLD, 0, 5_000), current], [current]]) {
      const numbering = numberingFor(NOW, all)
      expect(numbering.firstPlace).toBe(5_001)
      expect(placeIn(numbering, current)).toBe(5_004)
    }
  })

  it('B9: an event of a deleted topic that was held later still stands in front', () => {
    const current = held(TAG, 0, 3)
    const late = held(OLD, 0, 5_000)
    const numbering = numberingFor(NOW, [current, late])
    expect(placeIn(numbering, late)).toBe(5_000)
    expect(placeIn(numbering, current)).toBe(5_004)
  })
})
