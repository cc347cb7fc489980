import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { EventReader } from './sse.ts'

const STREAM =
  ': beat\n\nid: 7\nevent: change\ndata: {"topics":["letters"]}\n\nid: 8\nevent: overview\ndata: {"a":\ndata: 1}\n\n'

describe('EventReader', () => {
  it('F8: finds the same events for any split of the stream', () => {
    const whole = new EventReader().read(STREAM)
    expect(whole).toEqual([
      { id: '7', event: 'change', data: '{"topics":["letters"]}' },
      { id: '8', event: 'overview', data: '{"a":\n1}' },
    ])
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: STREAM.length }), { maxLength: 8 }), places => {
        const cuts = [0, ...places.toSorted((a, b) => a - b), STREAM.length]
        const reader = new EventReader()
        const found = cuts.slice(1).flatMap((end, index) => reader.read(STREAM.slice(cuts[index], end)))
        expect(found).toEqual(whole)
      }),
    )
  })

  it('F8: comments and incomplete events are skipped', () => {
    expect(new EventReader().read(': beat\n\nevent: change\ndata: {}')).toEqual([])
  })
})
