import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createFactory } from '../../../../testing/factories.ts'
import type { RabbitmqDelivery } from '../consume/delivery.ts'
import { KeyQueues, type QueuedEvent } from './key-queues.ts'

function entry(key: string, place: number, state: QueuedEvent['state'] = 'ready'): QueuedEvent {
  const id = `${key}-${place}`
  return {
    key,
    id,
    place,
    state,
    delivery: undefined,
    message: undefined,
    dueAt: 0,
    isStray: false,
    requests: [],
    isHeld: false,
  }
}

describe('the lines of keys', () => {
  it('B9: only the first of a key is ready, and the next one when that has left', () => {
    const lines = new KeyQueues()
    const [first, second] = [entry('a', 1), entry('a', 2)]
    lines.add(first)
    lines.add(second)
    expect(lines.ready).toBe(first)
    first.state = 'open'
    lines.look('a')
    expect(lines.ready).toBeUndefined()
    lines.remove(first)
    expect(lines.ready).toBe(second)
  })

  it.each(['waiting', 'dead', 'open'] as const)('B9: one that is %s holds its key, and no other', state => {
    const lines = new KeyQueues()
    lines.add(entry('a', 1, state))
    lines.add(entry('a', 2))
    expect(lines.ready).toBeUndefined()
    const other = entry('b', 3)
    lines.add(other)
    expect(lines.ready).toBe(other)
  })

  it('B9: whatever order they are loaded in, they stand in the order of their places', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.integer({ min: 1, max: 1_000 }), { minLength: 1 }), places => {
        const lines = new KeyQueues()
        for (const place of places) lines.add(entry('a', place))
        const left = places.length
        const taken: number[] = []
        while (taken.length < left) {
          const next = lines.ready!
          taken.push(next.place)
          lines.remove(next)
        }
        expect(taken).toEqual([...places].sort((a, b) => a - b))
        expect(lines.ready).toBeUndefined()
        expect(lines.nextPlace()).toBe(Math.max(...places) + 1)
      }),
    )
  })

  it('B9: a dead one is found by its id, one that is open is not', () => {
    const lines = new KeyQueues()
    lines.add(entry('a', 1, 'dead'))
    lines.add(entry('b', 2, 'open'))
    expect(lines.dead('a-1')?.place).toBe(1)
    expect(lines.dead('b-2')).toBeUndefined()
  })

  it('E10: of events without a key that have one id, only the same event is taken for a copy', () => {
    const event = createFactory().event({ source: 'shop', payload: { n: 1 } })
    const held = {
      ...entry('place 1', 1),
      id: event.id,
      delivery: { event } as RabbitmqDelivery,
      isHeld: true,
    }
    const lines = new KeyQueues()
    lines.add(held)
    const found = (other: typeof event) => lines.sameAs({ id: other.id, event: other }, 'place 2')
    expect(found(structuredClone(event))).toBe(held)
    expect(found({ ...event, source: 'till' })).toBeUndefined()
    expect(found({ ...event, headers: { 'x-replay-id': 'replay-1' } })).toBeUndefined()
    expect(found({ ...event, id: 'other' })).toBeUndefined()
    held.isHeld = false
    expect(found(event)).toBeUndefined()
  })
})
