import { describe, expect, it } from 'vitest'
import { createKeyOrderWorld } from '../../../../../test/support/fake-nats-subscription.ts'

describe('KeyOrder', () => {
  it('P1: an event that is here only is not settled when it comes again, but when it is handled', async () => {
    const { clock, stream, link, sent, deliveries, deliver, order } = await createKeyOrderWorld()
    stream.store(1)
    deliver(1)
    const storedAt = stream.times.get(1)!
    stream.lose(1)
    link.restore()
    await clock.advance(0)
    stream.find(1, storedAt)
    deliver(1, 2)
    await clock.advance(0)
    expect(sent.filter(word => word !== '+WPI 1')).toEqual([])
    await order.settle(deliveries[0]!, { outcome: 'done' })
    expect(sent.at(-1)).toBe('+ACK 1')
    expect(deliveries.length).toBe(1)
  })
})
