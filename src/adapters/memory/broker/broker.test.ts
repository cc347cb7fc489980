import { describe, expect, it } from 'vitest'
import { OptionsError } from '../../../core/options/faults.ts'
import type { Delivery, Subscription } from '../../../ports/broker.ts'
import { createFactory } from '../../../testing/factories.ts'
import { FakeClock, settle } from '../../../testing/fake-clock.ts'
import { type MemoryBroker, memoryBroker } from './broker.ts'

const HOUR_MS = 3_600_000
const DONE = { outcome: 'done' } as const

async function consume(
  broker: MemoryBroker,
  options: { readonly handler?: string; readonly ordering?: 'none' | 'by-key' } = {},
) {
  const arrived: Delivery[] = []
  const subscription: Subscription = await broker.subscribe(
    { channel: 'orders', handler: 'bill', prefetch: 10, ordering: 'none', ...options },
    delivery => arrived.push(delivery),
  )
  await settle()
  return { arrived, subscription }
}

describe('memory broker', () => {
  it('gives what was published before any handler to the first one, and to no other', async () => {
    const broker = memoryBroker()
    await broker.publish(createFactory().events(3))
    expect(broker.depth('orders', 'bill')).toBe(3)
    const first = await consume(broker)
    const second = await consume(broker, { handler: 'ship' })
    expect([first.arrived.length, second.arrived.length]).toEqual([3, 0])
  })

  it('works on the system clock without any option', async () => {
    const broker = memoryBroker()
    const { arrived, subscription } = await consume(broker)
    await broker.publish(createFactory().events(1))
    await settle()
    expect(subscription.settle(arrived[0]!, DONE), 'there is nothing to await').toBeUndefined()
    await broker.close()
  })

  it('E21: refuses what does not fit; letters count, and are never refused', async () => {
    const make = createFactory()
    const broker = memoryBroker({ maxPerChannel: 2 })
    const { arrived, subscription } = await consume(broker)
    await broker.publish(make.events(2))
    await expect(broker.publish(make.events(1))).rejects.toMatchObject({ code: 'LAZARET_BROKER_FULL' })
    await settle()
    for (const delivery of arrived.slice()) {
      const letter = make.letter({ event: delivery.content as never })
      await subscription.settle(delivery, { outcome: 'dead', letter, saved: false })
    }
    expect(broker.deadLetters).toHaveLength(2)
    await expect(broker.publish(make.events(1))).rejects.toMatchObject({ retryable: true })
    await broker.unblockKey('orders', broker.deadLetters[0]!.event.id)
    await broker.publish(make.events(1))
  })

  it('E10: a letter goes when its event is handled after all', async () => {
    const make = createFactory()
    const broker = memoryBroker()
    const { arrived, subscription } = await consume(broker)
    const event = make.event()
    await broker.publish([event])
    await settle()
    await subscription.settle(arrived[0]!, { outcome: 'dead', letter: make.letter({ event }), saved: false })
    await broker.publish([event])
    await settle()
    expect(broker.deadLetters).toHaveLength(1)
    await subscription.settle(arrived[1]!, DONE)
    expect(broker.deadLetters).toEqual([])
  })

  it('B9: an edited replay may have another key; then its old one goes on', async () => {
    const make = createFactory()
    const broker = memoryBroker()
    const { arrived, subscription } = await consume(broker, { ordering: 'by-key' })
    const [dead, held] = make.events(2, { key: 'a' })
    await broker.publish([dead!, held!])
    await settle()
    const letter = make.letter({ event: dead! })
    await subscription.settle(arrived[0]!, { outcome: 'dead', letter, saved: true })
    await broker.publish([{ ...dead!, key: 'b' }])
    await settle()
    expect(arrived.slice(1).map(delivery => delivery.content)).toEqual([held, { ...dead!, key: 'b' }])
  })

  it('B9: the first subscription of a handler sets its ordering', async () => {
    const broker = memoryBroker()
    await consume(broker, { ordering: 'by-key' })
    await expect(consume(broker)).rejects.toThrow("give 'by-key'")
  })

  it.each([
    ['back', -HOUR_MS],
    ['forward', HOUR_MS],
  ])('B3: a retry comes when it is due, though the wall clock is set %s meanwhile', async (_, byMs) => {
    const clock = new FakeClock()
    const broker = memoryBroker({ clock })
    const { arrived, subscription } = await consume(broker)
    await broker.publish(createFactory().events(2))
    await settle()
    for (const [index, waitMs] of [500, 2 * HOUR_MS].entries()) {
      const notBefore = clock.now() + waitMs
      await subscription.settle(arrived[index]!, { outcome: 'retry', notBefore, ended: [] })
    }
    clock.jump(byMs)
    await clock.advance(499)
    expect(arrived).toHaveLength(2)
    await clock.advance(1)
    expect(arrived).toHaveLength(3)
    await clock.advance(2 * HOUR_MS - 501)
    expect(arrived).toHaveLength(3)
    await clock.advance(1)
    expect(arrived).toHaveLength(4)
  })

  it('B3: a retry that is due sooner than all the others wakes it in time', async () => {
    const clock = new FakeClock()
    const broker = memoryBroker({ clock })
    const { arrived, subscription } = await consume(broker)
    await broker.publish(createFactory().events(3))
    await settle()
    const [first, second, third] = arrived
    for (const [delivery, waitMs] of [
      [first, HOUR_MS],
      [second, 20],
      [third, 10],
    ] as const) {
      await subscription.settle(delivery!, { outcome: 'release', notBefore: clock.now() + waitMs })
    }
    await clock.advance(10)
    expect(arrived.slice(3).map(delivery => delivery.content)).toEqual([third?.content])
    await clock.advance(10)
    expect(arrived[4]?.content).toBe(second?.content)
  })

  it('hands what was given back over first, in its old order', async () => {
    const broker = memoryBroker()
    const events = createFactory().events(15)
    const first = await consume(broker)
    await broker.publish(events)
    await settle()
    await first.subscription.close()
    const second = await consume(broker)
    expect(second.arrived.map(delivery => delivery.content)).toEqual(events.slice(0, 10))
  })

  it('shares evenly between the subscriptions of a handler', async () => {
    const broker = memoryBroker()
    const consumers = [await consume(broker), await consume(broker), await consume(broker)]
    await broker.publish(createFactory().events(9))
    await settle()
    expect(consumers.map(({ arrived }) => arrived.length)).toEqual([3, 3, 3])
  })

  it('leaves no timer behind when it is closed', async () => {
    const clock = new FakeClock()
    const broker = memoryBroker({ clock })
    const { arrived, subscription } = await consume(broker)
    await broker.publish(createFactory().events(1))
    await settle()
    await subscription.settle(arrived[0]!, { outcome: 'release', notBefore: clock.now() + 5 })
    expect(clock.pending).toBe(1)
    await broker.close()
    expect(clock.pending).toBe(0)
  })

  it('F7: tells every fault of its options at once', async () => {
    expect(() => memoryBroker({ clock: {} as never, maxPerChannel: 0 })).toThrow(/2 faults/)
    const subscribing = memoryBroker().subscribe(
      { channel: '', handler: 'bill', prefetch: 0, ordering: 'none' },
      () => {},
    )
    await expect(subscribing).rejects.toThrow(OptionsError)
  })
})
